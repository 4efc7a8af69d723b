#include <filesystem>

#include "integration/forgetful.hpp"

// Nodes that go on with data that is not their own, or with a part of it.
namespace quorumlock::test {
namespace {

class DataOfNodes : public testing::Test {
 protected:
  static std::string port_of(Cluster& cluster, int node) {
    return std::to_string(cluster.server(node).settings().port);
  }
  /// Makes the node a replica of the server at this port, and waits until it has its data.
  static void follow(Cluster& cluster, int node, const std::string& port) {
    cluster.raw(node, {"REPLICAOF", "127.0.0.1", port});
    ASSERT_TRUE(eventually([&] {
      return cluster.raw(node, {"INFO", "replication"}).text.find("master_link_status:up") !=
             std::string::npos;
    }));
  }
  /// A node is made a replica of its own replica, which had lost its link, and promoted again: it
  /// has its own record and is in the same run, but lacks the last lock.
  static void fail_back(Forgetful& nodes, const std::string& key);

  const std::string key = resource_of_this_test();
};

TEST_F(DataOfNodes, AReplicaInThePlaceOfADurableNodeIsQuarantined) {
  // The replica has the node's record but not its last lock: their link broke before. It is
  // promoted and listens at the node's address.
  Forgetful nodes(1h, true, true);
  Cluster replica({.size = 1, .durable = true, .tcp = true, .enrolled = false});
  const std::string port = std::to_string(nodes.cluster.server(2).settings().port);
  Coordinator coordinator = connect(nodes.options());
  ASSERT_TRUE(nodes.is_seen(coordinator, 2, NodeState::up));
  replica.raw(0, {"REPLICAOF", "127.0.0.1", port});
  ASSERT_TRUE(eventually([&] { return replica.value(0, record_key).has_value(); }));
  replica.raw(0, {"REPLICAOF", "127.0.0.1", "1"});
  const Result<Lease> lease = coordinator.acquire(key, {.wait = 20s});
  ASSERT_TRUE(ok(lease));
  ASSERT_TRUE(eventually([&] { return nodes.cluster.holders(key) == 3; }));
  nodes.cluster.kill(2);
  replica.raw(0, {"REPLICAOF", "NO", "ONE"});
  ASSERT_EQ(replica.raw(0, {"CONFIG", "SET", "port", port}).text, "OK");
  ASSERT_EQ(replica.value(0, key), std::nullopt);
  ASSERT_TRUE(eventually([&] {
    return nodes.status(coordinator, 2).enrolment.standing == NodeEnrolment::Standing::quarantined;
  }));
  nodes.cluster.kill(1);
  const Result<Lease> refused = coordinator.acquire(key + "/other");
  ASSERT_TRUE(fails_with(refused, Errc::no_quorum));
  EXPECT_EQ(vote_of(refused, 2), Vote::quarantined);
}

TEST_F(DataOfNodes, ANodeWithACopiedDirectoryIsQuarantined) {
  // The directory was copied to replace a lost disk.
  Forgetful nodes(1h, true);
  Coordinator coordinator = connect(nodes.options());
  ASSERT_TRUE(nodes.is_seen(coordinator, 2, NodeState::up));
  nodes.cluster.kill(2);
  nodes.take_files(2, nodes.cluster.server(1).settings().dir);
  nodes.cluster.restart(2);
  ASSERT_TRUE(nodes.is_seen(coordinator, 2, NodeState::quarantined));
  EXPECT_NE(nodes.status(coordinator, 2).enrolment.why.find("has been restarted"),
            std::string::npos);
}

TEST_F(DataOfNodes, ANodeThatStartsFromAnOldFileIsQuarantined) {
  // Its append-only file was switched off, so that it lacks whatever came later.
  Forgetful nodes(1h, true);
  nodes.cluster.raw(2, {"CONFIG", "SET", "appendonly", "no"});
  Coordinator coordinator = connect(nodes.options());
  const Result<Lease> lease = coordinator.acquire(key, {.wait = 20s});
  ASSERT_TRUE(ok(lease));
  ASSERT_TRUE(eventually([&] { return nodes.cluster.value(2, key).has_value(); }));
  const auto record = nodes.cluster.value(2, record_key);
  nodes.restart(2);
  ASSERT_EQ(nodes.cluster.value(2, record_key), record);
  ASSERT_EQ(nodes.cluster.value(2, key), std::nullopt);
  EXPECT_TRUE(nodes.is_seen(coordinator, 2, NodeState::quarantined));
}

TEST_F(DataOfNodes, ANodeThatWasMadeAReplicaOfAnotherIsQuarantined) {
  // The node is promoted again by a bare REPLICAOF NO ONE, and its clients stay connected: its
  // record is the other node's.
  Forgetful nodes(1h, true, true);
  Coordinator coordinator = connect(nodes.options());
  for (const int node : {0, 1, 2}) ASSERT_TRUE(nodes.is_seen(coordinator, node, NodeState::up));
  const Result<Lease> lease = coordinator.acquire(key);
  ASSERT_TRUE(ok(lease));
  ASSERT_TRUE(eventually([&] { return nodes.cluster.holders(key) == 3; }));
  nodes.cluster.raw(1, {"DEL", key});  // as if this node had not been asked
  ASSERT_NO_FATAL_FAILURE(follow(nodes.cluster, 2, port_of(nodes.cluster, 1)));
  nodes.cluster.raw(2, {"REPLICAOF", "NO", "ONE"});
  ASSERT_EQ(nodes.cluster.value(2, key), std::nullopt);
  Coordinator another = connect(nodes.options());
  for (Coordinator* const one : {&coordinator, &another}) {
    EXPECT_FALSE(one->acquire(key)) << "its vote and that of the node without the key are a quorum";
    EXPECT_TRUE(nodes.is_seen(*one, 2, NodeState::quarantined));
    EXPECT_NE(nodes.status(*one, 2).enrolment.why.find("has been restarted"), std::string::npos);
  }
}

void DataOfNodes::fail_back(Forgetful& nodes, const std::string& key) {
  Cluster replica(
      {.size = 1, .tcp = true, .more = {"--repl-diskless-sync-delay", "0"}, .enrolled = false});
  ASSERT_NO_FATAL_FAILURE(follow(replica, 0, port_of(nodes.cluster, 2)));
  replica.raw(0, {"REPLICAOF", "NO", "ONE"});
  ASSERT_TRUE(eventually([&] {  // the node does not count its replica any more
    return nodes.cluster.raw(2, {"INFO", "replication"}).text.find("connected_slaves:0") !=
           std::string::npos;
  }));
  Coordinator coordinator = connect(nodes.options());
  for (const int node : {0, 1, 2}) ASSERT_TRUE(nodes.is_seen(coordinator, node, NodeState::up));
  const Result<Lease> lease = coordinator.acquire(key);
  ASSERT_TRUE(ok(lease));
  ASSERT_TRUE(eventually([&] { return nodes.cluster.holders(key) == 3; }));
  // The copy has the node's own record and not its lock. Clients erase that record from the node as
  // soon as they are connected again.
  ASSERT_EQ(replica.value(0, record_key), nodes.cluster.value(2, record_key));
  ASSERT_NO_FATAL_FAILURE(follow(nodes.cluster, 2, port_of(replica, 0)));
  nodes.cluster.raw(2, {"REPLICAOF", "NO", "ONE"});
  nodes.cluster.raw(2, {"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
  ASSERT_EQ(nodes.cluster.value(2, key), std::nullopt);
  nodes.cluster.kill(1);
  Coordinator another = connect(nodes.options());
  std::string why;
  for (Coordinator* const one : {&coordinator, &another}) {
    EXPECT_TRUE(nodes.is_seen(*one, 2, NodeState::quarantined));
    why += nodes.status(*one, 2).enrolment.why;
    EXPECT_TRUE(fails_with(one->acquire(key + "/other"), Errc::no_quorum));
  }
  EXPECT_NE(why.find("was "), why.npos) << why;
  EXPECT_NE(why.find("a replica"), why.npos) << "the first of them has seen it: " << why;
  EXPECT_EQ(nodes.cluster.value(2, record_key), std::nullopt) << "nobody can believe it any more";
}

TEST_F(DataOfNodes, ANodeThatGotAnOlderCopyOfItsOwnIsQuarantined) {
  // All clients are cut off, as by a Sentinel; one that was not connected does not believe the node
  // either.
  Forgetful nodes(1h, false, true);
  ASSERT_NO_FATAL_FAILURE(fail_back(nodes, key));
}

TEST_F(DataOfNodes, ANodeThatIsMadeAReplicaIsNoticedAtItsFirstRefusal) {
  Forgetful nodes(1h, false, true);
  Coordinator coordinator = connect(nodes.options());
  ASSERT_TRUE(nodes.is_seen(coordinator, 2, NodeState::up));
  nodes.cluster.raw(2, {"REPLICAOF", "127.0.0.1", "1"});
  ASSERT_TRUE(ok(coordinator.acquire(key, {.wait = 20s})));
  EXPECT_TRUE(eventually([&] {
    return nodes.status(coordinator, 2).trouble.find("is a replica") != std::string::npos;
  }));
}

}  // namespace
}  // namespace quorumlock::test
