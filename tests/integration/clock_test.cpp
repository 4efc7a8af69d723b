#include <algorithm>

#include "integration/nodes_clocks.hpp"

// Nodes' wall clocks that step or run at a wrong rate, on real servers.
namespace quorumlock::test {
namespace {

constexpr const char* complaint = " has a wrong clock: it is ";

class ClocksOfNodes : public ::testing::Test {
 protected:
  static ClockedNodes start(std::chrono::milliseconds max_ttl = 30s) {
    return ClockedNodes({.max_ttl = max_ttl});
  }
  Options options(Cluster& cluster) {
    Options options = cluster.options();
    options.ttl = std::min<std::chrono::nanoseconds>(options.ttl, *options.max_ttl);
    options.log = log_.writer();
    return options;
  }
  /// Returns once the coordinator has compared every node's clock, after the answers to all its
  /// earlier requests: a request that is sent before an earlier answer arrives cannot be compared
  /// with it.
  static void look(Coordinator& coordinator) {
    ASSERT_TRUE(eventually([&] { return coordinator.status().value().voters() == 5; }));
  }
  /// Returns the offset in seconds that the log reports for this node's clock; waits for that line.
  double said_of(Cluster& cluster, int node) {
    const std::string words = cluster.shown_urls()[static_cast<std::size_t>(node)] + complaint;
    EXPECT_TRUE(eventually([&] { return !log_.with(words).empty(); }));
    const std::string sentence = log_.with(words).at(0);
    const double size = std::stod(sentence.substr(sentence.find(words) + words.size()));
    return sentence.find("s behind") == sentence.npos ? size : -size;
  }
  static NodeStatus status(Coordinator& coordinator, int node) {
    return coordinator.status().value().nodes.at(static_cast<std::size_t>(node));
  }

  Log log_;
  const std::string key = resource_of_this_test();
};

TEST_F(ClocksOfNodes, AStepOfOneIsReportedByTheNextRenewalAndTheLockGoesOn) {
  // The node's clock jumps a minute ahead: the key is gone there and is not set again.
  ClockedNodes nodes = start();
  Coordinator coordinator = connect(options(nodes.cluster));
  Lease lease = coordinator.acquire(key, {.ttl = 20s, .auto_extend = false}).value();
  ASSERT_TRUE(eventually([&] { return nodes.cluster.holders(key, lease.owner_token()) == 5; }));
  look(coordinator);
  nodes.step({1}, 60s);
  const Clock::time_point end = lease.valid_until();
  ASSERT_TRUE(ok(lease.extend(20s)));
  EXPECT_GT(lease.valid_until(), end);
  const double size = said_of(nodes.cluster, 1);
  EXPECT_GT(size, 50);  // 60 s less what drift_factor allows since the last look
  EXPECT_LT(size, 60.5);

  const NodeStatus seen = status(coordinator, 1);
  EXPECT_FALSE(seen.votes);
  EXPECT_EQ(seen.reason, Vote::clock_jumped);
  ASSERT_TRUE(seen.clock.jump);
  EXPECT_GT(*seen.clock.jump, 50s);
  EXPECT_GT(seen.clock.mistrusted_for, 0s);
  EXPECT_LE(seen.clock.mistrusted_for, 31s);
  EXPECT_GT(seen.clock.offset.value_or(0s), 50s);
  EXPECT_EQ(coordinator.status().value().voters(), 4);

  ASSERT_TRUE(ok(lease.extend(20s)));
  EXPECT_TRUE(lease.is_valid());
  EXPECT_FALSE(lease.stop_token().stop_requested());
  EXPECT_EQ(log_.with(complaint).size(), 1U);
}

TEST_F(ClocksOfNodes, AStepOfOneIsReportedByTheNextAcquire) {
  // This clock steps a minute back. From then on the node is not asked.
  ClockedNodes nodes = start();
  Coordinator coordinator = connect(options(nodes.cluster));
  look(coordinator);
  nodes.step({3}, -60s);
  ASSERT_TRUE(ok(coordinator.acquire(key + "/first")));
  const double size = said_of(nodes.cluster, 3);
  EXPECT_LT(size, -50);
  EXPECT_GT(size, -200);
  const Result<Lease> lease = coordinator.acquire(key);
  ASSERT_TRUE(ok(lease));
  EXPECT_EQ(lease->outcome().votes.at(3).vote, Vote::clock_jumped);
  EXPECT_EQ(nodes.cluster.value(3, key), std::nullopt);
}

TEST_F(ClocksOfNodes, TheVoteOfANodeThatStepsIsVoidAtOnce) {
  // The node's vote would complete the quorum, but the very answer that reveals the step does not
  // count.
  ClockedNodes nodes = start();
  Coordinator coordinator = connect(options(nodes.cluster));
  look(coordinator);
  nodes.cluster.kill(0);
  nodes.cluster.kill(2);
  ASSERT_TRUE(eventually([&] {
    return status(coordinator, 0).state == NodeState::down &&
           status(coordinator, 2).state == NodeState::down;
  }));
  nodes.step({4}, 60s);
  for (int attempt = 0; attempt < 2; ++attempt) {
    const Result<Lease> refused = coordinator.acquire(key);
    ASSERT_TRUE(fails_with(refused, Errc::no_quorum));
    EXPECT_EQ(refused.error().outcome().votes.at(4).vote, Vote::clock_jumped);
  }
  EXPECT_TRUE(eventually([&] { return nodes.cluster.holders(key) == 0; }));
}

TEST_F(ClocksOfNodes, ANodeThatSteppedVotesAgainAfterMaxTtl) {
  // The node's vote is needed, so the acquisition waits for it.
  ClockedNodes nodes = start(1500ms);
  Coordinator coordinator = connect(options(nodes.cluster));
  look(coordinator);
  nodes.cluster.kill(0);
  nodes.cluster.kill(2);
  nodes.step({4}, 60s);
  const Clock::time_point stepped = Clock::now();
  const Result<Lease> lease = coordinator.acquire(key, {.wait = 20s});
  ASSERT_TRUE(ok(lease));
  EXPECT_GE(Clock::now() - stepped, 1500ms);
  EXPECT_EQ(nodes.cluster.value(4, key), lease->owner_token());
}

TEST_F(ClocksOfNodes, AStepOfAMajorityForwardEndsTheLease) {
  // Three nodes have let the key expire. The next renewal finds that out, and the client takes its
  // own clock to be the wrong one.
  ClockedNodes nodes = start();
  Coordinator coordinator = connect(options(nodes.cluster));
  const Lease lease = coordinator.acquire(key, {.ttl = 6s}).value();
  ASSERT_TRUE(eventually([&] { return nodes.cluster.holders(key, lease.owner_token()) == 5; }));
  look(coordinator);
  nodes.step({0, 2, 4}, 60s);
  EXPECT_TRUE(eventually([&] { return !lease.is_valid(); }));
  EXPECT_TRUE(eventually([&] { return lease.stop_token().stop_requested(); }));
  EXPECT_TRUE(eventually([&] { return !log_.with("own clock stood still").empty(); }));
  EXPECT_LE(log_.with(complaint).size(), 2U);
  EXPECT_TRUE(eventually([&] { return nodes.cluster.keys().empty(); }));
}

TEST_F(ClocksOfNodes, AClientWhoseClockStoodStillMistrustsNoNode) {
  // All nodes are 20 s ahead, which is what a client sees whose machine, clock included, stood
  // still. Its lease is lost, it gets the lock again at once, and no node is reported as wrong.
  ClockedNodes nodes = start();
  Coordinator coordinator = connect(options(nodes.cluster));
  Lease lease = coordinator.acquire(key, {.ttl = 10s, .auto_extend = false}).value();
  ASSERT_TRUE(eventually([&] { return nodes.cluster.holders(key, lease.owner_token()) == 5; }));
  look(coordinator);
  nodes.step({0, 1, 2, 3, 4}, 20s);
  EXPECT_TRUE(fails_with(lease.extend(10s), Errc::lost));
  const Clock::time_point lost = Clock::now();
  ASSERT_TRUE(ok(coordinator.acquire(key, {.wait = 60s})));
  EXPECT_LT(Clock::now() - lost, 20s) << "max_ttl is 30 s";
  EXPECT_EQ(log_.with("own clock stood still").size(), 1U);
  EXPECT_EQ(coordinator.status().value().voters(), 5);
}

TEST_F(ClocksOfNodes, AStepOfAMajorityBackEndsTheLeaseToo) {
  // The keys all still exist, but the clocks of three nodes can no longer be relied on.
  ClockedNodes nodes = start();
  Coordinator coordinator = connect(options(nodes.cluster));
  Lease lease = coordinator.acquire(key, {.ttl = 20s, .auto_extend = false}).value();
  ASSERT_TRUE(eventually([&] { return nodes.cluster.holders(key, lease.owner_token()) == 5; }));
  look(coordinator);
  nodes.step({0, 1, 2}, -60s);
  EXPECT_TRUE(fails_with(lease.extend(20s), Errc::lost));
  EXPECT_FALSE(lease.is_valid());
  EXPECT_TRUE(eventually([&] { return lease.stop_token().stop_requested(); }));
  for (const int node : {0, 1, 2}) EXPECT_LT(said_of(nodes.cluster, node), -40);
}

TEST_F(ClocksOfNodes, TheHolderAfterAStepHasTheGreaterFencingToken) {
  // There are two holders for a while, which no lock can prevent: the resource knows the later one.
  ClockedNodes nodes = start();
  Coordinator first = connect(options(nodes.cluster));
  const Lease before = first.acquire(key, {.ttl = 6s}).value();
  ASSERT_TRUE(eventually([&] { return nodes.cluster.holders(key, before.owner_token()) == 5; }));
  look(first);
  nodes.step({0, 2, 4}, 60s);
  Coordinator second = connect(nodes.cluster.options());
  const Result<Lease> after = second.acquire(key, {.wait = 20s});
  ASSERT_TRUE(ok(after));
  EXPECT_GT(after->fencing_token(), before.fencing_token());
  EXPECT_TRUE(eventually([&] { return !before.is_valid(); }));
}

TEST_F(ClocksOfNodes, ARateBeyondTheBoundIsFoundByRenewals) {
  // One clock runs a tenth too fast and one a tenth too slow, without a step. The third is within
  // the bound and is not reported.
  ClockedNodes nodes = start();
  Coordinator coordinator = connect(options(nodes.cluster));
  nodes.clock(0).run_at(1.1);
  nodes.clock(1).run_at(0.9);
  nodes.clock(2).run_at(1.004);
  const Lease lease = coordinator.acquire(key, {.ttl = 3s}).value();
  EXPECT_GT(said_of(nodes.cluster, 0), 0);
  EXPECT_LT(said_of(nodes.cluster, 1), 0);
  EXPECT_EQ(status(coordinator, 0).reason, Vote::clock_jumped);
  EXPECT_EQ(status(coordinator, 1).reason, Vote::clock_jumped);
  const Clock::time_point end = lease.valid_until();
  EXPECT_TRUE(eventually([&] { return lease.valid_until() > end; }));
  EXPECT_FALSE(lease.stop_token().stop_requested());
  EXPECT_TRUE(log_.with(nodes.cluster.shown_urls()[2] + complaint).empty());
}

}  // namespace
}  // namespace quorumlock::test
