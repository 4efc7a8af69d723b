#include <algorithm>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "integration/fixture.hpp"

// Nodes that answer, and refuse every write, as a coordinator's status, counts and events show
// them.
namespace quorumlock::test {
namespace {

/// A reason for which a server refuses writes: how it begins and ends, and the server's own word.
struct Cause {
  std::string word;
  std::function<void(Cluster&, int)> begin, end;
};

std::function<void(Cluster&, int)> setting(const std::string& name, const std::string& value) {
  return [=](Cluster& cluster, int node) {
    const Reply reply = cluster.raw(node, {"CONFIG", "SET", name, value});
    EXPECT_FALSE(reply.is_error()) << reply.text;
  };
}

void fail_to_save(Cluster& cluster, int node) {
  std::filesystem::create_directory(cluster.server(node).settings().dir / "dump.rdb");
  setting("save", "3600 1")(cluster, node);
  cluster.raw(node, {"BGSAVE"});
  EXPECT_TRUE(eventually([&] {
    const std::string info = cluster.raw(node, {"INFO", "persistence"}).text;
    return info.find("rdb_last_bgsave_status:err") != info.npos;
  }));
}

void need_not_save(Cluster& cluster, int node) {
  setting("save", "")(cluster, node);
  std::filesystem::remove(cluster.server(node).settings().dir / "dump.rdb");
}

const Cause full{"OOM ", setting("maxmemory", "1mb"), setting("maxmemory", "0")};
const std::vector<Cause> causes{
    full,
    {"NOREPLICAS ", setting("min-replicas-to-write", "1"), setting("min-replicas-to-write", "0")},
    {"MISCONF ", fail_to_save, need_not_save},
};

class RefusesWrites : public FiveNodes {
 protected:
  void TearDown() override {
    for (const Cause& cause : causes) {
      for (int node = 0; node < cluster().size(); ++node) cause.end(cluster(), node);
    }
  }

  /// The options with an on_event that keeps its events here.
  Options watched() {
    Options all = options();
    all.on_event = [this](const Event& event) {
      const std::lock_guard<std::mutex> lock(guard_);
      events_.push_back(event);
    };
    return all;
  }
  /// The reason of the last event of this kind about this node, once there is one.
  std::string reason_of(EventKind kind, int node) {
    std::string reason;
    EXPECT_TRUE(eventually([&] {
      const std::lock_guard<std::mutex> lock(guard_);
      for (const Event& event : events_) {
        if (event.kind == kind && event.node == cluster().shown_urls()[at(node)]) {
          reason = event.reason;
        }
      }
      return !reason.empty();
    })) << to_string(kind)
        << " " << node;
    return reason;
  }
  void forget_events() {
    const std::lock_guard<std::mutex> lock(guard_);
    events_.clear();
  }
  static std::size_t at(int node) { return static_cast<std::size_t>(node); }
  static long voting(const Coordinator& coordinator) {
    return std::ranges::count_if(coordinator.stats().nodes, &NodeStats::counts);
  }

 private:
  std::mutex guard_;
  std::vector<Event> events_;
};

TEST_F(RefusesWrites, TheStatusShowsItAtOnceAndInTheServersWords) {
  // Nobody has tried to lock anything since the node began to refuse.
  Coordinator coordinator = connect();
  warm(coordinator);
  EXPECT_EQ(coordinator.status()->voters(), 5);
  for (const Cause& cause : causes) {
    for (const int node : {0, 3}) cause.begin(cluster(), node);
    const ClusterStatus status = coordinator.status().value();
    EXPECT_EQ(status.voters(), 3) << cause.word;
    for (const int node : {0, 3}) {
      const NodeStatus& its = status.nodes[at(node)];
      EXPECT_FALSE(its.votes);
      EXPECT_EQ(its.state, NodeState::up);
      EXPECT_EQ(its.reason, Vote::refuses_writes);
      EXPECT_TRUE(its.trouble.starts_with(cause.word)) << its.trouble;
    }
    EXPECT_EQ(voting(coordinator), 3) << "its counts know as well";
    for (const int node : {0, 3}) cause.end(cluster(), node);
    EXPECT_EQ(coordinator.status()->voters(), 5) << cause.word;
    EXPECT_EQ(voting(coordinator), 5);
  }
}

TEST_F(RefusesWrites, AReplicaIsNoVoterAtTheNextStatus) {
  Coordinator coordinator = connect();
  warm(coordinator);
  cluster().raw(1, {"REPLICAOF", "127.0.0.1", "1"});
  const ClusterStatus status = coordinator.status().value();
  EXPECT_EQ(status.voters(), 4);
  EXPECT_FALSE(status.nodes[1].votes);
  EXPECT_EQ(status.nodes[1].role, "replica");
  cluster().kill(1);  // if it were promoted, its vote would not count for max_ttl
  cluster().restart(1);
}

TEST_F(RefusesWrites, WhoMayNotCallScriptsIsNotAuthorized) {
  Coordinator coordinator = connect();
  warm(coordinator);
  for (const std::string command : {"eval", "evalsha"}) {
    cluster().raw(2, {"ACL", "SETUSER", cluster().user(), "-" + command});
    const ClusterStatus status = coordinator.status().value();
    EXPECT_EQ(status.voters(), 4) << command;
    EXPECT_EQ(status.nodes[2].reason, Vote::unauthorized);
    EXPECT_NE(status.nodes[2].trouble.find("'" + command + "'"), std::string::npos)
        << status.nodes[2].trouble;
    EXPECT_EQ(status.nodes[2].access.scripts, false);
    cluster().raw(2, {"ACL", "SETUSER", cluster().user(), "+" + command});
  }
  EXPECT_EQ(coordinator.status()->voters(), 5);
}

TEST_F(RefusesWrites, AConnectionBeginsWithTheQuestionAndAsksUntilItIsWell) {
  // Nobody asks for the status, and nobody locks.
  full.begin(cluster(), 4);
  Coordinator coordinator = test::connect(watched());
  EXPECT_TRUE(reason_of(EventKind::node_refused, 4).starts_with("OOM "));
  EXPECT_TRUE(eventually([&] { return voting(coordinator) == 4; }));
  full.end(cluster(), 4);
  EXPECT_EQ(reason_of(EventKind::node_up, 4), "it votes");
  EXPECT_EQ(voting(coordinator), 5);
}

TEST_F(RefusesWrites, ARefusedAttemptIsTheSign) {
  // A process that only locks learns it by that, and says so once.
  Coordinator coordinator = test::connect(watched());
  warm(coordinator);
  forget_events();
  for (const int node : {0, 1, 2}) full.begin(cluster(), node);
  const Result<Lease> refused = coordinator.acquire(key);
  ASSERT_TRUE(fails_with(refused, Errc::no_quorum));
  EXPECT_EQ(refused.error().outcome().count(Vote::refuses_writes), 3);
  for (const int node : {0, 1, 2}) {
    EXPECT_TRUE(reason_of(EventKind::node_refused, node).starts_with("OOM ")) << node;
  }
  EXPECT_EQ(voting(coordinator), 2);
  for (const int node : {0, 1, 2}) full.end(cluster(), node);
  EXPECT_TRUE(ok(coordinator.acquire(key, {.wait = 20s}))) << "the nodes are still asked";
  for (const int node : {0, 1, 2}) EXPECT_EQ(reason_of(EventKind::node_up, node), "it votes");
}

TEST_F(RefusesWrites, TheQuestionWritesNothing) {
  Coordinator coordinator = connect();
  warm(coordinator);
  const auto changes = [] {
    const std::string before = "rdb_changes_since_last_save:";
    const std::string info = cluster().raw(0, {"INFO", "persistence"}).text;
    const std::size_t begin = info.find(before);
    return info.substr(begin, info.find('\r', begin) - begin);
  };
  const std::string before = changes();
  const long long calls = cluster().calls(0, "eval");
  EXPECT_EQ(coordinator.status()->voters(), 5);
  EXPECT_GT(cluster().calls(0, "eval"), calls);
  EXPECT_EQ(changes(), before);
}

}  // namespace
}  // namespace quorumlock::test
