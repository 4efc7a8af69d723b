#include <algorithm>

#include "support/engine_driver.hpp"

// What a holder, or another process by token, asks of a lease: extend, detach, abandon.
namespace quorumlock::test {
namespace {

const core::Terms not_renewed{.ttl = 10s, .stop_margin = 1s, .auto_extend = false};

TEST(EngineExtend, MovesTheEnd) {
  // One round at once: with the q-th vote the end is a new ttl after the round's start, and the
  // user is told both that and the new end.
  EngineDriver driver(3);
  const core::ClaimId lease = driver.hold(not_renewed);
  driver.pass(4s);
  EXPECT_TRUE(driver.extend(lease, 20s));
  const Sent sent = driver.only<Sent>();
  EXPECT_EQ(sent.to, all_of(3));
  EXPECT_EQ(sent.command.tag.kind, CommandKind::renew);
  EXPECT_EQ(sent.command.ttl, 20s);
  driver.pass(1s);
  driver.reply({1, 2}, Vote::granted);
  const core::Extended extended = driver.only<core::Extended>();
  EXPECT_EQ(extended.user, EngineDriver::lease_of(1));
  EXPECT_EQ(extended.why, std::nullopt);
  EXPECT_FALSE(extended.by_token);
  EXPECT_EQ(extended.valid_until, at(4s + 20s - 202ms));
  EXPECT_EQ(driver.lease_end(), extended.valid_until);
  EXPECT_EQ(driver.count<core::Renewed>(), 1U);
}

TEST(EngineExtend, RenewalsGoOnWithItsTtl) {
  // From then on the lease is renewed by what the user asked for last, and the extend itself is
  // not one of the max_renewals.
  EngineDriver driver(3);
  const core::ClaimId lease = driver.hold({.ttl = 10s, .stop_margin = 1s, .max_renewals = 1});
  driver.extend(lease, 30s);
  driver.answer_all();
  driver.forget_seen();
  driver.pass_until(at(core::Duration(30s - 302ms) / 3));
  const Sent sent = driver.only<Sent>();
  EXPECT_EQ(sent.command.ttl, 30s);
  driver.answer_all();
  EXPECT_EQ(driver.count<core::Renewed>(), 1U);
  driver.pass_until(driver.lease_end());
  EXPECT_EQ(driver.count(CommandKind::renew), 3U);
  EXPECT_EQ(driver.only<core::Ended>().why, Errc::expired);
}

TEST(EngineExtend, NeverShortens) {
  // One second is asked for while nine are left: the nine stay.
  EngineDriver driver(3);
  const core::ClaimId lease = driver.hold(not_renewed);
  driver.extend(lease, 1s);
  driver.answer_all();
  EXPECT_EQ(driver.only<core::Extended>().why, std::nullopt);
  EXPECT_EQ(driver.only<core::Extended>().valid_until, at(9898ms));
  EXPECT_EQ(driver.lease_end(), at(9898ms));
}

TEST(EngineExtend, StopsAtMaxHold) {
  // A minute is asked for, twelve seconds in all are allowed.
  EngineDriver driver(3);
  const core::ClaimId lease = driver.hold({.ttl = 10s, .stop_margin = 1s, .max_hold = 12s});
  driver.extend(lease, 1min);
  driver.answer_all();
  EXPECT_EQ(driver.only<core::Extended>().valid_until, at(12s));
}

TEST(EngineExtend, FailsAndTheOldEndStands) {
  // Two of three do not answer: told so, and the lease goes on until where it went before.
  EngineDriver driver(3);
  const core::ClaimId lease = driver.hold(not_renewed);
  driver.extend(lease, 20s);
  driver.reply(0, Vote::granted);
  driver.time_out(1);
  EXPECT_EQ(driver.count<core::Extended>(), 0U);
  driver.time_out(2);
  EXPECT_EQ(driver.only<core::Extended>().why, Errc::no_quorum);
  EXPECT_EQ(driver.lease_end(), at(9898ms));
  EXPECT_EQ(driver.engine().deadline(), at(8898ms));
  driver.pass_until(at(9898ms));
  EXPECT_EQ(driver.only<core::Ended>().why, Errc::expired);
}

TEST(EngineExtend, TellsThatTheLeaseIsLost) {
  // A quorum no longer has the key: the extend and the lease both end so, and the lease first, so
  // that nobody who is told of the one finds the other still valid.
  EngineDriver driver(3);
  const core::ClaimId lease = driver.hold(ten_seconds);
  driver.extend(lease, 20s);
  driver.reply({0, 1}, Vote::absent);
  EXPECT_EQ(driver.only<core::Extended>().why, Errc::lost);
  EXPECT_EQ(driver.only<core::Ended>().why, Errc::lost);
  const auto ended = std::ranges::find_if(driver.seen(), [](const Seen& seen) {
    return std::holds_alternative<core::Ended>(seen.what);
  });
  const auto extended = std::ranges::find_if(driver.seen(), [](const Seen& seen) {
    return std::holds_alternative<core::Extended>(seen.what);
  });
  EXPECT_LT(ended - driver.seen().begin(), extended - driver.seen().begin());
  EXPECT_FALSE(driver.extend(lease, 20s));
  EXPECT_FALSE(driver.release(lease));
}

TEST(EngineExtend, IsAnsweredAtTheLeasesEnd) {
  // The votes do not come before the old end: the extend is answered then, and not after.
  EngineDriver driver(3);
  const core::ClaimId lease = driver.hold(not_renewed);
  driver.pass(9s);
  driver.extend(lease, 20s);
  driver.pass(898ms);
  EXPECT_EQ(driver.only<core::Extended>().why, Errc::expired);
  EXPECT_EQ(driver.only<core::Ended>().why, Errc::expired);
  driver.answer_all();
  EXPECT_EQ(driver.count<core::Extended>(), 1U);
  driver.expect_nothing_left();
}

TEST(EngineExtend, OneAtATime) {
  // A second one is refused while the first one is out, and is welcome afterwards.
  EngineDriver driver(3);
  const core::ClaimId lease = driver.hold(not_renewed);
  EXPECT_TRUE(driver.extend(lease, 20s));
  EXPECT_FALSE(driver.extend(lease, 20s));
  driver.answer_all();
  EXPECT_TRUE(driver.extend(lease, 20s));
}

TEST(EngineExtend, SupersedesARenewalThatIsOut) {
  // The renewal's answers come first and count for nothing; the extend's own decide.
  EngineDriver driver(3);
  const core::ClaimId lease = driver.hold(ten_seconds);
  driver.pass(4s);
  ASSERT_EQ(driver.count(CommandKind::renew), 3U);
  EXPECT_TRUE(driver.extend(lease, 20s));
  driver.reply({0, 1, 2}, Vote::granted);
  EXPECT_EQ(driver.count<core::Extended>() + driver.count<core::Renewed>(), 0U);
  driver.reply({0, 1}, Vote::granted);
  EXPECT_EQ(driver.only<core::Extended>().valid_until, at(4s + 20s - 202ms));
}

TEST(EngineExtend, AfterTheEndThereIsNothingToExtend) {
  // Asked for at the very end: the lease ends first.
  EngineDriver driver(3);
  const core::ClaimId lease = driver.hold(not_renewed);
  driver.now = at(9898ms);
  EXPECT_FALSE(driver.extend(lease, 20s));
  EXPECT_EQ(driver.count<core::Ended>(), 1U);
  EXPECT_EQ(driver.count<core::Extended>(), 0U);
}

TEST(EngineDetach, LetsTheKeysRunOut) {
  // No renewal any more, and nothing is deleted at the end.
  EngineDriver driver(3);
  const core::ClaimId lease = driver.hold(ten_seconds);
  driver.engine().detach(driver.now, lease);
  driver.pass_until(at(9898ms));
  EXPECT_EQ(driver.count<Sent>(), 0U);
  EXPECT_EQ(driver.count<core::AtRisk>(), 1U);
  EXPECT_EQ(driver.only<core::Ended>().why, Errc::expired);
  driver.expect_nothing_left();
}

TEST(EngineDetach, ForgetsALeaseThatNobodyWatches) {
  // Its object is destroyed: no word, no command, and it is no work any more.
  EngineDriver driver(3);
  const core::ClaimId lease = driver.hold(ten_seconds);
  driver.engine().detach(driver.now, lease);
  driver.engine().forget(driver.now, lease);
  driver.expect_nothing_left();
  driver.pass(1h);
  EXPECT_TRUE(driver.seen().empty());
}

TEST(EngineDetach, DeletesNothingWhereAGrantComesLate) {
  // Won with two of three, detached and forgotten before the third has answered. Its late grant is
  // the holder's like the others: left to run out.
  EngineDriver driver(3);
  driver.acquire(1, ten_seconds);
  driver.reply({0, 1}, Vote::granted);
  driver.engine().detach(driver.now, driver.lease());
  driver.engine().forget(driver.now, driver.lease());
  driver.reply(2, Vote::granted);
  EXPECT_EQ(driver.count(CommandKind::release), 0U);
  driver.answer_all();
  driver.expect_nothing_left();
}

TEST(EngineAbandon, EndsALeaseThatItsUserHasSeenEnd) {
  // The user's clock was ahead of the vote: what was renewed is given back as expired.
  EngineDriver driver(3);
  const core::ClaimId lease = driver.hold(ten_seconds);
  driver.engine().abandon(driver.now, lease);
  driver.pass(0s);
  driver.link(0, LinkState::up);  // any input: the driver then pulls
  EXPECT_EQ(driver.only<core::Ended>().why, Errc::expired);
  EXPECT_EQ(driver.told(CommandKind::release, driver.tokens()[0]), all_of(3));
  driver.answer_all();
  driver.expect_nothing_left();
}

TEST(EngineExtendToken, CountsFromItsOwnStart) {
  // From another process, which knows the token only: every node is asked, nothing is watched or
  // released afterwards.
  EngineDriver driver(3);
  driver.now = at(1s);
  driver.extend_token(7, "theirs", 10s);
  const Sent sent = driver.only<Sent>();
  EXPECT_EQ(sent.to, all_of(3));
  EXPECT_EQ(sent.command.token, "theirs");
  EXPECT_EQ(sent.command.tag.kind, CommandKind::renew);
  driver.pass(2s);
  driver.reply({0, 1}, Vote::granted);
  EXPECT_EQ(driver.only<core::Extended>().valid_until, at(1s + 9898ms));
  driver.reply(2, Vote::held);
  EXPECT_EQ(driver.count<Sent>(), 1U);
  driver.expect_nothing_left();
}

TEST(EngineExtendToken, IsWorthNothingAfterItsOwnEnd) {
  // The q-th vote is processed when what it promised is over.
  EngineDriver driver(3);
  driver.extend_token(7, "theirs", 10s);
  driver.reply(0, Vote::granted);
  driver.pass(9898ms);
  driver.reply(1, Vote::granted);
  EXPECT_EQ(driver.only<core::Extended>().why, Errc::expired);
}

TEST(EngineExtendToken, WithoutAnyNode) {
  // All are away: answered inside the call.
  EngineDriver driver(3);
  for (const int node : {0, 1, 2}) driver.link(node, LinkState::down);
  driver.extend_token(7, "theirs", 10s);
  EXPECT_EQ(driver.only<core::Extended>().why, Errc::no_quorum);
  driver.expect_nothing_left();
}

}  // namespace
}  // namespace quorumlock::test
