#include "support/engine_driver.hpp"

// Nodes whose clocks are wrong: their votes are void until all that stood on them has run out.
namespace quorumlock::test {
namespace {

constexpr core::Duration mistrust = 30s + 302ms;

/// Tells with each answer what the node's clock says, which may be ahead of the true time.
struct Clocks {
  explicit Clocks(int nodes) : driver(nodes), ahead(static_cast<std::size_t>(nodes)) {
    driver.now = at(1h);
  }
  EngineDriver driver;
  std::vector<core::Duration> ahead;

  void reply(int node, Vote vote) {
    core::Answer answer{vote};
    answer.asked = driver.now;
    const core::Duration clock =
        driver.now.time_since_epoch() + ahead[static_cast<std::size_t>(node)];
    answer.node_time = clock / 1us;
    driver.reply(node, answer);
  }
  void reply(std::initializer_list<int> nodes, Vote vote) {
    for (const int node : nodes) reply(node, vote);
  }
  void hold() {
    driver.acquire(1, ten_seconds);
    for (int node = 0; node < driver.nodes(); ++node) reply(node, Vote::granted);
    ASSERT_EQ(driver.count<core::Acquired>(), 1U);
    driver.forget_seen();
  }
};

TEST(EngineClock, GoodClocksAreNoNews) {
  // A minute of renewals, each answer with the time.
  Clocks clocks(3);
  clocks.hold();
  for (int i = 0; i < 18; ++i) {
    clocks.driver.pass_until(clocks.driver.engine().deadline());
    clocks.reply({0, 1, 2}, Vote::granted);
  }
  EXPECT_EQ(clocks.driver.count<core::Renewed>(), 18U);
  EXPECT_EQ(clocks.driver.count<core::ClockJumped>(), 0U);
}

TEST(EngineClock, AJumpIsReportedWithItsSize) {
  // A minute ahead, seen at the first answer after it.
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

TEST(EngineClock, ItIsNotAskedForVotesUntilMaxTtlHasPassed) {
  // For max_ttl and its margin n2 is left out, of renewals and of acquisitions; afterwards it is
  // asked again.
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

TEST(EngineClock, ItsGrantIsVoidAndReleased) {
  // n1 grants, and says with it that its clock has jumped since the last time: with n3's refusal
  // that is no quorum, whatever n2 says. What n1 has set is deleted all the same.
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

TEST(EngineClock, AGrantFromBeforeTheJumpIsVoidToo) {
  // n1 has granted; then the answer to another command shows that its clock has jumped. The key may
  // have run out there at once: n2's grant does not make a quorum with it. n3's does, with n2.
  Clocks clocks(3);
  clocks.hold();
  clocks.driver.release(clocks.driver.lease());
  clocks.driver.answer_all();
  clocks.driver.pass(1s);
  clocks.driver.forget_seen();
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

TEST(EngineClock, ARenewalsVoteFromBeforeTheJumpIsVoidToo) {
  // The same of a renewal: n1 has renewed, then jumps; n2's vote alone renews nothing.
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

TEST(EngineClock, ALeaseThatTheOthersBearOutStays) {
  // n1 jumps; n2 and n3 had the lock as well, and go on with it.
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

TEST(EngineClock, ALeaseThatNoQuorumOfTheOthersBearsOutIsLost) {
  // Held on n1 and n2 only. n1 jumps: that it ever was held by a quorum until now, nobody can say.
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

TEST(EngineClock, TheJumpThatAnotherLocksAnswerShowsCounts) {
  // Two leases: one on all nodes, one on n1 and n2. The answer to the first one's renewal shows
  // that n1 has jumped: the second one is lost, at once, and the first one stays.
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

TEST(EngineClock, ALateGrantBearsALeaseOut) {
  // Won with n1 and n2; n3's grant comes later and is the lease's. When n1 jumps, n2 and n3 are a
  // quorum.
  Clocks clocks(3);
  clocks.driver.acquire(1, ten_seconds);
  clocks.reply({0, 1}, Vote::granted);
  clocks.reply(2, Vote::granted);
  clocks.driver.pass(third);
  clocks.ahead[0] = 60s;
  clocks.reply(0, Vote::granted);
  EXPECT_EQ(clocks.driver.count<core::Ended>(), 0U);
}

TEST(EngineClock, AQuorumThatJumpsEndsEveryLease) {
  // What a machine sees that was suspended with a clock that stopped: all nodes are ahead at once.
  Clocks clocks(3);
  clocks.hold();
  clocks.driver.pass(third);
  clocks.ahead = {60s, 60s, 60s};
  clocks.reply(0, Vote::granted);
  EXPECT_EQ(clocks.driver.count<core::Ended>(), 0U);
  clocks.reply(1, Vote::granted);
  EXPECT_EQ(clocks.driver.only<core::Ended>().why, Errc::lost);
  clocks.reply(2, Vote::granted);
  EXPECT_EQ(clocks.driver.count<core::ClockJumped>(), 3U);
}

TEST(EngineClock, ItStillTakesReleases) {
  // Mistrusted, and told of what is given up like the others.
  Clocks clocks(3);
  clocks.hold();
  clocks.driver.pass(third);
  clocks.ahead[0] = 60s;
  clocks.reply({0, 1, 2}, Vote::granted);
  clocks.driver.forget_seen();
  clocks.driver.release(clocks.driver.lease());
  EXPECT_EQ(clocks.driver.told(CommandKind::release, clocks.driver.tokens()[0]), all_of(3));
}

TEST(EngineClock, AnAnswerWithoutATimeSaysNothing) {
  // SET and releases bring no time: nothing to hold against anything.
  Clocks clocks(3);
  clocks.hold();
  clocks.driver.pass(third);
  clocks.driver.answer_all();
  EXPECT_EQ(clocks.driver.count<core::ClockJumped>(), 0U);
  EXPECT_EQ(clocks.driver.count<core::Renewed>(), 1U);
}

TEST(EngineClock, AStepThatSomebodyElseSeesVoidsTheVotesToo) {
  // Not a vote but an inquiry tells the time: the node is mistrusted for max_ttl all the same.
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

}  // namespace
}  // namespace quorumlock::test
