#include "support/engine_driver.hpp"

// Renewals that give a node its key back if it has lost it.
namespace quorumlock::test {
namespace {

const core::Answer replanted{Vote::absent, true};

TEST(LeasesHeal, EveryRenewalOfALeaseReplants) {
  // Both the lease's own renewals and the extend that its holder asks for re-plant.
  EngineDriver driver(3);
  const core::ClaimId lease = driver.hold(ten_seconds);
  driver.pass_until(at(third));
  EXPECT_TRUE(driver.only<Sent>().command.replant);
  driver.forget_seen();
  driver.extend(lease, 20s);
  EXPECT_TRUE(driver.only<Sent>().command.replant);
}

TEST(LeasesHeal, NothingElseReplants) {
  // None of these re-plants: the acquisition, a release, an extend by somebody else's token, and
  // the extend of a detached lease.
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

TEST(LeasesHeal, AReplantIsNotAVoteInItsOwnRound) {
  // n1 has the key, and n2 has it again: another client may have had the lock on n2 in between, so
  // there is one vote. n3's makes two.
  EngineDriver driver(3);
  driver.hold(ten_seconds);
  driver.pass_until(at(third));
  driver.reply(0, Vote::granted);
  driver.reply(1, replanted);
  EXPECT_EQ(driver.count<core::Renewed>(), 0U);
  driver.reply(2, Vote::granted);
  EXPECT_EQ(driver.count<core::Renewed>(), 1U);
}

TEST(LeasesHeal, AReplantIsAVoteFromTheNextRoundOn) {
  // n2 was re-planted in a renewal that n1 and n3 won. n3 is away in the next one, and n1 and n2
  // win it.
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

TEST(LeasesHeal, ANodeThatFoundItTooLateIsAskedAgain) {
  // n2 has found the renewal too late, by our estimate of its clock. Its answer contains its time,
  // so the same round asks it once more, and its grant counts.
  EngineDriver driver(3);
  driver.hold(ten_seconds);
  driver.pass_until(at(third));
  driver.reply(0, Vote::granted);
  driver.forget_seen();
  driver.reply(1, Vote::timed_out);
  EXPECT_EQ(driver.only<Sent>().to, core::NodeSet::only(1));
  EXPECT_EQ(driver.only<Sent>().command.tag.kind, CommandKind::renew);
  EXPECT_TRUE(driver.only<Sent>().command.replant);
  driver.reply(1, Vote::granted);
  EXPECT_EQ(driver.count<core::Renewed>(), 1U);
  EXPECT_EQ(driver.lease_end(), at(third + validity));
}

TEST(LeasesHeal, ANodeThatFoundItTooLateIsAskedAgainOnce) {
  // n2 and n3 find each renewal too late, whatever time is sent: each gets two commands in a round,
  // and then the round has failed.
  EngineDriver driver(3);
  const core::ClaimId lease = driver.hold(ten_seconds);
  driver.extend(lease, 20s);
  driver.reply(0, Vote::granted);
  driver.forget_seen();
  driver.reply({1, 2}, Vote::timed_out);
  EXPECT_EQ(driver.count(CommandKind::renew), 2U);
  EXPECT_EQ(driver.count<core::Extended>(), 0U);
  driver.reply({1, 2}, Vote::timed_out);
  EXPECT_EQ(driver.count(CommandKind::renew), 2U);
  EXPECT_EQ(driver.only<core::Extended>().why, Errc::no_quorum);
}

TEST(LeasesHeal, DoesNotWaitForASilentNode) {
  // The lease is won on n1, n2 and n3, and n3 falls silent. An extend sets the key anew on n4 and
  // n5, which is not a vote in that round. After a moment for n3 a second round counts them.
  EngineDriver driver(5);
  driver.acquire(1, ten_seconds);
  driver.reply({0, 1, 2}, Vote::granted);
  driver.reply({3, 4}, Vote::failed);
  driver.forget_seen();
  driver.extend(driver.lease(), 20s);
  driver.reply({0, 1}, Vote::granted);
  for (const int node : {3, 4}) driver.reply(node, replanted);
  EXPECT_EQ(driver.count(CommandKind::renew), 5U);
  driver.pass(5ms);
  EXPECT_EQ(driver.count(CommandKind::renew), 10U);
  driver.reply({0, 1, 3}, Vote::granted);
  EXPECT_EQ(driver.only<core::Extended>().why, std::nullopt);
  EXPECT_EQ(driver.lease_end(), at(5ms + 19798ms));
  EXPECT_EQ(driver.unanswered(2).size(), 2U) << "n3 still owes its answers";
}

TEST(LeasesHeal, AFailedRenewalIsWonByTheNextOne) {
  // n2 is re-planted and n3 is late: this round has one vote and fails. The next round has two.
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

TEST(LeasesHeal, AMajorityThatLostItEndsTheLease) {
  // Two of three nodes had to be re-planted: somebody else may have had the lock from them in
  // between. The lease is lost, and the re-planted keys are given back.
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

TEST(LeasesHeal, AReplantOnANodeThatForgotProvesNothing) {
  // The node has forgotten whose votes count: this is neither a vote nor a proof of loss.
  EngineDriver driver(3);
  driver.hold(ten_seconds);
  driver.pass_until(at(third));
  driver.reply({0, 1}, Vote::not_enrolled);
  EXPECT_EQ(driver.count<core::Ended>() + driver.count<core::Renewed>(), 0U);
  EXPECT_EQ(driver.lease_end(), at(validity));
}

TEST(LeasesHeal, KeysThatMayHaveBeenReplantedAreReleased) {
  // n3 refused the acquisition, so it had no key of ours. A renewal is on its way to n3 when the
  // connection breaks: it may have planted the key, so n3 is owed the release.
  EngineDriver driver(3);
  driver.acquire(1, ten_seconds);
  driver.reply({0, 1}, Vote::granted);
  driver.reply(2, Vote::held);
  EXPECT_FALSE(driver.engine().claim(driver.lease())->footprint.nodes.contains(2));
  driver.pass_until(at(third));
  EXPECT_TRUE(driver.engine().claim(driver.lease())->footprint.nodes.contains(2));
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

TEST(LeasesHeal, AReplantOfAnOlderRoundIsReleasedToo) {
  // n3 is late with a renewal, and the round has given it up. Then n3 re-plants: it counts as
  // holding the key until an answer says otherwise.
  EngineDriver driver(3);
  driver.hold(ten_seconds);
  driver.pass_until(at(third));
  driver.reply(0, Vote::granted);
  driver.time_out(1);
  driver.time_out(2);
  driver.pass(80ms);  // the next round begins
  driver.reply(2, replanted);
  driver.reply(2, Vote::granted);
  EXPECT_TRUE(driver.engine().claim(driver.lease())->footprint.nodes.contains(2));
  driver.reply(0, Vote::granted);
  EXPECT_EQ(driver.count<core::Renewed>(), 1U);
  driver.release(driver.lease());
  EXPECT_EQ(driver.told(CommandKind::release, driver.tokens()[0]), all_of(3));
}

TEST(LeasesHeal, AKeyThatWasReplantedLateLivesForItsWholeTtl) {
  // n3 re-plants while the release is on its way, and the connection breaks before that is
  // answered. The key may live for a ttl from then, and the release is owed for as long.
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

TEST(LeasesHeal, AQuarantinedNodeIsNotAskedToReplant) {
  // A quarantined node gets releases and nothing else; the other two go on with the lease.
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

TEST(LeasesHeal, IsLostIfLateAnswersToTheRoundBeforeSaySo) {
  // Three of five nodes have lost the key. The first of them sets it anew and grants the next
  // round, which a quorum wins, before the other two answer the round before it.
  EngineDriver driver(5);
  driver.hold(ten_seconds);
  driver.pass_until(at(third));
  driver.reply({2, 3}, Vote::granted);
  driver.reply(0, replanted);
  driver.pass(10ms);
  driver.reply({2, 3, 0}, Vote::granted);
  EXPECT_EQ(driver.count<core::Renewed>(), 1U);
  driver.reply(1, replanted);
  EXPECT_EQ(driver.count<core::Ended>(), 0U);
  driver.reply(4, replanted);
  const core::Ended ended = driver.only<core::Ended>();
  EXPECT_EQ(ended.why, Errc::lost);
  for (const int node : {0, 1, 4}) EXPECT_EQ(ended.tally.vote(node), Vote::absent);
}

}  // namespace
}  // namespace quorumlock::test
