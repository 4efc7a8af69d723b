#include "support/engine_line.hpp"

// How a wait in the line ends, and what happens to the entries (docs/architecture.md).
namespace quorumlock::test {
namespace {

using LinesEnd = EngineLine;

TEST_F(LinesEnd, ACancelledWaiterLeaves) {
  // The waiter's entry is removed from every node, including a node that comes back later.
  const core::WaiterId waiter = enqueue(1);
  driver.link(2, LinkState::down);
  driver.cancel(waiter);
  EXPECT_EQ(driver.only<core::Refused>().why, Errc::cancelled);
  EXPECT_EQ(sent(CommandKind::release).at(0).waiter, 1U);
  EXPECT_EQ(driver.count(CommandKind::release), 2U);
  answer_rest();
  driver.forget_seen();
  driver.link(2, LinkState::up);
  EXPECT_EQ(sent(CommandKind::release).at(0).waiter, 1U);
  answer_rest();
  driver.expect_nothing_left();
}

TEST_F(LinesEnd, ALeaveThatIsOwedEndsWithTheEntry) {
  // A node that stays away prunes the entry by itself after the entry's life.
  const core::WaiterId waiter = enqueue(1);
  driver.link(2, LinkState::down);
  driver.cancel(waiter);
  answer_rest();
  EXPECT_NE(driver.engine().deadline(), core::never);
  driver.pass(3s);
  driver.expect_nothing_left();
}

TEST_F(LinesEnd, AWaitThatRunsOutLeaves) {
  // A quorum has answered, so the wait ends as timed out, and the entry is removed.
  enqueue(1, 2s);
  driver.pass_until(at(1500ms));
  for (const int node : {0, 1, 2}) driver.reply(node, {far_behind});
  driver.forget_seen();
  driver.pass_until(at(2s));
  const core::Refused refused = driver.only<core::Refused>();
  EXPECT_EQ(refused.why, Errc::timed_out);
  EXPECT_EQ(refused.tally.vote(0), Vote::held);
  EXPECT_EQ(sent(CommandKind::release).at(0).waiter, 1U);
  answer_rest();
  driver.expect_nothing_left();
}

TEST_F(LinesEnd, AWaitThatRunsOutBeforeItsEntryIsAnsweredHasTheVotesOfItsAttempt) {
  // The lock is held, and no node has said yet which place the entry has.
  driver.acquire_in_order(1, terms, 100ms);
  for (const int node : {0, 1}) driver.reply(node, refused());
  driver.pass_until(at(100ms));
  const core::Refused refused = driver.only<core::Refused>();
  EXPECT_EQ(refused.why, Errc::timed_out);
  EXPECT_EQ(refused.tally.vote(0), Vote::held);
  EXPECT_EQ(refused.tally.vote(1), Vote::held);
}

TEST_F(LinesEnd, AWaitThatRunsOutWithoutNodesSaysSo) {
  // The waiter came after others when two of three nodes went away: no quorum is possible.
  enqueue(1, 2s);
  driver.pass_until(at(1s));
  driver.lose(0);
  driver.lose(1);
  driver.reply(2, {far_behind});
  driver.pass_until(at(2s));
  EXPECT_EQ(driver.only<core::Refused>().why, Errc::no_quorum);
}

TEST_F(LinesEnd, AWaitWithoutAQuorumBlamesNoHolder) {
  // On the one node that is left the lock is free and this waiter is first in the line.
  enqueue(1, 2s);
  driver.pass_until(at(1s));
  driver.lose(0);
  driver.lose(1);
  driver.reply(2, {Place{.before = 0, .free = true}});
  driver.pass_until(at(2s));
  const core::Refused refused = driver.only<core::Refused>();
  EXPECT_EQ(refused.why, Errc::no_quorum);
  EXPECT_EQ(refused.tally.vote(2), Vote::absent);
}

TEST_F(LinesEnd, ATryThatIsCancelledLeavesWithItsKeys) {
  // One script deletes the key, removes the entry and wakes the next waiter.
  const core::WaiterId waiter = enqueue(1);
  driver.wake(0, 1);
  driver.wake(1, 1);
  const std::string token = sent(CommandKind::acquire).at(0).token;
  driver.cancel(waiter);
  const Command release = sent(CommandKind::release).at(0);
  EXPECT_EQ(release.token, token);
  EXPECT_EQ(release.waiter, 1U);
  EXPECT_EQ(release.not_woken, 0U);
  driver.answer_all();
  driver.expect_nothing_left();
}

TEST_F(LinesEnd, ANodeThatReturnsGetsTheEntryAtOnce) {
  // The node gets the entry before the next refresh.
  driver.link(2, LinkState::down);
  driver.acquire_in_order(1, terms, 1h);
  for (const int node : {0, 1}) driver.reply(node, refused());
  driver.reply(1, Vote::absent);
  driver.forget_seen();
  driver.link(2, LinkState::up);
  driver.pass(0s);
  EXPECT_TRUE(driver.all<Sent>().at(0).to.contains(2));
  EXPECT_EQ(driver.count(CommandKind::queue), 3U);
}

TEST_F(LinesEnd, EntriesThatLeftAreNotPutBackByAMissingScript) {
  // NOSCRIPT comes for an entry whose waiter has left in the meantime: nothing is sent again.
  const core::WaiterId waiter = driver.acquire_in_order(1, terms, 1h);
  for (const int node : {0, 1, 2}) driver.reply(node, refused());
  driver.reply(2, Vote::absent);
  driver.cancel(waiter);
  driver.forget_seen();
  for (const int node : {0, 1, 2}) driver.reply(node, Vote::no_script);
  EXPECT_EQ(driver.count(CommandKind::queue), 0U);
  answer_rest();
  driver.expect_nothing_left();
}

TEST_F(LinesEnd, AMissingScriptIsSentWithItsSourceOnce) {
  // The entry is sent once more, with the script's source; a second NOSCRIPT is not answered.
  driver.acquire_in_order(1, terms, 1h);
  for (const int node : {0, 1, 2}) driver.reply(node, refused());
  driver.reply(2, Vote::absent);
  driver.forget_seen();
  for (const int node : {0, 1, 2}) driver.reply(node, Vote::no_script);
  EXPECT_EQ(driver.count(CommandKind::queue), 3U);
  EXPECT_TRUE(sent(CommandKind::queue).at(0).tag.with_source);
  for (const int node : {0, 1, 2}) driver.reply(node, Vote::no_script);
  EXPECT_EQ(driver.count(CommandKind::queue), 3U);
}

TEST_F(LinesEnd, ADetachedLeaseLeavesNothingToDelete) {
  // The lease's keys and its entry expire by themselves.
  enqueue(1);
  driver.wake(0, 1);
  driver.wake(1, 1);
  driver.answer_all();
  driver.engine().detach(driver.now, driver.lease());
  driver.forget_seen();
  driver.pass(11s);
  EXPECT_EQ(driver.count(CommandKind::release), 0U);
  driver.expect_nothing_left();
}

TEST_F(LinesEnd, ADetachedLeaseLeavesTheLineOfANodeThatRefused) {
  // The first two nodes grant the lock and mark the entry. The third has refused, and would keep
  // the entry for all its life; its line would refuse the next waiter there as well.
  enqueue(1);
  driver.wake(0, 1);
  driver.wake(1, 1);
  driver.reply(2, refused());
  driver.answer_all();
  driver.forget_seen();
  driver.engine().detach(driver.now, driver.lease());
  driver.link(0, LinkState::up);  // no change: any input makes the driver pull
  ASSERT_EQ(driver.count(CommandKind::release), 1U);
  EXPECT_TRUE(driver.all<Sent>().at(0).to.contains(2));
  EXPECT_EQ(sent(CommandKind::release).at(0).waiter, 1U);
  answer_rest();
  driver.pass(11s);
  driver.expect_nothing_left();
}

TEST_F(LinesEnd, CloseTakesEveryEntryOut) {
  // Two locks have three waiters, and nothing is left of them.
  enqueue(1);
  driver.acquire_in_order(2, terms, 1h);
  driver.acquire_in_order(3, terms, 1h, "other");
  answer_rest();
  driver.forget_seen();
  driver.close();
  EXPECT_EQ(driver.count<core::Refused>(), 3U);
  answer_rest();
  driver.expect_nothing_left();
}

}  // namespace
}  // namespace quorumlock::test
