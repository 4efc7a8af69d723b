#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "lock/types.hpp"
#include "support/printing.hpp"
#include "support/seeded_random.hpp"

namespace quorumlock::core {
namespace {

NodeSet from(const std::set<int>& nodes) {
  NodeSet set;
  for (const int node : nodes) set.add(node);
  return set;
}

TEST(NodeSet, FirstHoldsTheFirstNodes) {
  // The first n nodes are members, up to the maximum of 32.
  for (int count = 0; count <= max_nodes; ++count) {
    const NodeSet set = NodeSet::first(count);
    EXPECT_EQ(set.size(), count);
    EXPECT_EQ(set.empty(), count == 0);
    for (int node = 0; node < max_nodes; ++node) EXPECT_EQ(set.contains(node), node < count);
  }
}

TEST(NodeSet, IteratesInOrder) {
  // Members come in the order of their numbers, including the greatest possible one.
  NodeSet set;
  for (const int node : {31, 0, 7, 3}) set.add(node);
  std::vector<int> seen;
  for (const int node : set) seen.push_back(node);
  EXPECT_EQ(seen, (std::vector<int>{0, 3, 7, 31}));
  set.remove(7);
  EXPECT_FALSE(set.contains(7));
  EXPECT_EQ(set.size(), 3);
}

TEST(NodeSet, DoesWhatASetOfNumbersDoes) {
  // Union, intersection and difference of random sets are compared with std::set.
  test::SeededRandom random(11);
  for (int run = 0; run < 300; ++run) {
    std::set<int> a, b;
    for (int i = random.between(0, 20); i > 0; --i) a.insert(random.between(0, max_nodes - 1));
    for (int i = random.between(0, 20); i > 0; --i) b.insert(random.between(0, max_nodes - 1));
    std::set<int> either = a, both, only_a;
    either.insert(b.begin(), b.end());
    for (const int node : a) (b.contains(node) ? both : only_a).insert(node);
    ASSERT_EQ(from(a) | from(b), from(either));
    ASSERT_EQ(from(a) & from(b), from(both));
    ASSERT_EQ(from(a) - from(b), from(only_a));
    ASSERT_EQ(from(a).size(), static_cast<int>(a.size()));
  }
}

TEST(NodeSet, OnlyHoldsOneNode) {
  // A set of one node is built for every possible node.
  for (int node = 0; node < max_nodes; ++node) {
    EXPECT_EQ(from({node}), NodeSet::only(node));
  }
}

TEST(NodeSetRandom, DrawsStayBelowTheBound) {
  // Draws lie in [0, bound); a bound of zero always gives zero.
  test::SeededRandom random(5);
  bool low = false, high = false;
  for (int run = 0; run < 1000; ++run) {
    const Duration drawn = random.below(Duration(10));
    ASSERT_GE(drawn.count(), 0);
    ASSERT_LT(drawn.count(), 10);
    low = low || drawn.count() == 0;
    high = high || drawn.count() == 9;
  }
  EXPECT_TRUE(low && high);
  EXPECT_EQ(random.below(Duration::zero()), Duration::zero());
}

}  // namespace
}  // namespace quorumlock::core
