#include "lock/tally.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "support/printing.hpp"
#include "support/seeded_random.hpp"

namespace quorumlock::core {
namespace {

Tally asked(int nodes) {
  Tally tally;
  tally.begin(NodeSet::first(nodes));
  for (int node = 0; node < nodes; ++node) tally.ask(node);
  return tally;
}

TEST(Tally, ANewRoundHasNoAnswers) {
  // No node was asked yet: all count as not reached, until ask() makes their votes pending.
  Tally tally;
  tally.begin(NodeSet::first(3));
  EXPECT_EQ(tally.vote(0), Vote::unreachable);
  EXPECT_EQ(tally.granted(), Verdict::lost);
  tally.ask(0);
  tally.ask(1);
  EXPECT_EQ(tally.vote(0), Vote::pending);
  EXPECT_EQ(tally.granted(), Verdict::pending);
  EXPECT_EQ(tally.pending().size(), 2);
}

TEST(Tally, AnAnswerAfterTheTimeoutStillCounts) {
  // Two of three time out, so the round is lost; then both grant after all, and it is won.
  Tally tally = asked(3);
  tally.record(0, Vote::timed_out);
  tally.record(1, Vote::timed_out);
  EXPECT_EQ(tally.granted(), Verdict::lost);
  EXPECT_EQ(tally.reached(), Verdict::lost);
  tally.record(0, Vote::granted);
  tally.record(1, Vote::granted);
  EXPECT_EQ(tally.granted(), Verdict::won);
  EXPECT_EQ(tally.reached(), Verdict::won);
}

TEST(Tally, BeginForgetsTheRoundBefore) {
  // The votes of one round do not count in the next.
  Tally tally = asked(3);
  for (int node = 0; node < 3; ++node) tally.record(node, Vote::granted);
  tally.begin(NodeSet::first(3));
  EXPECT_TRUE(tally.granted_by().empty());
  EXPECT_EQ(tally.granted(), Verdict::lost);
  EXPECT_EQ(tally.vote(2), Vote::unreachable);
}

TEST(Tally, OnlyVotesOnTheKeyAreAnswers) {
  // A node is reached if it answered what it holds; an error or a silence is not an answer.
  for (int i = 0; i <= static_cast<int>(Vote::bad_counter); ++i) {
    const auto vote = static_cast<Vote>(i);
    const bool answers = vote == Vote::granted || vote == Vote::held || vote == Vote::absent;
    EXPECT_EQ(is_answer(vote), answers) << to_string(vote);
  }
}

TEST(Tally, CommandsThatMayHaveRunAreDistinguished) {
  // After a silence, a broken connection or an unknown error the command may have run.
  EXPECT_TRUE(maybe_executed(Vote::timed_out));
  EXPECT_TRUE(maybe_executed(Vote::disconnected));
  EXPECT_TRUE(maybe_executed(Vote::failed));
  for (const Vote vote : {Vote::unreachable, Vote::stalled, Vote::no_script, Vote::loading,
                          Vote::busy, Vote::refuses_writes, Vote::unauthorized}) {
    EXPECT_FALSE(maybe_executed(vote)) << to_string(vote);
  }
}

TEST(Tally, GoneIsCertainOnceTooFewNodesAreLeftToHoldIt) {
  // N-q+1 nodes that answer "another's" or "gone" leave no quorum; silent ones leave it open.
  for (int nodes = 1; nodes <= 7; ++nodes) {
    Tally tally = asked(nodes);
    for (int node = 0; node < nodes; ++node) {
      tally.record(node, node % 2 == 0 ? Vote::absent : Vote::held);
      EXPECT_EQ(tally.certainly_gone(), node + 1 >= nodes - quorum_of(nodes) + 1)
          << node + 1 << " of " << nodes;
    }
    tally = asked(nodes);
    for (int node = 0; node < nodes; ++node) tally.record(node, Vote::timed_out);
    EXPECT_FALSE(tally.certainly_gone());
  }
}

NodeSet set_of(std::initializer_list<int> nodes) {
  NodeSet set;
  for (const int node : nodes) set.add(node);
  return set;
}

TEST(Tally, AVoteThatAsksForAListNeedsAMajorityOfIt) {
  // Three nodes become five; the new ones, 3 and 4, vote too.
  const Majority old = Majority::of(set_of({0, 1, 2}));
  Tally tally = asked(5);
  for (const int node : {0, 3, 4}) tally.record(node, Vote::granted, old);
  EXPECT_EQ(tally.granted(), Verdict::pending) << "three of five, and one of three";
  tally.record(1, Vote::granted, old);
  EXPECT_EQ(tally.granted(), Verdict::won);
  EXPECT_TRUE(tally.wins(set_of({0, 1, 3})));
  EXPECT_FALSE(tally.wins(set_of({0, 3, 4})));
  EXPECT_FALSE(tally.wins(set_of({0, 1}))) << "a majority of the old list alone";
}

TEST(Tally, AVoteThatAsksForWhatIsNotThereIsLeftOut) {
  // Somebody has made up the record of node 2: its list has other nodes, or only node 2.
  for (const Majority& asks :
       {Majority(set_of({2}), 2), Majority::impossible(), Majority(set_of({2, 3, 4}), 3)}) {
    Tally tally = asked(5);
    for (const int node : {0, 1}) tally.record(node, Vote::granted);
    tally.record(2, Vote::granted, asks);
    EXPECT_EQ(tally.granted(), Verdict::pending);
    tally.record(3, Vote::granted);
    EXPECT_EQ(tally.granted(), Verdict::won);
  }
  Tally tally = asked(3);
  tally.record(2, Vote::granted, Majority(set_of({2}), 1));
  EXPECT_EQ(tally.granted(), Verdict::pending) << "its own vote is no majority of our list";
  tally.record(0, Vote::held);
  tally.record(1, Vote::held);
  EXPECT_EQ(tally.granted(), Verdict::lost);
}

TEST(Tally, VotesAreLeftOutUntilTheRestIsAcceptable) {
  // Node 4 asks for nodes 3 and 4, and node 3 for what is not there.
  Tally tally = asked(5);
  tally.record(4, Vote::granted, Majority(set_of({3, 4}), 2));
  tally.record(3, Vote::granted, Majority(set_of({0, 1, 2}), 2));
  tally.record(0, Vote::granted);
  EXPECT_FALSE(tally.wins(tally.granted_by()));
  tally.record(1, Vote::granted);
  EXPECT_EQ(tally.granted(), Verdict::won) << "with all of them";
  tally.record(1, Vote::absent);
  tally.record(2, Vote::absent);
  EXPECT_EQ(tally.granted(), Verdict::lost);
}

TEST(Tally, AfterAMoveBothListsAreNeeded) {
  Tally tally = asked(3);
  tally.record(0, Vote::granted);
  tally.leave(2);
  tally.move_to(Majority::of(set_of({0, 1, 3})));
  EXPECT_EQ(tally.granted(), Verdict::pending);
  tally.record(1, Vote::granted);
  EXPECT_EQ(tally.granted(), Verdict::won);
  tally.move_to(Majority::of(set_of({0, 1, 2})));
  EXPECT_EQ(tally.granted(), Verdict::lost) << "moved twice";
  EXPECT_FALSE(tally.certainly_gone());
}

TEST(Tally, DropsVotesOfNodesThatHaveLeft) {
  Tally tally = asked(3);
  tally.record(2, Vote::granted);
  tally.record(0, Vote::granted);
  EXPECT_EQ(tally.granted(), Verdict::won);
  tally.leave(2);
  tally.move_to(Majority::of(set_of({0, 1, 3})));
  EXPECT_EQ(tally.vote(2), Vote::nodes_differ);
  EXPECT_EQ(tally.granted(), Verdict::pending);
  tally.record(1, Vote::granted);
  EXPECT_EQ(tally.granted(), Verdict::won);
}

TEST(Tally, WhatWasAskedForInAnEarlierRoundIsForgotten) {
  Tally tally = asked(3);
  tally.record(0, Vote::granted, Majority(NodeSet::only(0), 1));
  tally.record(1, Vote::granted, Majority(NodeSet::first(3), 3));
  tally.begin(NodeSet::first(3));
  for (const int node : {0, 1, 2}) tally.ask(node);
  tally.record(1, Vote::granted);
  tally.record(2, Vote::granted, Majority(NodeSet::only(2), 1));
  EXPECT_EQ(tally.granted(), Verdict::won);
}

TEST(Tally, ARoundThatIsSpoiltIsNotWon) {
  Tally tally = asked(3);
  tally.record(0, Vote::granted);
  tally.spoil();
  EXPECT_EQ(tally.granted(), Verdict::lost);
}

TEST(Tally, CountsLikeAPlainList) {
  // The votes are random, several of them from one node: its last one counts, as in a plain list.
  test::SeededRandom random(7);
  for (int run = 0; run < 500; ++run) {
    const int nodes = random.between(1, max_nodes);
    Tally tally = asked(nodes);
    std::vector<Vote> votes(static_cast<std::size_t>(nodes), Vote::pending);
    for (int step = 0; step < 2 * nodes; ++step) {
      const int node = random.between(0, nodes - 1);
      const auto vote = static_cast<Vote>(random.between(1, static_cast<int>(Vote::bad_counter)));
      tally.record(node, vote);
      votes[static_cast<std::size_t>(node)] = vote;
    }
    int granted = 0, answered = 0, pending = 0;
    for (int node = 0; node < nodes; ++node) {
      const Vote vote = votes[static_cast<std::size_t>(node)];
      ASSERT_EQ(tally.vote(node), vote);
      ASSERT_EQ(tally.granted_by().contains(node), vote == Vote::granted);
      ASSERT_EQ(tally.pending().contains(node), vote == Vote::pending);
      granted += vote == Vote::granted ? 1 : 0;
      answered += is_answer(vote) ? 1 : 0;
      pending += vote == Vote::pending ? 1 : 0;
    }
    ASSERT_EQ(tally.granted(), verdict(quorum_of(nodes), granted, pending));
    ASSERT_EQ(tally.reached(), verdict(quorum_of(nodes), answered, pending));
  }
}

}  // namespace
}  // namespace quorumlock::core
