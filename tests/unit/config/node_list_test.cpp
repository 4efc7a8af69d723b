#include "config/node_list.hpp"

#include <gtest/gtest.h>

#include "lock/tally.hpp"

namespace quorumlock::detail {
namespace {

TEST(NodeList, ReportsHowEachNodeVotedInItsOrder) {
  // One node granted, one was never asked, and one has not answered yet. The last has left.
  NodeList list;
  list.add(5, "new");
  list.add(0, "first");
  list.add(2, "third");
  core::Tally tally;
  core::NodeSet nodes = core::NodeSet::first(3);
  nodes.add(5);
  tally.begin(nodes);
  tally.ask(0);
  tally.ask(1);
  tally.ask(5);
  tally.record(0, Vote::granted);
  EXPECT_EQ(list.outcome_of(tally, 4), (Outcome{{{"new", Vote::pending, ""},
                                                 {"first", Vote::granted, ""},
                                                 {"third", Vote::unreachable, ""}},
                                                2,
                                                4}));
}

TEST(NodeList, FindsANodeByItsNumber) {
  NodeList list;
  list.add(5, "new");
  list.add(0, "first");
  EXPECT_EQ(list.place_of(5), 0U);
  EXPECT_EQ(list.place_of(0), 1U);
  EXPECT_EQ(list.size(), 2);
  EXPECT_EQ(list.quorum(), 2);
}

}  // namespace
}  // namespace quorumlock::detail
