#include "members/electorate.hpp"

#include <gtest/gtest.h>

#include "support/printing.hpp"
#include "support/seeded_random.hpp"

// Which nodes vote for our list, and as what a node without a record may be enrolled.
namespace quorumlock::redis {
namespace {

using namespace std::chrono_literals;

const NodeNames list_abc = {"a", "b", "c"};
const NodeNames list_abd = {"a", "b", "d"};

/// Nodes of which some have a record of this list.
class ElectorateTest : public ::testing::Test {
 protected:
  static Membership settled(const NodeNames& list, std::uint32_t epoch = 0,
                            std::uint64_t founding = 7) {
    return {founding, epoch, ListPhase::settled, {}, {}, list};
  }
  static NodeRecord with(const std::string& name, const Membership& its) {
    return {.name = name, .membership = std::make_shared<Membership>(its.for_node(name))};
  }
  static NodeRecord blank(const std::string& name) { return {.name = name}; }
  /// A node that has waited with a candidate of this founding of the list.
  static NodeRecord waiting(const std::string& name, std::uint64_t founding,
                            const NodeNames& list) {
    return {
        .name = name, .candidate = settled(list, 0, founding).for_node(name).mark(), .ripe = true};
  }
  std::vector<Ruling> judge(const std::vector<NodeRecord>& nodes) {
    return electorate.judge(nodes);
  }

  test::SeededRandom random{1};
  Electorate electorate{random};
};

TEST_F(ElectorateTest, NodesWithOurListVote) {
  const auto judged =
      judge({with("a", settled(list_abc)), with("b", settled(list_abc)), blank("c")});
  EXPECT_EQ(judged[0].refusal, "");
  EXPECT_EQ(judged[0].asks, core::Majority()) << "nothing beside a majority of our own list";
  EXPECT_EQ(electorate.voters(), (std::vector<int>{0, 1}));
}

TEST_F(ElectorateTest, WhoNamesNoTermsFollowsTheNodes) {
  // The old terms stay while they allow the longer ttl and win; after that the new ones do. Nodes
  // that do not serve them do not vote.
  Membership old = settled(list_abc);
  old.to_terms = {20'000, 80};
  judge({with("a", old), with("b", old), with("c", old)});
  EXPECT_EQ(electorate.terms(), old.to_terms);
  const ListTerms shorter{10'000, 80};
  const Membership announced{7,        0,        ListPhase::announced, {},
                             list_abc, list_abc, old.to_terms,         shorter};
  Membership decided = announced;
  decided.epoch = 1;
  decided.phase = ListPhase::unsettled;
  auto judged = judge({with("a", announced), with("b", announced), with("c", old)});
  EXPECT_EQ(electorate.terms(), old.to_terms);
  EXPECT_EQ(judged[0].longest_ttl, 20s);
  judged = judge({with("a", decided), with("b", decided), with("c", old)});
  EXPECT_EQ(electorate.terms(), shorter);
  EXPECT_EQ(electorate.voters(), (std::vector<int>{0, 1}));
  EXPECT_EQ(judged[0].longest_ttl, 10s);
  EXPECT_EQ(judged[2].vote, Vote::quarantined);
}

TEST_F(ElectorateTest, IfNoTermsWinThoseOfMostNodesAreOurs) {
  // Two of five nodes have settled other terms, two forgot then, and one was away. The client knows
  // the old terms, and an operator vouches for the nodes that forgot: as what the two are.
  const NodeNames list{"a", "b", "c", "d", "e"};
  const Membership old = settled(list);
  Membership after = settled(list, 1);
  after.to_terms = {60'000, 86'400};
  judge({blank("a"), blank("b"), blank("c"), with("d", old), blank("e")});
  EXPECT_EQ(electorate.terms(), old.to_terms);
  electorate.vouch();
  const auto judged =
      judge({with("a", after), blank("b"), blank("c"), with("d", old), with("e", after)});
  EXPECT_EQ(electorate.terms(), after.to_terms);
  ASSERT_TRUE(judged[1].admitted);
  EXPECT_EQ(*judged[1].admitted, after.for_node("b"));
}

TEST_F(ElectorateTest, AnOperatorVouchesForAChangeOfWhichTooFewRemember) {
  // {a, b, c, x} has decided to become {a, b, d}, and of these nodes only a remembers. Its vote
  // cannot count for us: three of the old list would have to vote, and we know two of them.
  const NodeNames old{"a", "b", "c", "x"};
  const Membership decided{7, 1, ListPhase::unsettled, {}, old, list_abd};
  const std::vector<NodeRecord> nodes{with("a", decided), blank("b"), blank("d")};
  EXPECT_FALSE(judge(nodes)[1].admitted);
  electorate.vouch();
  const auto judged = judge(nodes);
  EXPECT_TRUE(electorate.voters().empty());
  ASSERT_TRUE(judged[1].admitted);
  EXPECT_EQ(*judged[1].admitted, decided.for_node("b"));
}

TEST_F(ElectorateTest, AGreaterMaxTtlCountsFromTheSettle) {
  const ListTerms longer{60'000, 86'400};
  const Membership announced{7, 0, ListPhase::announced, {}, list_abc, list_abc, {}, longer};
  const auto judged = judge({with("a", announced), with("b", announced), with("c", announced)});
  EXPECT_EQ(electorate.terms(), longer) << "whoever follows has it already";
  EXPECT_EQ(judged[0].longest_ttl, 30s);
  Membership after = settled(list_abc, 1);
  after.to_terms = longer;
  EXPECT_EQ(judge({with("a", after), with("b", after), with("c", after)})[0].longest_ttl, 60s);
}

TEST_F(ElectorateTest, WhoNamesOtherTermsIsRefused) {
  Electorate strict(random, {.max_ttl_ms = 20'000});
  const auto judged = strict.judge(
      std::vector{with("a", settled(list_abc)), with("b", settled(list_abc)), blank("c")});
  EXPECT_EQ(judged[0].vote, Vote::max_ttl_differs);
  EXPECT_EQ(judged[0].refusal,
            "votes with max_ttl 30s since epoch 0, and ours is 20s: leave max_ttl out to follow "
            "the nodes; quorumlock members apply changes theirs");
  EXPECT_TRUE(strict.voters().empty());
  EXPECT_FALSE(judged[2].admitted);
}

TEST_F(ElectorateTest, AListThatAllNodesRememberIsFoundedWithItsTerms) {
  Membership last = settled(list_abc, 3);
  last.to_terms = {10'000, 40};
  std::vector<NodeRecord> nodes{blank("a"), blank("b"), blank("c")};
  for (NodeRecord& node : nodes) {
    node.remembered = std::make_shared<Membership>(last.for_node(node.name));
  }
  const auto judged = judge(nodes);
  EXPECT_TRUE(electorate.founds());
  EXPECT_EQ(judged[0].founded->to_terms, last.to_terms);
}

TEST_F(ElectorateTest, ListsThatDifferShareNoVote) {
  // This client has {a, b, d}, and the nodes are of {a, b, c}. Neither do they vote for it, nor
  // may d be enrolled, so the two lists cannot both get a lock.
  const auto judged =
      judge({with("a", settled(list_abc, 4)), with("b", settled(list_abc, 4)), blank("d")});
  EXPECT_EQ(judged[0].refusal,
            "votes for {a, b and c} since epoch 4; our list has d, which is not one of them, and "
            "lacks c: give all clients the same nodes");
  EXPECT_EQ(judged[0].vote, Vote::nodes_differ);
  EXPECT_TRUE(electorate.voters().empty());
  EXPECT_FALSE(judged[2].admitted);
}

TEST_F(ElectorateTest, ANodeHasTheNameThatItReports) {
  // This client spells b otherwise. It learns the name from the node, and nothing from the names
  // of the others: were b away, it could be any node.
  NodeRecord b = with("b", settled(list_abc));
  b.name = "b.example";
  const auto judged = judge({with("a", settled(list_abc)), b, with("c", settled(list_abc))});
  for (const auto& one : judged) EXPECT_EQ(one.refusal, "");
  const auto away =
      judge({with("a", settled(list_abc)), blank("b.example"), with("c", settled(list_abc))});
  EXPECT_NE(away[0].refusal.find("lacks b"), std::string::npos) << away[0].refusal;
}

TEST_F(ElectorateTest, AListThatDiffersOnlyInNodesThatWereNotReachedMayBeOurs) {
  // As many names are missing as nodes have not been reached: each may be one of them.
  const auto unheard = [](const std::string& name) {
    return NodeRecord{.name = name, .unheard = true};
  };
  const NodeNames other = {"a", "x", "y"};
  auto judged = judge({with("a", settled(other)), unheard("b"), unheard("c")});
  EXPECT_TRUE(judged[0].perhaps_ours);
  EXPECT_EQ(judged[0].vote, Vote::quarantined);
  EXPECT_EQ(judged[0].refusal,
            "votes for {a, x and y} since epoch 0; our list has b and c, and lacks x and y: these "
            "may be the same nodes by other names, but only they can say so, and they have not "
            "been reached: bring them back, or spell their addresses as the other clients do");
  // c is there, so it is no other node.
  judged = judge({with("a", settled(other)), unheard("b"), blank("c")});
  EXPECT_EQ(judged[0].vote, Vote::nodes_differ);
  // The list has more nodes than ours.
  judged = judge({with("a", settled({"a", "x", "y", "z"})), unheard("b"), unheard("c")});
  EXPECT_EQ(judged[0].vote, Vote::nodes_differ);
  // Two of our nodes have one name.
  judged = judge(
      {with("a", settled({"a", "b", "c"})), with("a", settled({"a", "b", "c"})), unheard("d")});
  EXPECT_EQ(judged[0].vote, Vote::nodes_differ);
}

TEST_F(ElectorateTest, EitherListOfAnAnnouncedChangeMayBeOurs) {
  Membership its = settled({"a", "b", "x"}, 4);
  its.phase = ListPhase::announced;
  its.from = {"a", "b", "x"};
  its.to = {"a", "b", "y", "z"};
  std::vector<NodeRecord> nodes = {with("a", its), with("b", its)};
  nodes.push_back({.name = "c", .unheard = true});
  EXPECT_EQ(judge(nodes)[0].vote, Vote::quarantined) << "c may be x";
  nodes.push_back({.name = "d", .unheard = true});
  EXPECT_EQ(judge(nodes)[0].vote, Vote::quarantined) << "c and d may be y and z";
  its.phase = ListPhase::unsettled;
  its.epoch = 5;
  nodes = {with("a", its), with("b", its), {.name = "c", .unheard = true}};
  EXPECT_EQ(judge(nodes)[0].vote, Vote::nodes_differ) << "clients with the old list are refused";
}

TEST_F(ElectorateTest, NothingIsDecidedBeforeTheNamesAreKnown) {
  // The first connection to b.example is still being made.
  NodeRecord b = blank("b.example");
  b.expected = true;
  const auto judged = judge({with("a", settled(list_abc)), b, with("c", settled(list_abc))});
  EXPECT_TRUE(judged[0].undecided);
  EXPECT_FALSE(judged[1].undecided);
}

TEST_F(ElectorateTest, TwoNodesOfOneNameCastNoVote) {
  const auto judged =
      judge({with("a", settled(list_abc)), with("a", settled(list_abc)), blank("c")});
  EXPECT_EQ(judged[0].refusal, "is called a, as another of our nodes is: name each server once");
  EXPECT_EQ(judged[1].refusal, judged[0].refusal);
}

TEST_F(ElectorateTest, WhatOneNodeSaysChangesNothingForTheVotesOfOthers) {
  // Somebody has made up that c is in a later epoch, alone in a list, or at the end of a change.
  for (const Membership& forged :
       {settled(list_abc, 9), Membership{7, 9, ListPhase::announced, {}, {"c"}, list_abc}}) {
    const auto judged =
        judge({with("a", settled(list_abc)), with("b", settled(list_abc)), with("c", forged)});
    for (const auto& one : judged) EXPECT_EQ(one.refusal, "");
    EXPECT_EQ(judged[0].asks, core::Majority());
    EXPECT_EQ(electorate.voters(), (std::vector<int>{0, 1, 2}));
    if (forged.asks() == nullptr) continue;
    EXPECT_EQ(judged[2].asks, core::Majority(core::NodeSet::only(2), quorum(*forged.asks())));
  }
  // A majority of a list of which we have one node cannot be had.
  const auto judged = judge({with("a", settled(list_abc)), with("b", settled(list_abc)),
                             with("c", {7, 9, ListPhase::unsettled, {}, {"c", "x"}, list_abc})});
  EXPECT_EQ(judged[2].refusal,
            "asks for a majority of {c and x}, of which our list has too few: if these nodes never "
            "were a list, quorumlock members commit makes it forget them");
  EXPECT_EQ(electorate.voters(), (std::vector<int>{0, 1}));
}

TEST_F(ElectorateTest, VotesOfAChangeAskForTheOldList) {
  const NodeNames list_abcde = {"a", "b", "c", "d", "e"};
  const Membership its{7, 4, ListPhase::announced, {}, list_abc, list_abcde};
  const auto judged =
      judge({with("d", its), with("a", its), with("b", its), blank("c"), blank("e")});
  core::NodeSet old = core::NodeSet::only(1);
  old.add(2);
  old.add(3);
  EXPECT_EQ(judged[0].asks, core::Majority(old, 2)) << "by the places of a, b and c";
  EXPECT_TRUE(judged[0].changes);
}

TEST_F(ElectorateTest, ARemovedNodeRefusesItsOldList) {
  // c was removed in epoch 5, and this client still has it.
  const auto judged = judge({blank("a"), blank("b"), with("c", settled(list_abd, 5))});
  EXPECT_EQ(judged[2].refusal,
            "was removed from its list in epoch 5, when that became {a, b and d}: give this client "
            "those nodes, or what the list has become since");
}

TEST_F(ElectorateTest, EnoughNodesMustVouchForOneWithoutARecord) {
  // Three of five nodes have to vouch; if only two can, the operator has to vouch.
  const NodeNames list = {"a", "b", "c", "d", "e"};
  const auto two = judge(
      {with("a", settled(list)), with("b", settled(list)), blank("c"), blank("d"), blank("e")});
  EXPECT_FALSE(two[2].admitted);
  EXPECT_EQ(two[2].why_not,
            "is vouched for by only 2 of the 3 nodes that it takes: run quorumlock enroll");
  const auto three = judge({with("a", settled(list)), with("b", settled(list)),
                            with("d", settled(list)), blank("c"), blank("e")});
  EXPECT_EQ(*three[3].admitted, settled(list).for_node("c"));
  electorate.vouch();
  const auto vouched = judge(
      {with("a", settled(list)), with("b", settled(list)), blank("c"), blank("d"), blank("e")});
  EXPECT_EQ(*vouched[2].admitted, settled(list).for_node("c"));
}

TEST_F(ElectorateTest, ANodeIsLetInAsEnoughOthersStand) {
  // a has decided to go on to {a, b, d}; b has it announced only: neither is a single node's word
  // enough. Once both stand at one step, the new node d is let in, and may vote.
  const Membership announced{7, 0, ListPhase::announced, {}, list_abc, list_abd};
  const Membership decided{7, 1, ListPhase::unsettled, {}, list_abc, list_abd};
  const auto judged = judge({with("a", decided), with("b", announced), blank("d")});
  EXPECT_EQ(judged[0].refusal, "");
  EXPECT_EQ(judged[1].refusal, "");
  EXPECT_FALSE(judged[2].admitted);
  EXPECT_EQ(judged[2].why_not,
            "is vouched for by only 1 of the 2 nodes that it takes: run quorumlock enroll");
  for (const Membership& as : {announced, decided}) {
    EXPECT_EQ(*judge({with("a", as), with("b", as), blank("d")})[2].admitted, as.for_node("d"));
  }
}

TEST_F(ElectorateTest, NobodyIsLetInOnOneNodesWord) {
  // e says that the change to {a, b, e} is settled, which is only announced, and b has forgotten.
  const NodeNames five = {"a", "b", "c", "d", "e"}, three = {"a", "b", "e"};
  const Membership announced{7, 0, ListPhase::announced, {}, five, three};
  const auto judged = judge({with("a", announced), blank("b"), with("e", settled(three, 1))});
  EXPECT_FALSE(judged[1].admitted);
  // Those who know better let it in with what they say.
  const auto all = judge({with("a", announced), blank("b"), with("c", announced),
                          with("d", announced), with("e", settled(three, 1))});
  EXPECT_EQ(*all[1].admitted, announced.for_node("b"));
}

TEST_F(ElectorateTest, AListIsFoundedOnceAllItsNodesHaveWaitedTogether) {
  // The smaller of two foundings is proposed; a node that is away keeps the list from being
  // founded, unless the operator vouches.
  auto judged =
      judge({waiting("a", 3, list_abc), waiting("b", 5, list_abc), waiting("c", 3, list_abc)});
  EXPECT_TRUE(electorate.founds());
  EXPECT_EQ(judged[0].founded->founding, 3U);
  EXPECT_FALSE(judged[0].admitted) << "b waits for another founding";
  judged = judge({waiting("a", 3, list_abc), waiting("b", 3, list_abc), blank("c")});
  EXPECT_FALSE(judged[0].admitted);
  EXPECT_EQ(judged[0].why_not,
            "is enrolled anew once all nodes of the list have waited together, and c has not: "
            "bring it back, or run quorumlock enroll");
  judged = judge({waiting("a", 3, list_abc), waiting("b", 3, list_abc), waiting("c", 3, list_abc)});
  EXPECT_EQ(*judged[0].admitted, settled(list_abc, 0, 3).for_node("a"));
  // The first of them is enrolled: the others follow, although one node is too few to vouch.
  judged = judge(
      {with("a", settled(list_abc, 0, 3)), waiting("b", 3, list_abc), waiting("c", 3, list_abc)});
  EXPECT_EQ(*judged[1].admitted, settled(list_abc, 0, 3).for_node("b"));
}

TEST_F(ElectorateTest, AllNodesAreFoundedWithTheFoundingThatIsProposedNow) {
  const auto own = judge({blank("a"), blank("b"), blank("c")});
  for (const std::uint64_t founding : {5U, 3U}) {
    const auto judged = judge({blank("a"), waiting("b", founding, list_abc), blank("c")});
    for (const Ruling& its : judged) {
      EXPECT_EQ(*its.founded, settled(list_abc, 0, founding).for_node(its.founded->name));
    }
  }
  const auto again = judge({blank("a"), blank("b"), blank("c")});
  for (std::size_t i = 0; i < own.size(); ++i) EXPECT_EQ(*again[i].founded, *own[i].founded);
}

TEST_F(ElectorateTest, AListIsFoundedOnlyIfAllItsNodesWereSeenToWaitAtOneMoment) {
  // a was last looked at before c had waited long enough. Since then a client with another list may
  // have put a candidate of its own there.
  std::vector<NodeRecord> nodes = {waiting("a", 3, list_abc), waiting("b", 3, list_abc),
                                   waiting("c", 3, list_abc)};
  const core::Time start = core::Time(std::chrono::hours(1));
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].ripe_since = nodes[i].seen = start + i * std::chrono::seconds(1);
  }
  nodes[1].seen = start + std::chrono::seconds(5);
  auto judged = judge(nodes);
  EXPECT_FALSE(judged[2].admitted);
  EXPECT_EQ(judged[2].why_not,
            "is enrolled anew once all nodes of the list have been seen to wait together");
  EXPECT_TRUE(judged[0].to_look);
  EXPECT_FALSE(judged[1].to_look);
  EXPECT_FALSE(judged[2].to_look);
  nodes[0].seen = start + std::chrono::seconds(2);
  judged = judge(nodes);
  EXPECT_EQ(*judged[0].admitted, settled(list_abc, 0, 3).for_node("a"));
  EXPECT_FALSE(judged[0].to_look);
}

TEST_F(ElectorateTest, ANodeThatForgotIsNoFounderBesideARecord) {
  // The three wait together, and a is enrolled first. Since then c was enrolled, too, and has
  // forgotten: its candidate, of the same founding, is another one.
  NodeRecord b = waiting("b", 3, list_abc), c = waiting("c", 3, list_abc);
  b.nonce = "b1";
  c.nonce = "c1";
  EXPECT_TRUE(judge({waiting("a", 3, list_abc), b, c})[2].admitted);
  c.nonce = "c2";
  const NodeRecord a = with("a", settled(list_abc, 0, 3));
  const auto judged = judge({a, b, c});
  EXPECT_EQ(*judged[1].admitted, settled(list_abc, 0, 3).for_node("b"));
  EXPECT_FALSE(judged[2].admitted);
  EXPECT_EQ(judged[2].why_not,
            "is vouched for by only 1 of the 2 nodes that it takes: run quorumlock enroll");
  // A client that did not see them wait together cannot tell the two apart.
  EXPECT_FALSE(redis::Electorate(random).judge(std::vector{a, b, c})[1].admitted);
  // b is let in, and the two vouch for c.
  const auto later = judge({a, with("b", settled(list_abc, 0, 3)), c});
  EXPECT_TRUE(later[2].admitted);
  EXPECT_TRUE(later[2].vouched_for);
}

TEST_F(ElectorateTest, ARecordStopsAFoundingOfTheOthers) {
  // a remembers an earlier founding: b and c may not begin another one, or a node that
  // is away could remember more than a.
  const auto judged = judge(
      {with("a", settled(list_abc, 0, 9)), waiting("b", 3, list_abc), waiting("c", 3, list_abc)});
  EXPECT_FALSE(electorate.founds());
  EXPECT_FALSE(judged[1].admitted);
}

TEST_F(ElectorateTest, TheOperatorsWordCountsIfTheNodesSayTheSameAsBefore) {
  const std::vector<NodeRecord> nodes{with("a", settled(list_abc)), blank("b"), blank("c")};
  EXPECT_FALSE(judge(nodes)[1].admitted);
  electorate.vouch();
  EXPECT_EQ(*judge(nodes)[1].admitted, settled(list_abc).for_node("b"));
}

TEST_F(ElectorateTest, TheDiskOfARestartedNodeStopsAFoundingOfAnotherList) {
  // c was restarted: its record is of an earlier run. Clients of {a, b, c} may not have seen that.
  const NodeNames list_cde = {"c", "d", "e"};
  NodeRecord c = waiting("c", 5, list_cde);
  c.remembered = std::make_shared<Membership>(settled(list_abc).for_node("c"));
  const std::vector<NodeRecord> nodes{c, waiting("d", 5, list_cde), waiting("e", 5, list_cde)};
  EXPECT_FALSE(judge(nodes)[1].admitted);
  EXPECT_FALSE(electorate.founds());
  electorate.vouch();
  EXPECT_FALSE(judge(nodes)[1].admitted) << "the operator's word is not about nodes that answer";
}

TEST_F(ElectorateTest, AListThatAllItsNodesHaveOnDiskIsFoundedAnew) {
  std::vector<NodeRecord> nodes;
  for (const std::string& name : list_abc) {
    nodes.push_back(waiting(name, 5, list_abc));
    nodes.back().remembered = std::make_shared<Membership>(settled(list_abc, 3).for_node(name));
  }
  EXPECT_EQ(*judge(nodes)[0].admitted, settled(list_abc, 0, 5).for_node("a"));
}

TEST_F(ElectorateTest, CandidatesForAnotherListFoundNothing) {
  const auto judged =
      judge({waiting("a", 3, list_abd), waiting("b", 3, list_abd), waiting("c", 3, list_abc)});
  EXPECT_FALSE(judged[2].admitted);
}

TEST_F(ElectorateTest, EachListThatAClientHasIsFoundedWithAFoundingOfItsOwn) {
  const std::uint64_t first = judge({blank("a"), blank("b"), blank("c")})[0].founded->founding;
  EXPECT_EQ(judge({blank("a"), blank("b"), blank("c")})[0].founded->founding, first);
  const std::uint64_t second = judge({blank("a"), blank("b"), blank("d")})[0].founded->founding;
  EXPECT_NE(second, first);
  EXPECT_NE(judge({blank("a"), blank("b"), blank("c")})[0].founded->founding, first)
      << "nodes may have been enrolled with it, and have forgotten";
}

TEST_F(ElectorateTest, ANodeOfAnotherFoundingComesBackWithoutItsRecord) {
  // Two of three nodes were enrolled anew while c was away.
  auto judged = judge({with("a", settled(list_abc, 0, 3)), with("b", settled(list_abc, 0, 3)),
                       with("c", settled(list_abc))});
  EXPECT_NE(judged[2].refusal.find("another founding"), std::string::npos);
  EXPECT_TRUE(judged[2].outdated);
  EXPECT_FALSE(judged[0].outdated);
  // The founding stays the one that counts as long as one node votes for it.
  judged = judge({with("a", settled(list_abc, 0, 3)), blank("b"), with("c", settled(list_abc))});
  EXPECT_EQ(judged[0].refusal, "");
  EXPECT_FALSE(judged[2].outdated) << "too few have settled";
  // It does not if a quorum votes for another one: the nodes would refuse one another for ever.
  judged = judge({with("a", settled(list_abc, 0, 3)), with("b", settled(list_abc)),
                  with("c", settled(list_abc))});
  EXPECT_EQ(judged[1].refusal, "");
  EXPECT_TRUE(judged[0].outdated);
}

TEST_F(ElectorateTest, AQuorumOfAnotherFoundingIsCountedByItsOwnNodes) {
  // The node of the founding that counted so far asks for three votes, since its list is being
  // reduced from five nodes. The two of the other founding need no more than themselves.
  const Membership reduced{3, 4, ListPhase::announced, {}, {"a", "b", "c", "d", "e"}, list_abc};
  auto judged = judge({with("a", reduced), blank("b"), blank("c")});
  EXPECT_EQ(judged[0].refusal, "");
  judged = judge({with("a", reduced), with("b", settled(list_abc)), with("c", settled(list_abc))});
  EXPECT_NE(judged[0].refusal.find("another founding"), std::string::npos);
  EXPECT_EQ(judged[1].refusal, "");
}

TEST_F(ElectorateTest, ANodeThatNoStepTakesAlongComesBackWithoutItsRecord) {
  const auto says = [this](const Membership& its, bool announced = false) {
    Membership others = settled(list_abc, 4);
    if (announced) others = {7, 4, ListPhase::announced, {}, list_abc, list_abd};
    return judge({with("a", others), with("b", others), with("c", its)})[2].outdated;
  };
  EXPECT_TRUE(says({7, 3, ListPhase::unsettled, {}, {"a", "c"}, {"b", "c"}}))
      << "two changes behind";
  EXPECT_TRUE(says({7, 4, ListPhase::unsettled, {}, {"b", "c"}, {"b", "d"}}))
      << "another change was decided than it was told";
  EXPECT_TRUE(says({7, 4, ListPhase::unsettled, {}, {"b", "c"}, {"b", "d"}}, true))
      << "who has been announced the next list has settled this one";
  EXPECT_TRUE(says(settled({"b", "c"}, 2)));
  EXPECT_TRUE(says(settled({"a", "b"}, 3))) << "it was not in the list before";
  // The operator's steps bring these nodes up to date.
  EXPECT_FALSE(says(settled({"b", "c"}, 3)));
  EXPECT_FALSE(says({7, 3, ListPhase::announced, {}, {"b", "c"}, list_abd}));
  EXPECT_FALSE(says({7, 4, ListPhase::unsettled, {}, {"b", "c"}, list_abc}));
  EXPECT_FALSE(says({7, 3, ListPhase::unsettled, {}, {"a", "c"}, list_abc}))
      << "it is two changes behind, and votes for our list";
}

}  // namespace
}  // namespace quorumlock::redis
