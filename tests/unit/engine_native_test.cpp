#include "support/engine_driver.hpp"

// An acquisition that need not be a script: when it is asked for so, what becomes of it where the
// counters are not what they were taken for, and where a script has to be asked after all.
namespace quorumlock::test::engine_native {
namespace {

constexpr std::uint64_t first = 1'700'000'000'000'000;

core::Answer granted(std::uint64_t fence) {
  return {Vote::granted, false, fence};
}
core::Answer held(std::uint64_t counter) {
  return {Vote::held, false, counter};
}

class EngineNative : public testing::Test {
 protected:
  /// One lease of the key is won, by a script, and released.
  void SetUp() override {
    driver.alone = true;
    driver.acquire(1, ten_seconds);
    EXPECT_FALSE(driver.only<Sent>().command.tag.native) << "nothing is known of the counters";
    for (const int node : {0, 1, 2}) driver.reply(node, granted(first));
    driver.release(driver.lease());
    driver.answer_all();
    driver.forget_seen();
  }
  /// Whether the next acquisition is asked for so.
  bool next_is_native(core::Duration wait = 0s) {
    driver.forget_seen();
    driver.acquire(2, ten_seconds, wait);
    return driver.only<Sent>().command.tag.native;
  }
  std::uint64_t token() {
    const core::Claim* claim = driver.engine().claim(driver.lease());
    return claim == nullptr ? 0 : claim->fence;
  }

  EngineDriver driver{EngineDriver::fencing(3)};
};

TEST_F(EngineNative, FollowsALeaseOfOurOwn) {
  // Again and again, each with a greater token in one round trip.
  for (std::uint64_t fence = first + 1; fence < first + 4; ++fence) {
    ASSERT_TRUE(next_is_native());
    driver.reply(0, granted(fence));
    driver.reply(1, granted(fence));
    ASSERT_EQ(driver.count<core::Acquired>(), 1U);
    EXPECT_EQ(token(), fence);
    driver.reply(2, granted(fence));
    driver.release(driver.lease());
    driver.answer_all();
  }
}

TEST_F(EngineNative, IsOnlyForOneLockOfOneHolderWithAToken) {
  driver.acquire(2, {.ttl = 10s, .stop_margin = 1s, .shared = true});
  EXPECT_FALSE(driver.only<Sent>().command.tag.native);
  driver.forget_seen();
  driver.acquire_all(3, ten_seconds, 0s, {"key", "another"}, false);
  EXPECT_FALSE(driver.only<Sent>().command.tag.native);
  driver.forget_seen();
  driver.acquire_permit(4, 3);
  EXPECT_FALSE(driver.only<Sent>().command.tag.native);
  driver.forget_seen();
  driver.acquire(5, ten_seconds, 0s, "another");
  EXPECT_FALSE(driver.only<Sent>().command.tag.native);
}

TEST_F(EngineNative, DoesNotFollowSomebodyElses) {
  // A node has told of a number that is not ours: whose it is has been there since.
  ASSERT_TRUE(next_is_native());
  driver.reply(0, held(first + 7));
  driver.reply(1, held(first + 7));
  EXPECT_FALSE(driver.all<Sent>().back().command.tag.native);
  driver.answer_all(Vote::held);
  EXPECT_FALSE(next_is_native());
}

TEST_F(EngineNative, OfACounterThatIsBehindIsNoVote) {
  // Two nodes lost their counters, and begin at one: equal, and a quorum. They are raised past all
  // that was seen.
  ASSERT_TRUE(next_is_native());
  driver.forget_seen();
  driver.reply(0, granted(1));
  driver.reply(1, granted(1));
  EXPECT_EQ(driver.count<core::Acquired>(), 0U);
  const Sent raise = driver.only<Sent>();
  EXPECT_EQ(raise.command.tag.kind, CommandKind::raise);
  EXPECT_EQ(raise.to, all_of(2));
  EXPECT_EQ(raise.command.fence, first + 1);
  driver.reply(2, granted(first + 1));
  EXPECT_EQ(driver.count<core::Acquired>(), 0U) << "one of three";
  driver.reply(0, granted(first + 1));
  EXPECT_EQ(driver.count<core::Acquired>(), 1U);
  EXPECT_EQ(token(), first + 1);
}

TEST_F(EngineNative, OfALostCounterExceedsWhatItMayHaveBeen) {
  // Others have had the lock since we did, and none of their tokens is left: the node's clock is
  // beyond them.
  ASSERT_TRUE(next_is_native());
  driver.forget_seen();
  core::Answer lost = granted(1);
  lost.node_time = static_cast<std::int64_t>(first + 60'000'000);
  driver.reply(0, lost);
  driver.reply(1, granted(first + 1));
  EXPECT_EQ(driver.only<Sent>().command.fence, first + 60'000'000);
}

TEST_F(EngineNative, OfACounterThatTheNodeSaysIsBehindIsNoVote) {
  // Below the floor since a repair, whatever it has reached.
  ASSERT_TRUE(next_is_native());
  driver.forget_seen();
  core::Answer behind = granted(first + 500);
  behind.behind = true;
  driver.reply(0, behind);
  driver.reply(1, behind);
  EXPECT_EQ(driver.count<core::Acquired>(), 0U);
  EXPECT_EQ(driver.only<Sent>().command.tag.kind, CommandKind::raise);
  EXPECT_GE(driver.only<Sent>().command.fence, first + 500);
}

TEST_F(EngineNative, RefusedIsTriedOnceMoreByAScript) {
  // Within the same attempt, behind the release of what was granted. What the script says is told.
  ASSERT_TRUE(next_is_native());
  const std::string native = driver.tokens().back();
  driver.forget_seen();
  core::Answer waited_for = held(first + 1);
  waited_for.key_set = true;
  driver.reply(0, granted(first + 1));
  driver.reply(1, waited_for);
  driver.reply(2, waited_for);
  EXPECT_EQ(driver.count<core::Refused>(), 0U);
  EXPECT_EQ(driver.told(CommandKind::release, native), all_of(3));
  const Sent script = driver.all<Sent>().back();
  EXPECT_EQ(script.command.tag.kind, CommandKind::acquire);
  EXPECT_FALSE(script.command.tag.native);
  EXPECT_NE(script.command.token, native);
  for (const int node : {0, 1, 2}) driver.reply(node, Vote::granted);  // the releases
  driver.forget_seen();
  for (const int node : {0, 1, 2}) driver.reply(node, held(first + 1));
  EXPECT_EQ(driver.only<core::Refused>().why, Errc::contended);
  EXPECT_EQ(driver.only<core::Refused>().attempts, 1);
  driver.answer_all();
  EXPECT_EQ(driver.engine().stats().attempts, 2U);
}

TEST_F(EngineNative, WonByTheScriptAfterwardsIsOneAttempt) {
  ASSERT_TRUE(next_is_native());
  driver.reply(0, held(first + 1));
  driver.reply(1, held(first + 1));
  driver.reply(2, held(first + 1));
  for (const int node : {0, 1, 2}) {
    while (driver.unanswered(node).front().tag.kind == CommandKind::release) {
      driver.reply(node, Vote::absent);
    }
    driver.reply(node, granted(first + 2));
  }
  EXPECT_EQ(driver.only<core::Acquired>().attempts, 1);
  EXPECT_EQ(token(), first + 2);
}

TEST_F(EngineNative, LostForReasonsThatAScriptSharesIsNotTriedAgain) {
  ASSERT_TRUE(next_is_native());
  driver.forget_seen();
  driver.reply(0, Vote::not_enrolled);
  driver.reply(1, Vote::out_of_memory);
  EXPECT_EQ(driver.count(CommandKind::acquire), 0U);
  driver.reply(2, Vote::loading);
  EXPECT_EQ(driver.only<core::Refused>().why, Errc::no_quorum);
}

TEST_F(EngineNative, WhatWasRefusedIsToldWhereTheWaitEndsBeforeTheScript) {
  // Another has it: that a quorum has said, although the second round has not been heard.
  ASSERT_TRUE(next_is_native(5ms));
  driver.reply(0, held(first + 1));
  driver.reply(1, held(first + 1));
  driver.pass(5ms);
  EXPECT_EQ(driver.only<core::Refused>().why, Errc::timed_out);
}

TEST_F(EngineNative, TooLateIsNotTriedAgain) {
  // The deadline is the attempt's.
  ASSERT_TRUE(next_is_native());
  driver.reply(0, held(first + 1));
  driver.forget_seen();
  driver.pass(validity);
  EXPECT_EQ(driver.count(CommandKind::acquire), 0U);
}

TEST_F(EngineNative, ForbiddenOnceIsNotAskedForAgain) {
  // The user may run scripts and not each command: every later acquisition is a script.
  ASSERT_TRUE(next_is_native());
  core::Answer forbidden{Vote::unauthorized};
  forbidden.key_set = true;
  driver.reply(0, forbidden);
  driver.reply(1, forbidden);
  driver.reply(2, forbidden);
  for (const int node : {0, 1, 2}) {
    while (driver.unanswered(node).front().tag.kind == CommandKind::release) {
      driver.reply(node, Vote::granted);
    }
    driver.reply(node, granted(first + 2));
  }
  EXPECT_EQ(driver.count<core::Acquired>(), 1U);
  driver.release(driver.lease());
  driver.answer_all();
  EXPECT_FALSE(next_is_native());
}

TEST_F(EngineNative, AKeyThatWasSetWithARefusalIsReleased) {
  // The answer comes after the attempt was given up, and the release before it did not arrive.
  ASSERT_TRUE(next_is_native());
  const std::string native = driver.tokens().back();
  driver.reply(0, held(first + 1));
  driver.link(2, LinkState::down);
  driver.reply(1, held(first + 1));
  driver.link(2, LinkState::up);
  driver.forget_seen();
  core::Answer waited_for = held(first + 1);
  waited_for.key_set = true;
  driver.reply(2, waited_for);
  EXPECT_EQ(driver.told(CommandKind::release, native), core::NodeSet::only(2));
}

TEST_F(EngineNative, OfAWaiterLeavesNoKeyWhereOthersWait) {
  // One who waits in the line gives up what it was granted, and asks nowhere else.
  driver.forget_seen();
  driver.acquire_in_order(2, ten_seconds, 5s);
  const std::string native = driver.tokens().back();
  core::Answer waited_for = held(first + 1);
  waited_for.key_set = true;
  driver.reply(0, waited_for);
  driver.reply(1, waited_for);
  EXPECT_EQ(driver.told(CommandKind::release, native), all_of(3));
}

TEST_F(EngineNative, IsNotAskedForWhereSomebodyWaits) {
  // A release has told of one who waits.
  driver.pass(1ms);
  ASSERT_TRUE(next_is_native());
  for (const int node : {0, 1, 2}) driver.reply(node, granted(first + 1));
  driver.release(driver.lease());
  core::Answer released{Vote::granted};
  released.waited_for = true;
  for (const int node : {0, 1, 2}) driver.reply(node, released);
  EXPECT_FALSE(next_is_native());
}

TEST_F(EngineNative, WhatAnotherThreadOfTheWorldHasIsWaitedForByAScript) {
  // A waiter's first try, refused, is followed by the script's, and then by its entry in the line.
  driver.forget_seen();
  driver.acquire_in_order(2, ten_seconds, 5s);
  ASSERT_TRUE(driver.only<Sent>().command.tag.native);
  for (const int node : {0, 1, 2}) driver.reply(node, held(first + 1));
  driver.answer_all(Vote::held);
  EXPECT_EQ(driver.count(CommandKind::acquire), 6U);
  EXPECT_EQ(driver.count(CommandKind::queue), 3U);
}

}  // namespace
}  // namespace quorumlock::test::engine_native
