#include "core/ballot.hpp"

#include <gtest/gtest.h>

#include "support/printing.hpp"
#include "support/seeded_random.hpp"

// For which number each node stands, and which one to agree on.
namespace quorumlock::core {
namespace {

NodeSet nodes(std::initializer_list<int> members) {
  NodeSet set;
  for (const int node : members) set.add(node);
  return set;
}

TEST(Ballot, ANodeStandsForExactlyItsNumber) {
  // Three votes, two alike: those two stand for theirs, a greater number is no vote for a smaller.
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

TEST(Ballot, OnlyThoseThatGrantedAreCounted) {
  // A node that stood for it, and then turned out to have lost the key, is left out by the caller.
  Ballot ballot;
  ballot.begin(0);
  for (const int node : {0, 1, 2}) ballot.vote(node, 41);
  ballot.vote(2, 43);
  EXPECT_EQ(ballot.standing_for(41, nodes({1, 2})), nodes({1}));
  EXPECT_EQ(ballot.most_common(nodes({2})), 43U);
  EXPECT_EQ(ballot.most_common(NodeSet()), 0U);
}

TEST(Ballot, TheTargetExceedsAllThatWasSeen) {
  // Votes, counters that are another's, and what was known before: the greatest of them is next.
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
  EXPECT_EQ(ballot.target(), 60U) << "moves on only where it is told to";
  EXPECT_EQ(ballot.raise_target(), 70U);
}

TEST(Ballot, AcknowledgementsOfAnOlderTargetAreVoid) {
  // n1 was raised to 60; the number is now 70. Whoever stands for 60 does not stand for 70.
  Ballot ballot;
  ballot.begin(0);
  ballot.saw(60);
  ballot.ask(nodes({0, 1}));
  ballot.vote(0, ballot.raise_target());
  ballot.saw(70);
  const std::uint64_t target = ballot.raise_target();
  EXPECT_TRUE(ballot.raising().empty()) << "nobody was asked for the new number yet";
  EXPECT_EQ(ballot.standing_for(target, NodeSet::first(3)), NodeSet());
  EXPECT_EQ(ballot.standing_for(60, NodeSet::first(3)), nodes({0}));
}

TEST(Ballot, KnowsWhomItWaitsFor) {
  // Two were asked to raise; one answers, twice: the other is still awaited.
  Ballot ballot;
  ballot.begin(0);
  ballot.ask(nodes({0, 2}));
  ballot.answered(0);
  ballot.answered(0);
  EXPECT_EQ(ballot.raising(), nodes({2}));
  ballot.ask(nodes({1}));
  EXPECT_EQ(ballot.raising(), nodes({1, 2}));
}

TEST(Ballot, BeginsAnew) {
  // It is used again for another claim: nothing of the one before is left.
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

TEST(Ballot, TheMostCommonNumberIsThatOfTryingThemAll) {
  // Random votes from a few numbers, against counting each number by itself.
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
      ++counts[vote];
    }
    const int most = *std::ranges::max_element(counts);
    ASSERT_EQ(ballot.standing_for(ballot.most_common(granted), granted).size(), most);
    ASSERT_EQ(ballot.greatest(), *std::ranges::max_element(votes));
  }
}

}  // namespace
}  // namespace quorumlock::core
