#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "integration/fixture.hpp"
#include "support/process.hpp"
#include "support/proxy.hpp"

// A node that is a deployment with failover, set up as docs/servers.md says: real replicas, a real
// Sentinel, and an address that follows the primary.
namespace quorumlock::test {
namespace {

/// The third of three nodes is a primary with two replicas, behind a proxy that leads to the
/// primary.
class SentinelFronted : public ::testing::Test {
 protected:
  SentinelFronted() {
    for (int node = 0; node < 2; ++node) {
      replicas.raw(node, {"REPLICAOF", "127.0.0.1", port_of(nodes, 2)});
    }
    EXPECT_TRUE(eventually([&] {
      return nodes.raw(2, {"INFO", "replication"}).text.find("connected_slaves:2") !=
             std::string::npos;
    }));
    configure(nodes, 2);
    for (int node = 0; node < 2; ++node) configure(replicas, node);
    nodes.enrol_for(list());
  }

  static std::string port_of(Cluster& cluster, int node) {
    return std::to_string(cluster.server(node).settings().port);
  }
  /// A primary that has lost its replicas, since it was cut off, grants nothing any more.
  static void configure(Cluster& cluster, int node) {
    EXPECT_EQ(cluster.raw(node, {"CONFIG", "SET", "min-replicas-to-write", "1"}).text, "OK");
    EXPECT_EQ(cluster.raw(node, {"CONFIG", "SET", "min-replicas-max-lag", "2"}).text, "OK");
  }
  [[nodiscard]] Nodes list() const { return {nodes.urls()[0], nodes.urls()[1], address.url(0)}; }
  [[nodiscard]] Options options() const {
    Options options = nodes.options();
    options.nodes = list();
    options.ttl = options.max_ttl;
    return options;
  }
  static NodeStatus third(Coordinator& coordinator) {
    return coordinator.status().value().nodes.at(2);
  }
  /// Starts a Sentinel; returns once it knows the replicas.
  Process start_sentinel() {
    const int port = local::free_port();
    const std::string file = directory.path() / "sentinel.conf";
    std::ofstream(file) << "port " << port << "\nbind 127.0.0.1\ndir " << directory.path().string()
                        << "\nlogfile " << (directory.path() / "sentinel.log").string()
                        << "\nsentinel monitor locks 127.0.0.1 " << port_of(nodes, 2) << " 1"
                        << "\nsentinel down-after-milliseconds locks 3000"
                        << "\nsentinel failover-timeout locks 5000\n";
    Process process({"/usr/bin/env", "redis-server", file, "--sentinel"});
    EXPECT_TRUE(eventually([&] { return local::port_in_use(port); }));
    sentinel.emplace("redis://127.0.0.1:" + std::to_string(port));
    EXPECT_TRUE(eventually([&] {
      return (*sentinel)({"SENTINEL", "replicas", "locks"}).elements.size() == 2;
    }));
    return process;
  }
  /// The port of the primary, as the Sentinel says.
  std::string primary() {
    const Reply reply = (*sentinel)({"SENTINEL", "get-master-addr-by-name", "locks"});
    return reply.elements.size() == 2 ? reply.elements[1].text : "";
  }

  static ClusterSettings settings(int size) {
    return {.size = size,
            .tcp = true,
            .more = {"--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1"},
            .enrolled = false,
            .max_ttl = 2s,
            .plain = true};
  }
  TemporaryDirectory directory;
  Cluster nodes{settings(3)};
  Cluster replicas{settings(2)};
  Proxy address{{port_of(nodes, 2)}};
  std::optional<Redis> sentinel;
};

TEST_F(SentinelFronted, APromotionIsQuarantined) {
  // The promoted replica votes again, but not before max_ttl has passed since a client saw it.
  const Process process = start_sentinel();
  Coordinator coordinator = connect(options());
  EXPECT_TRUE(eventually([&] { return third(coordinator).votes; }));
  const std::string run = third(coordinator).run_id;
  const std::string old = primary();
  nodes.kill(2);
  ASSERT_TRUE(eventually([&] { return !primary().empty() && primary() != old; }));
  const auto promoted = std::chrono::steady_clock::now();
  address.lead_to(0, primary());
  EXPECT_TRUE(eventually([&] { return third(coordinator).votes; }));
  EXPECT_GE(std::chrono::steady_clock::now() - promoted, options().max_ttl);
  EXPECT_NE(third(coordinator).run_id, run);
}

TEST_F(SentinelFronted, APrimaryThatIsPromotedAgainIsEnrolledAnew) {
  // It is in the same run all the time, and has its own record again. The client sends it no lock's
  // command meanwhile, but the Sentinel disconnects it.
  replicas.raw(1, {"CONFIG", "SET", "replica-priority", "0"});  // is never promoted
  const Process process = start_sentinel();
  Coordinator coordinator = connect(options());
  EXPECT_TRUE(eventually([&] { return third(coordinator).votes; }));
  const std::string run = third(coordinator).run_id;
  const auto record_names = [&](const std::string& what) {
    try {
      Redis node("redis://127.0.0.1:" + port_of(nodes, 2));
      return node({"GET", "quorumlock:enrolment"}).text.starts_with(what);
    } catch (const std::runtime_error&) {
      return false;  // disconnected, too
    }
  };
  EXPECT_TRUE(record_names(run + ':'));
  const std::string old = primary();
  const auto fail_over = [&] {
    const std::string before = primary();
    EXPECT_TRUE(eventually([&] {
      return !(*sentinel)({"SENTINEL", "FAILOVER", "locks"}).is_error() || primary() != before;
    }));
    EXPECT_TRUE(eventually([&] { return !primary().empty() && primary() != before; }));
  };
  fail_over();
  EXPECT_TRUE(eventually([&] { return !third(coordinator).votes; }));
  fail_over();
  EXPECT_EQ(primary(), old);
  EXPECT_TRUE(eventually([&] { return record_names(run + '+') && third(coordinator).votes; }));
  EXPECT_EQ(third(coordinator).run_id, run);
}

TEST_F(SentinelFronted, APrimaryThatIsCutOffGrantsNothing) {
  // Its replicas are gone, as they are on the other side of a partition, and clients reach it
  // still: otherwise it and the promoted replica would both cast this vote.
  Coordinator coordinator = connect(options());
  EXPECT_TRUE(eventually([&] { return third(coordinator).votes; }));
  nodes.kill(1);  // so that a quorum needs the primary's vote
  EXPECT_TRUE(ok(coordinator.acquire(resource_of_this_test(), {.wait = 20s})));
  for (int node = 0; node < 2; ++node) replicas.pause(node);
  EXPECT_TRUE(eventually([&] {
    const Result<Lease> refused = coordinator.acquire(resource_of_this_test("other"));
    return fails_with(refused, Errc::no_quorum) &&
           refused.error().outcome().votes.at(2).vote == Vote::not_writable;
  }));
  for (int node = 0; node < 2; ++node) replicas.resume(node);
}

}  // namespace
}  // namespace quorumlock::test
