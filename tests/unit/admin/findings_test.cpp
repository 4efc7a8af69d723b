#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <quorumlock/admin.hpp>

namespace quorumlock::detail {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

NodeStatus healthy(const std::string& name) {
  NodeStatus node;
  node.node = name;
  node.state = NodeState::up;
  node.votes = true;
  node.round_trip = 1ms;
  node.role = "master";
  node.version = "7.0.15";
  node.run_id = "run of " + name;
  node.uptime = 10s;
  node.cluster_mode = false;
  node.persistence = {true, "always", false, true, true};
  node.memory = {0, "noeviction"};
  node.access = {true, false};
  node.clock.offset = 1ms;
  node.clock.uncertainty = 1ms;
  node.enrolment = {NodeEnrolment::Standing::enrolled, "", 0s, 30s, std::nullopt};
  return node;
}

ClusterStatus cluster_of(int size) {
  ClusterStatus status;
  for (int i = 0; i < size; ++i) status.nodes.push_back(healthy("node " + std::to_string(i)));
  status.quorum = size / 2 + 1;
  status.max_ttl = 30s;
  status.drift_factor = 0.01;
  return status;
}

/// The findings ("error no_fsync", ...) after a change to one of three healthy nodes.
template <class Change>
std::vector<std::string> codes(Change change) {
  ClusterStatus status = cluster_of(3);
  change(status.nodes[1]);
  std::vector<std::string> found;
  for (const Finding& finding : findings_of(status)) {
    found.push_back(std::string(to_string(finding.severity)) + " " + finding.code);
    EXPECT_EQ(finding.node, finding.code == "no_spare_vote" ? "" : "node 1");
    EXPECT_FALSE(finding.what.empty());
    EXPECT_FALSE(finding.remedy.empty());
  }
  return found;
}

TEST(Findings, AHealthyClusterHasNone) {
  // Healthy clusters of three and of five nodes have no findings.
  EXPECT_THAT(findings_of(cluster_of(3)), IsEmpty());
  EXPECT_THAT(findings_of(cluster_of(5)), IsEmpty());
}

TEST(Findings, TheNumberOfNodesIsAtMostAHint) {
  // Too few nodes to do without one, or an even number of them: neither puts a lock in danger.
  for (const auto& [size, code] :
       {std::pair(1, "few_nodes"), {2, "few_nodes"}, {4, "even_nodes"}}) {
    const std::vector<Finding> found = findings_of(cluster_of(size));
    ASSERT_EQ(found.size(), 1U) << size;
    EXPECT_EQ(found[0].code, code);
    EXPECT_EQ(found[0].severity, Severity::hint);
    EXPECT_EQ(found[0].node, "");
  }
}

TEST(Findings, AMissingQuorumIsAnError) {
  // A finding about a node may be a hint; that nothing can be locked is an error.
  ClusterStatus status = cluster_of(3);
  for (NodeStatus& node : status.nodes) {
    node.votes = false;
    node.state = NodeState::down;
    node.reason = Vote::unreachable;
  }
  const std::vector<Finding> found = findings_of(status);
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[0].code, "no_quorum");
  EXPECT_EQ(found[0].severity, Severity::error);
  EXPECT_EQ(found[3].code, "unreachable");
  EXPECT_EQ(found[3].severity, Severity::hint);
}

TEST(Findings, ANodeIsReplacedWhileAQuorumAnswers) {
  // Without one no change of the list can be decided. Nodes in quarantine answer, and decide it.
  for (int away = 1; away <= 5; ++away) {
    ClusterStatus status = cluster_of(5);
    for (int i = 0; i < 5; ++i) {
      NodeStatus& node = status.nodes[static_cast<std::size_t>(i)];
      node.state = i < away ? NodeState::down : NodeState::quarantined;
      node.votes = false;
      node.reason = i < away ? Vote::unreachable : Vote::quarantined;
    }
    for (const Finding& finding : findings_of(status)) {
      if (finding.code != "unreachable") continue;
      EXPECT_THAT(finding.remedy, HasSubstr(away < 3 ? "members apply" : "enroll --new --force"));
    }
  }
}

TEST(Findings, AServerThatTurnsUsAwayIsNotToBeStarted) {
  const auto found = [](const std::string& trouble) {
    ClusterStatus status = cluster_of(3);
    NodeStatus& node = status.nodes[1];
    node.votes = false;
    node.state = NodeState::down;
    node.reason = Vote::unreachable;
    node.trouble = trouble;
    return findings_of(status).back();
  };
  const auto remedy = [&](const std::string& trouble) { return found(trouble).remedy; };
  const char* const closed = " (then: the node closed the connection)";
  EXPECT_EQ(found("connection refused").what, "does not answer: connection refused");
  EXPECT_THAT(found("answered DENIED Redis is ..." + std::string(closed)).what,
              testing::StartsWith("turns us away: answered DENIED"));
  EXPECT_THAT(remedy("connection refused"), HasSubstr("start it"));
  EXPECT_THAT(remedy(std::string("answered ERR max number of clients reached") + closed),
              HasSubstr("maxclients"));
  EXPECT_THAT(remedy(std::string("answered DENIED Redis is running in protected mode") + closed),
              HasSubstr("password"));
  EXPECT_THAT(remedy(std::string("answered ERR something else") + closed),
              testing::StartsWith("it runs"));
}

TEST(Findings, AQuorumWithoutASpareVoteIsAWarning) {
  // If one more node fails, no lock can be had. A list of one or two nodes never has a vote to
  // spare, and says so by another finding.
  for (int size = 1; size <= 7; ++size) {
    for (int voters = 0; voters <= size; ++voters) {
      ClusterStatus status = cluster_of(size);
      for (int i = voters; i < size; ++i) status.nodes[static_cast<std::size_t>(i)].votes = false;
      const std::vector<Finding> found = findings_of(status);
      const bool warned = std::ranges::any_of(found, [](const Finding& finding) {
        return finding.code == "no_spare_vote" && finding.severity == Severity::warning &&
               finding.node.empty();
      });
      EXPECT_EQ(warned, size >= 3 && voters == status.quorum) << voters << " of " << size;
    }
  }
}

TEST(Findings, TheGravestComeFirst) {
  // Of those that are as grave, the ones about nodes that do not vote come first.
  ClusterStatus status = cluster_of(5);
  status.nodes[0].persistence.append_only = false;
  status.nodes[1].votes = false;
  status.nodes[1].state = NodeState::down;
  status.nodes[2].memory = {100, "allkeys-lru"};
  std::vector<std::string> found;
  for (const Finding& finding : findings_of(status)) found.push_back(finding.code);
  EXPECT_THAT(found, ElementsAre("eviction", "unreachable", "no_fsync"));
}

TEST(Findings, AGroupWithoutASpareVoteIsNamed) {
  ClusterStatus status = cluster_of(6);
  status.quorum = 0;
  status.groups = {{"east", 3, 2, 3}, {"west", 3, 2, 2}};
  const std::vector<Finding> found = findings_of(status);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].code, "no_spare_vote");
  EXPECT_THAT(found[0].what, HasSubstr("group west: only 2 of 3 nodes may vote"));
}

TEST(Findings, ANodeThatRefusesEveryWriteIsAnErrorInItsOwnWords) {
  // The remedy depends on the reason. Whether it was enrolled before it refused makes no
  // difference. To wait is no remedy. The dot of a server's sentence is left out.
  using Standing = NodeEnrolment::Standing;
  for (const Standing standing : {Standing::enrolled, Standing::refused, Standing::quarantined}) {
    const bool enrolled = standing == Standing::enrolled;
    for (const auto& [words, remedy] :
         {std::pair("OOM command not allowed when used memory > 'maxmemory'",
                    "raise its maxmemory"),
          {"MISCONF Redis is configured to save RDB snapshots", "make room on its disk"},
          {"NOREPLICAS Not enough good replicas to write", "min-replicas-to-write"},
          {"READONLY You can't write against a read only replica", "standalone servers only"},
          {"ERR unknown command 'EVALSHA'", "rename-command"}}) {
      ClusterStatus status = cluster_of(5);
      NodeStatus& node = status.nodes[1];
      node.votes = false;
      node.reason = Vote::refuses_writes;
      node.trouble = std::string(enrolled ? "" : "cannot be enrolled: ") + words + ".";
      node.state = enrolled ? NodeState::up : NodeState::quarantined;
      node.enrolment.standing = standing;
      const std::vector<Finding> found = findings_of(status);
      ASSERT_EQ(found.size(), 1U) << words;
      EXPECT_EQ(found[0].severity, Severity::error);
      EXPECT_EQ(found[0].node, "node 1");
      EXPECT_EQ(found[0].code, "refuses_writes");
      EXPECT_THAT(found[0].what, testing::EndsWith(words));
      EXPECT_THAT(found[0].remedy, HasSubstr(remedy));
    }
  }
}

TEST(Findings, MissingPersistenceIsReported) {
  // The finding comes for each of the three settings alone, and a failing disk. A restart costs no
  // lock that was granted, so the settings are worth a hint.
  const auto hint = ElementsAre("hint no_fsync");
  EXPECT_THAT(codes([](NodeStatus& node) {
                node.persistence = {false, "always", false, true, false};
              }),
              hint);
  EXPECT_THAT(codes([](NodeStatus& node) {
                node.persistence = {true, "everysec", false, true, false};
              }),
              hint);
  EXPECT_THAT(codes([](NodeStatus& node) {
                node.persistence = {true, "always", true, true, false};
              }),
              hint);
  EXPECT_THAT(codes([](NodeStatus& node) {
                node.persistence = {true, "", std::nullopt, true, false};
              }),
              IsEmpty());
  EXPECT_THAT(codes([](NodeStatus& node) { node.persistence.last_write_ok = false; }),
              ElementsAre("error disk_failing"));
}

TEST(Findings, EvictionIsReportedIfMemoryIsLimited) {
  // An evicting policy matters only if there is a memory limit.
  EXPECT_THAT(codes([](NodeStatus& node) {
                node.memory = {1 << 20, "allkeys-lru"};
              }),
              ElementsAre("error eviction"));
  EXPECT_THAT(codes([](NodeStatus& node) {
                node.memory = {1 << 20, "volatile-ttl"};
              }),
              ElementsAre("error eviction"));
  EXPECT_THAT(codes([](NodeStatus& node) { node.memory = {0, "allkeys-lru"}; }), IsEmpty());
  EXPECT_THAT(codes([](NodeStatus& node) { node.memory = {1 << 20, "noeviction"}; }), IsEmpty());
}

TEST(Findings, ManyCountersAreReported) {
  // The counters take more than a tenth of the memory limit, or else of the machine's memory.
  const auto with = [](std::uint64_t limit, std::uint64_t machine, std::uint64_t bytes) {
    return codes([&](NodeStatus& node) {
      node.memory = {limit, "noeviction", machine, 1000, bytes};
    });
  };
  EXPECT_THAT(with(1'000'000, 0, 100'000), IsEmpty());
  EXPECT_THAT(with(1'000'000, 9'000'000, 100'001), ElementsAre("hint many_counters"));
  EXPECT_THAT(with(0, 1'000'000, 100'000), IsEmpty());
  EXPECT_THAT(with(0, 1'000'000, 100'001), ElementsAre("hint many_counters"));
  EXPECT_THAT(with(0, 0, 100'001), IsEmpty());
}

TEST(Findings, AServerOfAnotherKindHasNoOtherFinding) {
  // A server of another kind never votes, and has no other finding.
  EXPECT_THAT(codes([](NodeStatus& node) {
                node.role = "replica";
                node.persistence = {};
              }),
              ElementsAre("error replica"));
  EXPECT_THAT(codes([](NodeStatus& node) { node.cluster_mode = true; }),
              ElementsAre("error cluster_mode"));
  EXPECT_THAT(codes([](NodeStatus& node) {
                node.state = NodeState::down;
                node.reason = Vote::not_standalone;
                node.trouble = "is odd";
                node.role = "";
              }),
              ElementsAre("error not_standalone"));
  EXPECT_THAT(codes([](NodeStatus& node) {
                node.state = NodeState::down;
                node.votes = false;
                node.trouble = "is Redis 6.2.14, which is too old";
              }),
              ElementsAre("error too_old", "warning no_spare_vote"));
  EXPECT_THAT(codes([](NodeStatus& node) { node.version = "valkey 8.0.1"; }), IsEmpty());
  EXPECT_THAT(codes([](NodeStatus& node) { node.same_server_as = {"node 0"}; }),
              ElementsAre("error same_server"));
}

TEST(Findings, ANodeThatNobodyEnrolsIsAnError) {
  EXPECT_THAT(codes([](NodeStatus& node) {
                node.enrolment.standing = NodeEnrolment::Standing::quarantined;
                node.enrolment.nobody_enrols = true;
              }),
              ElementsAre("error nobody_enrols"));
}

TEST(Findings, OpenAndMissingAccessIsReported) {
  // The server lets in anybody, or does not let us run scripts or log in.
  EXPECT_THAT(codes([](NodeStatus& node) { node.access.scripts = false; }),
              ElementsAre("error no_scripts"));
  EXPECT_THAT(codes([](NodeStatus& node) { node.access.plain_text = true; }),
              ElementsAre("error plain_text"));
  EXPECT_THAT(codes([](NodeStatus& node) {
                node.access.missing_rights = {"client|kill", "zadd", "&quorumlock:*", "new"};
              }),
              ElementsAre("error missing_right", "hint missing_right", "hint missing_right"));
  EXPECT_THAT(codes([](NodeStatus& node) { node.access.open_to_all = true; }),
              ElementsAre("error unprotected"));
  EXPECT_THAT(codes([](NodeStatus& node) { node.access = {}; }), IsEmpty());
  EXPECT_THAT(codes([](NodeStatus& node) {
                node.state = NodeState::down;
                node.reason = Vote::unauthorized;
              }),
              ElementsAre("error unauthorized"));
}

TEST(Findings, AWrongClockIsReported) {
  // An offset beyond the look's own error, a step, and a rate beyond the bound are findings.
  EXPECT_THAT(codes([](NodeStatus& node) { node.clock.offset = -2s; }),
              ElementsAre("error clock_offset"));
  EXPECT_THAT(codes([](NodeStatus& node) {
                node.clock.offset = 2s;
                node.clock.uncertainty = 1500ms;
              }),
              IsEmpty());
  EXPECT_THAT(codes([](NodeStatus& node) {
                node.clock.jump = 500ms;
                node.clock.mistrusted_for = 20s;
              }),
              ElementsAre("error clock_jumped"));
  EXPECT_THAT(codes([](NodeStatus& node) { node.clock.jump = 60s; }), IsEmpty());  // the jump ended
  EXPECT_THAT(codes([](NodeStatus& node) {
                node.clock.drift = -0.03;
                node.clock.drift_uncertainty = 0.001;
              }),
              ElementsAre("error clock_drift"));
  EXPECT_THAT(codes([](NodeStatus& node) {
                node.clock.drift = 0.03;
                node.clock.drift_uncertainty = 0.5;
              }),
              IsEmpty());
}

TEST(Findings, TroubleWithTheEnrolmentIsReported) {
  // The findings are another max_ttl, a quarantine with its end, a refusal, and an enrolment's
  // report of the past.
  EXPECT_THAT(codes([](NodeStatus& node) {
                node.votes = false;
                node.reason = Vote::max_ttl_differs;
                node.trouble = "votes with max_ttl 60 s";
              }),
              ElementsAre("error max_ttl_differs", "warning no_spare_vote"));
  EXPECT_THAT(codes([](NodeStatus& node) {
                node.enrolment = {NodeEnrolment::Standing::refused, "cannot be enrolled: ERR", 0s,
                                  std::nullopt, std::nullopt};
              }),
              ElementsAre("error not_enrolled"));
  EXPECT_THAT(codes([](NodeStatus& node) {
                node.enrolment.clocks_order_fences_since = std::chrono::system_clock::time_point();
              }),
              ElementsAre("hint fences_by_clock"));

  ClusterStatus status = cluster_of(3);
  NodeStatus& waiting = status.nodes[2];
  waiting.state = NodeState::quarantined;
  waiting.votes = false;
  waiting.enrolment = {NodeEnrolment::Standing::quarantined, "has no enrolment", 11500ms,
                       std::nullopt, std::nullopt};
  const std::vector<Finding> found = findings_of(status);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].code, "no_spare_vote");
  EXPECT_EQ(found[1].code, "quarantined");
  EXPECT_EQ(found[1].severity, Severity::hint);
  EXPECT_THAT(found[1].what, HasSubstr("has no enrolment; at most 12 s left"));
}

/// Three nodes that know the list {a, b, c}, each by its name.
ClusterStatus members() {
  ClusterStatus status = cluster_of(3);
  const std::vector<std::string> names = {"a:1", "b:1", "c:1"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    status.nodes[i].membership = {names[i], names[i], 4, ListPhase::settled, names, {}};
  }
  return status;
}

TEST(Findings, ANodeThatMissedAChangeIsReported) {
  ClusterStatus status = members();
  EXPECT_THAT(findings_of(status), IsEmpty());
  status.nodes[1].membership.epoch = 3;
  const std::vector<Finding> found = findings_of(status);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].code, "behind");
  EXPECT_EQ(found[0].node, "node 1");
  EXPECT_THAT(found[0].remedy, HasSubstr("quorumlock members commit"));
}

TEST(Findings, OneNodeLeavesNoOtherBehind) {
  // Somebody has made up its epoch. The others do not know of it, and nothing is said of them.
  ClusterStatus status = members();
  status.nodes[1].membership.epoch = 9;
  const std::vector<Finding> found = findings_of(status);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].code, "apart");
  EXPECT_EQ(found[0].node, "node 1");
  EXPECT_THAT(found[0].remedy, HasSubstr("quorumlock members commit"));
  // Nodes that forgot contradict nobody.
  for (const std::size_t node : {0U, 2U}) status.nodes[node].membership = {};
  for (const Finding& each : findings_of(status)) EXPECT_NE(each.code, "apart");
}

TEST(Findings, AnUnfinishedChangeIsReportedOnce) {
  for (const bool announced : {true, false}) {
    ClusterStatus status = members();
    for (const std::size_t node : {0U, 1U}) {
      status.nodes[node].membership.phase = announced ? ListPhase::announced : ListPhase::unsettled;
      status.nodes[node].membership.next = {"a:1", "b:1", "d:1"};
    }
    const std::vector<Finding> found = findings_of(status);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].code, "change_unfinished");
    EXPECT_EQ(found[0].severity, Severity::hint);
    EXPECT_THAT(found[0].what, HasSubstr("{a:1, b:1, d:1}"));
    EXPECT_THAT(found[0].what, HasSubstr(announced ? "not committed" : "not settled"));
  }
}

TEST(Findings, NamesThatMislead) {
  ClusterStatus status = members();
  status.nodes[2].membership.configured_name = "localhost:1";
  std::vector<Finding> found = findings_of(status);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].code, "named_otherwise");
  EXPECT_EQ(found[0].severity, Severity::error);

  // A node that was not reached may have the name that is missing.
  status = members();
  status.nodes[0].votes = false;
  status.nodes[0].state = NodeState::quarantined;
  status.nodes[0].reason = Vote::quarantined;
  status.nodes[0].enrolment.standing = NodeEnrolment::Standing::enrolled;
  status.nodes[0].trouble = "votes for {a:1, b:1 and c:1}; our list has d:1, and lacks c:1";
  found = findings_of(status);
  std::erase_if(found, [](const Finding& one) { return one.code == "no_spare_vote"; });
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].code, "nodes_differ");
  EXPECT_EQ(found[0].severity, Severity::error);
  EXPECT_EQ(found[0].what, status.nodes[0].trouble);

  status = members();
  for (NodeStatus& node : status.nodes) node.membership.nodes = {"127.0.0.1:1", "b:1", "c:1"};
  status.nodes[0].membership.name = status.nodes[0].membership.configured_name = "127.0.0.1:1";
  found = findings_of(status);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].code, "local_address");
  EXPECT_EQ(found[0].node, "node 0");
}

}  // namespace
}  // namespace quorumlock::detail
