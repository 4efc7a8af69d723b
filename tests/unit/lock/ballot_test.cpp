#include "lock/ballot.hpp"

#include <gtest/gtest.h>

#include "support/printing.hpp"
#include "support/seeded_random.hpp"

// The ballot: which number each node stands for, and which one to agree on.
namespace quorumlock::core {
namespace {

NodeSet nodes(std::initializer_list<int> members) {
  NodeSet set;
  for (const int node : members) set.add(node);
  return set;
}

TEST(Ballot, ANodeStandsForExactlyItsNumber) {
  // Of three votes two are the same. Those two nodes stand for that number; a greater number is no
  // vote for a smaller one.
  Ballot ballot;
  ballot.begin(0);
  ballot.vote(0, 41);
  ballot.vote(1, 42);
  ballot.vote(2, 41);
  const NodeSet all = NodeSet::first(3);
  EXPECT_EQ(ballot.standing_for(41, all), nodes({0, 2}));
  EXPECT_EQ(ballot.standing_for(42, all), nodes({1}));
  EXPECT_EQ(ballot.standing_for(40, all), NodeSet());
  EXPECT_EQ(ballot.most_common(all), 41U);
  EXPECT_EQ(ballot.greatest(), 42U);
}

TEST(Ballot, OnlyNodesThatGrantedAreCounted) {
  // The caller leaves out a node that stood for the number and then turned out to lack the key.
  Ballot ballot;
  ballot.begin(0);
  for (const int node : {0, 1, 2}) ballot.vote(node, 41);
  ballot.vote(2, 43);
  EXPECT_EQ(ballot.standing_for(41, nodes({1, 2})), nodes({1}));
  EXPECT_EQ(ballot.most_common(nodes({2})), 43U);
  EXPECT_EQ(ballot.most_common(NodeSet()), 0U);
}

TEST(Ballot, TheTargetExceedsEveryNumberSeen) {
  // The target is the greatest of the votes, of the counters seen on other nodes, and of the number
  // known before.
  Ballot ballot;
  ballot.begin(50);
  EXPECT_EQ(ballot.target(), 0U);
  ballot.vote(0, 41);
  EXPECT_EQ(ballot.greatest(), 50U);
  ballot.saw(60);
  ballot.saw(55);
  EXPECT_EQ(ballot.raise_target(), 60U);
  EXPECT_EQ(ballot.target(), 60U);
  ballot.saw(70);
  EXPECT_EQ(ballot.target(), 60U) << "it moves only if it is asked to";
  EXPECT_EQ(ballot.raise_target(), 70U);
}

TEST(Ballot, AcknowledgementsOfAnOlderTargetAreVoid) {
  // n1 was raised to 60, and the target is 70 now. A node that stands for 60 does not stand for 70.
  Ballot ballot;
  ballot.begin(0);
  ballot.saw(60);
  ballot.ask(nodes({0, 1}));
  ballot.vote(0, ballot.raise_target());
  ballot.saw(70);
  const std::uint64_t target = ballot.raise_target();
  EXPECT_EQ(ballot.raising(), nodes({0, 1})) << "until they have answered";
  ballot.answered(0);
  EXPECT_EQ(ballot.to_ask(NodeSet::first(2)), nodes({0}));
  ballot.refused(0, 70);
  EXPECT_EQ(ballot.to_ask(NodeSet::first(2)), NodeSet()) << "a counter at 70 is no vote for 70";
  EXPECT_EQ(ballot.standing_for(target, NodeSet::first(3)), NodeSet());
  EXPECT_EQ(ballot.standing_for(60, NodeSet::first(3)), nodes({0}));
}

TEST(Ballot, KnowsTheNodesThatItWaitsFor) {
  // Two nodes were asked to raise, and one answers twice: the other node is still awaited.
  Ballot ballot;
  ballot.begin(0);
  ballot.ask(nodes({0, 2}));
  ballot.answered(0);
  ballot.answered(0);
  EXPECT_EQ(ballot.raising(), nodes({2}));
  ballot.ask(nodes({1}));
  EXPECT_EQ(ballot.raising(), nodes({1, 2}));
}

TEST(Ballot, BeginLeavesNothingOfTheClaimBefore) {
  // A ballot is used again for another claim: begin() leaves nothing of the claim before.
  Ballot ballot;
  ballot.begin(0);
  ballot.vote(0, 41);
  ballot.raise_target();
  ballot.ask(nodes({0}));
  ballot.begin(7);
  EXPECT_EQ(ballot.target(), 0U);
  EXPECT_EQ(ballot.greatest(), 7U);
  EXPECT_TRUE(ballot.raising().empty());
  EXPECT_EQ(ballot.standing_for(41, NodeSet::first(3)), NodeSet());
}

TEST(Ballot, TheMostCommonNumberEqualsACountOfEach) {
  // Random votes from a few numbers are compared with a count of each number by itself.
  test::SeededRandom random(7);
  for (int run = 0; run < 2000; ++run) {
    Ballot ballot;
    ballot.begin(0);
    std::array<std::uint64_t, 7> votes{};
    NodeSet granted;
    std::array<int, 5> counts{};
    for (int node = 0; node < 7; ++node) {
      std::uint64_t& vote = votes[static_cast<std::size_t>(node)];
      vote = 1 + random.index(4);
      ballot.vote(node, vote);
      if (random.one_in(3)) continue;
      granted.add(node);
      ++counts[static_cast<std::size_t>(vote)];
    }
    const int most = *std::ranges::max_element(counts);
    ASSERT_EQ(ballot.standing_for(ballot.most_common(granted), granted).size(), most);
    ASSERT_EQ(ballot.greatest(), *std::ranges::max_element(votes));
  }
}

}  // namespace
}  // namespace quorumlock::core
