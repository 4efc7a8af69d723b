#include "lock/quorum.hpp"

#include <gtest/gtest.h>

#include "lock/types.hpp"
#include "support/printing.hpp"

namespace quorumlock::core {
namespace {

/// The verdict by exhaustive search: tries every way in which the open votes may come in.
Verdict slow_verdict(int nodes, int yes, int pending) {
  bool some_way_wins = false;
  bool some_way_loses = false;
  for (unsigned way = 0; way < 1U << pending; ++way) {
    int in_favour = yes;
    for (int voter = 0; voter < pending; ++voter) in_favour += static_cast<int>(way >> voter & 1U);
    int against = nodes - in_favour;
    (in_favour > against ? some_way_wins : some_way_loses) = true;
  }
  if (some_way_wins && some_way_loses) return Verdict::pending;
  return some_way_wins ? Verdict::won : Verdict::lost;
}

TEST(Quorum, EveryVerdictEqualsAnExhaustiveSearch) {
  // For any number of nodes and any votes, the verdict is the one on which all completions agree,
  // and pending only if they do not.
  for (int nodes = 1; nodes <= 9; ++nodes) {
    for (int yes = 0; yes <= nodes; ++yes) {
      for (int pending = 0; yes + pending <= nodes; ++pending) {
        EXPECT_EQ(verdict(quorum_of(nodes), yes, pending), slow_verdict(nodes, yes, pending))
            << yes << " of " << nodes << " said yes, " << pending << " are out";
      }
    }
  }
}

TEST(Quorum, TwoQuorumsAlwaysShareANode) {
  // Two quorums together have more members than there are nodes. Two sets with one node less each
  // do not.
  for (int nodes = 1; nodes <= max_nodes; ++nodes) {
    EXPECT_GT(2 * quorum_of(nodes), nodes);
    EXPECT_LE(2 * (quorum_of(nodes) - 1), nodes);
  }
}

TEST(Quorum, AnEvenSplitIsLostAndNotPending) {
  // Two of four said yes and two said no: the verdict waits for no other vote.
  EXPECT_EQ(verdict(quorum_of(4), 2, 0), Verdict::lost);
  EXPECT_EQ(verdict(quorum_of(4), 2, 1), Verdict::pending);
  EXPECT_EQ(verdict(quorum_of(4), 3, 1), Verdict::won);
}

static_assert(quorum_of(1) == 1 && quorum_of(2) == 2 && quorum_of(3) == 2 && quorum_of(4) == 3 &&
              quorum_of(5) == 3);

}  // namespace
}  // namespace quorumlock::core
