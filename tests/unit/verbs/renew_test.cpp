#include "verbs/renew.hpp"

#include "unit/verbs/calls.hpp"

namespace quorumlock::test {
namespace {

TEST(Renew, AReader) {
  core::Send renewal = command(CommandKind::renew);
  renewal.lock.mode = LockMode::shared;
  renewal.replant = true;
  EXPECT_EQ(encoded(renewal),
            vote_call({"EVALSHA", redis::renew_all_script.sha1, "2", "orders:42", orders_counter,
                       "t0ken", "12345", "77", "1", "r", "0", "0", "0"}));
}

TEST(Renew, ByToken) {
  // It re-plants nothing.
  core::Send by_token = command(CommandKind::renew);
  by_token.lock.by_token = true;
  EXPECT_EQ(encoded(by_token),
            vote_call({"EVALSHA", redis::renew_all_script.sha1, "2", "orders:42", orders_counter,
                       "t0ken", "12345", "77", "0", "t", "0", "0", "0"}));
}

TEST(Renew, SeveralLocks) {
  core::Send renew = command_for_all(CommandKind::renew);
  renew.replant = true;
  EXPECT_EQ(encoded(renew),
            call_for_all(redis::renew_all_script.sha1, {"12345", "77", "1", "w", "0", "0", "0"}));
  renew.lock.mode = LockMode::shared;
  EXPECT_EQ(encoded(renew),
            call_for_all(redis::renew_all_script.sha1, {"12345", "77", "1", "r", "0", "0", "0"}));
}

TEST(Renew, APermit) {
  EXPECT_EQ(
      encoded(command_for_permit(CommandKind::renew)),
      vote_call({"EVALSHA", redis::renew_all_script.sha1, "2", "quorumlock:semaphore:orders:42",
                 "quorumlock:fence:quorumlock:semaphore:orders:42", "t0ken", "12345", "77", "0",
                 "w", "7", "12", "0"}));
}

}  // namespace
}  // namespace quorumlock::test
