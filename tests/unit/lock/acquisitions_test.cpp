#include <algorithm>
#include <set>

#include "support/engine_driver.hpp"

// One acquisition: its attempts, its wait and its end.
namespace quorumlock::test {
namespace {

TEST(Acquisitions, AsksEveryNodeAtOnce) {
  // One command goes to all five nodes before any answer: SET of a random token with the ttl.
  EngineDriver driver(5);
  driver.acquire(1, ten_seconds);
  const Sent sent = driver.only<Sent>();
  EXPECT_EQ(sent.to, all_of(5));
  EXPECT_EQ(sent.command.tag.kind, CommandKind::set);
  EXPECT_EQ(sent.command.key, "key");
  EXPECT_EQ(sent.command.ttl, 10s);
  EXPECT_EQ(sent.command.token.size(), 40U);
  EXPECT_EQ(sent.command.token.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(driver.engine().unanswered(), 5);
}

TEST(Acquisitions, ValidityCountsFromBeforeTheFirstByte) {
  // The q-th grant comes three seconds after the start: the lease is shorter by that time.
  EngineDriver driver(3);
  driver.now = at(1s);
  driver.acquire(1, ten_seconds);
  driver.pass(1s);
  driver.reply(2, Vote::granted);
  driver.pass(2s);
  driver.reply(0, Vote::granted);
  const core::Acquired won = driver.only<core::Acquired>();
  EXPECT_EQ(won.user, 1U);
  EXPECT_EQ(won.attempts, 1);
  EXPECT_EQ(driver.lease_end(), at(1s + 10s - 102ms));
}

TEST(Acquisitions, TheMarginIsTheConfiguredOne) {
  // The bound for the drift is five per cent instead of one.
  EngineDriver driver(core::Engine::Config{1, 0.05, 50ms, 0ms});
  driver.acquire(1, ten_seconds);
  driver.reply(0, Vote::granted);
  EXPECT_EQ(driver.lease_end(), at(10s - 502ms));
}

TEST(Acquisitions, AGrantAtTheDeadlineDoesNotWin) {
  // A second grant that is processed a nanosecond before the validity ends wins. At its end the
  // attempt is lost, and all is given back. The order of timer and answer makes no difference.
  for (const core::Duration early : {1ns, 0ns, -1000000ns}) {
    for (const bool timer_first : {false, true}) {
      EngineDriver driver(3);
      driver.acquire(1, ten_seconds);
      driver.reply(0, Vote::granted);
      const core::Time then = at(9898ms - early);
      if (timer_first) driver.pass_until(then);
      driver.now = then;
      driver.reply(1, Vote::granted);
      EXPECT_EQ(driver.count<core::Acquired>(), early > 0ns ? 1U : 0U);
      EXPECT_EQ(driver.count<core::Refused>(), early > 0ns ? 0U : 1U);
      EXPECT_EQ(driver.told(CommandKind::release, driver.tokens()[0]),
                early > 0ns ? core::NodeSet() : all_of(3));
    }
  }
}

TEST(Acquisitions, ALockWhoseMaxHoldHasPassedIsNotWon) {
  // max_hold also counts from the acquisition's start: a quorum that comes together after max_hold
  // gives no lease that has already ended.
  for (const core::Duration early : {1ns, 0ns, -1000000ns}) {
    EngineDriver driver(3);
    driver.acquire(1, {.ttl = 10s, .stop_margin = 1s, .max_hold = 2s});
    driver.reply(0, Vote::granted);
    driver.now = at(2s - early);
    driver.reply(1, Vote::granted);
    EXPECT_EQ(driver.count<core::Acquired>(), early > 0ns ? 1U : 0U) << to_text(early);
    EXPECT_EQ(driver.count<core::Refused>(), early > 0ns ? 0U : 1U) << to_text(early);
  }
}

TEST(Acquisitions, AnAttemptWithoutAnswersEndsWithItsValidity) {
  // No node answers, and none is reported late. At the deadline the attempt's own timer gives it
  // up; the reason is reported once the nodes turn out to be silent.
  EngineDriver driver(3);
  driver.acquire(1, ten_seconds);
  EXPECT_EQ(driver.engine().deadline(), at(9898ms));
  driver.pass_until(at(9898ms));
  EXPECT_EQ(driver.told(CommandKind::release, driver.tokens()[0]), all_of(3));
  driver.time_out(0);
  EXPECT_EQ(driver.count<core::Refused>(), 0U);
  driver.time_out(1);
  EXPECT_EQ(driver.only<core::Refused>().why, Errc::no_quorum);
}

TEST(Acquisitions, AnAnswerAfterItsTimeoutStillCounts) {
  // n1 is late, but not too late: its grant is the second one and comes while the attempt is open.
  // A late refusal decides in the same way.
  EngineDriver granted(3);
  granted.acquire(1, ten_seconds);
  granted.time_out(0);
  granted.reply(1, Vote::granted);
  granted.reply(0, Vote::granted);
  EXPECT_EQ(granted.count<core::Acquired>(), 1U);

  EngineDriver held(3);
  held.acquire(1, ten_seconds);
  held.time_out(0);
  held.reply(0, Vote::held);
  EXPECT_EQ(held.count<core::Refused>(), 0U);
  held.reply(1, Vote::held);
  EXPECT_EQ(held.only<core::Refused>().why, Errc::contended);
  EXPECT_EQ(held.only<core::Refused>().tally.vote(0), Vote::held);
}

TEST(Acquisitions, AnEvenSplitOfFourSettles) {
  // Two nodes grant and two refuse: nobody has the lock, which is known with the fourth answer.
  EngineDriver driver(4);
  driver.acquire(1, ten_seconds);
  driver.reply({0, 1}, Vote::granted);
  driver.reply(2, Vote::held);
  EXPECT_EQ(driver.count<core::Refused>(), 0U);
  driver.reply(3, Vote::held);
  EXPECT_EQ(driver.only<core::Refused>().why, Errc::contended);
}

TEST(Acquisitions, NodesThatAreAwayAreNotAskedButCount) {
  // Two of five nodes are away: the quorum stays three, and all three reachable nodes must grant.
  EngineDriver driver(5);
  driver.link(3, LinkState::down);
  driver.link(4, LinkState::down, Vote::not_standalone);
  driver.acquire(1, ten_seconds);
  EXPECT_EQ(driver.only<Sent>().to, all_of(3));
  driver.reply({0, 1}, Vote::granted);
  EXPECT_EQ(driver.count<core::Acquired>(), 0U);
  driver.reply(2, Vote::held);
  const core::Refused refused = driver.only<core::Refused>();
  EXPECT_EQ(refused.why, Errc::contended);
  EXPECT_EQ(refused.tally.vote(3), Vote::unreachable);
  EXPECT_EQ(refused.tally.vote(4), Vote::not_standalone);
  driver.answer_all();
  driver.expect_nothing_left();
}

TEST(Acquisitions, WithoutEnoughNodesTheAnswerIsImmediate) {
  // Three of five nodes are away: the refusal comes at once, and the others get a release.
  EngineDriver driver(5);
  for (const int node : {0, 1, 2}) driver.link(node, LinkState::down);
  driver.acquire(1, ten_seconds);
  EXPECT_EQ(driver.only<core::Refused>().why, Errc::no_quorum);
  EXPECT_EQ(driver.count(CommandKind::set), driver.count(CommandKind::release));
  driver.answer_all();
  driver.expect_nothing_left();
}

TEST(Acquisitions, WithoutAnyNodeNothingIsSent) {
  // All nodes are away: the call itself refuses, and no trace is left.
  EngineDriver driver(3);
  for (const int node : {0, 1, 2}) driver.link(node, LinkState::down);
  driver.acquire(1, ten_seconds);
  EXPECT_EQ(driver.only<core::Refused>().why, Errc::no_quorum);
  EXPECT_EQ(driver.count<Sent>(), 0U);
  driver.expect_nothing_left();
}

TEST(Acquisitions, AStalledNodeIsAskedNothingNew) {
  // A node with an overdue answer votes "stalled" until it answers again.
  EngineDriver driver(3);
  driver.link(2, LinkState::stalled, Vote::stalled);
  driver.acquire(1, ten_seconds);
  EXPECT_EQ(driver.only<Sent>().to, all_of(2));
  driver.reply({0, 1}, Vote::held);
  EXPECT_EQ(driver.only<core::Refused>().tally.vote(2), Vote::stalled);
  driver.answer_all();
  driver.forget_seen();
  driver.link(2, LinkState::up, Vote::pending);
  driver.acquire(1, ten_seconds);
  EXPECT_EQ(driver.only<Sent>().to, all_of(3));
}

TEST(Acquisitions, ANodeWhoseRecordHasChangedIsAskedAgain) {
  // Each node is asked in the same round, as often as a change of the nodes changes its record.
  EngineDriver driver(3);
  driver.acquire(1, ten_seconds);
  driver.forget_seen();
  driver.reply({0, 1}, Vote::not_enrolled);
  EXPECT_EQ(driver.count<Sent>(), 2U);
  EXPECT_EQ(driver.count<core::Refused>(), 0U);
  driver.reply(0, Vote::granted);
  for (const int node : {1, 2}) {
    driver.reply(node, Vote::not_enrolled);
    driver.reply(node, Vote::not_enrolled);
    EXPECT_EQ(driver.count<core::Refused>(), 0U);
    driver.reply(node, Vote::not_enrolled);
  }
  driver.reply(2, Vote::not_enrolled);
  EXPECT_EQ(driver.only<core::Refused>().tally.vote(1), Vote::not_enrolled);
  driver.answer_all();
  driver.expect_nothing_left();
}

TEST(Acquisitions, ErrorsDoNotCountAsAnswers) {
  // Two of three nodes reply with any error: no quorum has answered, and the third node cannot
  // change that.
  for (int i = static_cast<int>(Vote::timed_out); i <= static_cast<int>(Vote::bad_counter); ++i) {
    const auto vote = static_cast<Vote>(i);
    // No answer to a SET becomes one of these votes.
    if (vote == Vote::timed_out || vote == Vote::no_script || vote == Vote::not_enrolled) continue;
    EngineDriver driver(3);
    driver.acquire(1, ten_seconds);
    driver.reply({0, 1}, vote);
    const core::Refused refused = driver.only<core::Refused>();
    const bool contradicts = vote == Vote::max_ttl_differs || vote == Vote::groups_differ ||
                             vote == Vote::terms_differ || vote == Vote::nodes_differ ||
                             vote == Vote::same_server || vote == Vote::capacity_differs;
    EXPECT_EQ(refused.why, contradicts ? Errc::misconfigured : Errc::no_quorum) << to_string(vote);
    EXPECT_EQ(refused.tally.vote(1), vote);
    EXPECT_EQ(driver.told(CommandKind::release, driver.tokens()[0]), all_of(3));
    driver.reply(2, Vote::granted);
    driver.answer_all();
    driver.expect_nothing_left();
  }
}

TEST(Acquisitions, TheReasonWaitsForTheNodesThatDecideIt) {
  // Two of five nodes vote for another list and one may have forgotten locks: no quorum can be had.
  // Whether the options are at fault depends on the other two.
  for (const Vote vote : {Vote::nodes_differ, Vote::granted}) {
    EngineDriver driver(5);
    driver.link(0, LinkState::quarantined, Vote::quarantined);
    driver.link(1, LinkState::quarantined, Vote::nodes_differ);
    driver.link(2, LinkState::quarantined, Vote::nodes_differ);
    driver.acquire(1, ten_seconds);
    EXPECT_EQ(driver.count<core::Refused>(), 0U);
    driver.reply({3, 4}, vote);
    EXPECT_EQ(driver.only<core::Refused>().why,
              vote == Vote::granted ? Errc::no_quorum : Errc::misconfigured);
  }
}

TEST(Acquisitions, AWaiterEntersTheLineOnlyIfItMayBeServed) {
  // In the line it would not hear of the two nodes that decide whether its options are at fault.
  EngineDriver driver(5);
  driver.link(0, LinkState::quarantined, Vote::quarantined);
  driver.link(1, LinkState::quarantined, Vote::nodes_differ);
  driver.link(2, LinkState::quarantined, Vote::nodes_differ);
  driver.acquire_in_order(1, ten_seconds, 1min);
  EXPECT_EQ(driver.count<core::Refused>(), 0U);
  driver.reply({3, 4}, Vote::nodes_differ);
  EXPECT_EQ(driver.only<core::Refused>().why, Errc::misconfigured);
}

TEST(Acquisitions, RetriesPauseForTheDelayAndSomeJitter) {
  // The pause from the verdict to the next attempt is at least the delay, less than delay and
  // jitter together, and not always the same.
  std::set<core::Duration> pauses;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    EngineDriver driver(3, seed);
    driver.acquire(1, ten_seconds, 1min);
    driver.now = at(7ms);
    driver.answer_all(Vote::held);
    ASSERT_EQ(driver.tokens().size(), 1U);
    driver.pass_until(at(7ms + EngineDriver::delay + EngineDriver::jitter - 1ns));
    ASSERT_EQ(driver.tokens().size(), 2U) << "seed " << seed;
    pauses.insert(driver.seen().back().when - at(7ms));
  }
  EXPECT_GE(*pauses.begin(), EngineDriver::delay);
  EXPECT_LT(*pauses.rbegin(), EngineDriver::delay + EngineDriver::jitter);
  EXPECT_GT(pauses.size(), 100U);
}

TEST(Acquisitions, EveryAttemptHasATokenOfItsOwn) {
  // One wait makes a thousand attempts: no token appears twice, and each is released before the
  // next one is set.
  EngineDriver driver(3);
  driver.acquire(1, ten_seconds, forever);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(driver.tokens().size(), static_cast<std::size_t>(i) + 1);
    driver.reply({0, 1}, Vote::held);
    ASSERT_EQ(driver.told(CommandKind::release, driver.tokens().back()), all_of(3));
    driver.answer_all();
    driver.forget_seen();
    driver.pass(EngineDriver::delay + EngineDriver::jitter);
  }
  const std::set<std::string> distinct(driver.tokens().begin(), driver.tokens().end());
  EXPECT_EQ(distinct.size(), driver.tokens().size());
}

TEST(Acquisitions, ARetryIsWonWithItsOwnVotes) {
  // n1 granted the first attempt, which was lost. In the second one n1 refuses, since its release
  // is still on the way, and the others grant.
  EngineDriver driver(3);
  driver.acquire(1, ten_seconds, 1min);
  driver.reply(0, Vote::granted);
  driver.reply({1, 2}, Vote::held);
  driver.pass(100ms);
  ASSERT_EQ(driver.tokens().size(), 2U);
  const core::Time start = driver.seen().back().when;
  // Answers to the first release.
  for (const int node : {0, 1, 2}) driver.reply(node, Vote::granted);
  EXPECT_EQ(driver.count<core::Acquired>(), 0U);
  driver.reply(0, Vote::held);
  driver.reply({1, 2}, Vote::granted);
  const core::Acquired won = driver.only<core::Acquired>();
  EXPECT_EQ(won.attempts, 2);
  EXPECT_EQ(driver.engine().claim(won.claim)->token(), driver.tokens()[1]);
  EXPECT_EQ(driver.lease_end(), start + 9898ms);
}

TEST(Acquisitions, TwoAcquisitionsDoNotMix) {
  // Two users acquire two keys; the answers are interleaved, and each user gets its own.
  EngineDriver driver(3);
  driver.acquire(1, ten_seconds, 0s, "one");
  driver.acquire(2, ten_seconds, 0s, "two");
  EXPECT_NE(driver.tokens()[0], driver.tokens()[1]);
  for (const int node : {0, 1, 2}) {
    driver.reply(node, Vote::granted);
    driver.reply(node, Vote::held);
  }
  EXPECT_EQ(driver.only<core::Acquired>().user, 1U);
  EXPECT_EQ(driver.only<core::Refused>().user, 2U);
  EXPECT_EQ(driver.engine().claim(driver.lease())->key(), "one");
}

TEST(Acquisitions, SeventeenOfThirtyTwoNodesAreAQuorum) {
  // This is the maximum number of nodes: seventeen grants win, sixteen do not.
  EngineDriver driver(32);
  driver.acquire(1, ten_seconds);
  for (int node = 0; node < 16; ++node) driver.reply(node, Vote::granted);
  EXPECT_EQ(driver.count<core::Acquired>(), 0U);
  driver.reply(31, Vote::granted);
  EXPECT_EQ(driver.count<core::Acquired>(), 1U);
}

}  // namespace
}  // namespace quorumlock::test
