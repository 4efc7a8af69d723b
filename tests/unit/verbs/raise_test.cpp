#include "verbs/raise.hpp"

#include "unit/verbs/calls.hpp"

namespace quorumlock::test {
namespace {

TEST(Raise, OneLockOrAll) {
  EXPECT_EQ(encoded(command(CommandKind::raise)),
            vote_call({"EVALSHA", redis::raise_script.sha1, "2", "orders:42", orders_counter,
                       "t0ken", "77"}));
  EXPECT_EQ(encoded(command_for_all(CommandKind::raise)),
            call_for_all(redis::raise_script.sha1, {"77"}));
}

TEST(Raise, APermit) {
  // The slot must hold the token; the counter is that of the semaphore.
  EXPECT_EQ(encoded(command_for_permit(CommandKind::raise)),
            vote_call({"EVALSHA", redis::raise_script.sha1, "2", "quorumlock:permit:orders:42:7",
                       "quorumlock:fence:quorumlock:semaphore:orders:42", "t0ken", "77"}));
}

TEST(Raise, WithTheScriptsSource) {
  // A node that does not know the script is sent its source.
  EXPECT_EQ(encoded(command(CommandKind::raise, true)),
            vote_call({"EVAL", redis::raise_script.source, "2", "orders:42", orders_counter,
                       "t0ken", "77"}));
}

}  // namespace
}  // namespace quorumlock::test
