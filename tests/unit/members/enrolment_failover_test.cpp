#include "support/enrolment_driver.hpp"

// A node whose server Sentinels may replace.
namespace quorumlock::test {
namespace {

using Driver = EnrolmentDriver;
using Standing = redis::Enrolment::Standing;

TEST(EnrolmentFailover, AFailedOverNodeWaitsForItsFormerServerToo) {
  // The server that the node replaces may go on granting for seven seconds after the promotion. The
  // candidate contains the wait, so that a client that knows another address waits as long.
  Driver driver;
  driver.it.greeted(driver.now, {.run_id = "run2", .outlives_failover = 7s},
                    {"run1:abc", std::nullopt});
  const std::string proposed = driver.proposes();
  EXPECT_NE(proposed.find(":37000"), std::string::npos) << proposed;
  driver.hear(2, "run2:theirs");
  EXPECT_EQ(driver.it.wait().until(), driver.now + 37s + 370ms + 2ms);
}

TEST(EnrolmentFailover, ANodeThatIsFailedOverIsCheckedWhileItVotes) {
  // Another replica may be attached later, or the setting changed.
  Driver driver;
  const auto record =
      redis::RecordTexts{with_mark("run2:abc", driver.members), driver.members.text()};
  driver.it.greeted(driver.now, {.run_id = "run2", .outlives_failover = 7s}, record);
  ASSERT_EQ(driver.it.standing(), Standing::enrolled);
  ASSERT_NE(driver.it.deadline(), core::never);
  driver.now = driver.it.deadline();
  driver.it.advance(driver.now);
  EXPECT_TRUE(driver.it.take_check());
  driver.it.look_at(driver.now, {.run_id = "run2", .outlives_failover = 7s});
  EXPECT_NE(driver.it.deadline(), core::never);
}

}  // namespace
}  // namespace quorumlock::test
