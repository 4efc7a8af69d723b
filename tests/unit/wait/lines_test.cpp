#include "support/engine_line.hpp"

// Waiting in the line: probe, entry, the first waiter's try, hand-over (docs/architecture.md).
namespace quorumlock::test {
namespace {

using LinesTest = EngineLine;

TEST_F(LinesTest, BeginsWithAProbeThatHasNoEntry) {
  // The lock is free without waiters: the acquisition takes one round trip and never has an entry.
  driver.acquire_in_order(1, terms, 1h);
  const Command probe = sent(CommandKind::acquire).at(0);
  EXPECT_TRUE(probe.ordered);
  EXPECT_EQ(probe.waiter, 0U);
  driver.answer_all();
  EXPECT_EQ(driver.only<core::Acquired>().attempts, 1);
  driver.release(driver.lease());
  EXPECT_EQ(sent(CommandKind::release).at(0).waiter, 0U);
  answer_rest();
  driver.expect_nothing_left();
}

TEST_F(LinesTest, TicketsExceedTheNodesTimesAndEveryTicketSeen) {
  // A new ticket exceeds the greatest ticket that the probe saw, and the nodes' clock.
  driver.now = at(1s);
  driver.acquire_in_order(1, terms, 1h, "a");
  driver.reply(0, refused());
  driver.reply(1, refused());
  EXPECT_EQ(sent(CommandKind::queue).at(0).entries.at(0).second, node_time);
  driver.acquire_in_order(2, terms, 1h, "b");
  for (const int node : {0, 1}) {
    while (driver.unanswered(node).front().key != "b" ||
           driver.unanswered(node).front().tag.kind != CommandKind::acquire) {
      driver.reply(node, Vote::absent);
    }
    driver.reply(node, refused(node_time + 1'000'000));
  }
  EXPECT_EQ(sent(CommandKind::queue).at(1).entries.at(0).second, node_time + 1'000'001);
}

TEST_F(LinesTest, ListensOnceItHasAnEntry) {
  // The first entry in any line makes the client listen to its messages; later entries do not.
  driver.acquire_in_order(1, terms, 1h, "a");
  EXPECT_EQ(driver.count<core::Listen>(), 0U);
  driver.reply(0, refused());
  driver.reply(1, refused());
  EXPECT_EQ(driver.only<core::Listen>().process, driver.engine().process());
  EXPECT_EQ(driver.engine().process().size(), 16U);
  driver.acquire_in_order(2, terms, 1h, "a");
  EXPECT_EQ(driver.count<core::Listen>(), 1U);
}

TEST_F(LinesTest, TriesOnceAQuorumIsReady) {
  // After one node's message alone, a try would find the old holder's key on the others.
  enqueue(1);
  driver.wake(0, 1);
  EXPECT_EQ(driver.count(CommandKind::acquire), 0U);
  driver.wake(0, 1);
  EXPECT_EQ(driver.count(CommandKind::acquire), 0U);
  driver.wake(2, 1);
  const Command attempt = sent(CommandKind::acquire).at(0);
  EXPECT_TRUE(attempt.ordered);
  EXPECT_EQ(attempt.waiter, 1U);
  EXPECT_EQ(attempt.ticket, static_cast<std::uint64_t>(node_time));
  driver.answer_all();
  EXPECT_EQ(driver.only<core::Acquired>().attempts, 2);
  // The waiter's entry stays until the release removes it.
  driver.release(driver.lease());
  EXPECT_EQ(sent(CommandKind::release).at(0).waiter, 1U);
  answer_rest();
  driver.expect_nothing_left();
}

TEST_F(LinesTest, YieldsAfterALostRoundAndKeepsItsEntry) {
  // The waiter's own key is deleted and its entry stays. No message about that key is needed: the
  // release's answer reports that the waiter is first.
  enqueue(1);
  driver.wake(0, 1);
  driver.wake(1, 1);
  driver.reply(0, Vote::granted);
  driver.reply(1, refused());
  driver.reply(2, refused());
  const Command yield = sent(CommandKind::release).at(0);
  EXPECT_EQ(yield.waiter, 0U);
  EXPECT_EQ(yield.not_woken, 1U);
  driver.forget_seen();
  core::Answer mine{Vote::granted};
  mine.first_in_line = true;
  driver.reply(0, mine);
  EXPECT_EQ(driver.count(CommandKind::acquire), 0U);
  driver.wake(1, 1);
  EXPECT_EQ(driver.count(CommandKind::acquire), 3U);
  EXPECT_NE(sent(CommandKind::acquire).at(0).token, yield.token);
}

TEST_F(LinesTest, PausesIfRoundAfterRoundIsLost) {
  // More rounds are lost than the protocol allows for, so the pause of retries applies.
  enqueue(1);
  std::size_t rounds = 0;
  for (; rounds < 20; ++rounds) {
    driver.forget_seen();
    driver.wake(0, 1);
    driver.wake(1, 1);
    if (driver.count(CommandKind::acquire) == 0) break;
    for (const int node : {0, 1, 2}) driver.reply(node, refused());
    answer_rest();
  }
  EXPECT_EQ(rounds, 4U);
  driver.pass(EngineDriver::delay + EngineDriver::jitter);
  EXPECT_EQ(driver.count(CommandKind::acquire), 3U);
}

TEST_F(LinesTest, RefreshesAllEntriesOfAProcessInOneCommand) {
  // The refresh comes three times in an entry's life, for entries of all locks.
  enqueue(1);
  driver.acquire_in_order(2, terms, 1h, "other");
  for (const int node : {0, 1, 2}) driver.reply(node, refused());
  driver.reply(2, Vote::absent);
  for (const int node : {0, 1, 2}) driver.reply(node, {first});
  driver.forget_seen();
  driver.pass_until(at(1s));
  EXPECT_EQ(driver.count(CommandKind::queue), 3U);
  EXPECT_EQ(sent(CommandKind::queue).at(0).entries.size(), 2U);
  // If the message was lost, the answers to the refresh report which waiter is first.
  for (const int node : {0, 1}) driver.reply(node, {first_and_free, far_behind});
  EXPECT_EQ(sent(CommandKind::acquire).at(0).waiter, 1U);
}

TEST_F(LinesTest, AnEntryIsRefreshedAfterATryAndNotWithinIt) {
  // A refresh that follows a try that wins could come after the release by token, and would enter
  // the line again. A try that takes longer than two refreshes does not let its entry run out.
  enqueue(1);
  driver.wake(0, 1);
  driver.wake(1, 1);
  ASSERT_EQ(driver.count(CommandKind::acquire), 3U);
  driver.pass_until(at(1s));
  EXPECT_EQ(driver.count(CommandKind::queue), 0U);
  for (const int node : {0, 1, 2}) driver.reply(node, refused());
  EXPECT_EQ(driver.count(CommandKind::queue), 3U);
  answer_rest();
  driver.forget_seen();
  driver.wake(0, 1);
  driver.wake(1, 1);
  ASSERT_EQ(driver.count(CommandKind::acquire), 3U);
  driver.pass_until(at(2s));
  EXPECT_EQ(driver.count(CommandKind::queue), 0U);
  driver.pass_until(at(3s));
  EXPECT_EQ(driver.count(CommandKind::queue), 3U);
}

TEST_F(LinesTest, LooksAgainWhenTheHolderOrTheFirstMayBeGone) {
  // If the holder's key expires in 300 ms, the waiter does not wait for the next refresh.
  driver.acquire_in_order(1, terms, 1h);
  for (const int node : {0, 1, 2}) driver.reply(node, refused());
  driver.reply(2, Vote::absent);
  for (const int node : {0, 1, 2}) driver.reply(node, {Place{.before = 0, .due = 300ms}});
  driver.forget_seen();
  driver.pass_until(at(300ms));
  EXPECT_EQ(driver.count(CommandKind::queue), 0U);
  driver.pass_until(at(302ms));
  EXPECT_EQ(driver.count(CommandKind::queue), 3U);
}

TEST_F(LinesTest, LooksAtThePaceOfRetryIfTheHolderSendsNoMessage) {
  // The holder's token is not one of this library: its release sends no message. Between two looks
  // there is at most a pause of `retry`.
  enqueue(1);
  driver.pass_until(at(1s));
  for (int look = 0; look < 5; ++look) {
    EXPECT_EQ(driver.count(CommandKind::queue), 3U);
    driver.forget_seen();
    for (const int node : {0, 1, 2}) driver.reply(node, {Place{.before = 0, .holder = "them"}});
    EXPECT_EQ(driver.count(CommandKind::queue), 0U);
    driver.pass(EngineDriver::delay + EngineDriver::jitter);
  }
  // A waiter that is not the first does not look so often.
  driver.forget_seen();
  for (const int node : {0, 1, 2}) driver.reply(node, {Place{.before = 2, .holder = "them"}});
  driver.pass(EngineDriver::delay + EngineDriver::jitter);
  EXPECT_EQ(driver.count(CommandKind::queue), 0U);
}

TEST_F(LinesTest, LooksAtThePaceOfRetryAtEachHolderThatSendsNoMessage) {
  // The holders' tokens look like ours. A message proves that they are, and looks are rare again.
  const auto looks_soon = [this](char digit) {
    const std::string holder = std::string(40, digit) + "@host:1";
    driver.forget_seen();
    for (const int node : {0, 1, 2}) driver.reply(node, {Place{.before = 0, .holder = holder}});
    driver.pass(EngineDriver::delay + EngineDriver::jitter);
    return driver.count(CommandKind::queue) > 0;
  };
  enqueue(1);
  driver.pass_until(at(1s));
  EXPECT_FALSE(looks_soon('7'));
  driver.pass_until(at(2s));
  EXPECT_FALSE(looks_soon('7'));
  driver.pass_until(at(3s));
  EXPECT_TRUE(looks_soon('9'));
  EXPECT_TRUE(looks_soon('9'));
  driver.wake(0, 1);
  EXPECT_FALSE(looks_soon('b'));
}

TEST_F(LinesTest, DoesNotProbeAfterOthersOfThisProcess) {
  // A probe would be refused. Without one the ticket may be too small; it then grows once, by no
  // more than necessary, before the first try.
  enqueue(1);
  driver.acquire_in_order(2, terms, 1h);
  EXPECT_EQ(driver.count(CommandKind::acquire), 0U);
  const std::uint64_t ticket = sent(CommandKind::queue).at(0).entries.at(0).second;
  EXPECT_EQ(ticket, static_cast<std::uint64_t>(node_time) + 1);
  driver.forget_seen();
  Place late = far_behind;
  late.greatest_ticket = ticket + 10;
  driver.reply(0, {late});
  EXPECT_EQ(driver.count(CommandKind::queue), 0U);
  driver.reply(1, {late});
  EXPECT_EQ(sent(CommandKind::queue).at(0).entries.at(0).second, ticket + 11);
  driver.forget_seen();
  for (const int node : {0, 1, 2}) driver.reply(node, {late});
  EXPECT_EQ(driver.count(CommandKind::queue), 0U);
}

TEST_F(LinesTest, LaterWaitersAreNotAReasonForAGreaterTicket) {
  // A fast node has also answered a refresh before a second node has answered the entry: its
  // greatest ticket by then is that of a later waiter.
  enqueue(1);
  driver.acquire_in_order(2, terms, 1h);
  driver.acquire_in_order(3, terms, 1h);
  const std::uint64_t second = sent(CommandKind::queue).at(0).entries.at(0).second;
  Place behind_the_first = far_behind;
  behind_the_first.greatest_ticket = second - 1;
  Place behind_the_second = far_behind;
  behind_the_second.greatest_ticket = second;
  Place before_the_third = far_behind;
  before_the_third.greatest_ticket = second + 1;
  driver.reply(0, {behind_the_first});
  driver.reply(0, {behind_the_second});
  driver.engine().on_listening(driver.now);
  driver.pass(0s);
  driver.forget_seen();
  driver.reply(0, {before_the_third, before_the_third, behind_the_second});
  driver.reply(1, {behind_the_first});
  EXPECT_EQ(driver.count(CommandKind::queue), 0U);
}

TEST_F(LinesTest, AWaiterKeepsItsPlaceAfterOneWhoseTicketGrows) {
  // The tickets of both are too small, because of the same ticket of another process: if each grew
  // to one more than that ticket, the two would be equal.
  enqueue(1);
  driver.acquire_in_order(2, terms, 1h);
  driver.acquire_in_order(3, terms, 1h);
  Place late = far_behind;
  late.greatest_ticket = static_cast<std::uint64_t>(node_time) + 10;
  driver.forget_seen();
  for (const int node : {0, 1}) driver.reply(node, {late});
  for (const int node : {0, 1}) driver.reply(node, {late});
  EXPECT_EQ(sent(CommandKind::queue).at(0).entries.at(0).second, late.greatest_ticket + 1);
  EXPECT_EQ(sent(CommandKind::queue).at(1).entries.at(0).second, late.greatest_ticket + 2);
}

TEST_F(LinesTest, AWaiterSettlesItsTicketAfterThoseThatCameBefore) {
  // A node that has the later one's entry first reports its ticket to the earlier one: if the later
  // ticket were final by then, the earlier one would grow beyond it.
  enqueue(1);
  driver.acquire_in_order(2, terms, 1h);
  driver.acquire_in_order(3, terms, 1h);
  const std::uint64_t later = sent(CommandKind::queue).at(1).entries.at(0).second;
  for (int i = 0; i < 2; ++i) driver.reply(0, {far_behind});
  driver.forget_seen();
  driver.reply(1, Vote::no_script);
  driver.reply(1, {far_behind});
  for (const int node : {0, 1, 2}) driver.wake(node, 3);
  EXPECT_EQ(driver.count(CommandKind::acquire), 0U);

  Place behind_the_later = far_behind;
  behind_the_later.greatest_ticket = later;
  driver.forget_seen();
  driver.reply(1, {behind_the_later});
  driver.pass(0s);
  ASSERT_EQ(sent(CommandKind::queue).size(), 2U);
  EXPECT_EQ(sent(CommandKind::queue).at(0).entries.at(0), std::pair(2UL, later + 1));
  EXPECT_EQ(sent(CommandKind::queue).at(1).entries.at(0), std::pair(3UL, later + 2));
}

TEST_F(LinesTest, NobodyWaitsForATicketThatANodeRefuses) {
  // Its other lock may be one that this user may not have: it would never settle.
  enqueue(1);
  driver.acquire_in_order(2, terms, 1h);
  driver.acquire_in_order(3, terms, 1h);
  for (const int node : {0, 1}) driver.reply(node, Vote::unauthorized);
  for (const int node : {0, 1}) driver.reply(node, {far_behind});
  for (const int node : {0, 1, 2}) driver.wake(node, 3);
  EXPECT_EQ(sent(CommandKind::acquire).at(0).waiter, 3U);
}

TEST_F(LinesTest, ATicketSettlesWhenTheOneBeforeLeaves) {
  enqueue(1);
  const core::WaiterId earlier = driver.acquire_in_order(2, terms, 1h);
  driver.acquire_in_order(3, terms, 1h);
  for (const int node : {0, 1}) driver.reply(node, Vote::disconnected);
  for (const int node : {0, 1}) driver.reply(node, {far_behind});
  for (const int node : {0, 1, 2}) driver.wake(node, 3);
  EXPECT_EQ(driver.count(CommandKind::acquire), 0U);
  driver.cancel(earlier);
  driver.pass(0s);
  EXPECT_EQ(sent(CommandKind::acquire).at(0).waiter, 3U);
}

TEST_F(LinesTest, DoesNotProbeAfterAReleaseThatWokeAnother) {
  // The nodes have reported a waiter and its ticket, so a probe would be refused.
  driver.now = at(1s);
  const core::ClaimId lease = driver.hold(terms);
  driver.release(lease);
  core::Answer released{Vote::granted};
  released.waited_for = true;
  released.greatest_ticket = 5000;
  driver.reply(0, released);
  driver.forget_seen();
  driver.acquire_in_order(2, terms, 1h);
  EXPECT_EQ(driver.count(CommandKind::acquire), 0U);
  EXPECT_EQ(sent(CommandKind::queue).at(0).entries.at(0).second, 5001U);
  // The report is used for a limited time only.
  answer_rest();
  driver.pass(1s);
  driver.forget_seen();
  driver.acquire_in_order(3, terms, 1h, "other");
  EXPECT_EQ(driver.count(CommandKind::acquire), 3U);
}

TEST_F(LinesTest, DoesNotTryBeforeItsTicketIsSettled) {
  // A message that comes before a quorum has reported the greatest ticket takes effect after that.
  enqueue(1);
  driver.acquire_in_order(2, terms, 1h);
  for (const int node : {0, 1, 2}) driver.wake(node, 2);
  EXPECT_EQ(driver.count(CommandKind::acquire), 0U);
  driver.reply(0, {far_behind});
  driver.reply(1, {far_behind});
  EXPECT_EQ(sent(CommandKind::acquire).at(0).waiter, 2U);
}

TEST_F(LinesTest, HandsOverToTheNextOfTheSameProcessInOneWrite) {
  // The release and the next waiter's attempt go out together, without a message in between; the
  // new lease counts from this moment, and not from the release's answers.
  const core::ClaimId lease = driver.hold(terms);
  driver.acquire_in_order(2, terms, 1h);
  for (const int node : {0, 1, 2}) driver.reply(node, refused());
  driver.reply(2, Vote::absent);
  for (const int node : {0, 1}) driver.reply(node, {behind_ours});
  driver.reply(2, {behind_another});
  driver.forget_seen();
  driver.now = at(500ms);
  driver.release(lease);
  ASSERT_EQ(driver.all<Sent>().size(), 2U);
  const Command release = driver.all<Sent>().at(0).command;
  const Command attempt = driver.all<Sent>().at(1).command;
  EXPECT_EQ(release.tag.kind, CommandKind::release);
  EXPECT_EQ(release.not_woken, 1U);
  EXPECT_EQ(attempt.tag.kind, CommandKind::acquire);
  EXPECT_EQ(attempt.waiter, 1U);
  driver.answer_all();
  EXPECT_EQ(driver.only<core::Acquired>().user, 2U);
  EXPECT_EQ(driver.lease_end(), core::valid_until(at(500ms), 10s, 0.01));
}

TEST_F(LinesTest, DoesNotHandOverIfAnotherProcessIsBefore) {
  // On two of three nodes an entry of another process comes before ours: that waiter is woken.
  const core::ClaimId lease = driver.hold(terms);
  driver.acquire_in_order(2, terms, 1h);
  for (const int node : {0, 1, 2}) driver.reply(node, refused());
  driver.reply(2, Vote::absent);
  for (const int node : {0, 1}) driver.reply(node, {behind_another});
  driver.reply(2, {behind_ours});
  driver.forget_seen();
  driver.release(lease);
  EXPECT_EQ(sent(CommandKind::release).at(0).not_woken, 0U);
  EXPECT_EQ(driver.count(CommandKind::acquire), 0U);
}

TEST_F(LinesTest, AGrantNamesTheNextWaiter) {
  // The reports that come with the grant suffice for the hand-over at the lease's end.
  enqueue(1);
  driver.acquire_in_order(2, terms, 1h);
  for (const int node : {0, 1, 2}) driver.reply(node, {far_behind});
  driver.wake(0, 1);
  driver.wake(1, 1);
  core::Answer granted{Vote::granted};
  granted.next_waiter = 2;
  for (const int node : {0, 1, 2}) driver.reply(node, granted);
  EXPECT_EQ(driver.count<core::Acquired>(), 1U);
  driver.forget_seen();
  driver.release(driver.lease());
  EXPECT_EQ(sent(CommandKind::release).at(0).waiter, 1U);
  EXPECT_EQ(sent(CommandKind::release).at(0).not_woken, 2U);
  EXPECT_EQ(sent(CommandKind::acquire).at(0).waiter, 2U);
}

}  // namespace
}  // namespace quorumlock::test
