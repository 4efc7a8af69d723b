#include "lock/round.hpp"

#include <gtest/gtest.h>

#include "support/printing.hpp"
#include "support/seeded_random.hpp"

// A round by itself: which answers it counts, and what they amount to.
namespace quorumlock::core {
namespace {

using namespace std::chrono_literals;

/// A round of three nodes, all of which have been asked to acquire.
class RoundTest : public ::testing::Test {
 protected:
  RoundTest() {
    round.open(Time(1s), 10s, NodeSet::first(3), Majority::of(NodeSet::first(3)));
    for (int node = 0; node < 3; ++node) round.tally.ask(node);
    ballot.begin(0);
  }
  bool answer(int node, CommandKind kind, Vote vote, std::uint64_t fence = 0, bool shared = false) {
    return round.count({node, kind, vote, fence, {}, Duration::max()}, shared, &ballot, random);
  }
  bool grant(int node, std::uint64_t fence) {
    return answer(node, CommandKind::acquire, Vote::granted, fence);
  }
  Round::Fence fence() { return round.judge_fence(ballot); }

  Round round;
  Ballot ballot;
  test::SeededRandom random{1};
};

TEST_F(RoundTest, NumbersFollowEachOtherAndSkipTheUncounted) {
  EXPECT_EQ(round.number(), 1);
  for (int i = 2; i < 65536; ++i)
    round.open(Time(1s), 5s, NodeSet::first(3), Majority::of(NodeSet::first(3)));
  EXPECT_EQ(round.number(), 65535);
  round.open(Time(2s), 5s, NodeSet::first(3), Majority::of(NodeSet::first(3)));
  EXPECT_EQ(round.number(), 1) << "zero is the number of commands whose answers are not counted";
  EXPECT_EQ(round.start(), Time(2s));
  EXPECT_EQ(round.ttl(), 5s);
  EXPECT_TRUE(round.tally.pending().empty());
}

TEST_F(RoundTest, IsOpenUntilItIsClosed) {
  EXPECT_TRUE(round.is_open());
  round.close();
  round.close();
  EXPECT_FALSE(round.is_open());
}

TEST_F(RoundTest, AGrantStandsWhateverTheNodeSaysLater) {
  EXPECT_TRUE(grant(0, 7));
  EXPECT_FALSE(grant(0, 8)) << "this node had granted already";
  EXPECT_FALSE(answer(0, CommandKind::acquire, Vote::held));
  EXPECT_EQ(round.tally.granted_by(), NodeSet::only(0));
}

TEST_F(RoundTest, ALateNodeIsCountedOnceAndMayStillGrant) {
  EXPECT_TRUE(round.late(1, CommandKind::acquire, &ballot));
  EXPECT_FALSE(round.late(1, CommandKind::acquire, &ballot));
  EXPECT_EQ(round.tally.vote(1), Vote::timed_out);
  EXPECT_TRUE(grant(1, 7));
  EXPECT_FALSE(round.late(1, CommandKind::acquire, &ballot)) << "its answer is there";
}

TEST_F(RoundTest, AQuorumForOneNumberDecidesTheToken) {
  grant(0, 7);
  grant(1, 7);
  const Round::Fence decided = fence();
  EXPECT_TRUE(decided.decided);
  EXPECT_EQ(decided.number, 7U);
}

TEST_F(RoundTest, DifferentNumbersAreRaisedToTheGreatestByTheNodesThatGranted) {
  grant(0, 7);
  grant(1, 9);
  const Round::Fence first = fence();
  EXPECT_FALSE(first.decided);
  EXPECT_EQ(first.number, 9U);
  EXPECT_EQ(first.to_raise, NodeSet::only(0)) << "node 1 stands for 9 already";
  EXPECT_TRUE(fence().to_raise.empty()) << "a node is asked once";
  answer(0, CommandKind::raise, Vote::granted, 9);
  EXPECT_TRUE(fence().decided);
}

TEST_F(RoundTest, ACounterThatIsAsHighMakesTheNextNumberGreater) {
  grant(0, 7);
  grant(1, 9);
  fence();
  answer(0, CommandKind::raise, Vote::held, 9);  // somebody else has the number there
  EXPECT_EQ(round.tally.granted_by(), NodeSet::first(2)) << "no vote against the lock";
  const Round::Fence again = fence();
  EXPECT_FALSE(again.decided);
  EXPECT_EQ(again.number, 10U);
  EXPECT_EQ(again.to_raise, NodeSet::first(2));
}

TEST_F(RoundTest, ANodeThatIsLateWithARaiseNoLongerHoldsUpTheOthers) {
  grant(0, 7);
  grant(1, 9);
  grant(2, 8);
  const Round::Fence first = fence();
  EXPECT_EQ(first.to_raise.size(), 2);
  answer(2, CommandKind::raise, Vote::granted, 9);
  EXPECT_TRUE(fence().decided) << "nodes 1 and 2 are a quorum without node 0";
  EXPECT_TRUE(round.late(0, CommandKind::raise, &ballot));
  EXPECT_EQ(round.tally.vote(0), Vote::timed_out);
}

TEST_F(RoundTest, IsGivenThreeTimesAsLongAsTheQuorumTookForTheRest) {
  EXPECT_EQ(round.patient_until(Time(1s) + 1ms), Time(1s) + 6ms) << "at least 5 ms";
  EXPECT_EQ(round.patient_until(Time(1s) + 100ms), Time(1s) + 400ms);
}

TEST(RoundWhyUnreached, IsTheOptionsFaultIfTheOtherNodesAreNoQuorum) {
  // Two of five nodes contradict the options, and the other three could have granted: that they are
  // away is the reason, and ends when they are back. A third one leaves nothing to wait for.
  Tally tally;
  tally.begin(NodeSet::first(5));
  tally.record(0, Vote::timed_out);
  EXPECT_EQ(why_unreached(tally), Errc::no_quorum);
  tally.record(1, Vote::terms_differ);
  tally.record(2, Vote::same_server);
  EXPECT_EQ(why_unreached(tally), Errc::no_quorum);
  tally.record(3, Vote::nodes_differ);
  EXPECT_EQ(why_unreached(tally), Errc::misconfigured);
}

TEST(RoundWhyUnreached, IsTheOptionsFaultIfASemaphoreHasAnotherCapacity) {
  // One node is enough: the permits that it has were given for another capacity.
  Tally tally;
  tally.begin(NodeSet::first(5));
  tally.record(3, Vote::capacity_differs);
  EXPECT_EQ(why_unreached(tally), Errc::misconfigured);
}

}  // namespace
}  // namespace quorumlock::core
