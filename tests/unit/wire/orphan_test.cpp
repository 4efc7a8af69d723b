#include "wire/orphan.hpp"

#include <gtest/gtest.h>

#include <string>

#include "support/link_driver.hpp"
#include "support/made_reply.hpp"

// A connection that was lost with unanswered commands.
namespace quorumlock::test {
namespace {

using redis::Orphan;

TEST(Orphan, IsOnTheSameRunOfTheServerOnly) {
  // In another run the commands are gone, and the number may be another client's.
  Orphan orphan(500ms);
  EXPECT_FALSE(orphan.may_be_on("run1"));
  orphan.leave("run1", 7);
  EXPECT_TRUE(orphan.may_be_on("run1"));
  EXPECT_FALSE(orphan.may_be_on("run2"));
  EXPECT_TRUE(orphan.may_be_on("run1"));
  orphan.forget();
  EXPECT_FALSE(orphan.may_be_on("run1"));
}

TEST(Orphan, ARunThatIsNotNamedIsNotTheSame) {
  Orphan orphan(500ms);
  orphan.leave("", 7);
  EXPECT_FALSE(orphan.may_be_on(""));
}

TEST(Orphan, IsKilledByItsNumber) {
  Orphan orphan(500ms);
  orphan.leave("run1", 7);
  std::string out;
  ASSERT_TRUE(orphan.kill(out));
  EXPECT_EQ(LinkDriver::commands_in(out), std::vector<std::string>{"CLIENT KILL ID 7"});
  EXPECT_TRUE(orphan.is_asked());
  EXPECT_TRUE(orphan.on_reply(made_number(1)));
  EXPECT_FALSE(orphan.is_asked());
  ASSERT_TRUE(orphan.kill(out));
  EXPECT_TRUE(orphan.on_reply(made_error("ERR No such client")));
  ASSERT_TRUE(orphan.kill(out));
  EXPECT_FALSE(orphan.on_reply(made_error("NOPERM this user has no permissions")));
}

TEST(Orphan, WithoutANumberOnlyTimeHelps) {
  Orphan orphan(500ms);
  orphan.leave("run1", std::nullopt);
  std::string out;
  EXPECT_FALSE(orphan.kill(out));
  EXPECT_TRUE(out.empty());
  EXPECT_EQ(orphan.deadline(), core::never);
  const core::Time now(1h);
  EXPECT_EQ(orphan.wait(now), now + 500ms);
  EXPECT_EQ(orphan.deadline(), now + 500ms);
  orphan.disconnected();  // the wait begins again on the next connection
  EXPECT_EQ(orphan.deadline(), core::never);
  EXPECT_TRUE(orphan.may_be_on("run1"));
}

}  // namespace
}  // namespace quorumlock::test
