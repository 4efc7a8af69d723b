#include <gtest/gtest.h>

#include <algorithm>

#include "support/engine_driver.hpp"
#include "wait/admission.hpp"

namespace quorumlock::test {
namespace {

using core::Admission;
using For = core::Admission::For;

constexpr core::NodeSet one_node = core::NodeSet::first(1);
constexpr core::Duration patience = 100ms;

constexpr core::WaiterId waiter(std::uint32_t index, std::uint32_t generation = 1) {
  return {index, generation};
}

/// An admission with this many first attempts in the queue.
Admission with_queue(std::uint32_t queued) {
  Admission admission(32, 1, patience);
  for (std::uint32_t index = 0; index < queued; ++index) {
    admission.queue(waiter(index), For::first);
  }
  return admission;
}

/// A node that executes one command after the other, and is sent as many as there is room for.
class BusyNode {
 public:
  explicit BusyNode(Admission& admission) : admission_(admission) {}

  /// Executes this many commands, each in `service`. Returns how many are under way in the end.
  int execute(int commands, core::Duration service) {
    for (int answered = 0; answered < commands; ++answered) {
      while (admission_.has_room(one_node, 1)) {
        admission_.sent(one_node);
        asked_.push_back(now_);
      }
      now_ = std::max(now_, asked_.front()) + service;
      admission_.answered(now_, 0, asked_.front());
      asked_.pop_front();
    }
    return static_cast<int>(asked_.size());
  }

 private:
  Admission& admission_;
  core::Time now_ = at(1s);
  std::deque<core::Time> asked_;
};

TEST(Admission, ThereIsRoomForAWindowOfCommands) {
  Admission admission(32, 2, patience);
  EXPECT_TRUE(admission.has_room(one_node, 1));
  admission.sent(one_node);
  EXPECT_TRUE(admission.has_room(one_node, 1));
  admission.sent(one_node);
  EXPECT_FALSE(admission.has_room(one_node, 1));
  admission.answered(core::Time(), 0, core::Time());
  EXPECT_TRUE(admission.has_room(one_node, 1));
}

TEST(Admission, AQuorumOfNodesWithRoomIsEnough) {
  // Two of five nodes do not answer. They are asked until they are far behind the others.
  Admission admission(32, 2, patience);
  const core::NodeSet all = all_of(5);
  for (int round = 0; round < 5; ++round) {
    admission.sent(all);
    for (const int node : {0, 1, 2}) admission.answered(core::Time(), node, core::Time());
  }
  EXPECT_TRUE(admission.has_room(all, 3));
  EXPECT_TRUE(admission.crowded().empty());
  admission.sent(all);
  EXPECT_TRUE(admission.has_room(all, 3)) << "one command is under way to each of three";
  EXPECT_FALSE(admission.has_room(all, 4));
  admission.sent(all);
  EXPECT_FALSE(admission.has_room(all, 3));
  EXPECT_EQ(admission.crowded(), all - all_of(3));
}

TEST(Admission, TooFewNodesForAQuorumHaveRoom) {
  Admission admission(32, 1, patience);
  admission.sent(one_node);
  EXPECT_FALSE(admission.has_room(all_of(2), 2));
  EXPECT_TRUE(admission.has_room(one_node, 2)) << "the round is lost at once";
}

TEST(Admission, AFastNodeGetsAWiderWindow) {
  Admission admission(32, 5000, patience);
  const int first = admission.window(0);
  BusyNode(admission).execute(20'000, 1us);
  EXPECT_GT(admission.window(0), 50 * first);
  EXPECT_LE(admission.window(0), 5000);
}

TEST(Admission, ASlowNodeGetsWhatItAnswersInTime) {
  // Whatever a command takes, the queue at the node is about as long as the patience, or as few
  // commands as there always are.
  for (const core::Duration service : {1ms, 5ms, 20ms, 200ms}) {
    SCOPED_TRACE(service / 1ms);
    Admission admission(32, 5000, patience);
    const int under_way = BusyNode(admission).execute(2000, service);
    EXPECT_LE((under_way - 9) * service, 2 * patience);
    EXPECT_GE((under_way + 8) * service, patience / 2);
    EXPECT_GE(admission.window(0), 8);
  }
}

TEST(Admission, AWindowThatNarrowsBelowWhatIsUnderWayIsFull) {
  Admission admission(32, 5000, patience);
  for (int sent = 0; sent < 31; ++sent) admission.sent(one_node);
  admission.answered(at(1s + 1ms), 0, at(1s));
  ASSERT_TRUE(admission.has_room(one_node, 1));
  admission.answered(at(1s + 2 * patience), 0, at(1s));
  ASSERT_LT(admission.window(0), admission.out(0));
  EXPECT_FALSE(admission.has_room(one_node, 1));
}

TEST(Admission, ANodeThatBecomesFastAgainIsUsedAgain) {
  Admission admission(32, 5000, patience);
  BusyNode node(admission);
  node.execute(1000, 1ms);
  node.execute(500, 100ms);
  EXPECT_LE(admission.window(0), 16);
  node.execute(2000, 1us);
  EXPECT_GT(admission.window(0), 500);
}

TEST(Admission, RenewalsComeByUrgency) {
  Admission admission(32, 1, patience);
  admission.queue_renewal(at(3s), {3, 1});
  admission.queue_renewal(at(1s), {1, 1});
  admission.queue_renewal(at(2s), {2, 1});
  for (const std::uint32_t index : {1U, 2U, 3U}) {
    ASSERT_TRUE(admission.has_renewals());
    EXPECT_EQ(admission.take_renewal().id.index, index);
  }
  EXPECT_TRUE(admission.empty());
}

TEST(Admission, RaisesAndReleasesComeInTheirOrder) {
  Admission admission(32, 1, patience);
  for (std::uint32_t round = 0; round < 2; ++round) {
    for (std::uint32_t index = 0; index < 3; ++index) {
      admission.queue_follow_up({{{index, 1}, 0, CommandKind::release}, one_node});
    }
    for (std::uint32_t index = 0; index < 3; ++index) {
      EXPECT_EQ(admission.take_follow_up().tag.claim.index, index);
    }
    EXPECT_FALSE(admission.has_follow_ups());
    EXPECT_TRUE(admission.empty());
  }
}

TEST(Admission, TheFirstInIsTheFirstOut) {
  Admission admission = with_queue(3);
  for (std::uint32_t index = 0; index < 3; ++index) {
    ASSERT_TRUE(admission.has(For::first));
    EXPECT_EQ(admission.take(For::first), waiter(index));
  }
  EXPECT_FALSE(admission.has(For::first));
  EXPECT_TRUE(admission.empty());
}

TEST(Admission, AWaiterIsQueuedForOneThing) {
  // Its turn comes while its entry waits to be refreshed.
  Admission admission(32, 1, patience);
  admission.queue(waiter(0), For::entry);
  admission.queue(waiter(1), For::entry);
  admission.queue(waiter(0), For::turn);
  EXPECT_TRUE(admission.is_queued(waiter(0), For::turn));
  EXPECT_EQ(admission.queued(For::entry), 1U);
  EXPECT_EQ(admission.take(For::entry), waiter(1));
  EXPECT_EQ(admission.take(For::turn), waiter(0));
  EXPECT_TRUE(admission.empty());
}

TEST(Admission, AnyQueuedWaiterMayLeave) {
  // The first, the last and one in the middle leave, and a place may be used again.
  Admission admission = with_queue(5);
  for (const std::uint32_t index : {0U, 2U, 4U}) admission.leave(waiter(index));
  EXPECT_EQ(admission.queued(For::first), 2U);
  admission.queue(waiter(2, 2), For::first);
  EXPECT_EQ(admission.take(For::first), waiter(1));
  EXPECT_EQ(admission.take(For::first), waiter(3));
  EXPECT_EQ(admission.take(For::first), waiter(2, 2));
  admission.queue(waiter(7), For::first);
  admission.leave(waiter(7));
  EXPECT_FALSE(admission.has(For::first));
  admission.queue(waiter(0, 2), For::first);
  EXPECT_EQ(admission.take(For::first), waiter(0, 2));
}

TEST(Admission, AWaiterThatIsNotQueuedCannotLeave) {
  // It was never queued, its place belongs to another one, or it has left already.
  Admission admission = with_queue(2);
  EXPECT_FALSE(admission.is_queued(waiter(1, 0)));
  admission.leave(waiter(1, 0));
  admission.leave(waiter(9));
  EXPECT_EQ(admission.queued(For::first), 2U);
  EXPECT_TRUE(admission.is_queued(waiter(1)));
  admission.leave(waiter(1));
  admission.leave(waiter(1));
  EXPECT_EQ(admission.queued(For::first), 1U);
  EXPECT_FALSE(admission.is_queued(waiter(1)));
}

TEST(Admission, CountsEarlierWaitersThatAreNotSent) {
  // One that is sent no longer counts; those that have left still do, also for newcomers.
  Admission admission = with_queue(5);
  for (std::uint32_t index = 0; index < 5; ++index) {
    EXPECT_EQ(admission.before(waiter(index)), index);
  }
  EXPECT_EQ(admission.take(For::first), waiter(0));
  EXPECT_EQ(admission.before(waiter(1)), 0U);
  EXPECT_EQ(admission.before(waiter(4)), 3U);
  admission.leave(waiter(1));
  admission.leave(waiter(2));
  EXPECT_EQ(admission.before(waiter(3)), 2U);
  admission.queue(waiter(1, 2), For::first);
  EXPECT_EQ(admission.before(waiter(1, 2)), 2U) << "after 3 and 4";
}

}  // namespace
}  // namespace quorumlock::test
