#include "admin/members_change.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>

// The steps of a change of the list, and what is refused.
namespace quorumlock::test {
namespace {

using redis::MembersChange;
using redis::Membership;
using redis::NodeNames;
using Stage = MembersChange::Stage;
using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// Some nodes, what they carry, and an operator who wants the list `next`.
class AskedNodes {
 public:
  redis::NamedTerms named;  ///< by the operator

  AskedNodes(NodeNames list, NodeNames next) : next_(std::move(next)) {
    for (const std::string& name : list) {
      carries(name, {1, 4, ListPhase::settled, {}, {}, list});
    }
  }

  void carries(const std::string& name, const Membership& as) {
    const Membership its = as.for_node(name);
    texts_[name] = {name + ":abc@#" + its.mark().to_string() + "", its.text()};
  }
  void forgets(const std::string& name) { texts_[name] = {}; }
  void leaves(const std::string& name) { away_.push_back(name); }
  /// Clients with the old list may be connected to these nodes.
  void keep_connections(NodeNames names) { keep_connections_ = std::move(names); }
  void returns() { away_.clear(); }
  [[nodiscard]] MembersChange look() const {
    std::vector<MembersChange::Node> nodes;
    NodeNames names = next_;
    for (const auto& [name, texts] : texts_) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
    for (const std::string& name : names) {
      MembersChange::Node& node = nodes.emplace_back();
      node.name = name;
      node.in_next = std::ranges::find(next_, name) != next_.end();
      if (std::ranges::find(away_, name) != away_.end()) continue;
      node.old_connections = redis::is_member(keep_connections_, name);
      const auto found = texts_.find(name);
      const auto texts = found == texts_.end() ? Texts() : found->second;
      node.carries(name, texts.record.empty() ? std::nullopt : std::optional(texts.record),
                   texts.members);
    }
    return MembersChange(std::move(nodes), std::numeric_limits<std::uint64_t>::max(), named);
  }
  /// The nodes take this step, and say which ones they are.
  std::vector<std::string> take(const std::vector<MembersChange::Step>& steps) {
    std::vector<std::string> names;
    for (const MembersChange::Step& step : steps) {
      EXPECT_EQ(step.record.members, step.as.mark());
      EXPECT_EQ(step.record.nonce, "abc") << "a step is no enrolment";
      texts_[step.as.name] = {step.record.to_string(), step.as.text()};
      names.push_back(step.as.name);
    }
    std::ranges::sort(names);
    return names;
  }

 private:
  struct Texts {
    std::string record, members;
  };
  NodeNames next_;
  std::map<std::string, Texts> texts_;
  std::vector<std::string> away_;
  NodeNames keep_connections_;
};

bool may(const Result<void>& result) {
  return result.has_value();
}
bool is_refused(const Result<void>& result, Errc code) {
  return !result && result.error().code() == code;
}

using Names = std::vector<std::string>;
const NodeNames five = {"a", "b", "c", "d", "e"};
const NodeNames replaced = {"a", "b", "c", "d", "f"};

TEST(MembersChange, TakesTheNodesFromOneListToAnother) {
  AskedNodes nodes(five, replaced);
  EXPECT_EQ(nodes.look().stage(), Stage::differs);
  EXPECT_EQ(nodes.look().list(), five);
  EXPECT_TRUE(may(nodes.look().may_announce()));
  EXPECT_EQ(nodes.take(nodes.look().announcing()), five);
  EXPECT_EQ(nodes.look().stage(), Stage::announced);
  EXPECT_THAT(nodes.look().announcing(), IsEmpty()) << "a step that was made is not made again";
  EXPECT_TRUE(may(nodes.look().may_commit()));
  EXPECT_EQ(nodes.take(nodes.look().committing()), five) << "the node that leaves is told, too";
  EXPECT_EQ(nodes.look().stage(), Stage::committed);
  EXPECT_EQ(nodes.look().state()->epoch, 5U);
  EXPECT_TRUE(may(nodes.look().may_settle()));
  EXPECT_EQ(nodes.look().sources_needed(), 3);
  EXPECT_EQ(nodes.take(nodes.look().settling(7, 0, {})), Names({"a", "b", "c", "d"}));
  EXPECT_EQ(nodes.look().stage(), Stage::agreed);
  EXPECT_FALSE(nodes.look().done()) << "f does not vote yet";
  EXPECT_EQ(nodes.look().nodes()[0].enrolment->floor, 7U);
  nodes.carries("f", *nodes.look().state());
  EXPECT_TRUE(nodes.look().done());
}

TEST(MembersChange, ANodeThatMayHaveOldConnectionsDoesNotCountInTheLookThatDecides) {
  // Three of the five nodes of the old list are needed.
  AskedNodes nodes(five, replaced);
  nodes.take(nodes.look().announcing());
  nodes.take(nodes.look().committing());
  nodes.keep_connections({"b", "e"});
  EXPECT_TRUE(may(nodes.look().may_settle()));
  nodes.keep_connections({"a", "b", "e"});
  const Result<void> refused = nodes.look().may_settle();
  EXPECT_TRUE(is_refused(refused, Errc::no_quorum));
  EXPECT_THAT(refused.error().what(), HasSubstr("connected to a, b and e: no answer to CLIENT"));
  EXPECT_THAT(nodes.look().committed(), SizeIs(5));
  EXPECT_THAT(nodes.look().to_read(), SizeIs(5)) << "their counters are known";
  nodes.keep_connections({"a", "b", "c"});
  nodes.leaves("d");
  nodes.leaves("e");
  EXPECT_THAT(nodes.look().may_settle().error().what(), HasSubstr("connected to a, b and c"));
}

TEST(MembersChange, AFloorIsNeverLowered) {
  // Some nodes have a greater floor than was read from the others, and since an earlier time.
  AskedNodes nodes(five, replaced);
  nodes.take(nodes.look().announcing());
  nodes.take(nodes.look().committing());
  std::vector<MembersChange::Step> steps = nodes.look().settling(7, 20, {});
  steps.resize(3);
  steps[1].record.floor = 9;
  nodes.take(steps);
  EXPECT_EQ(nodes.look().stage(), Stage::agreed);
  for (const auto& step : nodes.look().settling(3, 10, {})) EXPECT_EQ(step.record.floor, 3U);
  EXPECT_EQ(nodes.look().nodes()[0].enrolment->floor, 7U);
  EXPECT_EQ(nodes.look().settled_node(), 1);
}

TEST(MembersChange, NobodySettlesOnOneNodesWord) {
  // d says that the change is settled, by itself or because somebody has made that up: it counts as
  // committed, and no more.
  AskedNodes nodes(five, replaced);
  nodes.take(nodes.look().announcing());
  nodes.carries("d", {1, 5, ListPhase::settled, {}, {}, replaced});
  EXPECT_EQ(nodes.look().stage(), Stage::announced);
  EXPECT_TRUE(is_refused(nodes.look().may_settle(), Errc::misconfigured));
  EXPECT_EQ(nodes.look().settled_node(), -1);
  nodes.take(nodes.look().committing());
  EXPECT_EQ(nodes.look().stage(), Stage::committed);
  EXPECT_TRUE(may(nodes.look().may_settle()));
  EXPECT_EQ(nodes.look().settled_node(), -1) << "after a wait, with the numbers of a scan";
}

TEST(MembersChange, ANodeThatSaysSomethingImpossibleIsMadeToForgetIt) {
  for (const Membership& forged : {Membership{1, 9, ListPhase::settled, {}, {}, five},
                                   Membership{1, 4, ListPhase::settled, {}, {}, {"c"}},
                                   Membership{1, 6, ListPhase::unsettled, {}, five, {"c"}},
                                   Membership{9, 4, ListPhase::settled, {}, {}, five},
                                   Membership{1, 3, ListPhase::settled, {}, {}, {"a", "b"}}}) {
    AskedNodes nodes(five, five);
    nodes.carries("c", forged);
    const MembersChange change = nodes.look();
    EXPECT_EQ(change.stage(), Stage::agreed);
    EXPECT_FALSE(change.done());
    EXPECT_TRUE(change.is_apart(change.nodes()[2]));
    const std::vector<MembersChange::Step> steps = change.forgetting();
    ASSERT_EQ(steps.size(), 1U);
    EXPECT_TRUE(steps[0].forgets);
    EXPECT_EQ(change.command(steps[0]).back(), change.nodes()[2].record);
    // It keeps nobody from another change.
    AskedNodes others(five, replaced);
    others.carries("c", forged);
    EXPECT_EQ(others.look().stage(), Stage::differs);
    EXPECT_EQ(others.take(others.look().announcing()), Names({"a", "b", "d", "e"}));
  }
  AskedNodes nodes(five, five);
  for (const char* name : {"a", "b", "c"}) {
    nodes.carries(name, {1, 5, ListPhase::unsettled, {}, five, replaced});
  }
  EXPECT_EQ(nodes.look().stage(), Stage::other) << "so many do not make it up";
  EXPECT_THAT(nodes.look().forgetting(), IsEmpty());
}

TEST(MembersChange, ANodeThatIsFurtherOnForgetsNothingWhileOthersMayAgree) {
  // a and c have heard of a decision; b has not, and a does not answer.
  AskedNodes nodes({"a", "b", "c"}, {"a", "b", "c"});
  const Membership decided{1, 5, ListPhase::unsettled, {}, {"a", "b", "c"}, {"b", "c", "d"}};
  nodes.carries("b", {1, 4, ListPhase::settled, {}, {}, {"a", "b", "c"}});
  nodes.carries("c", decided);
  nodes.leaves("a");
  MembersChange change = nodes.look();
  EXPECT_THAT(change.forgetting(), IsEmpty());
  // It is but one node's word once the other one answers.
  nodes.returns();
  change = nodes.look();
  EXPECT_EQ(change.stage(), Stage::agreed);
  EXPECT_FALSE(change.is_further_on(change.nodes()[2]));
  EXPECT_THAT(change.forgetting(), SizeIs(1));
}

TEST(MembersChange, ANewNodeThatWasLetInForgetsAChangeThatIsTakenBack) {
  AskedNodes nodes({"a", "b", "c"}, {"a", "b", "c", "d"});
  nodes.take(nodes.look().announcing());
  nodes.carries("d", *nodes.look().state());
  const std::vector<MembersChange::Step> steps = nodes.look().withdrawing();
  ASSERT_EQ(steps.size(), 4U);
  for (const MembersChange::Step& step : steps) EXPECT_EQ(step.forgets, step.as.name == "d");
}

TEST(MembersChange, ANewNodeThatWasLetInLateIsTakenAlong) {
  // It has the announcement, since that was what the others said when it was let in.
  AskedNodes nodes({"a", "b", "c"}, {"a", "b", "c", "d"});
  nodes.take(nodes.look().announcing());
  const Membership announced = *nodes.look().state();
  nodes.take(nodes.look().committing());
  nodes.carries("d", announced);
  EXPECT_EQ(nodes.take(nodes.look().settling(7, 0, {})), Names({"a", "b", "c", "d"}));
  nodes.carries("d", announced);
  EXPECT_EQ(nodes.look().stage(), Stage::agreed);
  EXPECT_TRUE(nodes.look().forgetting().empty());
  EXPECT_EQ(nodes.take(nodes.look().settling(7, 0, {})), Names({"d"}));
  EXPECT_TRUE(nodes.look().done());
}

TEST(MembersChange, ListsThatShareTooFewNodesAreRefused) {
  const struct {
    NodeNames from, to;
    bool good;
  } cases[] = {
      {{"a", "b", "c", "d", "e"}, {"a", "b", "c", "f", "g"}, true},
      {{"a", "b", "c", "d", "e"}, {"a", "b", "f", "g", "h"}, false},
      {{"a", "b", "c"}, {"a", "b", "d"}, true},
      {{"a", "b", "c"}, {"a", "b", "c", "d", "e"}, true},
      {{"a", "b", "c", "d", "e"}, {"a", "b", "c"}, true},
      {{"a", "b", "c", "d", "e"}, {"a", "b"}, false},
      {{"a"}, {"a", "b"}, true},
      {{"a", "b"}, {"a"}, false},
      {{"a"}, {"b"}, false},
      {{"a", "b"}, {"a", "c"}, false},
  };
  for (const auto& one : cases) {
    const MembersChange change = AskedNodes(one.from, one.to).look();
    const Result<void> result = change.may_announce();
    EXPECT_EQ(may(result), one.good) << redis::names_in_words(one.to);
    EXPECT_EQ(is_refused(result, Errc::misconfigured), !one.good);
  }
}

TEST(MembersChange, NodesThatAreMissingAreWaitedFor) {
  AskedNodes nodes(five, replaced);
  nodes.forgets("b");
  EXPECT_TRUE(is_refused(nodes.look().may_announce(), Errc::timed_out)) << "b is restarted";
  nodes.leaves("b");
  EXPECT_TRUE(may(nodes.look().may_announce())) << "nobody waits for a node that is down";
  nodes.leaves("f");
  EXPECT_TRUE(is_refused(nodes.look().may_announce(), Errc::no_quorum)) << "the new node is down";
  AskedNodes fewer(five, replaced);
  for (const char* name : {"a", "b", "c"}) fewer.leaves(name);
  EXPECT_TRUE(is_refused(fewer.look().may_announce(), Errc::no_quorum));
}

TEST(MembersChange, EachStepNeedsTheOneBefore) {
  AskedNodes nodes(five, replaced);
  EXPECT_TRUE(is_refused(nodes.look().may_commit(), Errc::misconfigured));
  EXPECT_TRUE(is_refused(nodes.look().may_settle(), Errc::misconfigured));
  EXPECT_TRUE(is_refused(nodes.look().may_withdraw(), Errc::misconfigured));
  nodes.take(nodes.look().announcing());
  EXPECT_TRUE(is_refused(nodes.look().may_settle(), Errc::misconfigured));
  EXPECT_TRUE(may(nodes.look().may_withdraw()));
  nodes.take(nodes.look().committing());
  EXPECT_TRUE(is_refused(nodes.look().may_withdraw(), Errc::misconfigured));
  EXPECT_TRUE(is_refused(nodes.look().may_announce(), Errc::misconfigured));
}

TEST(MembersChange, TheCommitNeedsAQuorumOfBothLists) {
  // The change is announced on all nodes, but then too few of the common ones are there.
  AskedNodes nodes({"a", "b", "c"}, {"a", "b", "d"});
  nodes.take(nodes.look().announcing());
  nodes.leaves("c");
  EXPECT_TRUE(may(nodes.look().may_commit()));
  nodes.leaves("b");
  EXPECT_TRUE(is_refused(nodes.look().may_commit(), Errc::no_quorum));
}

TEST(MembersChange, TheNodesThatStayHaveToServeClients) {
  // For a change from five nodes to three, all three have to be up. One that is down is named; one
  // that was restarted is waited for.
  const NodeNames three{"a", "b", "c"};
  AskedNodes nodes(five, three);
  EXPECT_TRUE(may(nodes.look().serves_next()));
  nodes.leaves("c");
  EXPECT_TRUE(may(nodes.look().may_announce()));
  const Result<void> refused = nodes.look().serves_next();
  ASSERT_TRUE(is_refused(refused, Errc::no_quorum));
  EXPECT_THAT(refused.error().what(), HasSubstr("2 of 3 nodes of both lists answer"));
  EXPECT_THAT(refused.error().what(), HasSubstr("bring up c first"));
  nodes.returns();
  nodes.take(nodes.look().announcing());
  nodes.leaves("c");
  EXPECT_TRUE(is_refused(nodes.look().may_commit(), Errc::no_quorum));
  nodes.returns();
  nodes.forgets("c");
  const Result<void> later = nodes.look().may_commit();
  ASSERT_TRUE(is_refused(later, Errc::timed_out));
  EXPECT_THAT(later.error().what(), HasSubstr("no vote yet from c, after a restart"));
  EXPECT_TRUE(may(AskedNodes(five, replaced).look().serves_next()));
}

TEST(MembersChange, NewNodesAreLetInBeforeTheCommitIfTheyAreNeeded) {
  // From one node to two: a lock of the new list needs both.
  AskedNodes nodes({"a"}, {"a", "b"});
  nodes.forgets("b");
  nodes.take(nodes.look().announcing());
  const Result<void> refused = nodes.look().may_commit();
  ASSERT_TRUE(is_refused(refused, Errc::timed_out));
  EXPECT_THAT(refused.error().what(), HasSubstr("no vote yet from b"));
  nodes.carries("b", *nodes.look().state());
  EXPECT_TRUE(may(nodes.look().may_commit()));
  EXPECT_EQ(nodes.take(nodes.look().committing()), Names({"a", "b"}));
}

TEST(MembersChange, IsSettledOnlyWithAQuorumOfTheOldList) {
  AskedNodes nodes(five, replaced);
  nodes.take(nodes.look().announcing());
  for (const char* name : {"a", "b", "c"}) nodes.leaves(name);
  nodes.take(nodes.look().committing());
  nodes.returns();
  EXPECT_EQ(nodes.look().stage(), Stage::announced) << "two of five may have made that up";
  EXPECT_TRUE(is_refused(nodes.look().may_settle(), Errc::misconfigured));
  EXPECT_TRUE(may(nodes.look().may_commit()));
  std::vector<MembersChange::Step> steps = nodes.look().committing();
  EXPECT_EQ(steps.size(), 3U) << "the rest follows";
  steps.resize(1);
  nodes.take(steps);
  EXPECT_EQ(nodes.look().stage(), Stage::committed);
  EXPECT_TRUE(may(nodes.look().may_settle()));

  // Of four nodes two are enough to say that it is decided, and too few to settle it.
  AskedNodes four({"a", "b", "c", "d"}, {"a", "b", "c"});
  four.take(four.look().announcing());
  for (const char* name : {"a", "b"}) four.leaves(name);
  four.take(four.look().committing());
  four.returns();
  EXPECT_EQ(four.look().stage(), Stage::committed);
  EXPECT_TRUE(is_refused(four.look().may_settle(), Errc::no_quorum));
  EXPECT_EQ(four.take(four.look().committing()), Names({"a", "b"}));
  EXPECT_TRUE(may(four.look().may_settle()));
}

TEST(MembersChange, AServerThatIsReachedByTwoAddressesCountsOnce) {
  // The operator's configuration has a under a second address, in place of b, which is away.
  const Membership as{1, 5, ListPhase::unsettled, {}, {"a", "b"}, {"a", "b", "d"}};
  std::vector<MembersChange::Node> nodes;
  for (const char* name : {"a", "b", "d", "alias"}) {
    MembersChange::Node& node = nodes.emplace_back();
    node.name = name;
    node.in_next = node.name != "alias";
    if (node.name != "a" && node.name != "alias") continue;
    const Membership its = as.for_node("a");
    node.carries("run", "run:abc@#" + its.mark().to_string() + "", its.text());
  }
  // So is another database of that server, which has another name.
  MembersChange::Node& database = nodes.emplace_back();
  database.name = "a/2";
  const Membership its = as.for_node("a/2");
  database.carries("run", "run:abc@#" + its.mark().to_string(), its.text());
  const MembersChange change(std::move(nodes));
  EXPECT_EQ(change.stage(), MembersChange::Stage::committed);
  EXPECT_EQ(change.to_read(), std::vector<int>{0});
  EXPECT_TRUE(is_refused(change.may_settle(), Errc::no_quorum));
}

TEST(MembersChange, ANodeThatMissedOneChangeCatchesUp) {
  AskedNodes nodes(five, replaced);
  nodes.leaves("a");
  nodes.take(nodes.look().announcing());
  nodes.leaves("b");  // it has had the announcement only
  nodes.take(nodes.look().committing());
  nodes.returns();
  nodes.leaves("a");
  nodes.take(nodes.look().committing());
  nodes.leaves("b");
  nodes.take(nodes.look().settling(7, 0, {}));
  nodes.returns();
  EXPECT_EQ(nodes.look().stage(), Stage::committed) << "two of five say that it is settled";
  nodes.take({nodes.look().settling(7, 0, {}).back()});
  const MembersChange change = nodes.look();
  EXPECT_EQ(change.stage(), Stage::agreed) << "three say so";
  EXPECT_TRUE(change.is_behind(change.nodes()[0]));
  EXPECT_EQ(nodes.take(change.settling(7, 0, {})), Names({"a"}));
  // A node that is two changes late takes no step, since not all nodes would know of it.
  Membership ancient{1, 3, ListPhase::settled, {}, {}, five};
  nodes.carries("a", ancient);
  EXPECT_THAT(nodes.take(nodes.look().settling(7, 0, {})), IsEmpty());
}

TEST(MembersChange, ANodeThatMissedADecisionHearsOfItAtOnce) {
  // b was away during the announcement, c is announced another list, and d has missed the whole
  // change before.
  AskedNodes nodes(five, replaced);
  nodes.take(nodes.look().announcing());
  nodes.carries("b", {1, 4, ListPhase::settled, {}, {}, five});
  nodes.carries("c", {1, 4, ListPhase::announced, {}, five, {"a", "b", "c", "d", "g"}});
  nodes.carries("d", {1, 3, ListPhase::settled, {}, {}, {"a", "b", "d"}});
  nodes.carries("e", {1, 5, ListPhase::unsettled, {}, five, replaced});
  EXPECT_TRUE(is_refused(nodes.look().may_settle(), Errc::misconfigured));
  // One node's word does not make it decided: b, c and d hear of the announcement first.
  EXPECT_EQ(nodes.take(nodes.look().committing()), Names({"a"}));
  EXPECT_EQ(nodes.take(nodes.look().announcing()), Names({"b", "c", "d"}));
  EXPECT_EQ(nodes.take(nodes.look().committing()), Names({"b", "c", "d"}));
  EXPECT_TRUE(may(nodes.look().may_settle()));
}

TEST(MembersChange, ANodeThatMissedTheChangeBeforeTakesItsFloorAlong) {
  AskedNodes nodes({"a", "b", "c"}, {"a", "b", "d"});
  nodes.carries("c", {1, 3, ListPhase::settled, {}, {}, {"b", "c"}});
  std::vector<MembersChange::Step> steps = nodes.look().announcing();
  EXPECT_EQ(steps.size(), 3U);
  for (MembersChange::Step& step : steps) {
    if (step.as.name == "a") step.record.floor = 70;
  }
  nodes.take(steps);
  nodes.carries("c", {1, 3, ListPhase::unsettled, {}, {"b", "c"}, {"b", "c"}});
  EXPECT_THAT(nodes.look().announcing(), IsEmpty()) << "it has to come back without its record";
  nodes.carries("c", {1, 4, ListPhase::unsettled, {}, {"b", "c"}, {"a", "b", "c"}});
  steps = nodes.look().announcing();
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps.front().as.name, "c");
  EXPECT_EQ(steps.front().record.floor, 70U);
}

TEST(MembersChange, OfTwoAnnouncementsNoneIsCommitted) {
  AskedNodes nodes(five, replaced);
  nodes.take(nodes.look().announcing());
  for (const char* name : {"c", "d", "e"}) {
    nodes.carries(name, {1, 4, ListPhase::announced, {}, five, {"a", "b", "c", "d"}});
  }
  const Result<void> refused = nodes.look().may_commit();
  ASSERT_TRUE(is_refused(refused, Errc::misconfigured));
  EXPECT_THAT(refused.error().what(), HasSubstr("{a, b, c and d} is announced on c, d and e"));
  EXPECT_EQ(nodes.take(nodes.look().withdrawing()), five);
  EXPECT_EQ(nodes.look().stage(), Stage::differs);
}

TEST(MembersChange, TermsChangeAsTheListDoes) {
  // The nodes stay, and so do the terms that the operator does not name.
  AskedNodes nodes(five, five);
  nodes.named.max_ttl_ms = 60'000;
  EXPECT_EQ(nodes.look().stage(), Stage::differs);
  ASSERT_TRUE(nodes.look().may_announce());
  EXPECT_EQ(nodes.take(nodes.look().announcing()), five);
  EXPECT_EQ(nodes.look().stage(), Stage::announced);
  EXPECT_EQ(nodes.look().next_terms(), (redis::ListTerms{60'000, 86'400}));
  ASSERT_TRUE(nodes.look().may_commit());
  EXPECT_EQ(nodes.take(nodes.look().committing()), five);
  EXPECT_EQ(nodes.look().stage(), Stage::committed);
  EXPECT_EQ(nodes.look().terms().max_ttl(), 30s) << "the settle waits for this one";
  ASSERT_TRUE(nodes.look().may_settle());
  EXPECT_EQ(nodes.take(nodes.look().settling(9, 0, {})), five);
  EXPECT_EQ(nodes.look().stage(), Stage::agreed);
  EXPECT_EQ(nodes.look().terms().max_ttl(), 60s);
  EXPECT_TRUE(nodes.look().done());
}

TEST(MembersChange, WhoFollowsALongerMaxTtlDoesNotStayConnected) {
  AskedNodes nodes(five, five);
  nodes.named.max_ttl_ms = 10'000;
  const auto stays = [&](const NodeNames& list, const redis::NamedTerms& named) {
    return nodes.look().may_stay_connected(redis::list_mark(list, named));
  };
  EXPECT_TRUE(stays(five, {10'000, {}}));
  EXPECT_TRUE(stays(five, {10'000, 86'400}));
  EXPECT_FALSE(stays(five, {30'000, {}}));
  EXPECT_FALSE(stays(five, {}));
  EXPECT_FALSE(stays(five, {{}, 86'400}));
  EXPECT_FALSE(stays({"a"}, {10'000, {}}));
  nodes.named.max_ttl_ms = 60'000;
  EXPECT_TRUE(stays(five, {})) << "it asks for less than the nodes wait for";
  EXPECT_FALSE(stays(five, {30'000, {}}));
}

TEST(MembersChange, AChangeOfTermsIsFinishedWithAFileThatNamesNone) {
  // Each step may be left to another operator. One that names the old terms has another change.
  AskedNodes nodes(five, five);
  nodes.named.memory_s = 7200;
  nodes.take(nodes.look().announcing());
  nodes.named = {};
  EXPECT_EQ(nodes.look().stage(), Stage::announced);
  nodes.named.memory_s = 86'400;
  EXPECT_EQ(nodes.look().stage(), Stage::other);
  EXPECT_THAT(nodes.look().may_announce().error().what(), HasSubstr("fencing_memory 2h"));
  EXPECT_TRUE(nodes.look().announcing().empty()) << "from the old terms to themselves";
  EXPECT_EQ(nodes.take(nodes.look().withdrawing()), five);
  EXPECT_EQ(nodes.look().stage(), Stage::agreed);
}

TEST(MembersChange, ALongerMemoryLeavesAFloorForCountersThatHaveExpired) {
  // They lived for the shorter one; from the settle on absent counters begin by the longer one.
  for (const bool longer : {true, false}) {
    AskedNodes nodes(five, five);
    nodes.named.memory_s = longer ? 172'800 : 7200;
    nodes.take(nodes.look().announcing());
    EXPECT_EQ(nodes.look().floor_of_expired(1'000'000'000'000), 0U) << "it is not decided";
    nodes.take(nodes.look().committing());
    const std::uint64_t half_a_day = 43'200'000'000;
    EXPECT_EQ(nodes.look().floor_of_expired(1'000'000'000'000),
              longer ? 1'000'000'000'000 - half_a_day : 0U);
  }
}

TEST(MembersChange, ALongerMemoryIsSettledOnceANodesOwnCountersAreRead) {
  AskedNodes nodes(five, five);
  nodes.named.memory_s = 172'800;
  nodes.take(nodes.look().announcing());
  nodes.leaves("b");
  nodes.leaves("c");
  nodes.take(nodes.look().committing());
  nodes.returns();
  nodes.leaves("c");
  MembersChange change = nodes.look();
  EXPECT_EQ(change.read_first(), (std::vector<int>{0, 3, 4})) << "b is committed first";
  EXPECT_EQ(nodes.take(change.settling(7, 0, {0, 3})), Names({"a", "b", "d"}));
  change = nodes.look();
  EXPECT_EQ(change.stage(), Stage::committed);
  EXPECT_EQ(change.read_first(), (std::vector<int>{1, 4}));
  EXPECT_EQ(nodes.take(change.settling(9, 0, {1, 4})), Names({"b", "e"}));
  // The list governs by now, and c has missed the decision.
  nodes.returns();
  change = nodes.look();
  EXPECT_EQ(change.stage(), Stage::agreed);
  EXPECT_FALSE(change.is_apart(change.nodes()[2]));
  EXPECT_THAT(change.read_first(), IsEmpty());
  EXPECT_EQ(nodes.take(change.settling(9, 0, {2})), Names({"c"}));
  change = nodes.look();
  EXPECT_EQ(change.read_first(), std::vector<int>{2});
  EXPECT_EQ(change.floor_of_expired(1'000'000'000'000), 0U) << "for the others that was before";
  EXPECT_EQ(change.floor_of_expired(1'000'000'000'000, 2), 1'000'000'000'000 - 43'200'000'000);
  EXPECT_THAT(nodes.take(change.settling(9, 0, {})), IsEmpty());
  EXPECT_FALSE(change.is_apart(change.nodes()[2]));
  EXPECT_EQ(nodes.take(change.settling(11, 0, {2})), Names({"c"}));
  change = nodes.look();
  EXPECT_TRUE(change.done());
  EXPECT_EQ(change.nodes()[2].enrolment->floor, 11U);
}

TEST(MembersChange, ANodeThatMissedALongerMemorySettlesItBeforeAnotherChange) {
  AskedNodes nodes(five, five);
  nodes.carries("e", {1, 3, ListPhase::settled, {}, {}, five, {}, {30'000, 43'200}});
  nodes.named.max_ttl_ms = 60'000;
  MembersChange change = nodes.look();
  EXPECT_EQ(change.stage(), Stage::differs);
  EXPECT_FALSE(change.is_apart(change.nodes()[4]));
  const Result<void> refused = change.may_announce();
  ASSERT_TRUE(is_refused(refused, Errc::misconfigured));
  EXPECT_THAT(refused.error().what(), HasSubstr("e did not settle the fencing_memory"));
  // Another operator announced it nevertheless. Now the node has to forget before it can join in.
  EXPECT_EQ(nodes.take(nodes.look().announcing()), Names({"a", "b", "c", "d"}));
  change = nodes.look();
  EXPECT_EQ(change.stage(), Stage::announced);
  EXPECT_TRUE(change.is_apart(change.nodes()[4]));
}

TEST(MembersChange, NobodyGoesOnSettlingOnceAnotherChangeWasMade) {
  // The list was settled; while the operator reads the counters of a late node, another one goes on
  // to the next list, which is settled, too, when the first one looks again.
  AskedNodes nodes(five, replaced);
  nodes.take(nodes.look().announcing());
  nodes.take(nodes.look().committing());
  const Membership decided = *nodes.look().state();
  EXPECT_TRUE(nodes.look().is_still(decided));
  nodes.take(nodes.look().settling(7, 0, {}));
  EXPECT_TRUE(nodes.look().is_still(decided));
  for (const char* name : {"a", "b", "c", "d"}) {
    nodes.carries(name, {1, 6, ListPhase::settled, {}, {}, {"a", "b", "c", "d"}});
  }
  const MembersChange change = nodes.look();
  EXPECT_EQ(change.stage(), Stage::differs);
  EXPECT_FALSE(change.is_still(decided));
  EXPECT_THAT(change.settling(7, 0, {}), IsEmpty());
}

TEST(MembersChange, TheSameListInALaterEpochIsAnotherChange) {
  AskedNodes nodes(five, replaced);
  nodes.take(nodes.look().announcing());
  nodes.take(nodes.look().committing());
  Membership decided = *nodes.look().state();
  --decided.epoch;
  EXPECT_FALSE(nodes.look().is_still(decided));
  nodes.take(nodes.look().settling(7, 0, {}));
  EXPECT_FALSE(nodes.look().is_still(decided));
}

TEST(MembersChange, TermsThatDoNotFitTogetherAreRefused) {
  AskedNodes nodes(five, five);
  nodes.named.max_ttl_ms = std::int64_t{7} * 3'600'000;
  const Result<void> refused = nodes.look().may_announce();
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what(), HasSubstr("at least four times max_ttl"));
}

TEST(MembersChange, ACommitSaysWhichNodeHasMissedTheAnnouncement) {
  AskedNodes nodes({"a", "b", "c"}, {"a", "b", "d"});
  nodes.leaves("b");
  nodes.take(nodes.look().announcing());
  nodes.returns();
  const Result<void> refused = nodes.look().may_commit();
  ASSERT_TRUE(is_refused(refused, Errc::no_quorum));
  EXPECT_THAT(refused.error().what(), HasSubstr("b has missed the announcement"));
  nodes.take(nodes.look().announcing());
  EXPECT_TRUE(may(nodes.look().may_commit()));
}

TEST(MembersChange, ANodeOfAnotherFoundingIsLeftAlone) {
  AskedNodes nodes(five, replaced);
  nodes.carries("c", {9, 4, ListPhase::settled, {}, {}, five});
  EXPECT_EQ(nodes.take(nodes.look().announcing()), Names({"a", "b", "d", "e"}));
  EXPECT_EQ(nodes.take(nodes.look().committing()), Names({"a", "b", "d", "e"}));
  EXPECT_EQ(nodes.take(nodes.look().settling(7, 0, {})), Names({"a", "b", "d"}));
}

TEST(MembersChange, TwoChangesAtOnceAreOneTooMany) {
  // Another operator has announced another list on three nodes.
  AskedNodes nodes(five, replaced);
  for (const char* name : {"a", "b", "c"}) {
    nodes.carries(name, {1, 4, ListPhase::announced, {}, five, {"a", "b", "c", "d", "g"}});
  }
  const MembersChange change = nodes.look();
  EXPECT_EQ(change.stage(), Stage::other);
  const Result<void> refused = change.may_announce();
  ASSERT_TRUE(is_refused(refused, Errc::misconfigured));
  EXPECT_THAT(refused.error().what(), HasSubstr("{a, b, c, d and g} is announced"));
  EXPECT_THAT(refused.error().what(), HasSubstr("withdraw"));
  EXPECT_EQ(nodes.take(change.withdrawing()), Names({"a", "b", "c"}));
  EXPECT_EQ(nodes.look().stage(), Stage::differs);
}

TEST(MembersChange, WithoutAnyRecordNothingCanBeDone) {
  AskedNodes nodes(five, replaced);
  for (const std::string& name : five) nodes.forgets(name);
  EXPECT_EQ(nodes.look().stage(), Stage::unknown);
  const Result<void> refused = nodes.look().may_announce();
  ASSERT_TRUE(is_refused(refused, Errc::no_quorum));
  EXPECT_THAT(refused.error().what(), HasSubstr("enroll --new"));
}

TEST(MembersChange, ARecordOfAnotherRunDoesNotCount) {
  MembersChange::Node node;
  const Membership its{1, 0, ListPhase::settled, "a", {}, {"a"}};
  const std::string record = "run:abc@#" + its.mark().to_string() + "";
  node.carries("run", record, its.text());
  EXPECT_TRUE(node.membership);
  node.carries("run2", record, its.text());
  EXPECT_FALSE(node.membership);
  EXPECT_EQ(node.record, record) << "what is to be replaced";
  node.carries("run", record, "another text");
  EXPECT_FALSE(node.membership);
}

}  // namespace
}  // namespace quorumlock::test
