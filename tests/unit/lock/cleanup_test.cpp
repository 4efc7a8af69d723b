#include "support/engine_driver.hpp"

// Releases: those that a user asks for, and those owed to nodes that were away.
namespace quorumlock::test {
namespace {

TEST(Cleanup, DeletesEverywhereAndIsDoneWithTheQuorum) {
  // The release goes to all nodes at once; the second deletion of three completes it.
  EngineDriver driver(3);
  const core::ClaimId lease = driver.hold(ten_seconds);
  EXPECT_TRUE(driver.release(lease));
  EXPECT_EQ(driver.only<Sent>().to, all_of(3));
  EXPECT_EQ(driver.only<Sent>().command.tag.kind, CommandKind::release);
  driver.reply(1, Vote::granted);
  EXPECT_EQ(driver.count<core::Released>(), 0U);
  driver.reply(0, Vote::granted);
  const core::Released released = driver.only<core::Released>();
  EXPECT_EQ(released.user, EngineDriver::lease_of(1));
  EXPECT_EQ(released.why, std::nullopt);
  EXPECT_EQ(driver.count<core::Ended>(), 0U);
  driver.reply(2, Vote::granted);
  driver.expect_nothing_left();
  EXPECT_EQ(driver.engine().claim(lease), nullptr);
}

TEST(Cleanup, ASecondOneHasNothingToDo) {
  // A release does nothing if the lease was released before or has ended by itself.
  EngineDriver driver(3);
  const core::ClaimId lease = driver.hold(ten_seconds);
  EXPECT_TRUE(driver.release(lease));
  EXPECT_FALSE(driver.release(lease));
  driver.answer_all();
  EXPECT_FALSE(driver.release(lease));
  const core::ClaimId expiring =
      driver.hold({.ttl = 10s, .stop_margin = 1s, .auto_extend = false}, 2);
  driver.now += 9898ms;
  EXPECT_FALSE(driver.release(expiring));
  EXPECT_EQ(driver.count<core::Ended>(), 1U);
}

TEST(Cleanup, DoesNotWaitForASilentNode) {
  // The lease is won on n1, n2 and n3, of which n3 is silent now: n1 and n2 delete the key, n4 and
  // n5 never had it. The lock is free; n3 gets a moment to report that the lock had been lost.
  EngineDriver driver(5);
  driver.acquire(1, ten_seconds);
  driver.reply({0, 1, 2}, Vote::granted);
  driver.reply({3, 4}, Vote::held);
  driver.release(driver.lease());
  driver.pass(2ms);
  driver.reply({0, 1}, Vote::granted);
  driver.reply({3, 4}, Vote::absent);
  EXPECT_EQ(driver.count<core::Released>(), 0U);
  driver.pass(6ms);
  EXPECT_EQ(driver.only<core::Released>().why, std::nullopt);
  driver.reply(2, Vote::granted);
  EXPECT_EQ(driver.count<core::Released>(), 1U);
  driver.expect_nothing_left();
}

TEST(Cleanup, DoesNotWaitForASilentNodeIfNothingIsHeld) {
  EngineDriver driver(5);
  driver.release_token(1, "nobody's");
  driver.reply({0, 1, 2, 3}, Vote::absent);
  driver.pass(5ms);
  EXPECT_EQ(driver.only<core::Released>().why, Errc::not_held);
  driver.reply(4, Vote::absent);
  driver.expect_nothing_left();
}

TEST(Cleanup, IsSilentIfNoReportIsAskedFor) {
  // The user asked for no report, but all nodes get the release.
  EngineDriver driver(3);
  const core::ClaimId lease = driver.hold(ten_seconds);
  driver.release(lease, false);
  EXPECT_EQ(driver.only<Sent>().to, all_of(3));
  driver.answer_all();
  EXPECT_EQ(driver.count<core::Released>(), 0U);
  driver.expect_nothing_left();
}

TEST(Cleanup, EndsAnExtendThatIsOut) {
  // The extend reports that there is nothing to extend any more.
  EngineDriver driver(3);
  const core::ClaimId lease = driver.hold(ten_seconds);
  driver.extend(lease, 20s);
  driver.release(lease);
  EXPECT_EQ(driver.only<core::Extended>().why, Errc::not_held);
  driver.answer_all();
  EXPECT_EQ(driver.only<core::Released>().why, std::nullopt);
  EXPECT_EQ(driver.count<core::Extended>(), 1U);
  driver.expect_nothing_left();
}

TEST(Cleanup, ReachesANodeWhoseGrantComesLate) {
  // The lease is won with two of three nodes and released before the third has answered the SET.
  // The release follows the SET to that node, so that the late grant needs no second one.
  EngineDriver driver(3);
  driver.acquire(1, ten_seconds);
  driver.reply({0, 1}, Vote::granted);
  driver.release(driver.lease());
  driver.reply({0, 1}, Vote::granted);
  EXPECT_EQ(driver.only<core::Released>().why, std::nullopt);
  ASSERT_EQ(driver.unanswered(2).size(), 2U);
  EXPECT_EQ(driver.unanswered(2)[0].tag.kind, CommandKind::set);
  EXPECT_EQ(driver.unanswered(2)[1].tag.kind, CommandKind::release);
  EXPECT_TRUE(driver.engine().busy());
  driver.reply({2, 2}, Vote::granted);
  EXPECT_EQ(driver.count(CommandKind::release), 3U);
  driver.expect_nothing_left();
}

TEST(Cleanup, NeverTouchesTheNextLease) {
  // The first lease's release is still on its way to n3 when the next lease is won: the release
  // names the first lease's token.
  EngineDriver driver(3);
  const core::ClaimId first = driver.hold(ten_seconds);
  driver.release(first);
  driver.reply({0, 1}, Vote::granted);
  driver.acquire(2, ten_seconds);
  driver.reply({0, 1}, Vote::granted);
  ASSERT_EQ(driver.tokens().size(), 2U);
  EXPECT_NE(driver.tokens()[0], driver.tokens()[1]);
  EXPECT_EQ(driver.unanswered(2)[0].token, driver.tokens()[0]);
  EXPECT_EQ(driver.unanswered(2)[1].token, driver.tokens()[1]);
  EXPECT_TRUE(driver.told(CommandKind::release, driver.tokens()[1]).empty());
}

TEST(Cleanup, WithoutAnyNodeFailsAndIsOwed) {
  // All nodes are away: the release ends with no_quorum, and each node gets it on its return.
  EngineDriver driver(3);
  const core::ClaimId lease = driver.hold(ten_seconds);
  for (const int node : {0, 1, 2}) driver.lose(node);
  driver.release(lease);
  EXPECT_EQ(driver.only<core::Released>().why, Errc::no_quorum);
  EXPECT_EQ(driver.count<Sent>(), 0U);
  driver.pass(3s);
  for (const int node : {0, 1, 2}) driver.link(node, LinkState::up);
  EXPECT_EQ(driver.told(CommandKind::release, driver.tokens()[0]), all_of(3));
  driver.answer_all();
  EXPECT_EQ(driver.count<core::Released>(), 1U);
  driver.expect_nothing_left();
}

TEST(Cleanup, IsRepeatedIfTheConnectionBreaks) {
  // The connection breaks after the release was sent: it may not have run, so it is repeated.
  EngineDriver driver(3);
  const core::ClaimId lease = driver.hold(ten_seconds);
  driver.release(lease);
  driver.reply({0, 1}, Vote::granted);
  driver.lose(2);
  driver.forget_seen();
  driver.pass(1s);
  driver.link(2, LinkState::up);
  EXPECT_EQ(driver.only<Sent>().to, core::NodeSet::only(2));
  driver.reply(2, Vote::absent);
  driver.expect_nothing_left();
}

TEST(Cleanup, IsOwedAsLongAsTheKeysLive) {
  // A node that comes back just before the keys' ttl since the last renewal has passed gets the
  // release. Just after it the key has expired by itself, and nothing is sent or left.
  for (const core::Duration early : {1ns, 0ns}) {
    EngineDriver driver(3);
    const core::ClaimId lease = driver.hold(ten_seconds);
    driver.pass_until(driver.engine().deadline());
    driver.answer_all();
    const core::Time renewed = driver.lease_end() - 9898ms;
    driver.lose(2);
    driver.release(lease);
    driver.answer_all();
    driver.forget_seen();
    EXPECT_EQ(driver.engine().deadline(), renewed + 10s);
    driver.pass_until(renewed + 10s - early);
    driver.link(2, LinkState::up);
    EXPECT_EQ(driver.count(CommandKind::release), early > 0ns ? 1U : 0U);
    driver.answer_all();
    driver.expect_nothing_left();
  }
}

TEST(Cleanup, IsOwedAfterALostAttemptToo) {
  // n1 granted and lost its connection, and the others refused: n1 gets the release on its return.
  EngineDriver driver(3);
  driver.acquire(1, ten_seconds);
  driver.reply(0, Vote::granted);
  driver.lose(0);
  driver.reply({1, 2}, Vote::held);
  driver.answer_all();
  EXPECT_FALSE(driver.engine().busy());
  driver.forget_seen();
  driver.link(0, LinkState::up);
  EXPECT_EQ(driver.only<Sent>().command.token, driver.tokens()[0]);
  driver.answer_all();
  driver.expect_nothing_left();
}

TEST(Cleanup, IsNotOwedToANodeThatRefused) {
  // n3 refused the attempt and lost its connection afterwards: it cannot have a key of ours.
  EngineDriver driver(3);
  driver.acquire(1, ten_seconds);
  driver.reply({2, 1}, Vote::held);
  driver.lose(2);
  driver.answer_all();
  driver.forget_seen();
  driver.link(2, LinkState::up);
  EXPECT_EQ(driver.count<Sent>(), 0U);
  driver.expect_nothing_left();
}

TEST(Cleanup, IsTriedAgainIfItIsRefused) {
  // n1 is BUSY with somebody's script: the release is repeated with pauses until it has run.
  EngineDriver driver(3);
  const core::ClaimId lease = driver.hold(ten_seconds);
  driver.release(lease);
  driver.reply({1, 2}, Vote::granted);
  EXPECT_EQ(driver.only<core::Released>().why, std::nullopt);
  for (int i = 0; i < 5; ++i) {
    driver.reply(0, Vote::busy);
    driver.forget_seen();
    driver.pass(EngineDriver::delay - 1ns);
    EXPECT_EQ(driver.count<Sent>(), 0U);
    driver.pass(EngineDriver::jitter);
    EXPECT_EQ(driver.only<Sent>().to, core::NodeSet::only(0));
  }
  driver.reply(0, Vote::granted);
  driver.expect_nothing_left();
}

TEST(Cleanup, IsTriedAgainOnNodesThatAreThereOnly) {
  // n1 is BUSY, and n2's connection breaks over its release: both owe it, and only n1 is asked
  // again.
  EngineDriver driver(3);
  const core::ClaimId lease = driver.hold(ten_seconds);
  driver.release(lease);
  driver.reply(2, Vote::granted);
  driver.reply(0, Vote::busy);
  driver.lose(1);
  driver.forget_seen();
  driver.pass(EngineDriver::delay + EngineDriver::jitter);
  EXPECT_EQ(driver.only<Sent>().to, core::NodeSet::only(0));
  driver.link(1, LinkState::up);
  driver.answer_all();
  driver.expect_nothing_left();
}

TEST(Cleanup, IsTriedAgainIfAStalledNodeRefusesIt) {
  // n3's answer was overdue and is finally BUSY, so n3 is up again. It still has our key, so the
  // release is sent to it once more.
  EngineDriver driver(3);
  const core::ClaimId lease = driver.hold(ten_seconds);
  driver.release(lease);
  driver.time_out(2);
  driver.link(2, LinkState::stalled, Vote::stalled);
  driver.reply({0, 1}, Vote::granted);
  driver.forget_seen();
  driver.reply(2, Vote::busy);
  driver.link(2, LinkState::up, Vote::pending);
  driver.pass(EngineDriver::delay + EngineDriver::jitter);
  EXPECT_EQ(driver.told(CommandKind::release, driver.tokens()[0]), core::NodeSet::only(2));
  driver.answer_all();
  driver.expect_nothing_left();
}

TEST(Cleanup, IsOwedForTheWholeLifeOfAKeyThatWasSetLate) {
  // n3 was slow: it sets the key six seconds after it was asked, when the attempt is long lost, and
  // its connection breaks before the release is answered. Its key lives for ten seconds after its
  // answer, not after the question; if n3 comes back before that, it gets the release.
  EngineDriver driver(3);
  driver.acquire(1, ten_seconds);
  driver.reply({0, 1}, Vote::held);
  driver.time_out(2);
  driver.pass(6s);
  driver.reply(2, Vote::granted);
  driver.lose(2);
  driver.answer_all();
  driver.forget_seen();
  driver.pass(7s);
  driver.link(2, LinkState::up);
  EXPECT_EQ(driver.told(CommandKind::release, driver.tokens()[0]), core::NodeSet::only(2));
  driver.answer_all();
  driver.expect_nothing_left();
}

TEST(Cleanup, EndsWithTheKeysIfItIsAlwaysRefused) {
  // A node that never lets us delete its key is left alone after the key has expired.
  EngineDriver driver(1);
  const core::ClaimId lease = driver.hold(ten_seconds);
  driver.release(lease);
  while (driver.engine().busy() || driver.engine().deadline() != core::never) {
    ASSERT_LT(driver.now, at(11s));
    driver.answer_all(Vote::refuses_writes);
    driver.pass_until(std::min(driver.engine().deadline(), at(12s)));
  }
  EXPECT_EQ(driver.only<core::Released>().why, Errc::no_quorum);
  EXPECT_GE(driver.count(CommandKind::release), 10'000U / 80);
  driver.expect_nothing_left();
}

TEST(Cleanup, IsSentAgainIfANodeLacksTheScript) {
  // The release is answered NOSCRIPT: it is sent once more with the source, to that node only. A
  // second NOSCRIPT is not a vote, but the release that is owed is tried again.
  EngineDriver driver(1);
  const core::ClaimId lease = driver.hold(ten_seconds);
  driver.release(lease);
  driver.forget_seen();
  driver.reply(0, Vote::no_script);
  EXPECT_TRUE(driver.only<Sent>().command.tag.with_source);
  EXPECT_EQ(driver.count<core::Released>(), 0U);
  driver.reply(0, Vote::no_script);
  EXPECT_EQ(driver.only<core::Released>().why, Errc::no_quorum);
  EXPECT_EQ(driver.count<Sent>(), 1U);
  driver.pass(80ms);
  EXPECT_EQ(driver.count<Sent>(), 2U);
  driver.answer_all();
  driver.expect_nothing_left();
}

TEST(Cleanup, IsSentAgainInTheCleanUpIfANodeLacksTheScript) {
  // The clean-up after a loss handles NOSCRIPT as well, even when its claim is long decided.
  EngineDriver driver(3);
  driver.acquire(1, ten_seconds);
  driver.reply(0, Vote::granted);
  driver.reply({1, 2}, Vote::held);
  driver.forget_seen();
  driver.reply(0, Vote::no_script);
  EXPECT_EQ(driver.only<Sent>().to, core::NodeSet::only(0));
  EXPECT_EQ(driver.only<Sent>().command.tag.kind, CommandKind::release);
  EXPECT_TRUE(driver.only<Sent>().command.tag.with_source);
  driver.answer_all();
  driver.expect_nothing_left();
}

TEST(Cleanup, IsSentInOrderToAStalledNode) {
  // n3 owes an answer and gets no new question, but it has our key: the release is queued after its
  // earlier commands.
  EngineDriver driver(3);
  const core::ClaimId lease = driver.hold(ten_seconds);
  driver.link(2, LinkState::stalled, Vote::stalled);
  driver.release(lease);
  EXPECT_EQ(driver.only<Sent>().to, all_of(3));
  driver.time_out(2);
  driver.reply({0, 1}, Vote::granted);
  EXPECT_EQ(driver.only<core::Released>().why, std::nullopt);
  EXPECT_TRUE(driver.engine().busy());
  driver.reply(2, Vote::granted);
  driver.expect_nothing_left();
}

TEST(Cleanup, IsOwedForALeaseThatRanOut) {
  // The lease expired while two nodes were away: the third gets the release at once, the others if
  // they are back before the keys have expired. The user is notified once, by Ended.
  EngineDriver driver(3);
  driver.hold({.ttl = 10s, .stop_margin = 1s, .auto_extend = false});
  driver.lose(1);
  driver.lose(2);
  driver.pass_until(at(9898ms));
  EXPECT_EQ(driver.told(CommandKind::release, driver.tokens()[0]), core::NodeSet::only(0));
  driver.reply(0, Vote::granted);
  driver.pass_until(at(9999ms));
  driver.link(1, LinkState::up);
  EXPECT_EQ(driver.told(CommandKind::release, driver.tokens()[0]), all_of(2));
  driver.reply(1, Vote::absent);
  driver.pass_until(at(10s));
  driver.link(2, LinkState::up);
  EXPECT_EQ(driver.told(CommandKind::release, driver.tokens()[0]), all_of(2));
  EXPECT_EQ(driver.count<core::Ended>(), 1U);
  EXPECT_EQ(driver.count<core::Released>(), 0U);
  driver.expect_nothing_left();
}

TEST(CleanupToken, ReportsTheNodesAnswers) {
  // Another process releases by token: a quorum deletes the key, no node has it, or too few answer.
  EngineDriver driver(3);
  driver.release_token(1, "theirs");
  EXPECT_EQ(driver.only<Sent>().to, all_of(3));
  EXPECT_EQ(driver.only<Sent>().command.token, "theirs");
  driver.answer_all();
  EXPECT_EQ(driver.only<core::Released>().why, std::nullopt);
  EXPECT_TRUE(driver.only<core::Released>().by_token);
  driver.expect_nothing_left();

  driver.forget_seen();
  driver.release_token(2, "nobody's");
  driver.answer_all(Vote::absent);
  EXPECT_EQ(driver.only<core::Released>().why, Errc::not_held);
  EXPECT_EQ(driver.only<core::Released>().user, 2U);
  driver.expect_nothing_left();

  driver.forget_seen();
  driver.release_token(3, "theirs");
  driver.reply(0, Vote::granted);
  driver.lose(1);
  driver.time_out(2);
  EXPECT_EQ(driver.only<core::Released>().why, Errc::no_quorum);
  driver.answer_all();
  driver.expect_nothing_left();
}

}  // namespace
}  // namespace quorumlock::test
