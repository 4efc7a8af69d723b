#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "support/engine_driver.hpp"

// More acquisitions at the same time than may be out: the client queues the rest.
namespace quorumlock::test {
namespace {

class AcquisitionsBurst : public ::testing::Test {
 protected:
  static core::Engine::Config few_out(int window, bool fencing = false) {
    core::Engine::Config config = EngineDriver::fencing(3);
    config.fencing = fencing;
    config.window = window;
    config.send_within = 500ms;
    return config;
  }
  static std::string key_of(int number) { return "key/" + std::to_string(number); }
  /// Asks for this many different names; name i is asked for by user i.
  void ask(int names, core::Duration wait = 0s) {
    for (int number = 0; number < names; ++number) {
      waiters_.push_back(
          driver_.acquire(static_cast<core::UserId>(number), ten_seconds, wait, key_of(number)));
    }
  }
  /// The names whose attempts went out since the last call, in this order.
  std::vector<std::string> sent() {
    std::vector<std::string> names;
    for (const Sent& one : driver_.all<Sent>()) {
      const CommandKind kind = one.command.tag.kind;
      if (kind == CommandKind::set || kind == CommandKind::acquire) {
        names.push_back(one.command.key);
      }
    }
    driver_.forget_seen();
    return names;
  }
  using Names = std::vector<std::string>;

  EngineDriver driver_{few_out(2)};
  std::vector<core::WaiterId> waiters_;
};

TEST_F(AcquisitionsBurst, ABoundedNumberOfAttemptsIsOutAndTheRestFollowsInOrder) {
  ask(5);
  EXPECT_EQ(sent(), (Names{"key/0", "key/1"}));
  driver_.reply(0, Vote::granted);
  EXPECT_EQ(sent(), Names{}) << "one node is no quorum";
  driver_.reply(1, Vote::granted);
  EXPECT_EQ(sent(), Names{"key/2"});
  driver_.answer_all();
  EXPECT_EQ(sent(), (Names{"key/3", "key/4"}));
  EXPECT_EQ(driver_.engine().stats(driver_.now).acquired, 5U);
}

TEST_F(AcquisitionsBurst, ALostAttemptMakesRoomOnceItIsReleased) {
  ask(3);
  driver_.forget_seen();
  driver_.reply({0, 1}, Vote::held);
  EXPECT_EQ(driver_.only<core::Refused>().why, Errc::contended);
  EXPECT_EQ(sent(), Names{}) << "the release has taken the place of the attempt";
  driver_.reply({0, 1}, Vote::granted);
  driver_.reply({0, 1}, Vote::absent);
  EXPECT_EQ(sent(), Names{"key/2"});
}

TEST_F(AcquisitionsBurst, NodesThatAreLostMakeRoom) {
  // No quorum is left: the attempts that were queued fail at once, and are not queued for ever.
  ask(4);
  driver_.forget_seen();
  for (const int node : {0, 1}) driver_.lose(node);
  EXPECT_EQ(driver_.count<core::Refused>(), 4U);
}

TEST_F(AcquisitionsBurst, AttemptsThatFailAtOnceLetTheWholeQueueGo) {
  ask(100);
  for (const int node : {0, 1, 2}) driver_.lose(node);
  EXPECT_EQ(driver_.count<core::Refused>(), 100U);
  for (const core::Refused& refused : driver_.all<core::Refused>()) {
    EXPECT_EQ(refused.why, Errc::no_quorum);
    EXPECT_FALSE(refused.unsent);
  }
}

TEST_F(AcquisitionsBurst, ThoseThatWaitAreKeptWhileTheNodesAreSilent) {
  // Each attempt would be lost at once, and all of them would enter the line.
  for (const LinkState silent : {LinkState::stalled, LinkState::down}) {
    SCOPED_TRACE(silent == LinkState::stalled ? "stalled" : "down");
    EngineDriver driver(few_out(2));
    for (int number = 0; number < 100; ++number) {
      driver.acquire_in_order(static_cast<core::UserId>(number), ten_seconds, 20s, key_of(number));
    }
    const Vote reason = silent == LinkState::stalled ? Vote::stalled : Vote::unreachable;
    for (const int node : {0, 1}) {
      driver.link(node, silent, reason);
      for (int attempt = 0; attempt < 2; ++attempt) driver.time_out(node);
    }
    EXPECT_EQ(driver.engine().stats(driver.now).attempts, 2U);
    for (const int node : {0, 1}) driver.link(node, LinkState::up);
    driver.answer_all();
    EXPECT_GT(driver.engine().stats(driver.now).attempts, 90U);
  }
}

TEST_F(AcquisitionsBurst, ThoseThatWaitAreSentIfTheNodesRefuseUs) {
  // The waiters fail with the reason, and do not wait for nodes that will never vote for this
  // client.
  for (int number = 0; number < 100; ++number) {
    driver_.acquire_in_order(static_cast<core::UserId>(number), ten_seconds, 20s, key_of(number));
  }
  for (const int node : {0, 1, 2}) {
    driver_.link(node, LinkState::quarantined, Vote::nodes_differ);
  }
  for (const int node : {0, 1, 2}) {
    for (int number = 0; number < 2; ++number) driver_.reply(node, Vote::nodes_differ);
  }
  EXPECT_EQ(driver_.count<core::Refused>(), 100U);
}

TEST_F(AcquisitionsBurst, WithoutAWaitItIsRefusedWhenItIsNotSentInTime) {
  ask(5);
  driver_.forget_seen();
  driver_.pass_until(at(500ms - 1ns));
  EXPECT_EQ(driver_.count<core::Refused>(), 0U);
  driver_.pass(1ns);
  std::set<std::uint64_t> before;
  for (const core::Refused& refused : driver_.all<core::Refused>()) {
    EXPECT_GE(refused.user, 2U);
    EXPECT_EQ(refused.why, Errc::timed_out);
    EXPECT_EQ(refused.attempts, 0);
    ASSERT_TRUE(refused.unsent);
    EXPECT_EQ(refused.unsent->before, refused.user - 2);
    EXPECT_EQ(refused.unsent->waited, 500ms);
    EXPECT_EQ(refused.unsent->full.size(), 3) << "that is why it was not sent";
    before.insert(refused.unsent->before);
  }
  EXPECT_EQ(before, (std::set<std::uint64_t>{0, 1, 2}));
  // The two attempts that were sent still win, and nothing is sent for the refused ones.
  driver_.forget_seen();
  driver_.answer_all();
  EXPECT_EQ(driver_.count<core::Acquired>(), 2U);
  EXPECT_EQ(sent(), Names{});
}

TEST_F(AcquisitionsBurst, WithAWaitItIsRefusedAtItsEnd) {
  // A waiter is not refused after send_within; earlier waiters that were sent do not count.
  ask(2, core::Duration::max());
  ask(2, 2s);
  driver_.forget_seen();
  driver_.pass_until(at(1s));
  driver_.reply({0, 1}, Vote::granted);
  EXPECT_EQ(sent(), Names{"key/0"});
  driver_.pass_until(at(2s - 1ns));
  EXPECT_EQ(driver_.count<core::Refused>(), 0U);
  driver_.pass(1ns);
  const auto refused = driver_.all<core::Refused>();
  ASSERT_EQ(refused.size(), 2U);
  for (const core::Refused& one : refused) {
    EXPECT_EQ(one.unsent.has_value(), one.attempts == 0);
    EXPECT_EQ(one.unsent.value_or(core::Unsent()).before, 0U);
  }
}

TEST_F(AcquisitionsBurst, AnAcquisitionThatWasSentMayTakeLonger) {
  // The nodes are slow: send_within has passed since the request, and the acquisition is still won.
  ask(3);
  driver_.pass_until(at(400ms));
  driver_.reply({0, 1}, Vote::granted);
  driver_.forget_seen();
  driver_.pass_until(at(600ms));
  EXPECT_EQ(driver_.count<core::Refused>(), 0U);
  driver_.answer_all();
  EXPECT_EQ(driver_.count<core::Acquired>(), 2U);
}

TEST_F(AcquisitionsBurst, TheLeaseCountsFromWhenItIsSent) {
  ask(3, 20s);
  driver_.pass_until(at(5s));
  driver_.reply({0, 1}, Vote::granted);
  driver_.answer_all();
  EXPECT_EQ(driver_.count<core::Acquired>(), 3U);
  EXPECT_EQ(driver_.lease_end(), at(5s + validity));
}

TEST_F(AcquisitionsBurst, AWaiterCancelledInTheQueueLeavesIt) {
  ask(5, 20s);
  driver_.forget_seen();
  driver_.cancel(waiters_[2]);
  driver_.cancel(waiters_[3]);
  for (const core::Refused& refused : driver_.all<core::Refused>()) {
    EXPECT_EQ(refused.why, Errc::cancelled);
    EXPECT_FALSE(refused.unsent);
  }
  EXPECT_EQ(driver_.count<core::Refused>(), 2U);
  driver_.forget_seen();
  driver_.answer_all();
  EXPECT_EQ(sent(), Names{"key/4"});
}

TEST_F(AcquisitionsBurst, CloseEndsTheQueue) {
  ask(5, 20s);
  driver_.forget_seen();
  driver_.close();
  EXPECT_EQ(driver_.count<core::Refused>(), 5U);
  for (const core::Refused& refused : driver_.all<core::Refused>()) {
    EXPECT_EQ(refused.why, Errc::closed);
  }
  EXPECT_EQ(sent(), Names{});
  driver_.answer_all();
  driver_.pass(20s);
  driver_.expect_nothing_left();
}

TEST_F(AcquisitionsBurst, ATurnInTheLineDoesNotWaitForAllNewcomers) {
  const core::Place far_behind{.before = 3, .free = false};
  driver_.acquire_in_order(50, ten_seconds, 100s, "line");
  for (const int node : {0, 1, 2}) driver_.reply(node, Vote::held);
  driver_.reply(2, Vote::absent);
  for (const int node : {0, 1, 2}) driver_.reply(node, {far_behind});
  ask(100, 100s);
  const core::WaiterId unsent = driver_.acquire_in_order(51, ten_seconds, 100s, "line");
  EXPECT_EQ(driver_.engine().place_of(unsent).first, 0U) << "it is in the line before it is sent";
  driver_.forget_seen();
  driver_.wake(0, 1);
  driver_.wake(1, 1);
  // No more newcomers go before it than fit into one batch.
  Names names;
  for (int room = 0; room < 33; ++room) {
    driver_.reply({0, 1}, Vote::granted);
    const Names more = sent();
    names.insert(names.end(), more.begin(), more.end());
  }
  EXPECT_NE(std::ranges::find(names, "line"), names.end());
}

TEST_F(AcquisitionsBurst, ATicketThatGrowsIsSentBeforeATry) {
  // Messages about its smaller ticket come while the entry with the greater one is queued behind a
  // release: a try on their word would overtake the waiters in between.
  constexpr std::uint64_t greatest = 1'000'000;
  core::Place late{.before = 3, .free = false};
  late.greatest_ticket = greatest;
  const core::ClaimId held = driver_.hold(ten_seconds);
  driver_.acquire_in_order(50, ten_seconds, 100s, "line");
  for (const int node : {0, 1, 2}) driver_.reply(node, Vote::held);
  driver_.reply(2, Vote::absent);
  for (const int node : {0, 1, 2}) driver_.reply(node, {core::Place{.before = 3}});
  driver_.acquire_in_order(51, ten_seconds, 100s, "line");
  ask(1, 100s);
  driver_.release(held);
  for (const int node : {0, 1}) driver_.reply(node, {late});
  driver_.forget_seen();
  for (const int node : {0, 1}) driver_.wake(node, 2);
  EXPECT_EQ(driver_.count<Sent>(), 0U);
  driver_.reply({0, 1}, Vote::granted);
  const Command entry = driver_.only<Sent>().command;
  ASSERT_EQ(entry.tag.kind, CommandKind::queue);
  EXPECT_EQ(entry.entries.at(0).second, greatest + 1);
}

TEST_F(AcquisitionsBurst, ARefreshEndsIfTheWaiterOfItsLastEntryWins) {
  EngineDriver driver(few_out(1));
  const auto enter = [&] {
    for (const int node : {0, 1, 2}) {
      while (!driver.unanswered(node).empty()) {
        const Command& command = driver.unanswered(node).front();
        if (command.tag.kind == CommandKind::queue) {
          driver.reply(node, std::vector<core::Place>(command.entries.size(), {.before = 3}));
        } else {
          driver.reply(node, Vote::held);
        }
      }
    }
  };
  const core::ClaimId held = driver.hold(ten_seconds);
  std::vector<std::string> all;
  for (int number = 0; number < 64; ++number) all.push_back("a/" + std::to_string(number));
  driver.acquire_in_order(2, ten_seconds, 100s, "b");
  enter();
  driver.acquire_all(3, ten_seconds, 100s, all);
  enter();
  driver.forget_seen();
  driver.pass_until(at(1s));
  ASSERT_EQ(driver.only<Sent>().command.entries.size(), 64U) << "as many as fit into one command";
  driver.release(held);
  for (const int node : {0, 1, 2}) driver.reply(node, std::vector<core::Place>(64, {.before = 3}));
  ASSERT_EQ(driver.all<Sent>().back().command.tag.kind, CommandKind::release);
  for (const int node : {0, 1}) driver.wake(node, 1);
  driver.answer_all();
  EXPECT_EQ(driver.count<core::Acquired>(), 1U);
  driver.forget_seen();
  driver.pass_until(at(2s));
  EXPECT_EQ(driver.count(CommandKind::queue), 3U);
}

TEST_F(AcquisitionsBurst, AWaiterThatWinsLeavesTheQueue) {
  // Its try takes longer than two refreshes, so its entry is queued, and a release goes first. Its
  // place in the queue is then another waiter's.
  EngineDriver driver(few_out(1));
  const core::ClaimId held = driver.hold(ten_seconds);
  driver.acquire_in_order(1, ten_seconds, 100s, "line");
  for (const int node : {0, 1, 2}) driver.reply(node, Vote::held);
  driver.reply(2, Vote::absent);
  for (const int node : {0, 1, 2}) driver.reply(node, {core::Place{.before = 3}});
  for (const int node : {0, 1}) driver.wake(node, 1);
  driver.pass_until(at(2s));
  driver.release(held);
  for (const int node : {0, 1}) driver.reply(node, Vote::granted);
  EXPECT_EQ(driver.only<core::Acquired>().user, 1U);
  driver.forget_seen();
  driver.acquire(2, ten_seconds, 100s, "a");
  driver.acquire(3, ten_seconds, 100s, "b");
  driver.answer_all();
  EXPECT_EQ(driver.count<core::Acquired>(), 2U);
}

TEST_F(AcquisitionsBurst, ARenewalGoesFirst) {
  const core::ClaimId held = driver_.hold(ten_seconds);
  ask(5, 100s);
  driver_.pass_until(at(third + 100ms));
  driver_.forget_seen();
  driver_.reply({0, 1}, Vote::granted);
  EXPECT_EQ(driver_.only<Sent>().command.tag.kind, CommandKind::renew);
  EXPECT_EQ(driver_.only<Sent>().command.tag.claim, held);
}

TEST_F(AcquisitionsBurst, ARenewalThatCannotWinIsSentOnlyWhereThereIsRoom) {
  // Two of three nodes go away while the renewal of another lease is due: the third gets one such
  // renewal, and not another one at each pause for as long as it says nothing.
  EngineDriver driver(few_out(1));
  driver.hold(ten_seconds);
  driver.forget_seen();
  for (const int node : {1, 2}) driver.lose(node);
  driver.pass_until(at(validity - 1s));
  EXPECT_EQ(driver.count(CommandKind::renew), 1U);
  driver.forget_seen();
  for (const int node : {1, 2}) driver.link(node, LinkState::up);
  driver.pass_until(at(validity - 500ms));
  EXPECT_GE(driver.count(CommandKind::renew), 1U) << "a quorum can be asked again";
}

/// All first attempts are sent at once, and then the nodes become slow: one of them asks for a
/// raise when the windows are half as wide as before.
class AcquisitionsBurstRaise : public AcquisitionsBurst {
 protected:
  AcquisitionsBurstRaise() {
    slow_.pass_until(at(1s));
    for (int number = 0; number < 20; ++number) {
      waiters_.push_back(
          slow_.acquire(static_cast<core::UserId>(number), ten_seconds, 20s, key_of(number)));
    }
    slow_.pass_until(begun_ + 1ms);
    for (const int node : {0, 1}) grant(node, 5);
    slow_.pass_until(begun_ + 400ms);
    grant(0, 5);
    grant(1, 9);
  }
  void grant(int node, std::uint64_t fence) {
    core::Answer granted{Vote::granted};
    granted.fence = fence;
    granted.asked = begun_;
    slow_.reply(node, granted);
  }
  void grant_eight_more() {
    for (int more = 0; more < 8; ++more) {
      for (const int node : {0, 1}) grant(node, 5);
    }
  }

  const core::Time begun_ = at(1s);
  EngineDriver slow_{few_out(16, true)};
};

TEST_F(AcquisitionsBurstRaise, WaitsForRoom) {
  EXPECT_EQ(slow_.count(CommandKind::raise), 0U);
  grant_eight_more();
  EXPECT_GT(slow_.count(CommandKind::raise), 0U);
}

TEST_F(AcquisitionsBurstRaise, IsNotSentForAnAttemptThatWasGivenUp) {
  slow_.cancel(waiters_.at(1));
  slow_.forget_seen();
  grant_eight_more();
  EXPECT_EQ(slow_.count(CommandKind::raise), 0U);
  EXPECT_GT(slow_.count(CommandKind::release), 0U);
  slow_.close();
  slow_.answer_all();
  EXPECT_EQ(slow_.engine().unanswered(), 0);
}

TEST_F(AcquisitionsBurst, AReleaseGoesBeforeAttempts) {
  const core::ClaimId held = driver_.hold(ten_seconds);
  ask(5, 100s);
  driver_.forget_seen();
  driver_.release(held);
  EXPECT_EQ(driver_.count<Sent>(), 0U);
  driver_.reply({0, 1}, Vote::granted);
  EXPECT_EQ(driver_.only<Sent>().command.tag.kind, CommandKind::release);
  EXPECT_EQ(driver_.only<Sent>().command.tag.claim, held);
  driver_.forget_seen();
  driver_.reply({0, 1}, Vote::granted);
  EXPECT_EQ(sent(), Names{"key/2"});
}

TEST_F(AcquisitionsBurst, SetsPermitsAndReadersAreQueuedToo) {
  EngineDriver driver(few_out(1, true));
  driver.acquire(1, ten_seconds, 100s);
  driver.acquire_all(2, ten_seconds, 100s, {"a", "b"});
  driver.acquire_permit(3, 2, 100s);
  driver.acquire(4, {.ttl = 10s, .stop_margin = 1s, .mode = LockMode::shared}, 100s, "read");
  EXPECT_EQ(driver.count<Sent>(), 1U);
  for (std::uint64_t fence = 10; driver.count<core::Acquired>() < 4 && fence < 20; ++fence) {
    const std::size_t won = driver.count<core::Acquired>();
    for (const int node : {0, 1, 2}) {
      core::Answer granted{Vote::granted};
      granted.fence = fence;
      driver.reply(node, granted);
    }
    ASSERT_EQ(driver.count<core::Acquired>(), won + 1);
  }
}

TEST_F(AcquisitionsBurst, ABurstOfManyIsServedToTheLast) {
  // Of 20,000 waiters every other one is cancelled, from the last to the first. However many they
  // are, no more than the window of them are out.
  constexpr int names = 20'000;
  ask(names, 100s);
  EXPECT_EQ(sent(), (Names{"key/0", "key/1"}));
  for (int number = names - 1; number > 2; number -= 2) {
    driver_.cancel(waiters_[static_cast<std::size_t>(number)]);
  }
  EXPECT_EQ(driver_.count<core::Refused>(), 9'999U);
  for (int turns = 0; turns < names && driver_.engine().unanswered() > 0; ++turns) {
    for (const int node : {0, 1, 2}) {
      if (!driver_.unanswered(node).empty()) driver_.reply(node, Vote::granted);
    }
  }
  EXPECT_EQ(driver_.engine().stats(driver_.now).acquired, 10'001U);
}

}  // namespace
}  // namespace quorumlock::test
