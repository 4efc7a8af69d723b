#include "support/engine_clocks.hpp"

// Our own clock stood still: a quorum of the nodes is ahead of it, and none of them is at fault.
namespace quorumlock::test {
namespace {

TEST(NodesOwnClock, AQuorumAheadEndsEveryLease) {
  // The machine was stopped together with its clock. After the second node's answer every lease is
  // lost; the third node's answer adds nothing.
  Clocks clocks(3);
  clocks.hold();
  clocks.driver.acquire(2, {.ttl = 10s, .stop_margin = 1s, .auto_extend = false}, 0s, "another");
  clocks.reply({0, 1, 2}, Vote::granted);
  clocks.driver.pass(third);
  clocks.driver.forget_seen();
  clocks.ahead = {60s, 60s, 60s};
  clocks.reply(0, Vote::granted);
  EXPECT_EQ(clocks.driver.count<core::Ended>(), 0U);
  clocks.reply(1, Vote::granted);
  ASSERT_EQ(clocks.driver.count<core::Ended>(), 2U);
  for (const core::Ended& ended : clocks.driver.all<core::Ended>()) {
    EXPECT_EQ(ended.why, Errc::lost);
  }
  const core::ClockStood stood = clocks.driver.only<core::ClockStood>();
  EXPECT_EQ(stood.ahead, all_of(2));
  EXPECT_EQ(stood.trusted, core::NodeSet::only(0));
  EXPECT_GT(stood.size, 59s);
  clocks.reply(2, Vote::granted);
  EXPECT_EQ(clocks.driver.only<core::ClockJumped>().node, 0);
  clocks.driver.answer_all();
  clocks.driver.expect_nothing_left();
}

TEST(NodesOwnClock, NoNodeIsMistrustedForIt) {
  // The next acquisition asks all nodes without a delay, and is won.
  Clocks clocks(3);
  clocks.hold();
  clocks.driver.pass(third);
  clocks.ahead = {60s, 60s, 60s};
  clocks.reply({0, 1, 2}, Vote::granted);
  clocks.driver.answer_all();
  clocks.driver.forget_seen();
  clocks.driver.pass(1ms);
  clocks.driver.acquire(2, ten_seconds);
  EXPECT_EQ(clocks.driver.told(CommandKind::set, clocks.driver.tokens().back()), all_of(3));
  clocks.reply({0, 1, 2}, Vote::granted);
  EXPECT_EQ(clocks.driver.count<core::Acquired>(), 1U);
  EXPECT_EQ(clocks.driver.count<core::ClockJumped>(), 0U);
}

TEST(NodesOwnClock, TheNodesMayBeNoticedOneByOne) {
  // n1 answers at once, n2 eight seconds later: both were asked before the moment that explains
  // both.
  Clocks clocks(3);
  clocks.hold();
  clocks.driver.pass(third);
  clocks.ahead = {60s, 60s, 60s};
  clocks.reply(0, Vote::granted);
  EXPECT_EQ(clocks.driver.only<core::ClockJumped>().node, 0);
  clocks.driver.pass(8s);  // the lease has ended
  clocks.driver.acquire(2, ten_seconds, 0s, "another");
  EXPECT_EQ(clocks.driver.told(CommandKind::set, clocks.driver.tokens().back()),
            all_of(3) - core::NodeSet::only(0));
  EXPECT_EQ(clocks.driver.count<core::ClockStood>(), 0U);
  clocks.reply(1, Vote::absent);
  EXPECT_EQ(clocks.driver.only<core::ClockStood>().ahead, all_of(2));
  clocks.driver.forget_seen();
  clocks.driver.acquire(3, ten_seconds, 0s, "a third");
  EXPECT_EQ(clocks.driver.told(CommandKind::set, clocks.driver.tokens().back()), all_of(3));
}

TEST(NodesOwnClock, NodesThatJumpAtDifferentTimesAreAtFaultThemselves) {
  // n1 jumps, and n2 jumps after another answer from every trusted node: no moment explains both.
  Clocks clocks(3);
  clocks.hold();
  clocks.ahead[0] = 60s;
  clocks.driver.pass(third);
  clocks.reply({0, 1, 2}, Vote::granted);
  clocks.driver.pass_until(clocks.driver.engine().deadline());
  clocks.reply({1, 2}, Vote::granted);
  clocks.driver.pass_until(clocks.driver.engine().deadline());
  clocks.ahead[1] = 60s;
  clocks.reply({1, 2}, Vote::granted);
  EXPECT_EQ(clocks.driver.count<core::ClockJumped>(), 2U);
  EXPECT_EQ(clocks.driver.count<core::ClockStood>(), 0U);
  EXPECT_EQ(clocks.driver.only<core::Ended>().why, Errc::lost);
}

TEST(NodesOwnClock, AQuorumThatIsBehindIsAtFaultItself) {
  // Our clock cannot run ahead, so that is no explanation.
  Clocks clocks(3);
  clocks.hold();
  clocks.driver.pass(third);
  clocks.ahead = {-60s, -60s, -60s};
  clocks.reply({0, 1, 2}, Vote::granted);
  EXPECT_EQ(clocks.driver.count<core::ClockJumped>(), 3U);
  EXPECT_EQ(clocks.driver.count<core::ClockStood>(), 0U);
}

TEST(NodesOwnClock, ANodeMistrustedForAnotherReasonStaysSo) {
  // n1 was set back before; then our clock stands still, which shows on n1 and n2.
  Clocks clocks(3);
  clocks.hold();
  clocks.ahead[0] = -5s;
  clocks.driver.pass(third);
  clocks.reply(0, Vote::granted);
  ASSERT_EQ(clocks.driver.only<core::ClockJumped>().node, 0);
  clocks.driver.pass(100ms);
  // This answers a command that n1 gets in spite of the mistrust.
  clocks.driver.engine().on_clock(clocks.driver.now, 0, clocks.driver.now - 1ms,
                                  (clocks.driver.now.time_since_epoch() + 55s) / 1us);
  clocks.ahead = {55s, 60s, 60s};
  clocks.reply(1, Vote::granted);
  EXPECT_EQ(clocks.driver.only<core::ClockStood>().ahead, all_of(2));
  EXPECT_TRUE(clocks.driver.only<core::ClockStood>().trusted.empty());
  clocks.driver.answer_all();
  clocks.driver.forget_seen();
  clocks.driver.acquire(2, ten_seconds);
  EXPECT_EQ(clocks.driver.told(CommandKind::set, clocks.driver.tokens().back()),
            all_of(3) - core::NodeSet::only(0));
}

TEST(NodesOwnClock, AnAttemptUnderWayIsVoid) {
  // The attempt began earlier than our clock says: n3 has granted, and n1 and n2 show that time was
  // lost. The keys that were set are deleted, and the waiter tries again.
  Clocks clocks(3);
  clocks.learn();
  clocks.driver.acquire(2, ten_seconds, 20s);
  clocks.reply(2, Vote::granted);
  clocks.ahead = {5s, 5s, 5s};
  clocks.reply({0, 1}, Vote::granted);
  EXPECT_EQ(clocks.driver.count<core::ClockStood>(), 1U);
  EXPECT_EQ(clocks.driver.count<core::Acquired>(), 0U);
  EXPECT_EQ(clocks.driver.told(CommandKind::release, clocks.driver.tokens().back()), all_of(3));
  clocks.driver.answer_all();
  clocks.driver.pass(EngineDriver::delay + EngineDriver::jitter);
  clocks.reply({0, 1, 2}, Vote::granted);
  EXPECT_EQ(clocks.driver.only<core::Acquired>().attempts, 2);
}

TEST(NodesOwnClock, AnExtendByTokenUnderWayIsVoidToo) {
  Clocks clocks(3);
  clocks.hold();
  clocks.driver.extend_token(9, "f00d", 10s);
  clocks.reply(2, Vote::granted);
  clocks.driver.pass(1ms);
  clocks.ahead = {5s, 5s, 5s};
  clocks.driver.pass(1ms);
  clocks.reply({0, 1}, Vote::granted);
  EXPECT_EQ(clocks.driver.only<core::Extended>().why, Errc::no_quorum);
}

TEST(NodesOwnClock, AnswersToEarlierQuestionsProveNothing) {
  // An answer that was under way at the stop has a time from before or after it, and it is unknown
  // which. It is not held against the node, not even together with the next answer.
  Clocks clocks(3);
  clocks.hold();
  clocks.driver.pass(third);
  const core::Time asked = clocks.driver.now;
  clocks.ahead = {60s, 60s, 60s};
  clocks.reply({0, 1}, Vote::granted);
  ASSERT_EQ(clocks.driver.count<core::ClockStood>(), 1U);
  core::Engine& engine = clocks.driver.engine();
  clocks.driver.pass(5ms);
  engine.on_clock(clocks.driver.now, 2, asked, asked.time_since_epoch() / 1us);
  clocks.driver.pass(5ms);
  engine.on_clock(clocks.driver.now, 2, clocks.driver.now,
                  (clocks.driver.now.time_since_epoch() + 60s) / 1us);
  clocks.driver.forget_seen();
  clocks.driver.acquire(2, ten_seconds);
  EXPECT_EQ(clocks.driver.count<core::ClockJumped>(), 0U);
  EXPECT_EQ(clocks.driver.told(CommandKind::set, clocks.driver.tokens().back()), all_of(3));
}

TEST(NodesOwnClockOf, IsTheLeastThatTheNodeMayShow) {
  // The node's clock may be slower than ours by drift_factor. The result is 0 for a node that was
  // never heard, and if the drift since may exceed a quarter of the duration asked about.
  EngineDriver driver(2);
  core::Engine& engine = driver.engine();
  EXPECT_EQ(engine.clock_of(at(1h), 0, 10s), 0);
  engine.on_clock(at(1h), 0, at(1h) - 5ms, 1'700'000'000);
  EXPECT_EQ(engine.clock_of(at(1h), 0, 10s), 1'700'000'000);
  EXPECT_EQ(engine.clock_of(at(1h) + 101s, 0, 10s), 1'800'000'000);
  EXPECT_EQ(engine.clock_of(at(1h) + 250s, 0, 10s), 1'947'524'752);
  EXPECT_EQ(engine.clock_of(at(1h) + 251s, 0, 10s), 0);
  EXPECT_EQ(engine.clock_of(at(1h), 1, 10s), 0);
}

TEST(NodesOwnClockOf, ARenewalCarriesWhatIsLeftOfTheOldValidity) {
  // The time left is by the slowest clock within the bound; for an extend by token it is what is
  // left of the extend's validity.
  EngineDriver driver(3);
  driver.hold(ten_seconds);
  driver.pass(third);
  const core::Duration left = driver.only<Sent>().command.left;
  EXPECT_EQ(left / 1us, (validity - third) * 100 / 101 / 1us);
  driver.forget_seen();
  driver.extend_token(9, "f00d", 10s);
  EXPECT_EQ(driver.only<Sent>().command.left / 1us, validity * 100 / 101 / 1us);
}

}  // namespace
}  // namespace quorumlock::test
