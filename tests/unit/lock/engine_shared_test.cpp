#include "support/engine_line.hpp"

// Readers: their commands, the hand-over to them, and a writer that becomes one
// (docs/architecture.md).
namespace quorumlock::test {
namespace {

inline const core::Terms to_read{.ttl = 10s, .stop_margin = 1s, .mode = LockMode::shared};

class EngineShared : public EngineLine {
 protected:
  /// A writer of this process holds the lock and has an entry in the line: waiter 1.
  void write_from_the_line() {
    enqueue(1);
    driver.wake(0, 1);
    driver.wake(1, 1);
    driver.answer_all();
    driver.forget_seen();
  }
  /// A reader of this process waits in the line after that writer.
  void enqueue_reader(core::UserId user) {
    driver.acquire_in_order(user, to_read, 1h);
    for (const int node : {0, 1, 2}) {
      if (driver.unanswered(node).front().tag.kind == CommandKind::acquire) {
        driver.reply(node, refused());
      }
    }
    while (!driver.unanswered(2).empty() &&
           driver.unanswered(2).front().tag.kind == CommandKind::release) {
      driver.reply(2, Vote::absent);
    }
    for (const int node : {0, 1, 2}) driver.reply(node, {behind_ours});
    driver.forget_seen();
  }
};

TEST_F(EngineShared, ASingleAttemptIsAScriptEvenWithoutFencing) {
  // A plain SET would ask for exclusive ownership.
  driver.acquire(1, to_read);
  const Command attempt = sent(CommandKind::acquire).at(0);
  EXPECT_TRUE(attempt.shared);
  EXPECT_FALSE(attempt.ordered);
  EXPECT_EQ(driver.count(CommandKind::set), 0U);
  driver.answer_all();
  EXPECT_EQ(driver.only<core::Acquired>().attempts, 1);
  driver.release(driver.lease());
  driver.answer_all();
  driver.expect_nothing_left();
}

TEST_F(EngineShared, RenewalsAreThoseOfAReader) {
  // Each renewal is a reader's, so that a key that is set anew is a reader's too.
  driver.hold(to_read);
  driver.pass(third + 1ms);
  const Command renewal = sent(CommandKind::renew).at(0);
  EXPECT_TRUE(renewal.shared);
  EXPECT_TRUE(renewal.replant);
}

TEST_F(EngineShared, KeepsItsNameInTheLine) {
  // The entry, the try and the yield are a reader's; the yield's answer may let it try again.
  driver.acquire_in_order(1, to_read, 1h);
  for (const int node : {0, 1, 2}) driver.reply(node, refused());
  driver.reply(2, Vote::absent);
  EXPECT_TRUE(sent(CommandKind::queue).at(0).shared);
  for (const int node : {0, 1, 2}) driver.reply(node, {far_behind});
  driver.forget_seen();
  driver.wake(0, 1);
  driver.wake(1, 1);
  const Command attempt = sent(CommandKind::acquire).at(0);
  EXPECT_TRUE(attempt.shared);
  EXPECT_EQ(attempt.waiter, 1U);
  driver.reply(0, Vote::granted);
  driver.reply(1, refused());
  driver.reply(2, refused());
  const Command yield = sent(CommandKind::release).at(0);
  EXPECT_EQ(yield.not_woken, 1U);
  EXPECT_TRUE(yield.not_woken_reads);
}

TEST_F(EngineShared, AWriterHandsOverToAReader) {
  // The release and the reader's attempt share one write, so the release need not wake the reader.
  write_from_the_line();
  enqueue_reader(2);
  driver.release(driver.lease());
  const Command release = sent(CommandKind::release).at(0);
  EXPECT_EQ(release.waiter, 1U);
  EXPECT_FALSE(release.shared);
  EXPECT_EQ(release.not_woken, 2U);
  EXPECT_TRUE(release.not_woken_reads);
  EXPECT_TRUE(sent(CommandKind::acquire).at(0).shared);
  driver.answer_all();
  EXPECT_EQ(driver.count<core::Acquired>(), 1U);
}

TEST_F(EngineShared, AReaderHandsOverToNobody) {
  // Other readers may still hold the lock, and only the nodes know: they wake the head of the line.
  driver.hold(to_read);
  driver.acquire_in_order(2, terms, 1h);
  for (const int node : {0, 1, 2}) driver.reply(node, refused());
  driver.reply(2, Vote::absent);
  for (const int node : {0, 1, 2}) driver.reply(node, {first});
  driver.forget_seen();
  driver.release(driver.lease());
  EXPECT_EQ(sent(CommandKind::release).at(0).not_woken, 0U);
  EXPECT_EQ(driver.count(CommandKind::acquire), 0U);
}

TEST_F(EngineShared, DowngradeGivesUpTheWritersEntryAndRenewsAsAReader) {
  // The entry is given up first: the nodes then wake the waiters after it.
  write_from_the_line();
  EXPECT_TRUE(driver.downgrade(driver.lease()));
  const std::vector<Sent> all = driver.all<Sent>();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].command.tag.kind, CommandKind::release);
  EXPECT_EQ(all[0].command.waiter, 1U);
  EXPECT_FALSE(all[0].command.shared);
  EXPECT_NE(all[0].command.token, all[1].command.token);
  EXPECT_EQ(all[1].command.tag.kind, CommandKind::renew);
  EXPECT_TRUE(all[1].command.shared);
  driver.answer_all();
  EXPECT_FALSE(driver.only<core::Extended>().why);
  // The lease that is left has a reader's token and no entry.
  driver.forget_seen();
  driver.release(driver.lease());
  EXPECT_EQ(sent(CommandKind::release).at(0).waiter, 0U);
  EXPECT_EQ(sent(CommandKind::release).at(0).token, all[1].command.token);
  driver.answer_all();
  driver.expect_nothing_left();
}

TEST_F(EngineShared, ADowngradeThatFailsLeavesAReader) {
  // The old end stands, and the next renewal makes readers of the keys that are left.
  driver.hold(terms);
  const core::Time end = driver.lease_end();
  driver.downgrade(driver.lease());
  for (const int node : {0, 1, 2}) driver.reply(node, Vote::loading);
  EXPECT_EQ(driver.only<core::Extended>().why, Errc::no_quorum);
  EXPECT_EQ(driver.lease_end(), end);
  driver.forget_seen();
  driver.pass(EngineDriver::delay + EngineDriver::jitter);
  EXPECT_TRUE(sent(CommandKind::renew).at(0).shared);
}

TEST_F(EngineShared, ALeaseIsNotDowngradedTwiceAtOnceOrWhenItIsOverOrDetached) {
  const core::ClaimId held = driver.hold(terms);
  EXPECT_TRUE(driver.downgrade(held));
  EXPECT_FALSE(driver.downgrade(held));
  EXPECT_FALSE(driver.extend(held, 10s));
  driver.answer_all();
  driver.engine().detach(driver.now, held);
  EXPECT_FALSE(driver.downgrade(held));
  driver.release(held);
  EXPECT_FALSE(driver.downgrade(held));
}

TEST(EngineSharedFences, ReadersThatMeetRaiseFartherApart) {
  // If another reader has already raised a counter as high, the next number exceeds that counter,
  // by a growing distance.
  EngineDriver driver(EngineDriver::fencing(3));
  driver.acquire(1, to_read);
  driver.reply(0, {Vote::granted, false, 7});
  driver.reply(1, {Vote::granted, false, 9});
  std::uint64_t target = 9;
  std::uint64_t widest = 0;
  for (int round = 0; round < 12; ++round) {
    std::uint64_t asked = 0;
    for (const Sent& sent : driver.all<Sent>()) {
      if (sent.command.tag.kind == CommandKind::raise) asked = sent.command.fence;
    }
    ASSERT_GE(asked, target);
    widest = std::max(widest, asked - target);
    target = asked + 1;
    for (const int node : {0, 1}) {
      for (std::size_t i = driver.unanswered(node).size(); i > 0; --i) {
        driver.reply(node, {Vote::held, false, asked});
      }
    }
  }
  EXPECT_GT(widest, 8U);
  driver.answer_all(Vote::absent);
}

}  // namespace
}  // namespace quorumlock::test
