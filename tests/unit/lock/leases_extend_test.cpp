#include <algorithm>

#include "support/engine_driver.hpp"

// Requests by a holder, or by another process with its token: extend, detach, abandon.
namespace quorumlock::test {
namespace {

const core::Terms not_renewed{.ttl = 10s, .stop_margin = 1s, .auto_extend = false};

TEST(LeasesExtend, MovesTheEnd) {
  // One round goes out at once: with the q-th vote the end is a new ttl after the round's start,
  // and both the extend and the new end are reported to the user.
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

TEST(LeasesExtend, RenewalsGoOnWithItsTtl) {
  // Afterwards renewals ask for the ttl that the user extended by last, and the extend itself is
  // not counted in max_renewals.
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

TEST(LeasesExtend, NeverShortens) {
  // The extend asks for one second while nine are left: the nine stay.
  EngineDriver driver(3);
  const core::ClaimId lease = driver.hold(not_renewed);
  driver.extend(lease, 1s);
  driver.answer_all();
  EXPECT_EQ(driver.only<core::Extended>().why, std::nullopt);
  EXPECT_EQ(driver.only<core::Extended>().valid_until, at(9898ms));
  EXPECT_EQ(driver.lease_end(), at(9898ms));
}

TEST(LeasesExtend, StopsAtMaxHold) {
  // The extend asks for a minute, and max_hold allows twelve seconds in all.
  EngineDriver driver(3);
  const core::ClaimId lease = driver.hold({.ttl = 10s, .stop_margin = 1s, .max_hold = 12s});
  driver.extend(lease, 1min);
  driver.answer_all();
  EXPECT_EQ(driver.only<core::Extended>().valid_until, at(12s));
}

TEST(LeasesExtend, FailsAndTheOldEndStands) {
  // Two of three nodes do not answer: the extend reports that, and the lease keeps its old end.
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

TEST(LeasesExtend, ReportsThatTheLeaseIsLost) {
  // A quorum no longer has the key: the extend and the lease both end as lost. The lease ends
  // first, so that a user who hears of the extend never finds the lease still valid.
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

TEST(LeasesExtend, IsAnsweredAtTheLeasesEnd) {
  // The votes do not come before the old end: the extend is answered at that end, and only once.
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

TEST(LeasesExtend, OnlyOneIsOutAtATime) {
  // A second extend is refused while the first one is out, and accepted afterwards.
  EngineDriver driver(3);
  const core::ClaimId lease = driver.hold(not_renewed);
  EXPECT_TRUE(driver.extend(lease, 20s));
  EXPECT_FALSE(driver.extend(lease, 20s));
  driver.answer_all();
  EXPECT_TRUE(driver.extend(lease, 20s));
}

TEST(LeasesExtend, SupersedesARenewalThatIsOut) {
  // The renewal's answers come first and are ignored; the extend's own answers decide.
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

TEST(LeasesExtend, FailsAfterTheEnd) {
  // The extend comes at the very end of the lease: the lease ends first.
  EngineDriver driver(3);
  const core::ClaimId lease = driver.hold(not_renewed);
  driver.now = at(9898ms);
  EXPECT_FALSE(driver.extend(lease, 20s));
  EXPECT_EQ(driver.count<core::Ended>(), 1U);
  EXPECT_EQ(driver.count<core::Extended>(), 0U);
}

TEST(LeasesExtendDetach, LetsTheKeysRunOut) {
  // A detached lease is not renewed any more, and nothing is deleted at its end.
  EngineDriver driver(3);
  const core::ClaimId lease = driver.hold(ten_seconds);
  driver.engine().detach(driver.now, lease);
  driver.pass_until(at(9898ms));
  EXPECT_EQ(driver.count<Sent>(), 0U);
  EXPECT_EQ(driver.count<core::AtRisk>(), 1U);
  EXPECT_EQ(driver.only<core::Ended>().why, Errc::expired);
  driver.expect_nothing_left();
}

TEST(LeasesExtendDetach, ForgetsALeaseThatNobodyWatches) {
  // The lease's object is destroyed: no event and no command follow, and the engine is not busy.
  EngineDriver driver(3);
  const core::ClaimId lease = driver.hold(ten_seconds);
  driver.engine().detach(driver.now, lease);
  driver.engine().forget(driver.now, lease);
  driver.expect_nothing_left();
  driver.pass(1h);
  EXPECT_TRUE(driver.seen().empty());
}

TEST(LeasesExtendDetach, DeletesNothingIfAGrantComesLate) {
  // The lease is won with two of three nodes, then detached and forgotten. The third node's late
  // grant belongs to the holder like the others: its key is left to expire.
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

TEST(LeasesExtendAbandon, EndsALeaseThatItsUserHasSeenEnd) {
  // The user's clock was ahead of the vote: the renewed lease is given back as expired.
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

TEST(LeasesExtendToken, CountsFromItsOwnStart) {
  // The extend comes from another process, which knows only the token: every node is asked, and
  // nothing is watched or released afterwards.
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

TEST(LeasesExtendToken, IsWorthNothingAfterItsOwnEnd) {
  // The q-th vote is processed when the validity that it would give is over.
  EngineDriver driver(3);
  driver.extend_token(7, "theirs", 10s);
  driver.reply(0, Vote::granted);
  driver.pass(9898ms);
  driver.reply(1, Vote::granted);
  EXPECT_EQ(driver.only<core::Extended>().why, Errc::expired);
}

TEST(LeasesExtendToken, FailsAtOnceWithoutAnyNode) {
  // All nodes are away: the call itself answers.
  EngineDriver driver(3);
  for (const int node : {0, 1, 2}) driver.link(node, LinkState::down);
  driver.extend_token(7, "theirs", 10s);
  EXPECT_EQ(driver.only<core::Extended>().why, Errc::no_quorum);
  driver.expect_nothing_left();
}

}  // namespace
}  // namespace quorumlock::test
