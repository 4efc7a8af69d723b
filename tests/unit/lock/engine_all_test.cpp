#include "support/engine_line.hpp"

// Several locks acquired as one: all or none, one round, one ticket (docs/architecture.md).
namespace quorumlock::test {
namespace {

using Keys = std::vector<std::string>;

class EngineAll : public EngineLine {
 protected:
  /// A waiter whose probe was refused and which is now in all its lines.
  core::WaiterId enqueue_all(core::UserId user, const Keys& keys) {
    const core::WaiterId waiter = driver.acquire_all(user, terms, 1h, keys);
    for (const int node : {0, 1, 2}) driver.reply(node, refused());
    driver.reply(2, Vote::absent);
    for (const int node : {0, 1, 2}) driver.reply(node, std::vector(keys.size(), far_behind));
    driver.forget_seen();
    return waiter;
  }
};

TEST_F(EngineAll, AsksForAllInOneCommandANode) {
  // One round wins the set and one gives it back, by a script even without fencing or a line.
  for (const bool ordered : {true, false}) {
    driver.acquire_all(1, terms, ordered ? 1h : 0s, {"a", "b", "c"}, ordered);
    const Sent asked = driver.only<Sent>();
    EXPECT_EQ(asked.command.tag.kind, CommandKind::acquire);
    EXPECT_EQ(asked.command.keys, (Keys{"a", "b", "c"}));
    EXPECT_EQ(asked.to, all_of(3));
    driver.answer_all();
    EXPECT_EQ(driver.only<core::Acquired>().attempts, 1);
    driver.forget_seen();
    driver.release(driver.lease());
    EXPECT_EQ(driver.only<Sent>().command.tag.kind, CommandKind::release);
    EXPECT_EQ(driver.only<Sent>().command.keys, (Keys{"a", "b", "c"}));
    driver.answer_all();
    driver.expect_nothing_left();
    driver.forget_seen();
  }
}

TEST_F(EngineAll, TheFencesSeenOfEachLockCount) {
  // The set's number exceeds what was seen of either key; then each key remembers that number.
  EngineDriver fenced(config(true));
  const auto win = [&fenced](std::uint64_t fence) {
    core::Answer granted{Vote::granted, false, fence, node_time};
    for (const int node : {0, 1, 2}) fenced.reply(node, granted);
    fenced.release(fenced.lease());
    fenced.answer_all();
    fenced.forget_seen();
  };
  fenced.acquire(1, terms, 0s, "b");
  win(50);
  fenced.acquire_all(2, terms, 0s, {"a", "b"});
  EXPECT_EQ(fenced.only<Sent>().command.fence, 50U);
  win(60);
  for (const char* key : {"a", "b"}) {
    fenced.acquire(3, terms, 0s, key);
    EXPECT_EQ(fenced.only<Sent>().command.fence, 60U);
    win(61);
  }
}

TEST_F(EngineAll, ANodeWithoutOneOfThemMayHaveTheOthers) {
  // A node that lacks one key does not confirm a renewal, but gets the release when it is back.
  driver.acquire_all(1, terms, 0s, {"a", "b"});
  driver.answer_all();
  driver.pass(third);
  driver.reply(0, Vote::absent);
  for (const int node : {1, 2}) driver.reply(node, Vote::granted);
  EXPECT_EQ(driver.count<core::Renewed>(), 1U);
  driver.lose(0);
  driver.forget_seen();
  driver.release(driver.lease());
  EXPECT_FALSE(driver.only<Sent>().to.contains(0));
  driver.link(0, LinkState::up);
  EXPECT_EQ(driver.all<Sent>().back().to, core::NodeSet::only(0));
  EXPECT_EQ(driver.all<Sent>().back().command.keys, (Keys{"a", "b"}));
  answer_rest();
  driver.expect_nothing_left();
}

TEST_F(EngineAll, IsLostIfAQuorumDoesNotHaveAllOfThem) {
  // Two nodes lack one key of the set: the lease is lost, and everything that is left is deleted.
  driver.acquire_all(1, terms, 0s, {"a", "b"});
  driver.answer_all();
  driver.pass(third);
  driver.forget_seen();
  driver.reply(0, Vote::held);
  driver.reply(1, Vote::absent);
  EXPECT_EQ(driver.only<core::Ended>().why, Errc::lost);
  EXPECT_EQ(driver.only<Sent>().command.tag.kind, CommandKind::release);
  EXPECT_EQ(driver.only<Sent>().to, all_of(3));
}

TEST_F(EngineAll, HasOneTicketInAllLines) {
  // Each key has the same number and ticket; a ticket too small in one line grows in all of them.
  enqueue(1);
  driver.acquire_all(2, terms, 1h, {"a", "key"});
  const Command entry = sent(CommandKind::queue).at(0);
  EXPECT_EQ(entry.keys, (Keys{"a", "key"}));
  ASSERT_EQ(entry.entries.size(), 2U);
  EXPECT_EQ(entry.entries[0], entry.entries[1]);
  driver.forget_seen();
  Place late = far_behind;
  late.greatest_ticket = entry.entries[0].second + 10;
  for (const int node : {0, 1}) driver.reply(node, {far_behind, late});
  const Command again = sent(CommandKind::queue).at(0);
  EXPECT_EQ(again.keys, (Keys{"a", "key"}));
  EXPECT_EQ(again.entries[0], again.entries[1]);
  EXPECT_EQ(again.entries[0].second, late.greatest_ticket + 1);
}

TEST_F(EngineAll, ItsPlaceIsTheWorstOfItsPlaces) {
  // The waiter is first in one line but not in the other, or first in both with one lock taken: it
  // has no reason to try.
  enqueue_all(1, {"a", "b"});
  driver.pass(1s);
  Place second = behind_another;
  second.free = true;
  for (const int node : {0, 1, 2}) driver.reply(node, {first_and_free, second});
  driver.pass(1s);
  for (const int node : {0, 1, 2}) driver.reply(node, {first, first_and_free});
  EXPECT_EQ(driver.count(CommandKind::acquire), 0U);
  driver.pass(1s);
  driver.reply(0, {first_and_free, first_and_free});
  EXPECT_EQ(driver.count(CommandKind::acquire), 0U);
  driver.reply(1, {first_and_free, first_and_free});
  EXPECT_EQ(sent(CommandKind::acquire).at(0).keys, (Keys{"a", "b"}));
  EXPECT_EQ(sent(CommandKind::acquire).at(0).waiter, 1U);
}

TEST_F(EngineAll, LooksAgainWhenTheLastObstacleMayEnd) {
  // One holder's key expires in 100 ms, the other's in 300 ms.
  enqueue_all(1, {"a", "b"});
  driver.pass(1s);
  Place soon = first;
  soon.due = 100ms;
  Place later = first;
  later.due = 300ms;
  for (const int node : {0, 1, 2}) driver.reply(node, {later, soon});
  driver.forget_seen();
  driver.pass(299ms);
  EXPECT_EQ(driver.count(CommandKind::queue), 0U);
  driver.pass(2ms);
  EXPECT_EQ(driver.count(CommandKind::queue), 3U);
}

TEST_F(EngineAll, AMessageMakesItTryAndARefusalIsNotALostRound) {
  // Each release of one of the locks causes a try; many failed tries never make the waiter pause.
  enqueue_all(1, {"a", "b"});
  for (int turn = 0; turn < 8; ++turn) {
    for (const int node : {0, 1}) driver.wake(node, 1);
    EXPECT_EQ(driver.count(CommandKind::acquire), 3U) << turn;
    for (const int node : {0, 1, 2}) driver.reply(node, refused());
    for (const int node : {0, 1, 2}) {
      while (!driver.unanswered(node).empty()) driver.reply(node, Vote::absent);
    }
    driver.forget_seen();
  }
}

TEST_F(EngineAll, IsNotHandedOverWithinTheProcess) {
  // Only the nodes know whether the rest of a set is free: they wake the set's waiter.
  driver.acquire(1, terms, 0s, "a");
  driver.answer_all();
  const core::ClaimId single = driver.lease();
  driver.acquire_all(2, terms, 1h, {"a", "b"});
  for (const int node : {0, 1, 2}) driver.reply(node, refused());
  driver.reply(2, Vote::absent);
  for (const int node : {0, 1, 2}) driver.reply(node, {behind_ours, behind_ours});
  driver.forget_seen();
  driver.release(single);
  EXPECT_EQ(sent(CommandKind::release).at(0).not_woken, 0U);
  EXPECT_EQ(driver.count(CommandKind::acquire), 0U);
  answer_rest();
  driver.forget_seen();
  // A set is not handed over to a waiter for one of its locks either.
  for (const int node : {0, 1}) driver.wake(node, 1);
  driver.answer_all();
  const core::ClaimId set = driver.lease();
  driver.acquire_in_order(3, terms, 1h, "a");
  for (const int node : {0, 1, 2}) {
    while (driver.unanswered(node).front().tag.kind != CommandKind::acquire) {
      driver.reply(node, Vote::absent);
    }
    driver.reply(node, refused());
  }
  for (const int node : {0, 1, 2}) {
    while (driver.unanswered(node).front().tag.kind != CommandKind::queue) {
      driver.reply(node, Vote::absent);
    }
    driver.reply(node, {behind_ours});
  }
  driver.forget_seen();
  driver.release(set);
  EXPECT_EQ(sent(CommandKind::release).at(0).waiter, 1U);
  EXPECT_EQ(sent(CommandKind::release).at(0).not_woken, 0U);
  EXPECT_EQ(driver.count(CommandKind::acquire), 0U);
}

TEST_F(EngineAll, LeavesAllItsLines) {
  // One command for each node releases a token that nobody has; no entry is refreshed afterwards.
  const core::WaiterId waiter = enqueue_all(1, {"a", "b", "c"});
  driver.cancel(waiter);
  const Command leave = sent(CommandKind::release).at(0);
  EXPECT_EQ(leave.keys, (Keys{"a", "b", "c"}));
  EXPECT_EQ(leave.waiter, 1U);
  answer_rest();
  driver.expect_nothing_left();
}

TEST_F(EngineAll, IsRefreshedOnceAndItsEntriesStayTogether) {
  // A command holds up to 64 entries: of waiters for twelve keys five, and no waiter's are split.
  for (core::UserId user = 1; user <= 7; ++user) {
    Keys keys = {"shared"};
    for (core::UserId i = 0; i < 11; ++i) keys.push_back(std::to_string(user * 100 + i));
    driver.acquire_all(user, terms, 1h, keys);
    driver.answer_all(Vote::held);
  }
  driver.forget_seen();
  driver.pass(1s);
  const std::vector<Command> batches = sent(CommandKind::queue);
  ASSERT_EQ(batches.size(), 2U);
  EXPECT_EQ(batches[0].entries.size(), 60U);
  EXPECT_EQ(batches[1].entries.size(), 24U);
  for (const Command& batch : batches) {
    for (std::size_t i = 0; i < batch.entries.size(); ++i) {
      EXPECT_EQ(batch.entries[i], batch.entries[i / 12 * 12]);
    }
  }
}

TEST_F(EngineAll, ASharedOneAsksEveryNodeForReadersOfAllLocks) {
  // The attempt, each entry of the line, the try and the renewal all ask for a reader's lock.
  const core::Terms to_read{.ttl = 10s, .stop_margin = 1s, .mode = LockMode::shared};
  driver.acquire_all(1, to_read, 1h, {"a", "b"});
  EXPECT_TRUE(driver.only<Sent>().command.shared);
  EXPECT_EQ(driver.only<Sent>().command.keys, (Keys{"a", "b"}));
  for (const int node : {0, 1, 2}) driver.reply(node, refused());
  driver.reply(2, Vote::absent);
  EXPECT_TRUE(sent(CommandKind::queue).at(0).shared);
  EXPECT_EQ(sent(CommandKind::queue).at(0).keys, (Keys{"a", "b"}));
  for (const int node : {0, 1, 2}) driver.reply(node, {far_behind, far_behind});
  driver.forget_seen();
  for (const int node : {0, 1}) driver.wake(node, 1);
  EXPECT_TRUE(sent(CommandKind::acquire).at(0).shared);
  driver.answer_all();
  driver.forget_seen();
  driver.pass(third + 1ms);
  EXPECT_TRUE(sent(CommandKind::renew).at(0).shared);
  EXPECT_EQ(sent(CommandKind::renew).at(0).keys, (Keys{"a", "b"}));
}

TEST_F(EngineAll, DowngradeGivesUpTheWritersEntriesInAllLines) {
  // First the writer's entries are released, with a token that nobody has; then one renewal makes
  // readers of all the keys.
  enqueue_all(1, {"a", "b"});
  for (const int node : {0, 1}) driver.wake(node, 1);
  driver.answer_all();
  driver.forget_seen();
  EXPECT_TRUE(driver.downgrade(driver.lease()));
  const std::vector<Sent> all = driver.all<Sent>();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].command.tag.kind, CommandKind::release);
  EXPECT_EQ(all[0].command.keys, (Keys{"a", "b"}));
  EXPECT_EQ(all[0].command.waiter, 1U);
  EXPECT_FALSE(all[0].command.shared);
  EXPECT_NE(all[0].command.token, all[1].command.token);
  EXPECT_EQ(all[1].command.tag.kind, CommandKind::renew);
  EXPECT_EQ(all[1].command.keys, (Keys{"a", "b"}));
  EXPECT_TRUE(all[1].command.shared);
  driver.answer_all();
  EXPECT_FALSE(driver.only<core::Extended>().why);
  driver.release(driver.lease());
  EXPECT_EQ(sent(CommandKind::release).back().waiter, 0U);
  driver.answer_all();
  driver.expect_nothing_left();
}

}  // namespace
}  // namespace quorumlock::test
