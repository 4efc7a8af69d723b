#include "support/engine_clocks.hpp"

// Nodes with wrong clocks: their votes are void until every key that depended on them has expired.
namespace quorumlock::test {
namespace {

constexpr core::Duration mistrust = 30s + 302ms;

TEST(NodesClock, GoodClocksAreNotReported) {
  // The lease is renewed for a minute, with the time in each answer.
  Clocks clocks(3);
  clocks.hold();
  for (int i = 0; i < 18; ++i) {
    clocks.driver.pass_until(clocks.driver.engine().deadline());
    clocks.reply({0, 1, 2}, Vote::granted);
  }
  EXPECT_EQ(clocks.driver.count<core::Renewed>(), 18U);
  EXPECT_EQ(clocks.driver.count<core::ClockJumped>(), 0U);
}

TEST(NodesClock, AJumpIsReportedWithItsSize) {
  // The clock jumps a minute ahead; the first answer after that shows it.
  Clocks clocks(3);
  clocks.hold();
  clocks.ahead[1] = 60s;
  clocks.driver.pass(third);
  clocks.reply({0, 1, 2}, Vote::granted);
  const core::ClockJumped jumped = clocks.driver.only<core::ClockJumped>();
  EXPECT_EQ(jumped.node, 1);
  EXPECT_GT(jumped.size, 59s);
  EXPECT_LE(jumped.size, 60s);
  EXPECT_EQ(jumped.until, clocks.driver.now + mistrust);
}

TEST(NodesClock, AJumpedNodeIsNotAskedForVotesUntilMaxTtlHasPassed) {
  // For max_ttl and its margin n2 is left out of renewals and acquisitions; afterwards it is asked
  // again.
  Clocks clocks(3);
  clocks.hold();
  clocks.ahead[1] = -60s;
  clocks.driver.pass(third);
  clocks.reply({0, 1, 2}, Vote::granted);
  const core::Time until = clocks.driver.only<core::ClockJumped>().until;
  clocks.driver.release(clocks.driver.lease());
  clocks.driver.answer_all();
  for (const bool after : {false, true}) {
    clocks.driver.now = after ? until : until - 1ns;
    clocks.driver.forget_seen();
    clocks.driver.acquire(2, ten_seconds);
    EXPECT_EQ(clocks.driver.told(CommandKind::set, clocks.driver.tokens().back()),
              after ? all_of(3) : all_of(3) - core::NodeSet::only(1));
    clocks.reply({0, 2}, Vote::held);
    const Vote vote = clocks.driver.only<core::Refused>().tally.vote(1);
    EXPECT_EQ(vote, after ? Vote::pending : Vote::clock_jumped);
    clocks.driver.answer_all(Vote::absent);
  }
}

TEST(NodesClock, TheGrantOfAJumpedNodeIsVoidAndReleased) {
  // n1 grants, and the same answer shows that its clock has jumped since the last one: with n3's
  // refusal there is no quorum, whatever n2 says. The key that n1 set is still deleted.
  Clocks clocks(3);
  clocks.hold();
  clocks.driver.release(clocks.driver.lease());
  clocks.driver.answer_all();
  clocks.driver.pass(1s);
  clocks.ahead[0] = 5s;
  clocks.driver.forget_seen();
  clocks.driver.acquire(2, ten_seconds);
  clocks.reply(0, Vote::granted);
  clocks.reply(2, Vote::held);
  EXPECT_EQ(clocks.driver.told(CommandKind::release, clocks.driver.tokens().back()), all_of(3));
  clocks.reply(1, Vote::granted);
  EXPECT_EQ(clocks.driver.count<core::Acquired>(), 0U);
  EXPECT_EQ(clocks.driver.only<core::Refused>().tally.vote(0), Vote::clock_jumped);
  clocks.driver.answer_all();
  clocks.driver.expect_nothing_left();
}

TEST(NodesClock, AGrantFromBeforeTheJumpIsVoidToo) {
  // n1 has granted; then its answer to another command shows that its clock has jumped. Its key may
  // have expired at once, so n2's grant makes no quorum with it. The grants of n2 and n3 do.
  Clocks clocks(3);
  clocks.learn();
  clocks.driver.acquire(2, ten_seconds);
  clocks.driver.acquire(3, ten_seconds, 0s, "another");
  clocks.reply(0, Vote::granted);
  clocks.driver.pass(10ms);
  clocks.ahead[0] = 60s;
  clocks.reply(0, Vote::granted);  // to the other acquisition
  ASSERT_EQ(clocks.driver.count<core::ClockJumped>(), 1U);
  clocks.reply(1, Vote::granted);
  EXPECT_EQ(clocks.driver.count<core::Acquired>(), 0U);
  clocks.reply(2, Vote::granted);
  EXPECT_EQ(clocks.driver.count<core::Acquired>(), 1U);
}

TEST(NodesClock, ARefusalFromBeforeTheJumpStands) {
  // n1 has refused; then its answer to another command shows that its clock has jumped. The lock is
  // refused for the same reason as without the jump.
  Clocks clocks(3);
  clocks.learn();
  clocks.driver.acquire(2, ten_seconds);
  clocks.driver.acquire(3, ten_seconds, 0s, "another");
  clocks.reply(0, Vote::held);
  clocks.driver.pass(10ms);
  clocks.ahead[0] = 60s;
  clocks.reply(0, Vote::granted);  // to the other acquisition
  ASSERT_EQ(clocks.driver.count<core::ClockJumped>(), 1U);
  clocks.reply(1, Vote::held);
  EXPECT_EQ(clocks.driver.only<core::Refused>().tally.vote(0), Vote::held);
}

TEST(NodesClock, ARenewalsVoteFromBeforeTheJumpIsVoidToo) {
  // The same holds for a renewal: n1 has renewed and then jumps, and n2's vote alone renews
  // nothing.
  Clocks clocks(3);
  clocks.hold();
  clocks.driver.pass(third);
  clocks.driver.acquire(3, ten_seconds, 0s, "another");
  clocks.reply(0, Vote::granted);
  clocks.driver.pass(10ms);
  clocks.ahead[0] = 60s;
  clocks.reply(0, Vote::granted);
  ASSERT_EQ(clocks.driver.count<core::ClockJumped>(), 1U);
  EXPECT_EQ(clocks.driver.count<core::Ended>(), 0U) << "n2 and n3 bear it out";
  clocks.reply(1, Vote::granted);
  EXPECT_EQ(clocks.driver.count<core::Renewed>(), 0U);
  clocks.driver.time_out(2);
  EXPECT_EQ(clocks.driver.count<core::Ended>(), 0U) << "the old end stands";
}

TEST(NodesClock, ALeaseThatTheOtherNodesConfirmStays) {
  // n1 jumps; n2 and n3 had the lock as well, and the lease goes on with them.
  Clocks clocks(3);
  clocks.hold();
  clocks.ahead[0] = 60s;
  clocks.driver.pass(third);
  clocks.reply(0, Vote::granted);
  EXPECT_EQ(clocks.driver.count<core::Ended>(), 0U);
  clocks.reply(1, Vote::granted);
  EXPECT_EQ(clocks.driver.count<core::Renewed>(), 0U);
  clocks.reply(2, Vote::granted);
  EXPECT_EQ(clocks.driver.count<core::Renewed>(), 1U);
}

TEST(NodesClock, ALeaseThatNoQuorumOfTheOthersConfirmsIsLost) {
  // The lease is held on n1 and n2 only. After n1's jump it is unknown whether a quorum held it.
  Clocks clocks(3);
  clocks.driver.acquire(1, ten_seconds);
  clocks.reply({0, 1}, Vote::granted);
  clocks.reply(2, Vote::held);
  ASSERT_EQ(clocks.driver.count<core::Acquired>(), 1U);
  clocks.driver.pass(third);
  clocks.ahead[0] = 60s;
  clocks.reply(0, Vote::granted);
  EXPECT_EQ(clocks.driver.only<core::Ended>().why, Errc::lost);
  EXPECT_EQ(clocks.driver.told(CommandKind::release, clocks.driver.tokens()[0]), all_of(3));
  clocks.driver.answer_all();
  clocks.driver.expect_nothing_left();
}

TEST(NodesClock, TheJumpThatAnotherLocksAnswerShowsCounts) {
  // One lease is on all nodes, another on n1 and n2. The answer to the first one's renewal shows
  // that n1 has jumped: the second lease is lost at that moment, and the first one stays.
  Clocks clocks(3);
  clocks.hold();
  clocks.driver.acquire(2, {.ttl = 10s, .stop_margin = 1s, .auto_extend = false}, 0s, "another");
  clocks.reply({0, 1}, Vote::granted);
  clocks.reply(2, Vote::held);
  clocks.driver.pass(third);
  clocks.ahead[0] = 60s;
  clocks.reply(0, Vote::granted);
  EXPECT_EQ(clocks.driver.only<core::Ended>().user, EngineDriver::lease_of(2));
  EXPECT_EQ(clocks.driver.only<core::Ended>().why, Errc::lost);
}

TEST(NodesClock, ALateGrantConfirmsALease) {
  // The lease is won with n1 and n2; n3's grant comes later and belongs to it. When n1 jumps, n2
  // and n3 are a quorum.
  Clocks clocks(3);
  clocks.driver.acquire(1, ten_seconds);
  clocks.reply({0, 1}, Vote::granted);
  clocks.reply(2, Vote::granted);
  clocks.driver.pass(third);
  clocks.ahead[0] = 60s;
  clocks.reply(0, Vote::granted);
  EXPECT_EQ(clocks.driver.count<core::Ended>(), 0U);
}

TEST(NodesClock, AJumpedNodeStillTakesReleases) {
  // A node that is mistrusted still gets the releases, like the others.
  Clocks clocks(3);
  clocks.hold();
  clocks.driver.pass(third);
  clocks.ahead[0] = 60s;
  clocks.reply({0, 1, 2}, Vote::granted);
  clocks.driver.forget_seen();
  clocks.driver.release(clocks.driver.lease());
  EXPECT_EQ(clocks.driver.told(CommandKind::release, clocks.driver.tokens()[0]), all_of(3));
}

TEST(NodesClock, AnAnswerWithoutATimeProvesNothing) {
  // The answers to SET and to releases contain no time, so there is nothing to compare.
  Clocks clocks(3);
  clocks.hold();
  clocks.driver.pass(third);
  clocks.driver.answer_all();
  EXPECT_EQ(clocks.driver.count<core::ClockJumped>(), 0U);
  EXPECT_EQ(clocks.driver.count<core::Renewed>(), 1U);
}

TEST(NodesClock, AStepThatAnotherClientSeesVoidsTheVotesToo) {
  // The time comes from an inquiry instead of a vote: the node is still mistrusted for max_ttl.
  EngineDriver driver(3);
  const core::Time start = driver.now;
  driver.engine().on_clock(start + 1ms, 1, start, 5'000'000);
  driver.now = start + 10s;
  driver.engine().on_clock(driver.now + 1ms, 1, driver.now, 75'000'000);
  driver.now += 1ms;
  driver.acquire(1, {.ttl = 10s, .stop_margin = 1s}, 0s);
  EXPECT_GT(driver.only<core::ClockJumped>().size, 59s);
  EXPECT_EQ(driver.only<core::ClockJumped>().node, 1);
  driver.reply(0, Vote::granted);
  EXPECT_EQ(driver.count<core::Acquired>(), 0U);
  driver.reply(2, Vote::granted);
  EXPECT_EQ(driver.only<core::Acquired>().attempts, 1);
}

TEST(Nodes, ARoundGoesOnWhenTheListChanges) {
  // n3 leaves after it has voted. n4 joins, and takes part from the next round on.
  Clocks clocks(3);
  clocks.driver.acquire(1, ten_seconds);
  clocks.reply(2, Vote::granted);
  clocks.driver.engine().add_node(clocks.driver.now, 3);
  clocks.driver.engine().remove_node(clocks.driver.now, 2);
  clocks.reply(0, Vote::granted);
  EXPECT_EQ(clocks.driver.count<core::Acquired>(), 0U) << "n3 has left";
  clocks.reply(1, Vote::granted);
  clocks.driver.engine().adopt(clocks.driver.only<core::Acquired>().claim, 1);
  clocks.driver.forget_seen();
  clocks.driver.pass(third);
  core::NodeSet now = all_of(2);
  now.add(3);
  EXPECT_EQ(clocks.driver.told(CommandKind::renew, clocks.driver.tokens().back()), now);
}

TEST(Nodes, AVoteForALongerTtlThanItsListAllowsDoesNotCount) {
  // Two of three lists allow five seconds, so that is the most for a lock.
  Clocks clocks(3);
  for (int node = 0; node < 3; ++node) {
    clocks.driver.engine().on_list(node, {.longest_ttl = node == 2 ? 10s : 5s});
  }
  EXPECT_EQ(clocks.driver.engine().max_ttl(), 5s);
  clocks.driver.acquire(1, ten_seconds);
  clocks.reply({0, 1, 2}, Vote::granted);
  EXPECT_EQ(clocks.driver.count<core::Acquired>(), 0U);
  EXPECT_EQ(clocks.driver.only<core::Refused>().tally.vote(0), Vote::max_ttl_differs);
}

TEST(Nodes, AVoteThatIsReadAfterItsNodeHasLeftDoesNotCount) {
  Clocks clocks(3);
  for (int node = 0; node < 3; ++node) clocks.driver.engine().on_list(node, {});
  clocks.driver.acquire(1, ten_seconds);
  clocks.driver.engine().remove_node(clocks.driver.now, 2);
  clocks.reply({0, 2}, Vote::granted);
  EXPECT_EQ(clocks.driver.count<core::Acquired>(), 0U);
  clocks.reply(1, Vote::granted);
  EXPECT_EQ(clocks.driver.count<core::Acquired>(), 1U);
}

TEST(Nodes, ANumberMayBeGivenToAnotherNode) {
  // n3 has a wrong clock and leaves. Its successor with the same number is trusted at once, and
  // n3's vote for a lease does not count as a vote of its successor.
  Clocks clocks(3);
  clocks.hold();
  clocks.ahead[2] = 60s;
  clocks.driver.pass(third);
  clocks.reply({0, 1, 2}, Vote::granted);
  EXPECT_EQ(clocks.driver.count<core::ClockJumped>(), 1U);
  clocks.driver.engine().remove_node(clocks.driver.now, 2);
  EXPECT_EQ(clocks.driver.engine().nodes(), all_of(2));
  clocks.ahead[2] = 0s;
  clocks.driver.engine().add_node(clocks.driver.now, 2);
  EXPECT_EQ(clocks.driver.engine().nodes(), all_of(3));
  clocks.driver.forget_seen();
  clocks.driver.pass(third);
  EXPECT_EQ(clocks.driver.told(CommandKind::renew, clocks.driver.tokens().back()), all_of(3));
  clocks.reply({0, 1, 2}, Vote::granted);
  EXPECT_EQ(clocks.driver.count<core::ClockJumped>(), 0U);
}

}  // namespace
}  // namespace quorumlock::test
