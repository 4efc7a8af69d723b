#include "support/engine_driver.hpp"

// How a wait ends without a lock: by its own deadline, a cancellation, or close().
namespace quorumlock::test {
namespace {

TEST(AcquisitionsWait, EndsAtItsDeadlineBetweenAttempts) {
  // Every attempt is refused: the wait ends exactly at its deadline, and no attempt follows.
  EngineDriver driver(3);
  driver.acquire(1, ten_seconds, 1s);
  while (driver.count<core::Refused>() == 0 && !HasFailure()) {
    ASSERT_LE(driver.engine().deadline(), at(1s));
    driver.answer_all(Vote::held);
    driver.pass_until(driver.engine().deadline());
  }
  EXPECT_EQ(driver.now, at(1s));
  const core::Refused refused = driver.only<core::Refused>();
  EXPECT_EQ(refused.why, Errc::timed_out);
  EXPECT_EQ(refused.attempts, static_cast<int>(driver.tokens().size()));
  EXPECT_GE(refused.attempts, 1000 / 80);
  EXPECT_LE(refused.attempts, 1000 / 50 + 1);
  EXPECT_EQ(refused.tally.vote(0), Vote::held);
  driver.answer_all(Vote::absent);
  driver.expect_nothing_left();
}

TEST(AcquisitionsWait, PausesWithoutAQuorumWhateverTheOptionsSay) {
  // Each attempt is lost as soon as it begins. Without a pause, which {"delay": "0s", "jitter":
  // "1ns"} asks for, the attempts would go on for ever within one moment.
  for (const int there : {0, 1}) {
    EngineDriver driver({.nodes = 3, .retry_jitter = 1ns});
    for (int node = there; node < 3; ++node) driver.link(node, LinkState::down);
    driver.acquire(1, ten_seconds, 1s);
    driver.pass(1s);
    const core::Refused refused = driver.only<core::Refused>();
    EXPECT_EQ(refused.why, Errc::no_quorum);
    EXPECT_GT(refused.attempts, 100);
    EXPECT_LE(refused.attempts, 501);
  }
}

TEST(AcquisitionsWait, WithoutOrderOnlyThePauseBringsTheNextAttempt) {
  // Neither a node that comes back, nor a message, nor waiting for long changes the pace: each
  // attempt follows the one before after a pause, none enters a line, and nobody listens.
  for (const bool fencing : {true, false}) {
    core::Engine::Config config = EngineDriver::fencing(3);
    config.fencing = fencing;
    EngineDriver driver(config);
    const CommandKind kind = fencing ? CommandKind::acquire : CommandKind::set;
    driver.acquire(1, ten_seconds, 1h);
    while (driver.now < at(60s) && !HasFailure()) {
      EXPECT_EQ(driver.count(kind), 3U);
      for (const int node : {0, 1, 2}) driver.reply(node, Vote::held);
      driver.answer_all();
      driver.forget_seen();
      driver.link(2, LinkState::down);
      driver.link(1, LinkState::down);
      driver.link(1, LinkState::up);
      driver.link(2, LinkState::up);
      driver.wake(0, 1);
      driver.wake(1, 1);
      driver.pass(EngineDriver::delay - 1ns);
      EXPECT_EQ(driver.count(kind), 0U);
      driver.pass(EngineDriver::jitter + 1ns);
      EXPECT_EQ(driver.count(CommandKind::queue), 0U);
      EXPECT_EQ(driver.count<core::Listen>(), 0U);
    }
  }
}

TEST(AcquisitionsWait, EndsAtItsDeadlineWithinAnAttempt) {
  // The wait ends while votes are out: the refusal comes at once, and the grant is given back.
  EngineDriver driver(3);
  driver.acquire(1, ten_seconds, 1s);
  driver.reply(0, Vote::granted);
  driver.pass_until(at(1s));
  EXPECT_EQ(driver.only<core::Refused>().why, Errc::no_quorum);
  EXPECT_EQ(driver.told(CommandKind::release, driver.tokens()[0]), all_of(3));
  driver.reply({1, 2}, Vote::granted);  // too late: given back once more
  EXPECT_EQ(driver.count<core::Acquired>(), 0U);
  EXPECT_EQ(driver.count(CommandKind::release), 5U);
  driver.answer_all();
  driver.expect_nothing_left();
}

TEST(AcquisitionsWait, AGrantAtItsDeadlineIsTooLate) {
  // The q-th grant comes at the moment of the wait's end: the wait has ended.
  EngineDriver driver(3);
  driver.acquire(1, ten_seconds, 1s);
  driver.reply(0, Vote::granted);
  driver.now = at(1s);
  driver.reply(1, Vote::granted);
  EXPECT_EQ(driver.count<core::Acquired>(), 0U);
  EXPECT_EQ(driver.count<core::Refused>(), 1U);
  driver.answer_all();
  driver.expect_nothing_left();
}

TEST(AcquisitionsWait, ReportsTimedOutOnlyIfTheLockWasSeenHeld) {
  // Another client held the lock in the only attempt that was answered: timed_out. The nodes were
  // silent: no_quorum. The lock was held at first, and the last attempt was cut short without an
  // answer: still timed_out, by the latest answers.
  EngineDriver held(3);
  held.acquire(1, ten_seconds, 1s);
  held.reply(0, Vote::granted);
  held.reply(1, Vote::held);
  held.pass_until(at(1s));
  EXPECT_EQ(held.only<core::Refused>().why, Errc::timed_out);

  EngineDriver silent(3);
  silent.acquire(1, ten_seconds, 1s);
  silent.time_out(0);
  silent.time_out(1);
  silent.pass_until(at(1s));
  EXPECT_EQ(silent.only<core::Refused>().why, Errc::no_quorum);

  EngineDriver both(3);
  both.acquire(1, ten_seconds, 1s);
  both.answer_all(Vote::held);
  both.pass_until(at(1s));
  EXPECT_EQ(both.only<core::Refused>().attempts, 2);
  EXPECT_EQ(both.only<core::Refused>().why, Errc::timed_out);
  EXPECT_EQ(both.only<core::Refused>().tally.vote(0), Vote::held);
}

TEST(AcquisitionsWait, GoesOnForDaysWithoutALimit) {
  // `forever` has no end: a million seconds later the wait still tries.
  EngineDriver driver(core::Engine::Config{3, 0.01, 1000s, 0s});
  driver.acquire(1, ten_seconds, forever);
  for (int i = 0; i < 1000; ++i) {
    driver.answer_all(Vote::held);
    driver.pass(1000s);
  }
  EXPECT_EQ(driver.count<core::Refused>(), 0U);
  EXPECT_EQ(driver.tokens().size(), 1001U);
  driver.answer_all(Vote::granted);
  EXPECT_EQ(driver.only<core::Acquired>().attempts, 1001);
}

TEST(AcquisitionsWait, AWaitOfZeroIsOneAttempt) {
  // No pause follows, whatever the verdict is.
  EngineDriver driver(3);
  driver.acquire(1, ten_seconds);
  driver.answer_all(Vote::held);
  EXPECT_EQ(driver.only<core::Refused>().why, Errc::contended);
  driver.pass(1h);
  EXPECT_EQ(driver.tokens().size(), 1U);
  driver.expect_nothing_left();
}

TEST(AcquisitionsWait, ABriefOneEndsWithItsWait) {
  // The wait is a budget: an attempt that is undecided at its end is given up and cleaned up.
  for (const bool ordered : {false, true}) {
    EngineDriver driver(EngineDriver::fencing(3));
    if (ordered) {
      driver.acquire_in_order(1, ten_seconds, 1ms);
    } else {
      driver.acquire(1, ten_seconds, 1ms);
    }
    driver.pass(1ms - 1ns);
    EXPECT_EQ(driver.count<core::Refused>(), 0U);
    driver.pass(1ns);
    EXPECT_EQ(driver.only<core::Refused>().why, Errc::no_quorum);
    driver.answer_all();
    EXPECT_EQ(driver.count<core::Acquired>(), 0U);
    EXPECT_EQ(driver.tokens().size(), 1U);
    driver.expect_nothing_left();
  }
}

TEST(AcquisitionsWait, ABriefOneIsTimedOutIfAQuorumHasAnswered) {
  EngineDriver driver(3);
  driver.acquire(1, ten_seconds, 1ms);
  driver.reply({0, 1}, Vote::held);
  driver.pass(1ms);
  EXPECT_EQ(driver.only<core::Refused>().why, Errc::timed_out);
}

TEST(AcquisitionsWait, ABriefWaitWithoutAQuorumReportsNoQuorum) {
  EngineDriver driver(3);
  driver.acquire(1, ten_seconds, 1us);
  driver.pass(1ms);
  driver.reply(0, Vote::held);
  driver.time_out(1);
  driver.time_out(2);
  EXPECT_EQ(driver.only<core::Refused>().why, Errc::no_quorum);
}

TEST(AcquisitionsWait, ABriefOneIsCutShortInALaterAttempt) {
  // The wait's first attempt was answered within the wait, so the next ones end with the wait.
  EngineDriver driver(3);
  driver.acquire(1, ten_seconds, 400ms);
  driver.answer_all(Vote::held);
  driver.pass(EngineDriver::delay + EngineDriver::jitter);
  ASSERT_EQ(driver.tokens().size(), 2U);
  driver.pass_until(at(400ms));
  EXPECT_EQ(driver.only<core::Refused>().why, Errc::timed_out);
}

TEST(AcquisitionsWait, OutlivesNodesThatAreAway) {
  // All nodes are down at first: the wait goes on, sends nothing, and wins when they are back.
  EngineDriver driver(3);
  for (const int node : {0, 1, 2}) driver.link(node, LinkState::down);
  driver.acquire(1, ten_seconds, 1min);
  driver.pass(5s);
  EXPECT_EQ(driver.count<Sent>(), 0U);
  EXPECT_EQ(driver.count<core::Refused>(), 0U);
  for (const int node : {0, 1, 2}) driver.link(node, LinkState::up);
  driver.pass(80ms);
  driver.answer_all();
  EXPECT_EQ(driver.count<core::Acquired>(), 1U);
}

TEST(AcquisitionsWaitCancel, EndsTheWaitAtOnceAndNotTheCleanUp) {
  // The wait is cancelled after one grant, with two votes out: the refusal comes within the call,
  // every node gets a release, and the later grants are released once more.
  EngineDriver driver(3);
  const core::WaiterId waiter = driver.acquire(1, ten_seconds, 1min);
  driver.reply(0, Vote::granted);
  driver.pass(20ms);
  driver.cancel(waiter);
  const core::Refused refused = driver.only<core::Refused>();
  EXPECT_EQ(refused.why, Errc::cancelled);
  EXPECT_EQ(refused.tally.vote(0), Vote::granted);
  EXPECT_EQ(refused.tally.vote(1), Vote::pending);
  EXPECT_EQ(driver.told(CommandKind::release, driver.tokens()[0]), all_of(3));
  EXPECT_TRUE(driver.engine().busy());
  driver.reply({1, 2}, Vote::granted);
  EXPECT_EQ(driver.count(CommandKind::release), 5U);
  EXPECT_EQ(driver.count<core::Acquired>(), 0U);
  driver.answer_all();
  driver.pass(1h);
  EXPECT_EQ(driver.tokens().size(), 1U);
  driver.expect_nothing_left();
}

TEST(AcquisitionsWaitCancel, AddsOnlyTheRefusalToALostAttempt) {
  // The attempt is lost (two of three nodes refused or failed), but the reason is not known yet;
  // the release is out. Cancelling adds the refusal and nothing else.
  EngineDriver driver(3);
  const core::WaiterId waiter = driver.acquire(1, ten_seconds, 1min);
  driver.reply(0, Vote::held);
  driver.reply(1, Vote::busy);
  EXPECT_EQ(driver.count(CommandKind::release), 3U);
  EXPECT_EQ(driver.count<core::Refused>(), 0U);
  driver.cancel(waiter);
  EXPECT_EQ(driver.only<core::Refused>().why, Errc::cancelled);
  EXPECT_EQ(driver.count(CommandKind::release), 3U);
  driver.answer_all();
  driver.expect_nothing_left();
}

TEST(AcquisitionsWaitCancel, GivesNothingBackBetweenAttempts) {
  // There is nothing to give back during the pause.
  EngineDriver driver(3);
  const core::WaiterId waiter = driver.acquire(1, ten_seconds, 1min);
  driver.answer_all(Vote::held);
  driver.forget_seen();
  driver.cancel(waiter);
  EXPECT_EQ(driver.only<core::Refused>().why, Errc::cancelled);
  EXPECT_EQ(driver.count<Sent>(), 0U);
  driver.expect_nothing_left();
}

TEST(AcquisitionsWaitCancel, FindsNoWaiterAfterTheWin) {
  // After the win or a second time, cancel() finds no waiter, even if another one now has the same
  // place.
  EngineDriver driver(3);
  const core::WaiterId waiter = driver.acquire(1, ten_seconds);
  driver.answer_all();
  driver.cancel(waiter);
  EXPECT_EQ(driver.count<core::Acquired>(), 1U);
  EXPECT_EQ(driver.count<core::Refused>(), 0U);
  driver.acquire(2, ten_seconds, 1min, "another");
  driver.cancel(waiter);
  EXPECT_EQ(driver.count<core::Refused>(), 0U);
  EXPECT_EQ(driver.count(CommandKind::release), 0U);
}

TEST(AcquisitionsWaitClose, EndsWaitsAndLeasesAndCleansUp) {
  // One lease is held, one acquisition waits for votes, one is pausing: close() is reported to all
  // three, the keys are given back, and after the answers nothing is left.
  EngineDriver driver(3);
  driver.hold(ten_seconds);
  driver.acquire(2, ten_seconds, 1min, "pausing");
  driver.answer_all(Vote::held);
  driver.acquire(3, ten_seconds, 1min, "voting");
  driver.reply(0, Vote::granted);
  driver.forget_seen();
  driver.close();
  const core::Ended ended = driver.only<core::Ended>();
  EXPECT_EQ(ended.user, EngineDriver::lease_of(1));
  EXPECT_EQ(ended.why, Errc::closed);
  const std::vector<core::Refused> refused = driver.all<core::Refused>();
  ASSERT_EQ(refused.size(), 2U);
  for (const core::Refused& one : refused) EXPECT_EQ(one.why, Errc::closed);
  EXPECT_EQ(driver.told(CommandKind::release, driver.tokens()[0]), all_of(3));
  EXPECT_EQ(driver.told(CommandKind::release, driver.tokens()[2]), all_of(3));
  driver.answer_all();
  driver.expect_nothing_left();
}

TEST(AcquisitionsWaitClose, ReportsAnExtendThatIsUnderWay) {
  // The extend's user gets an answer; an extend by token goes on to its own end.
  EngineDriver driver(3);
  const core::ClaimId lease = driver.hold(ten_seconds);
  driver.extend(lease, 20s);
  driver.extend_token(5, "theirs", 10s);
  driver.close();
  const core::Extended ours = driver.only<core::Extended>();
  EXPECT_EQ(ours.user, EngineDriver::lease_of(1));
  EXPECT_EQ(ours.why, Errc::closed);
  EXPECT_EQ(driver.count<core::Ended>(), 1U);
  driver.answer_all();
  const core::Extended theirs = driver.all<core::Extended>().back();
  EXPECT_EQ(theirs.user, 5U);
  EXPECT_EQ(theirs.why, std::nullopt);
  driver.expect_nothing_left();
}

TEST(AcquisitionsWaitClose, ReportsNothingIfNothingIsUnderWay) {
  // There is nothing to report or to send.
  EngineDriver driver(3);
  driver.close();
  EXPECT_TRUE(driver.seen().empty());
  driver.expect_nothing_left();
}

}  // namespace
}  // namespace quorumlock::test
