#include "support/engine_line.hpp"

// How waiting in the line ends, and what becomes of entries (docs/waiting.md).
namespace quorumlock::test {
namespace {

using EngineLineEnd = EngineLine;

TEST_F(EngineLineEnd, ACancelledWaiterLeaves) {
  // Its entry is taken out everywhere, also on a node that comes back later.
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

TEST_F(EngineLineEnd, ALeaveThatIsOwedEndsWithTheEntry) {
  // A node that stays away has pruned the entry by itself after its life.
  const core::WaiterId waiter = enqueue(1);
  driver.link(2, LinkState::down);
  driver.cancel(waiter);
  answer_rest();
  EXPECT_NE(driver.engine().deadline(), core::never);
  driver.pass(3s);
  driver.expect_nothing_left();
}

TEST_F(EngineLineEnd, AWaitThatRunsOutLeaves) {
  // Timed out where a quorum was heard of; the entry goes.
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

TEST_F(EngineLineEnd, AWaitThatRunsOutWithoutNodesSaysSo) {
  // It waited behind others, then two of three nodes went away: no quorum to be had.
  enqueue(1, 2s);
  driver.pass_until(at(1s));
  driver.lose(0);
  driver.lose(1);
  driver.reply(2, {far_behind});
  driver.pass_until(at(2s));
  EXPECT_EQ(driver.only<core::Refused>().why, Errc::no_quorum);
}

TEST_F(EngineLineEnd, ATryThatIsCancelledLeavesWithItsKeys) {
  // One script deletes the key, takes the entry out and wakes the next.
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

TEST_F(EngineLineEnd, ANodeThatReturnsGetsTheEntryAtOnce) {
  // Not only with the next refresh.
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

TEST_F(EngineLineEnd, EntriesThatLeftAreNotPutBackByAMissingScript) {
  // NOSCRIPT for an entry whose waiter has left meanwhile: nothing is sent again.
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

TEST_F(EngineLineEnd, AMissingScriptIsSentWithItsSourceOnce) {
  // The entry gets there after all.
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

TEST_F(EngineLineEnd, ADetachedLeaseLeavesNothingToDelete) {
  // Its keys run out by themselves, and so does its entry.
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

TEST_F(EngineLineEnd, CloseTakesEveryEntryOut) {
  // Two locks, three waiters: nothing is left of them.
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

TEST_F(EngineLineEnd, AnUnorderedWaitIsWokenByAQuorum) {
  // It listens while it pauses, for as long as it waits, and once for all who wait for that lock.
  driver.acquire(1, terms, 1h);
  for (const int node : {0, 1, 2}) driver.reply(node, Vote::held);
  driver.acquire(2, terms, 1h);
  answer_rest();
  EXPECT_EQ(driver.only<core::Listen>().key, "key");
  driver.forget_seen();
  driver.free(0);
  driver.free(0);
  driver.pass(EngineDriver::jitter / 4);
  EXPECT_EQ(driver.count(CommandKind::set), 0U);
  driver.free(2);
  driver.pass(EngineDriver::jitter / 4);
  EXPECT_EQ(driver.count(CommandKind::set), 3U);  // of one of them
  driver.answer_all();
  driver.close();
  answer_rest();
  EXPECT_FALSE(driver.all<core::Listen>().back().on);
  driver.expect_nothing_left();
}

TEST_F(EngineLineEnd, InACrowdFewHeedARelease) {
  // Woken, and the lock is another's again: every second message, every fourth, ...
  driver.acquire(1, terms, 1h);
  answer_rest();
  driver.answer_all(Vote::held);
  answer_rest();
  std::size_t tries = 0;
  for (int i = 0; i < 400; ++i) {
    driver.forget_seen();
    for (const int node : {0, 1}) driver.free(node);
    driver.pass(EngineDriver::jitter / 4);
    tries += driver.count(CommandKind::set) / 3;
    for (int node = 0; node < 3; ++node) {
      while (!driver.unanswered(node).empty()) {
        const bool asks = driver.unanswered(node).front().tag.kind == CommandKind::set;
        driver.reply(node, asks ? Vote::held : Vote::absent);
      }
    }
  }
  EXPECT_LT(tries, 120U);  // its own pauses among them, of at least 50 ms in 7.5 ms steps
}

TEST_F(EngineLineEnd, AnUnorderedWaitTriesWhenTheHoldersKeyRunsOut) {
  // Sooner than after its pause, where a node says so.
  driver.acquire(1, terms, 1h);
  core::Answer held{Vote::held};
  held.due = 5ms;
  for (const int node : {0, 1, 2}) driver.reply(node, held);
  answer_rest();
  driver.forget_seen();
  driver.pass(6ms + EngineDriver::jitter / 4);
  EXPECT_EQ(driver.count(CommandKind::set), 3U);
}

}  // namespace
}  // namespace quorumlock::test
