#include "support/engine_driver.hpp"

// Giving back: releases, what is owed to nodes that were away, forgetting.
namespace quorumlock::test {
namespace {

TEST(EngineRelease, DeletesEverywhereAndIsDoneWithTheQuorum) {
  // All nodes are told at once; the second deletion of three is the user's answer, inside it.
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

TEST(EngineRelease, TheSecondTimeThereIsNothing) {
  // Nor once the lease has ended by itself.
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

TEST(EngineRelease, WithoutAReportIsSilent) {
  // Nobody wants to know, but all nodes are told.
  EngineDriver driver(3);
  const core::ClaimId lease = driver.hold(ten_seconds);
  driver.release(lease, false);
  EXPECT_EQ(driver.only<Sent>().to, all_of(3));
  driver.answer_all();
  EXPECT_EQ(driver.count<core::Released>(), 0U);
  driver.expect_nothing_left();
}

TEST(EngineRelease, EndsAnExtendThatIsOut) {
  // Whoever waits for the extend learns that there is nothing to extend any more.
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

TEST(EngineRelease, ReachesANodeWhoseGrantComesLate) {
  // Won with two of three and released before the third's SET was answered: its release is on its
  // way behind the SET, so that the late grant needs no other one.
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

TEST(EngineRelease, NeverTouchesTheNextLease) {
  // The release of the first one is still on its way to n3 when the next one is taken: it names
  // the first one's token.
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

TEST(EngineRelease, ToNobodyIsToldSoAndOwed) {
  // All nodes are away: no quorum, at once; each is told when it is back.
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

TEST(EngineRelease, IsRepeatedWhereTheConnectionBrokeOverIt) {
  // Sent, and then the connection was lost: it may have run or not, so it is said again on return.
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

TEST(EngineRelease, IsOwedAsLongAsTheKeysLive) {
  // The node comes back just before the keys' ttl has passed since the last renewal: it is told.
  // Just after: the key has died by itself, and nothing is sent or left.
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

TEST(EngineRelease, IsOwedAfterALostAttemptToo) {
  // n1 granted and broke down, the others refused: it is told on its return.
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

TEST(EngineRelease, IsNotOwedToANodeThatRefused) {
  // n3 refused the attempt and broke down afterwards: nothing of ours can be there.
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

TEST(EngineRelease, ThatIsRefusedIsTriedAgain) {
  // n1 is BUSY with a script of somebody's: the release is repeated with pauses until it ran.
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

TEST(EngineRelease, ThatAStalledNodeRefusesIsTriedAgain) {
  // n3 was overdue, and what it says at last is BUSY; with that it is up again. Its key is ours
  // still, so it is told once more.
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

TEST(EngineRelease, OfAKeyThatWasSetLateIsOwedForItsWholeLife) {
  // n3 was slow: it sets the key six seconds after it was asked, when the attempt is long lost,
  // and its connection breaks over the release. Its key lives for ten seconds from then, not from
  // the question, and until then n3 is told when it is back.
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

TEST(EngineRelease, ThatIsRefusedForGoodEndsWithTheKeys) {
  // A node that never lets us delete is left alone once the key has run out.
  EngineDriver driver(1);
  const core::ClaimId lease = driver.hold(ten_seconds);
  driver.release(lease);
  while (driver.engine().busy() || driver.engine().deadline() != core::never) {
    ASSERT_LT(driver.now, at(11s));
    driver.answer_all(Vote::read_only);
    driver.pass_until(std::min(driver.engine().deadline(), at(12s)));
  }
  EXPECT_EQ(driver.only<core::Released>().why, Errc::no_quorum);
  EXPECT_GE(driver.count(CommandKind::release), 10'000U / 80);
  driver.expect_nothing_left();
}

TEST(EngineRelease, WithoutTheScriptOnANode) {
  // NOSCRIPT at the release: once more with the source, on that node only. Twice: no vote, but
  // what is owed is tried again.
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

TEST(EngineRelease, WithoutTheScriptInTheCleanUp) {
  // The clean-up after a loss meets NOSCRIPT as well, also when its claim is long decided.
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

TEST(EngineRelease, IsSentInOrderToAStalledNode) {
  // n3 owes an answer and is asked nothing new, but it has our key: the release goes behind what
  // it has to do.
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

TEST(EngineRelease, OfALeaseThatRanOut) {
  // Expired while two nodes were away: the third is told at once, the others if they are back
  // before the keys have died; the user hears of it once, as Ended.
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

TEST(EngineReleaseToken, ReportsWhatTheNodesSay) {
  // By token, from another process. Deleted by a quorum, nowhere, or too few answers.
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
