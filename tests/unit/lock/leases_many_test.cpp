#include <set>
#include <string>

#include "support/engine_driver.hpp"

// Many leases of one engine: their renewals are spread over time.
namespace quorumlock::test {
namespace {

core::Engine::Config few_out(int window) {
  return {.nodes = 3,
          .retry_delay = EngineDriver::delay,
          .retry_jitter = EngineDriver::jitter,
          .window = window};
}

std::string key_of(int number) {
  return "key/" + std::to_string(number);
}

void hold_many(EngineDriver& driver, int leases) {
  for (int number = 0; number < leases; ++number) {
    driver.acquire(1, ten_seconds, 0s, key_of(number));
    driver.answer_all();
    driver.forget_seen();
  }
}

TEST(LeasesMany, RenewalsAreSpreadOverATwelfthOfTheValidity) {
  // All leases begin at one moment. No renewal comes before a quarter of the validity, all come
  // before a third of it, and each quarter of that interval has about as many as the others.
  EngineDriver driver(3);
  hold_many(driver, 400);
  std::size_t before = 0;
  driver.pass_until(at(validity / 4 - 9ms));
  EXPECT_EQ(driver.unanswered(0).size(), 0U);
  for (int part = 1; part <= 4; ++part) {
    driver.pass_until(at(validity / 4 + part * validity / 48));
    const std::size_t renewed = driver.unanswered(0).size() - before;
    EXPECT_GE(renewed, 80U) << part;
    EXPECT_LE(renewed, 120U) << part;
    before += renewed;
  }
  EXPECT_EQ(before, 400U);
}

TEST(LeasesMany, RenewalsAreDueAtTheSameMoments) {
  // 400 renewals are spread over 825 ms in steps of 8 ms, so that several are due at the same
  // moment and can share a command.
  EngineDriver driver(3);
  hold_many(driver, 400);
  std::set<core::Time> moments;
  driver.pass_until(at(third));
  for (const Seen& seen : driver.seen()) {
    if (std::holds_alternative<Sent>(seen.what)) moments.insert(seen.when);
  }
  EXPECT_EQ(driver.count<Sent>(), 400U);
  EXPECT_LE(moments.size(), 825U / 8 + 2);
}

TEST(LeasesMany, ABoundedNumberOfRenewalsIsOutAtOnce) {
  // The nodes are slow: two of five renewals go out, and the others wait until a quorum has
  // answered one of those.
  EngineDriver driver(few_out(2));
  hold_many(driver, 5);
  driver.pass_until(at(third + 1s));
  EXPECT_EQ(driver.count<Sent>(), 2U);
  // The answers of one node are no verdict yet.
  driver.reply(0, Vote::granted);
  driver.reply(0, Vote::granted);
  driver.pass(1s);
  EXPECT_EQ(driver.count<Sent>(), 2U);
  driver.reply(1, Vote::granted);
  driver.pass(1s);
  EXPECT_EQ(driver.count<core::Renewed>(), 1U);
  EXPECT_EQ(driver.count<Sent>(), 3U);
}

TEST(LeasesMany, ARenewalThatWaitedForALeaseThatHasEndedIsNotSent) {
  EngineDriver driver(few_out(1));
  hold_many(driver, 3);
  driver.pass_until(at(third + 100ms));
  ASSERT_NE(driver.only<Sent>().command.tag.claim, driver.lease());
  driver.release(driver.lease(), false);
  driver.forget_seen();
  driver.answer_all();
  EXPECT_EQ(driver.count(CommandKind::renew), 3U) << "one lease is left that waited";
}

TEST(LeasesMany, TheMostUrgentRenewalIsSentFirst) {
  // A lease for three seconds is due to be renewed after two for ten seconds, and ends before them.
  EngineDriver driver(few_out(1));
  hold_many(driver, 2);
  driver.pass_until(at(2500ms));
  driver.acquire(1, {.ttl = 3s, .stop_margin = 1s}, 0s, "short");
  driver.answer_all();
  driver.forget_seen();
  driver.pass_until(at(third + 300ms));
  ASSERT_EQ(driver.count<Sent>(), 1U);
  driver.forget_seen();
  driver.reply({0, 1}, Vote::granted);
  EXPECT_EQ(driver.only<Sent>().command.key, "short");
}

TEST(LeasesMany, NoRenewalWaitsIntoTheLastQuarter) {
  // No node answers, and one renewal may be out; each lease is still renewed before its end.
  EngineDriver driver(few_out(1));
  hold_many(driver, 5);
  driver.pass_until(at(validity - 2501ms));
  EXPECT_EQ(driver.count<Sent>(), 1U);
  driver.pass_until(at(validity - 1s));
  EXPECT_EQ(driver.count<Sent>(), 5U);
  driver.answer_all();
  EXPECT_EQ(driver.count<core::Renewed>(), 5U);
  EXPECT_EQ(driver.count<core::Ended>(), 0U);
}

TEST(LeasesMany, FailedRenewalsAreTriedAgainAtABoundedRate) {
  // 5,000 renewals fail at once, for one reason. At 40 us for each they are tried again within a
  // fifth of a second after the usual pause, about as many in each quarter of it.
  constexpr std::size_t leases = 5000;
  EngineDriver driver(1);
  hold_many(driver, leases);
  driver.pass_until(at(third));
  ASSERT_EQ(driver.unanswered(0).size(), leases);
  for (std::size_t i = 0; i < leases; ++i) driver.reply(0, Vote::busy);
  driver.pass(EngineDriver::delay);
  for (int part = 0; part < 4; ++part) {
    driver.forget_seen();
    driver.pass(leases * 10us);
    EXPECT_GE(driver.count<Sent>(), 1000U) << part;
    EXPECT_LE(driver.count<Sent>(), 1500U) << part;
  }
  EXPECT_EQ(driver.unanswered(0).size(), leases);
}

}  // namespace
}  // namespace quorumlock::test
