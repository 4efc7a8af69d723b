#include "support/engine_driver.hpp"

// Renewals that give a node its key back where it has lost it.
namespace quorumlock::test {
namespace {

const core::Answer replanted{Vote::absent, true};

TEST(EngineHeal, EveryRenewalOfALeaseReplants) {
  // The renewals it makes by itself, and the extend that its holder asks for.
  EngineDriver driver(3);
  const core::ClaimId lease = driver.hold(ten_seconds);
  driver.pass_until(at(third));
  EXPECT_TRUE(driver.only<Sent>().command.replant);
  driver.forget_seen();
  driver.extend(lease, 20s);
  EXPECT_TRUE(driver.only<Sent>().command.replant);
}

TEST(EngineHeal, NothingElseReplants) {
  // Neither the acquisition, nor a release, nor the extend by a token that is somebody else's, nor
  // the extend of a lease that is to run out by itself.
  EngineDriver driver(3);
  driver.acquire(1, ten_seconds);
  driver.answer_all();
  const core::ClaimId lease = driver.lease();
  driver.engine().detach(driver.now, lease);
  driver.extend(lease, 20s);
  driver.answer_all();
  driver.release(lease);
  driver.answer_all();
  driver.extend_token(2, "token", 10s);
  driver.release_token(3, "token");
  driver.answer_all();
  EXPECT_EQ(driver.count(CommandKind::renew), 6U);
  for (const Sent& sent : driver.all<Sent>()) EXPECT_FALSE(sent.command.replant);
}

TEST(EngineHeal, AReplantIsNoVoteForItsOwnRound) {
  // n1 has the key, n2 has it again: nobody knows who had it there in between, so that is one vote.
  // n3's makes two.
  EngineDriver driver(3);
  driver.hold(ten_seconds);
  driver.pass_until(at(third));
  driver.reply(0, Vote::granted);
  driver.reply(1, replanted);
  EXPECT_EQ(driver.count<core::Renewed>(), 0U);
  driver.reply(2, Vote::granted);
  EXPECT_EQ(driver.count<core::Renewed>(), 1U);
}

TEST(EngineHeal, ItIsAVoteFromTheNextRoundOn) {
  // n2 was re-planted in a renewal that n1 and n3 won. In the next one n3 is away: n1 and n2 win
  // it.
  EngineDriver driver(3);
  driver.hold(ten_seconds);
  driver.pass_until(at(third));
  driver.reply(1, replanted);
  driver.reply({0, 2}, Vote::granted);
  driver.lose(2);
  driver.forget_seen();
  driver.pass_until(at(2 * third));
  const core::Time start = driver.seen().front().when;
  driver.reply({0, 1}, Vote::granted);
  EXPECT_EQ(driver.count<core::Renewed>(), 1U);
  EXPECT_EQ(driver.lease_end(), start + validity);
}

TEST(EngineHeal, AFailedRenewalIsWonByTheNextOne) {
  // n2 is re-planted and n3 is late: this round has one vote and fails. The one after it has two.
  EngineDriver driver(3);
  driver.hold(ten_seconds);
  driver.pass_until(at(third));
  driver.reply(0, Vote::granted);
  driver.reply(1, replanted);
  driver.time_out(2);
  EXPECT_EQ(driver.count<core::Ended>() + driver.count<core::Renewed>(), 0U);
  EXPECT_EQ(driver.lease_end(), at(validity));
  driver.pass(80ms);
  driver.reply({0, 1}, Vote::granted);
  EXPECT_EQ(driver.count<core::Renewed>(), 1U);
}

TEST(EngineHeal, AMajorityThatLostItEndsTheLease) {
  // Two of three had to be re-planted: in between somebody else may have had the lock by them.
  // Lost, and what was re-planted is given back.
  EngineDriver driver(3);
  driver.hold(ten_seconds);
  driver.pass_until(at(third));
  driver.reply(0, replanted);
  EXPECT_EQ(driver.count<core::Ended>(), 0U);
  driver.reply(2, replanted);
  EXPECT_EQ(driver.only<core::Ended>().why, Errc::lost);
  EXPECT_EQ(driver.told(CommandKind::release, driver.tokens()[0]), all_of(3));
  driver.reply(1, Vote::granted);
  EXPECT_EQ(driver.count<core::Renewed>(), 0U);
  driver.answer_all();
  driver.expect_nothing_left();
}

TEST(EngineHeal, AReplantThatIsNotEnrolledIsNothing) {
  // The node has forgotten whose votes count: neither a vote nor a proof that the lease is gone.
  EngineDriver driver(3);
  driver.hold(ten_seconds);
  driver.pass_until(at(third));
  driver.reply({0, 1}, Vote::not_enrolled);
  EXPECT_EQ(driver.count<core::Ended>() + driver.count<core::Renewed>(), 0U);
  EXPECT_EQ(driver.lease_end(), at(validity));
}

TEST(EngineHeal, WhatMayHaveBeenReplantedIsReleased) {
  // n3 refused the acquisition, so there was nothing of ours on it. A renewal is on its way there
  // when the connection breaks: it may have been planted, so the release is owed to it.
  EngineDriver driver(3);
  driver.acquire(1, ten_seconds);
  driver.reply({0, 1}, Vote::granted);
  driver.reply(2, Vote::held);
  EXPECT_FALSE(driver.engine().claim(driver.lease())->may_hold.contains(2));
  driver.pass_until(at(third));
  EXPECT_TRUE(driver.engine().claim(driver.lease())->may_hold.contains(2));
  driver.lose(2);
  driver.reply({0, 1}, Vote::granted);
  driver.release(driver.lease());
  driver.answer_all();
  driver.forget_seen();
  driver.link(2, LinkState::up, Vote::pending);
  EXPECT_EQ(driver.told(CommandKind::release, driver.tokens()[0]), core::NodeSet::only(2));
  driver.reply(2, Vote::granted);
  driver.expect_nothing_left();
}

TEST(EngineHeal, AReplantOfAnOlderRoundIsReleasedToo) {
  // n3 is late with a renewal and has been given up for the round; a later round hears from it that
  // the key is another's. Then it re-plants: known to hold it, until it says otherwise.
  EngineDriver driver(3);
  driver.hold(ten_seconds);
  driver.pass_until(at(third));
  driver.reply(0, Vote::granted);
  driver.time_out(1);
  driver.time_out(2);
  driver.pass(80ms);  // the next round
  driver.reply(2, replanted);
  driver.reply(2, Vote::granted);
  EXPECT_TRUE(driver.engine().claim(driver.lease())->may_hold.contains(2));
  driver.reply(0, Vote::granted);
  EXPECT_EQ(driver.count<core::Renewed>(), 1U);
  driver.release(driver.lease());
  EXPECT_EQ(driver.told(CommandKind::release, driver.tokens()[0]), all_of(3));
}

TEST(EngineHeal, AKeyThatWasReplantedLateLivesForItsWholeTtl) {
  // n3 re-plants when the release is on its way behind it, and breaks before that is answered. The
  // key may live for a ttl from then: so long the release is owed.
  EngineDriver driver(3);
  driver.hold({.ttl = 10s, .stop_margin = 1s});
  driver.pass_until(at(third));
  driver.reply({0, 1}, Vote::granted);
  driver.pass(1s);
  driver.release(driver.lease());
  driver.reply({0, 1}, Vote::granted);
  driver.pass(1s);
  driver.reply(2, replanted);
  const core::Time planted = driver.now;
  driver.lose(2);
  driver.pass_until(planted + 10s - 1ns);
  EXPECT_NE(driver.engine().deadline(), core::never);
  driver.pass_until(planted + 10s);
  driver.expect_nothing_left();
}

TEST(EngineHeal, AQuarantinedNodeIsNotAskedToReplant) {
  // It takes releases and nothing else; the other two go on with the lease.
  EngineDriver driver(3);
  driver.hold(ten_seconds);
  driver.link(1, LinkState::quarantined, Vote::quarantined);
  driver.pass_until(at(third));
  EXPECT_EQ(driver.told(CommandKind::renew, driver.tokens()[0]),
            all_of(3) - core::NodeSet::only(1));
  driver.answer_all();
  EXPECT_EQ(driver.count<core::Renewed>(), 1U);
  driver.release(driver.lease());
  EXPECT_EQ(driver.told(CommandKind::release, driver.tokens()[0]), all_of(3));
}

}  // namespace
}  // namespace quorumlock::test
