#include "verbs/release.hpp"

#include "unit/verbs/calls.hpp"

namespace quorumlock::test {
namespace {

TEST(Release, ByToken) {
  // No renewal may set the lock anew for max_ttl.
  core::Send by_token = command(CommandKind::release);
  by_token.lock.by_token = true;
  EXPECT_EQ(encoded(by_token), formatted({"EVALSHA", redis::release_all_script.sha1, "1",
                                          "orders:42", "t0ken", "", "", "0", "30000"}));
}

TEST(Release, InTheLine) {
  // One waiter may leave the line, and one need not be woken.
  core::Send release = command(CommandKind::release);
  const auto call = [](std::string_view leaver, std::string_view not_woken) {
    return formatted({"EVALSHA", redis::release_all_script.sha1, "1", "orders:42", "t0ken", leaver,
                      not_woken, "0", "0"});
  };
  release.not_woken = place(8);
  EXPECT_EQ(encoded(release), call("", "w0123456789abcdef.8"));
  release.place = place(7);
  release.not_woken = no_place;
  EXPECT_EQ(encoded(release), call("w0123456789abcdef.7", ""));
  release.not_woken = place(8, 0, true);
  EXPECT_EQ(encoded(release), call("w0123456789abcdef.7", "r0123456789abcdef.8"));
}

TEST(Release, SeveralLocks) {
  core::Send release = command_for_all(CommandKind::release);
  EXPECT_EQ(encoded(release),
            formatted({"EVALSHA", redis::release_all_script.sha1, "4", "orders:42", "stock:7", "",
                       "cash", "t0ken", "", "", "0", "0"}));
  release.tag.with_source = true;
  EXPECT_EQ(encoded(release).find("*12\r\n$4\r\nEVAL\r\n"), 0U);
}

TEST(Release, APermit) {
  EXPECT_EQ(encoded(command_for_permit(CommandKind::release)),
            formatted({"EVALSHA", redis::release_all_script.sha1, "1",
                       "quorumlock:semaphore:orders:42", "t0ken", "", "", "7", "0"}));
}

}  // namespace
}  // namespace quorumlock::test
