#include <stdexcept>
#include <string>

#include "integration/failed_over.hpp"
#include "support/hostile_server.hpp"
#include "support/proxy.hpp"

// A node that is a deployment with failover, set up as docs/nodes.md says: real replicas, real
// Sentinels, and an address that follows the primary, or a URL that names the Sentinels.
namespace quorumlock::test {
namespace {

/// Tests of a node whose address leads to the primary.
class SentinelFronted : public FailedOver {
 protected:
  SentinelFronted() : FailedOver(2) { nodes.enrol_for(options().nodes); }
  [[nodiscard]] Options options() const { return FailedOver::options(address.url(0)); }

  Proxy address{{port_of(nodes, 2)}};
};

TEST_F(SentinelFronted, APromotionIsQuarantined) {
  // The promoted replica votes again, but not before max_ttl has passed since a client saw it.
  start_sentinel();
  Coordinator coordinator = connect(options());
  EXPECT_TRUE(eventually([&] { return third(coordinator).votes; }));
  const std::string run = third(coordinator).run_id;
  fail_over();
  const auto promoted = std::chrono::steady_clock::now();
  address.lead_to(0, primary());
  EXPECT_TRUE(eventually([&] { return third(coordinator).votes; }));
  EXPECT_GE(std::chrono::steady_clock::now() - promoted, *options().max_ttl);
  EXPECT_NE(third(coordinator).run_id, run);
}

TEST_F(SentinelFronted, APrimaryThatIsPromotedAgainIsEnrolledAnew) {
  // The primary is in the same run all the time, and has its own record again. The client sends it
  // no lock's command meanwhile, but the Sentinel disconnects it.
  replicas.raw(1, {"CONFIG", "SET", "replica-priority", "0"});  // this replica is never promoted
  start_sentinel();
  Coordinator coordinator = connect(options());
  EXPECT_TRUE(eventually([&] { return third(coordinator).votes; }));
  const std::string run = third(coordinator).run_id;
  const auto record_names = [&](const std::string& what) {
    try {
      Redis node("redis://127.0.0.1:" + port_of(nodes, 2));
      return node({"GET", "quorumlock:enrolment"}).text.starts_with(what);
    } catch (const std::runtime_error&) {
      return false;  // this client is disconnected, too
    }
  };
  EXPECT_TRUE(record_names(run + ':'));
  const std::string old = primary();
  const auto fail_over = [&] {
    const std::string before = primary();
    EXPECT_TRUE(eventually([&] {
      return !ask_last({"SENTINEL", "FAILOVER", "locks"}).is_error() || primary() != before;
    }));
    EXPECT_TRUE(eventually([&] { return !primary().empty() && primary() != before; }));
  };
  fail_over();
  // At first it merely refuses writes, since it has lost its replicas; then it becomes one itself.
  EXPECT_TRUE(eventually([&] { return third(coordinator).role == "replica"; }));
  fail_over();
  EXPECT_EQ(primary(), old);
  EXPECT_TRUE(eventually([&] { return record_names(run + '+') && third(coordinator).votes; }));
  EXPECT_EQ(third(coordinator).run_id, run);
}

TEST_F(SentinelFronted, APrimaryThatIsCutOffGrantsNothing) {
  // The primary has lost its replicas, as if by a partition, but clients still reach it: otherwise
  // it and the promoted replica would both cast this vote.
  Coordinator coordinator = connect(options());
  EXPECT_TRUE(eventually([&] { return third(coordinator).votes; }));
  nodes.kill(1);  // so that a quorum needs the primary's vote
  EXPECT_TRUE(ok(coordinator.acquire(resource_of_this_test(), {.wait = 20s})));
  for (int node = 0; node < 2; ++node) replicas.pause(node);
  EXPECT_TRUE(eventually([&] {
    const Result<Lease> refused = coordinator.acquire(resource_of_this_test("other"));
    return fails_with(refused, Errc::no_quorum) &&
           refused.error().outcome().votes.at(2).vote == Vote::refuses_writes;
  }));
  for (int node = 0; node < 2; ++node) replicas.resume(node);
}

/// Tests of a node whose URL names three Sentinels.
class SentinelUrl : public FailedOver {
 protected:
  SentinelUrl() : FailedOver(1) { start_three_sentinels(); }
};

TEST_F(SentinelUrl, APromotionIsFollowedAndQuarantined) {
  // The old primary may have granted locks for as long as it counted the lost replica, so the new
  // one waits for that time in addition to max_ttl. It votes once it has a replica of its own.
  enrol();
  Coordinator coordinator = connect(options(url()));
  EXPECT_TRUE(eventually([&] { return third(coordinator).votes; })) << third(coordinator).trouble;
  const std::string run = third(coordinator).run_id;
  fail_over();
  const auto promoted = std::chrono::steady_clock::now();
  nodes.restart(2);  // the Sentinels make a replica of it
  const auto has_replica = [&] {
    try {
      Redis server("redis://127.0.0.1:" + port_of(replicas, 0));
      return server({"INFO", "replication"}).text.find("connected_slaves:1") != std::string::npos;
    } catch (const std::runtime_error&) {
      return false;  // the Sentinels disconnect all clients
    }
  };
  EXPECT_TRUE(eventually(has_replica));
  EXPECT_TRUE(eventually([&] { return third(coordinator).votes; })) << third(coordinator).trouble;
  constexpr auto lag = 2s;  // configure()
  EXPECT_GE(std::chrono::steady_clock::now() - promoted, *options(url()).max_ttl + lag);
  EXPECT_NE(third(coordinator).run_id, run);
  nodes.kill(0);  // its vote counts
  EXPECT_TRUE(ok(coordinator.acquire(resource_of_this_test(), {.wait = 20s})));
}

TEST_F(SentinelUrl, AMinorityOfTheSentinelsMayBeAway) {
  sentinels.front().signal(SIGKILL);
  enrol();
  Coordinator coordinator = connect(options(url()));
  EXPECT_TRUE(eventually([&] { return third(coordinator).votes; })) << third(coordinator).trouble;
}

TEST_F(SentinelUrl, WithoutThemTheNodeIsOneVoteThatIsMissing) {
  Coordinator coordinator = connect(options(url("another")));
  EXPECT_TRUE(eventually([&] {
    return third(coordinator).trouble.find("does not know the service") != std::string::npos;
  })) << third(coordinator).trouble;
  EXPECT_FALSE(third(coordinator).votes);
}

TEST(SentinelsOfThisMachine, APrimaryElsewhereIsReachedByPlainText) {
  // Linux takes 0.0.0.0 for this machine, and we take it for another one.
  const Cluster cluster({.size = 1, .tcp = true, .enrolled = false, .plain = true});
  const std::string port = cluster.urls()[0].substr(cluster.urls()[0].rfind(':') + 1);
  const auto is_plain = [&](const std::string& host) {
    const auto bulk = [](const std::string& text) {
      return '$' + std::to_string(text.size()) + "\r\n" + text + "\r\n";
    };
    const HostileServer sentinel(
        {.name = "Sentinel", .to_each = "*2\r\n" + bulk(host) + bulk(port)});
    const Proxy at({sentinel.url().substr(sentinel.url().find("://") + 3)});
    Options options = cluster.options();
    options.nodes = {NodeOptions("redis+sentinel://" + at.url(0).substr(8) + "/locks", "locks")};
    Coordinator coordinator = connect(options);
    const auto node = [&] { return coordinator.status().value().nodes.at(0); };
    EXPECT_TRUE(eventually([&] {  // the server has answered
      return node().trouble.find("min-replicas-to-write") != std::string::npos;
    })) << node().trouble;
    return node().access.plain_text;
  };
  EXPECT_FALSE(is_plain("127.0.0.1"));
  EXPECT_TRUE(is_plain("0.0.0.0"));
}

TEST_F(SentinelUrl, APrimaryThatGrantsWithoutItsReplicaCastsNoVote) {
  // Such a primary would go on granting after its replica was promoted.
  nodes.raw(2, {"CONFIG", "SET", "min-replicas-to-write", "0"});
  Coordinator coordinator = connect(options(url()));
  EXPECT_TRUE(eventually([&] {
    return third(coordinator).trouble.find("set its min-replicas-to-write to 1") !=
           std::string::npos;
  })) << third(coordinator).trouble;
  EXPECT_FALSE(third(coordinator).votes);
}

}  // namespace
}  // namespace quorumlock::test
