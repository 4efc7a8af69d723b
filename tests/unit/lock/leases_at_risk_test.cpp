#include "support/engine_driver.hpp"

// A holder after its warning: renewals that are under way may still be won, and nothing more
// follows.
namespace quorumlock::test {
namespace {

constexpr core::Time warning = at(validity) - 1s;

/// Acquires, and has every renewal refused until the holder is warned.
void warn(EngineDriver& driver) {
  driver.hold(ten_seconds);
  while (driver.count<core::AtRisk>() == 0 && !testing::Test::HasFailure()) {
    driver.pass_until(driver.engine().deadline());
    if (driver.count<core::AtRisk>() == 0) driver.answer_all(Vote::busy);
  }
  EXPECT_EQ(driver.now, warning);
  driver.answer_all(Vote::busy);
  driver.forget_seen();
}
/// Passes the time until the next renewal goes out.
core::Time next_try(EngineDriver& driver) {
  while (driver.count(CommandKind::renew) == 0 && driver.count<core::Ended>() == 0 &&
         !testing::Test::HasFailure()) {
    driver.pass_until(driver.engine().deadline());
  }
  return driver.now;
}

TEST(LeasesAtRisk, ARenewalThatWasRetriedMayStillBeWon) {
  // The holder is warned a second before the end; a later try is won. The holder gets that time to
  // stop in, and no more: no renewal follows, no second warning, and the lease expires.
  EngineDriver driver(3);
  ASSERT_NO_FATAL_FAILURE(warn(driver));
  const core::Time start = next_try(driver);
  ASSERT_LT(start, at(validity));
  driver.answer_all();
  EXPECT_EQ(driver.count<core::Renewed>(), 1U);
  EXPECT_EQ(driver.lease_end(), start + validity);
  driver.forget_seen();
  driver.pass_until(start + validity);
  EXPECT_EQ(driver.count(CommandKind::renew), 0U);
  EXPECT_EQ(driver.count<core::AtRisk>(), 0U);
  EXPECT_EQ(driver.count<core::Ended>(), 1U);
  driver.answer_all();
  driver.expect_nothing_left();
}

TEST(LeasesAtRisk, IsTriedUntilTheEnd) {
  // No try is won: they go on until the old end, when the lease is lost.
  EngineDriver driver(3);
  ASSERT_NO_FATAL_FAILURE(warn(driver));
  int tries = 0;
  while (driver.count<core::Ended>() == 0 && !HasFailure()) {
    next_try(driver);
    if (driver.count<core::Ended>() == 0) driver.answer_all(Vote::busy);
    if (driver.count<core::Ended>() > 0) break;
    ++tries;
    driver.forget_seen();
  }
  EXPECT_GT(tries, 5);
  EXPECT_EQ(driver.now, at(validity));
  EXPECT_EQ(driver.only<core::Ended>().why, Errc::lost);
}

TEST(LeasesAtRisk, TheHolderMayStillExtend) {
  // The holder knows better: an extend that it asks for goes to the nodes, and counts.
  EngineDriver driver(3);
  ASSERT_NO_FATAL_FAILURE(warn(driver));
  ASSERT_TRUE(driver.extend(driver.lease(), 20s));
  driver.answer_all();
  EXPECT_FALSE(driver.only<core::Extended>().why);
  EXPECT_EQ(driver.lease_end(), warning + 20s - 202ms);
}

TEST(LeasesAtRisk, ARenewalThatWasOutAtTheWarningMayBeWon) {
  // A renewal that is out at the warning and answered after it counts too; none was refused before.
  EngineDriver driver(3);
  driver.hold(ten_seconds);
  driver.pass_until(warning);
  EXPECT_EQ(driver.count<core::AtRisk>(), 1U);
  ASSERT_EQ(driver.count(CommandKind::renew), 3U);
  driver.reply({0, 1}, Vote::granted);
  EXPECT_EQ(driver.count<core::Renewed>(), 1U);
  driver.forget_seen();
  driver.pass_until(driver.lease_end());
  EXPECT_EQ(driver.count(CommandKind::renew), 0U);
  EXPECT_EQ(driver.count<core::Ended>(), 1U);
}

}  // namespace
}  // namespace quorumlock::test
