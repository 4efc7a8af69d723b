#include "support/engine_driver.hpp"

// A lease from its acquisition to its end: renewals, the warning, the end.
namespace quorumlock::test {
namespace {

TEST(Leases, RenewsAtAThirdOfTheValidity) {
  // At a third of the validity, and not before, every node is asked to move the token's expiry.
  EngineDriver driver(3);
  driver.hold(ten_seconds);
  driver.pass_until(at(third) - 1ns);
  EXPECT_TRUE(driver.seen().empty());
  driver.pass_until(at(third));
  const Sent sent = driver.only<Sent>();
  EXPECT_EQ(sent.to, all_of(3));
  EXPECT_EQ(sent.command.tag.kind, CommandKind::renew);
  EXPECT_EQ(sent.command.token, driver.tokens()[0]);
  EXPECT_EQ(sent.command.ttl, 10s);
  EXPECT_FALSE(sent.command.tag.with_source);
}

TEST(Leases, ARenewalCountsFromItsOwnStart) {
  // The votes take a second to come in. The new end is a ttl after the renewal's start, less the
  // margin, and the next renewal comes after a third of the new validity.
  EngineDriver driver(3);
  driver.hold(ten_seconds);
  driver.pass_until(at(third + 1s));
  driver.reply(0, Vote::granted);
  EXPECT_EQ(driver.count<core::Renewed>(), 0U);
  driver.reply(1, Vote::granted);
  EXPECT_EQ(driver.only<core::Renewed>().user, EngineDriver::lease_of(1));
  EXPECT_EQ(driver.lease_end(), at(third + validity));
  EXPECT_EQ(driver.engine().deadline(), at(third + third));
}

TEST(Leases, IsKeptForAsLongAsItIsRenewed) {
  // After a day of renewals the lease has not ended, and there was no warning.
  EngineDriver driver(3);
  driver.hold(ten_seconds);
  while (driver.now < at(24h) && !HasFailure()) {
    driver.pass_until(driver.engine().deadline());
    driver.answer_all();
    driver.pass(5ms);
    ASSERT_GT(driver.lease_end(), driver.now);
    ASSERT_EQ(driver.count<core::AtRisk>() + driver.count<core::Ended>(), 0U);
    driver.forget_seen();
  }
}

TEST(Leases, AFailedRenewalIsTriedUntilTheEnd) {
  // Every renewal fails and is tried again until the end, in ever shorter pauses. The holder is
  // warned once, a second before the end; the lease is lost at the old end and not before.
  EngineDriver driver(3);
  driver.hold(ten_seconds);
  core::Time last = at(0s);
  std::size_t tries = 0;
  while (driver.count<core::Ended>() == 0 && !HasFailure()) {
    ASSERT_NE(driver.engine().deadline(), core::never);
    driver.pass_until(driver.engine().deadline());
    if (driver.unanswered(0).empty() || driver.count<core::Ended>() > 0) continue;
    const bool first = tries++ == 0;
    EXPECT_LT(driver.now - last, first ? 4s : EngineDriver::delay + EngineDriver::jitter);
    EXPECT_GE(driver.now - last, 2ms);
    last = driver.now;
    driver.answer_all(Vote::busy);
  }
  EXPECT_EQ(driver.now, at(validity));
  EXPECT_EQ(driver.only<core::Ended>().why, Errc::lost);
  EXPECT_EQ(driver.only<core::Ended>().user, EngineDriver::lease_of(1));
  EXPECT_GE(tries, 6598U / 80);
  EXPECT_GE(last, at(validity - 10ms));
  EXPECT_EQ(driver.count<core::AtRisk>(), 1U);
  EXPECT_EQ(driver.told(CommandKind::release, driver.tokens()[0]), all_of(3));
  driver.answer_all();
  driver.expect_nothing_left();
}

TEST(Leases, ALateRenewalSavesTheLease) {
  // The nodes refuse until shortly before the end; then they grant. The holder was warned once
  // before and is not warned again.
  EngineDriver driver(3);
  driver.hold(ten_seconds);
  while (driver.now < at(9500ms) && !HasFailure()) {
    driver.pass_until(driver.engine().deadline());
    if (!driver.unanswered(0).empty()) driver.answer_all(Vote::loading);
  }
  EXPECT_EQ(driver.count<core::AtRisk>(), 1U);
  while (driver.unanswered(0).empty() && !HasFailure())
    driver.pass_until(driver.engine().deadline());
  const core::Time start = driver.now;
  ASSERT_LT(start, at(validity));
  driver.answer_all();
  EXPECT_EQ(driver.lease_end(), start + validity);
  driver.pass_until(driver.lease_end());
  EXPECT_EQ(driver.count<core::AtRisk>(), 1U);
}

TEST(Leases, VotesAtTheOldEndDoNotCount) {
  // A renewal whose q-th grant is processed a nanosecond before the old end counts. At the old end
  // the lease is lost. The order of timer and answer makes no difference.
  for (const core::Duration early : {1ns, 0ns, -1000000ns}) {
    for (const bool timer_first : {false, true}) {
      EngineDriver driver(3);
      const core::ClaimId lease = driver.hold(ten_seconds);
      driver.pass_until(at(third));
      driver.reply(0, Vote::granted);
      driver.pass_until(at(validity) - 1ms);
      const core::Time then = at(validity) - early;
      if (timer_first) driver.pass_until(then);
      driver.now = then;
      driver.reply(1, Vote::granted);
      EXPECT_EQ(driver.count<core::Renewed>(), early > 0ns ? 1U : 0U);
      EXPECT_EQ(driver.count<core::Ended>(), early > 0ns ? 0U : 1U);
      EXPECT_EQ(driver.count(CommandKind::release), early > 0ns ? 0U : 3U);
      if (early <= 0ns) continue;
      EXPECT_EQ(driver.engine().claim(lease)->deadline, at(third + validity));
    }
  }
}

TEST(Leases, AnswersOfAnOlderRoundAreNotCounted) {
  // All nodes are late and the renewal has failed. Its grants come in while the second renewal is
  // out, and renew nothing. The second one's own grants do, counted from its own start.
  EngineDriver driver(3);
  driver.hold(ten_seconds);
  driver.pass_until(at(third));
  driver.time_out(0);
  driver.time_out(1);
  driver.time_out(2);
  driver.pass(80ms);
  ASSERT_EQ(driver.count(CommandKind::renew), 6U);
  const core::Time start = driver.seen().back().when;
  driver.reply({0, 1, 2}, Vote::granted);
  EXPECT_EQ(driver.count<core::Renewed>(), 0U);
  EXPECT_EQ(driver.lease_end(), at(validity));
  driver.reply({1, 2}, Vote::granted);
  EXPECT_EQ(driver.count<core::Renewed>(), 1U);
  EXPECT_EQ(driver.lease_end(), start + validity);
}

TEST(Leases, TimeoutsOfAnOlderRoundAreNotCounted) {
  // An extend supersedes the renewal that is out. That the renewal's commands are overdue does not
  // concern the extend's commands: those are waited for, and decide it.
  EngineDriver driver(3);
  const core::ClaimId lease = driver.hold(ten_seconds);
  driver.pass_until(at(third));
  ASSERT_TRUE(driver.extend(lease, 20s));
  for (const int node : {0, 1, 2}) driver.time_out(node);
  driver.reply({0, 1, 2}, Vote::granted);  // answers to the renewal
  EXPECT_EQ(driver.count<core::Extended>(), 0U);
  driver.reply({0, 1}, Vote::granted);
  EXPECT_FALSE(driver.only<core::Extended>().why);
}

TEST(Leases, ALateGrantOfTheAcquisitionRenewsNothing) {
  // The lease is won with two of three nodes. The third node answers the SET while the renewal is
  // out: its key belongs to the holder and is not released, but it is not a vote for the renewal.
  EngineDriver driver(3);
  driver.acquire(1, ten_seconds);
  driver.reply({0, 1}, Vote::granted);
  driver.pass_until(at(third));
  driver.reply(0, Vote::granted);
  driver.reply(2, Vote::granted);  // the answer to the SET
  EXPECT_EQ(driver.count<core::Renewed>(), 0U);
  EXPECT_EQ(driver.count(CommandKind::release), 0U);
  driver.reply(2, Vote::granted);
  EXPECT_EQ(driver.count<core::Renewed>(), 1U);
}

TEST(Leases, TheQuorumIsThatOfAllNodes) {
  // Three of five nodes are away at the renewal: the two others never suffice.
  EngineDriver driver(5);
  driver.hold(ten_seconds);
  for (const int node : {2, 3, 4}) driver.lose(node);
  while (driver.count<core::Ended>() == 0 && !HasFailure()) {
    driver.pass_until(driver.engine().deadline());
    ASSERT_TRUE(driver.told(CommandKind::renew, driver.tokens()[0]).size() <= 2);
    driver.answer_all();
  }
  EXPECT_EQ(driver.now, at(validity));
  EXPECT_EQ(driver.only<core::Ended>().why, Errc::lost);
  EXPECT_EQ(driver.count<core::Renewed>(), 0U);
}

TEST(Leases, IsLostOnceItIsCertainlyGone) {
  // Two of three nodes report that the key is another's or gone: no quorum can hold the lease, so
  // it ends at once, long before its deadline, and every node gets a release.
  EngineDriver driver(3);
  driver.hold(ten_seconds);
  driver.pass_until(at(third));
  driver.reply(2, Vote::absent);
  EXPECT_EQ(driver.count<core::Ended>(), 0U);
  driver.reply(0, Vote::held);
  const core::Ended ended = driver.only<core::Ended>();
  EXPECT_EQ(ended.why, Errc::lost);
  EXPECT_EQ(ended.tally.vote(0), Vote::held);
  EXPECT_EQ(ended.tally.vote(1), Vote::pending);
  EXPECT_EQ(driver.told(CommandKind::release, driver.tokens()[0]), all_of(3));
  driver.reply(1, Vote::granted);
  EXPECT_EQ(driver.count<core::Renewed>(), 0U);
  driver.answer_all();
  driver.expect_nothing_left();
}

TEST(Leases, IsLostEvenIfTheRoundHadFailedBefore) {
  // Three of five nodes are late, so the renewal has failed. Before the next try three nodes report
  // that they no longer have the key. The lease is as certainly lost as in any other order.
  EngineDriver driver(5);
  driver.hold(ten_seconds);
  driver.pass_until(at(third));
  for (const int node : {0, 1, 2}) driver.time_out(node);
  driver.reply({0, 3, 4}, Vote::absent);
  EXPECT_EQ(driver.count<core::Ended>(), 1U);
}

TEST(Leases, EndsAtMaxHold) {
  // No renewal reaches beyond the acquisition's start plus max_hold. The lease expires there, and
  // is not renewed any more once it cannot get longer.
  EngineDriver driver(3);
  driver.now = at(1s);
  driver.acquire(1, {.ttl = 10s, .stop_margin = 1s, .max_hold = 25s});
  driver.pass(500ms);
  driver.answer_all();
  core::Time previous = at(0s);
  while (driver.count<core::Ended>() == 0 && !HasFailure()) {
    ASSERT_LE(driver.lease_end(), at(26s));
    ASSERT_GE(driver.lease_end(), previous);
    previous = driver.lease_end();
    driver.pass_until(driver.engine().deadline());
    if (driver.count<core::Ended>() == 0) driver.answer_all();
  }
  EXPECT_EQ(driver.now, at(26s));
  EXPECT_EQ(driver.only<core::Ended>().why, Errc::expired);
  EXPECT_EQ(driver.count<core::AtRisk>(), 1U);
  // The renewals come after a third of 9.898 s each, until 16.102 s after the start; the last one
  // reaches the limit.
  EXPECT_EQ(driver.count<core::Renewed>(), 5U);
  EXPECT_EQ(driver.count(CommandKind::renew), 15U);
}

TEST(Leases, EndsAfterMaxRenewals) {
  // The lease is renewed as often as its terms allow, then never again, and expires.
  for (const int most : {0, 1, 3}) {
    EngineDriver driver(3);
    driver.hold({.ttl = 10s, .stop_margin = 1s, .max_renewals = most});
    while (driver.count<core::Ended>() == 0 && !HasFailure()) {
      ASSERT_LT(driver.now, at(1min));
      driver.pass_until(driver.engine().deadline());
      if (driver.count<core::Ended>() == 0) driver.answer_all();
    }
    EXPECT_EQ(driver.now, at(most * third + validity));
    EXPECT_EQ(driver.only<core::Ended>().why, Errc::expired);
    EXPECT_EQ(driver.count<core::Renewed>(), static_cast<std::size_t>(most));
    EXPECT_EQ(driver.count<core::AtRisk>(), 1U);
  }
}

TEST(Leases, AFailedRenewalIsNotOneOfTheMaxRenewals) {
  // One renewal is allowed. The first try fails, the second succeeds, and no third one follows.
  EngineDriver driver(3);
  driver.hold({.ttl = 10s, .stop_margin = 1s, .max_renewals = 1});
  driver.pass_until(at(third));
  driver.answer_all(Vote::busy);
  driver.pass(80ms);
  driver.answer_all();
  EXPECT_EQ(driver.count<core::Renewed>(), 1U);
  driver.pass_until(driver.lease_end());
  EXPECT_EQ(driver.count(CommandKind::renew), 6U);
  EXPECT_EQ(driver.only<core::Ended>().why, Errc::expired);
}

TEST(Leases, WithoutAutoExtendItRunsOut) {
  // No renewal is sent: a warning comes a second before the end; then the lease is given back.
  EngineDriver driver(3);
  driver.hold({.ttl = 10s, .stop_margin = 1s, .auto_extend = false});
  driver.pass_until(at(validity - 1s) - 1ns);
  EXPECT_TRUE(driver.seen().empty());
  driver.pass_until(at(validity - 1s));
  EXPECT_EQ(driver.only<core::AtRisk>().user, EngineDriver::lease_of(1));
  driver.pass_until(at(validity) - 1ns);
  EXPECT_EQ(driver.count<core::Ended>(), 0U);
  driver.pass_until(at(validity));
  EXPECT_EQ(driver.only<core::Ended>().why, Errc::expired);
  EXPECT_EQ(driver.count<core::AtRisk>(), 1U);
  EXPECT_EQ(driver.count(CommandKind::renew), 0U);
  EXPECT_EQ(driver.told(CommandKind::release, driver.tokens()[0]), all_of(3));
  driver.answer_all();
  driver.expect_nothing_left();
}

TEST(Leases, IsWarnedInTimeEvenWithoutTheNetwork) {
  // All nodes are lost right after the acquisition: the local timer still warns and ends the lease
  // in time.
  EngineDriver driver(3);
  driver.hold(ten_seconds);
  for (const int node : {0, 1, 2}) driver.lose(node);
  driver.pass_until(at(validity));
  std::vector<core::Time> moments;
  for (const Seen& seen : driver.seen()) moments.push_back(seen.when);
  EXPECT_EQ(moments, (std::vector{at(validity - 1s), at(validity)}));
  EXPECT_EQ(driver.count<core::AtRisk>(), 1U);
  EXPECT_EQ(driver.only<core::Ended>().why, Errc::lost);
  driver.pass_until(at(20s));
  driver.expect_nothing_left();
}

TEST(Leases, AMarginLongerThanTheValidityWarnsAtOnce) {
  // The lease is at risk from its first moment on.
  EngineDriver driver(3);
  driver.acquire(1, {.ttl = 10s, .stop_margin = 1min});
  driver.reply({0, 1}, Vote::granted);
  driver.pass(0s);
  EXPECT_EQ(driver.count<core::AtRisk>(), 1U);
  driver.pass(5s);
  EXPECT_EQ(driver.count<core::AtRisk>(), 1U);
}

TEST(Leases, AJumpOfTimeEndsItAtOnce) {
  // The machine slept for an hour: the lease ends with its warning, before any old answer counts.
  EngineDriver driver(3);
  driver.hold(ten_seconds);
  driver.pass_until(at(third));
  driver.now = at(1h);
  driver.reply(0, Vote::granted);
  EXPECT_EQ(driver.count<core::Ended>(), 1U);
  EXPECT_EQ(driver.count<core::Renewed>(), 0U);
  driver.answer_all();
  driver.expect_nothing_left();
}

TEST(Leases, AScriptThatIsMissingIsSentWithItsSourceOnce) {
  // n1 has forgotten the scripts: the renewal is sent to n1 once more, with its source, in the same
  // round, whose start stays. If that fails as well, n1 has no vote.
  EngineDriver driver(3);
  driver.hold(ten_seconds);
  driver.pass_until(at(third));
  driver.reply(2, Vote::granted);
  driver.forget_seen();
  driver.pass(10ms);
  driver.reply(0, Vote::no_script);
  const Sent again = driver.only<Sent>();
  EXPECT_EQ(again.to, core::NodeSet::only(0));
  EXPECT_EQ(again.command.tag.kind, CommandKind::renew);
  EXPECT_TRUE(again.command.tag.with_source);
  EXPECT_EQ(again.command.ttl, 10s);
  driver.reply(1, Vote::no_script);
  driver.reply(1, Vote::no_script);
  EXPECT_EQ(driver.count<Sent>(), 2U);
  EXPECT_EQ(driver.count<core::Renewed>(), 0U);
  driver.pass(10ms);
  driver.reply(0, Vote::granted);
  EXPECT_EQ(driver.count<core::Renewed>(), 1U);
  EXPECT_EQ(driver.lease_end(), at(third + validity));
}

TEST(Leases, AScriptIsNotSentAgainForARoundThatIsOver) {
  // The renewal has failed and the next one is out, or the lease is over: the command that NOSCRIPT
  // kept from running is not sent again.
  EngineDriver driver(3);
  const core::ClaimId lease = driver.hold(ten_seconds);
  driver.pass_until(at(third));
  for (const int node : {0, 1, 2}) driver.time_out(node);
  driver.pass(80ms);
  driver.forget_seen();
  driver.reply(0, Vote::no_script);
  EXPECT_EQ(driver.count<Sent>(), 0U);
  driver.release(lease);
  driver.forget_seen();
  driver.reply(0, Vote::no_script);
  EXPECT_EQ(driver.count<Sent>(), 0U);
}

}  // namespace
}  // namespace quorumlock::test
