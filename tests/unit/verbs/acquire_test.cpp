#include "verbs/acquire.hpp"

#include "unit/verbs/calls.hpp"

namespace quorumlock::test {
namespace {

TEST(Acquire, WithoutACounter) {
  // It is the SET that any other client would send.
  EXPECT_EQ(encoded(command(CommandKind::set)),
            formatted({"SET", "orders:42", "t0ken", "NX", "PX", "12345"}));
}

TEST(Acquire, OneLockInTheLine) {
  // A waiter is named by mode, process and number. The keys are the lock and its counter.
  core::Send attempt = command(CommandKind::acquire);
  attempt.ordered = true;
  attempt.place = place(7, 1'700'000'000'000'001);
  attempt.entry_life = 3s;
  EXPECT_EQ(encoded(attempt),
            vote_call({"EVALSHA", redis::acquire_all_script.sha1, "2", "orders:42", orders_counter,
                       "t0ken", "12345", "77", "1700000000000000", "1", "w0123456789abcdef.7",
                       "1700000000000001", "3000", "w", "0", "0"}));
}

TEST(Acquire, ToRead) {
  // A reader has an `r` in its name.
  core::Send attempt = command(CommandKind::acquire);
  attempt.lock.mode = LockMode::shared;
  attempt.place = place(7, 11, true);
  attempt.entry_life = 3s;
  EXPECT_EQ(encoded(attempt),
            vote_call({"EVALSHA", redis::acquire_all_script.sha1, "2", "orders:42", orders_counter,
                       "t0ken", "12345", "77", "1700000000000000", "1", "r0123456789abcdef.7", "11",
                       "3000", "r", "0", "0"}));
}

TEST(Acquire, SeveralLocks) {
  // One call has all the keys: the locks, and their counters in the same order.
  core::Send acquire = command_for_all(CommandKind::acquire);
  acquire.place = place(9, 1'700'000'000'000'123);
  acquire.entry_life = 3s;
  EXPECT_EQ(encoded(acquire),
            call_for_all(redis::acquire_all_script.sha1,
                         {"12345", "77", "1700000000000000", "1", "w0123456789abcdef.9",
                          "1700000000000123", "3000", "w", "0", "0"}));
  acquire.place = no_place;
  acquire.fenced = false;
  acquire.lock.mode = LockMode::shared;
  EXPECT_EQ(encoded(acquire),
            call_for_all(redis::acquire_all_script.sha1,
                         {"12345", "77", "1700000000000000", "0", "", "0", "3000", "r", "0", "0"}));
}

TEST(Acquire, APermit) {
  // The counter and the line are those of the semaphore.
  EXPECT_EQ(
      encoded(command_for_permit(CommandKind::acquire)),
      vote_call({"EVALSHA", redis::acquire_all_script.sha1, "2", "quorumlock:semaphore:orders:42",
                 "quorumlock:fence:quorumlock:semaphore:orders:42", "t0ken", "12345", "77",
                 "1700000000000000", "1", "", "0", "0", "w", "7", "12"}));
}

}  // namespace
}  // namespace quorumlock::test
