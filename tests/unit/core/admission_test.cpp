#include <gtest/gtest.h>

#include "core/admission.hpp"

// How many attempts are out at once, and the queue of those that are not sent yet.
namespace quorumlock::test {
namespace {

using core::Admission;
using core::WaiterId;

WaiterId waiter(std::uint32_t index, std::uint32_t generation = 1) {
  return {index, generation};
}

/// An admission with one attempt out, which is the bound, and this many waiters in the queue.
Admission with_queue(std::uint32_t queued) {
  Admission admission(1);
  admission.attempt_begins();
  for (std::uint32_t index = 0; index < queued; ++index) admission.queue(waiter(index));
  return admission;
}

TEST(Admission, NobodyQueuesBelowTheBound) {
  Admission admission(2);
  EXPECT_FALSE(admission.must_queue());
  admission.attempt_begins();
  EXPECT_FALSE(admission.must_queue());
  admission.attempt_begins();
  EXPECT_TRUE(admission.must_queue());
  admission.attempt_ends();
  EXPECT_FALSE(admission.must_queue());
  EXPECT_FALSE(admission.may_send()) << "nobody is queued";
}

TEST(Admission, TheFirstInIsTheFirstOut) {
  Admission admission = with_queue(3);
  EXPECT_FALSE(admission.may_send());
  admission.attempt_ends();
  for (std::uint32_t index = 0; index < 3; ++index) {
    EXPECT_TRUE(admission.may_send());
    EXPECT_TRUE(admission.must_queue()) << "a newcomer would overtake those that are queued";
    EXPECT_EQ(admission.take(), waiter(index));
  }
  EXPECT_FALSE(admission.may_send());
  EXPECT_FALSE(admission.must_queue());
}

TEST(Admission, AnyQueuedWaiterMayLeave) {
  // The first, a middle, the last and the only waiter leave; newcomers take their places.
  Admission admission = with_queue(5);
  for (const std::uint32_t index : {0U, 2U, 4U}) admission.leave(waiter(index));
  EXPECT_EQ(admission.queued(), 2U);
  admission.queue(waiter(2, 2));
  admission.attempt_ends();
  EXPECT_EQ(admission.take(), waiter(1));
  EXPECT_EQ(admission.take(), waiter(3));
  EXPECT_EQ(admission.take(), waiter(2, 2));
  admission.queue(waiter(7));
  admission.leave(waiter(7));
  EXPECT_FALSE(admission.may_send());
  admission.queue(waiter(0, 2));
  EXPECT_EQ(admission.take(), waiter(0, 2));
}

TEST(Admission, AWaiterThatIsNotQueuedCannotLeave) {
  // A waiter of an earlier generation cannot leave either, even if one with its index is queued.
  Admission admission = with_queue(2);
  EXPECT_FALSE(admission.is_queued(waiter(1, 0)));
  admission.leave(waiter(1, 0));
  admission.leave(waiter(9));
  EXPECT_EQ(admission.queued(), 2U);
  EXPECT_TRUE(admission.is_queued(waiter(1)));
  admission.leave(waiter(1));
  admission.leave(waiter(1));
  EXPECT_EQ(admission.queued(), 1U);
  EXPECT_FALSE(admission.is_queued(waiter(1)));
}

TEST(Admission, CountsEarlierWaitersThatAreNotSent) {
  // A waiter that was sent is not before anybody any more. A waiter that ended unsent still is, so
  // that of several that end together each reports a different number.
  Admission admission = with_queue(5);
  for (std::uint32_t index = 0; index < 5; ++index) {
    EXPECT_EQ(admission.before(waiter(index)), index);
  }
  admission.attempt_ends();
  EXPECT_EQ(admission.take(), waiter(0));
  EXPECT_EQ(admission.before(waiter(1)), 0U);
  EXPECT_EQ(admission.before(waiter(4)), 3U);
  admission.leave(waiter(1));
  admission.leave(waiter(2));
  EXPECT_EQ(admission.before(waiter(3)), 2U);
  admission.queue(waiter(1, 2));
  EXPECT_EQ(admission.before(waiter(1, 2)), 2U) << "after 3 and 4";
}

}  // namespace
}  // namespace quorumlock::test
