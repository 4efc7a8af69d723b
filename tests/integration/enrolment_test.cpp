#include <quorumlock/admin.hpp>

#include "integration/forgetful.hpp"

namespace quorumlock::test {
namespace {

class EnrolmentOfNodes : public testing::Test {
 protected:
  const std::string key = resource_of_this_test();
};

TEST_F(EnrolmentOfNodes, ARestartedEmptyNodeDoesNotVoteUntilMaxTtlHasPassed) {
  // The restarted node's vote would complete the quorum, since another client has the lock on n2,
  // and n1 and n2 vouch for the node. The node refuses, and nothing is set there. A wait gets the
  // lock once max_ttl is over.
  Forgetful nodes(1500ms);
  Coordinator coordinator = connect(nodes.options());
  ASSERT_TRUE(ok(coordinator.acquire(key + "/before")));
  const Clock::time_point before = Clock::now();
  nodes.restart(2);
  nodes.cluster.plant(1, key);
  ASSERT_TRUE(nodes.is_seen(coordinator, 2, NodeState::quarantined));
  const Result<Lease> refused = coordinator.acquire(key);
  ASSERT_TRUE(fails_with(refused, Errc::contended));
  EXPECT_EQ(vote_of(refused, 2), Vote::quarantined);
  const NodeStatus quarantined = nodes.status(coordinator, 2);
  EXPECT_TRUE(quarantined.trouble.starts_with("has no enrolment")) << quarantined.trouble;
  EXPECT_NE(quarantined.trouble.find("s left"), std::string::npos) << quarantined.trouble;
  EXPECT_EQ(nodes.cluster.value(2, key), std::nullopt);

  const Result<Lease> lease = coordinator.acquire(key, {.wait = 20s});
  ASSERT_TRUE(ok(lease));
  EXPECT_GE(Clock::now() - before, 1500ms);
  EXPECT_EQ(nodes.cluster.value(2, key), lease->owner_token());
}

TEST_F(EnrolmentOfNodes, ARestartedEmptyNodeExtendsNothing) {
  // The node does not get the key again, neither by an extend nor by one from another process.
  Forgetful nodes(20s);
  Coordinator coordinator = connect(nodes.options());
  Lease lease = coordinator.acquire(key).value();
  nodes.restart(2);
  nodes.cluster.kill(1);
  ASSERT_TRUE(nodes.is_seen(coordinator, 2, NodeState::quarantined));
  const Result<void> refused = lease.extend(20s);
  ASSERT_TRUE(fails_with(refused, Errc::no_quorum));
  EXPECT_EQ(vote_of(refused, 2), Vote::quarantined);
  EXPECT_TRUE(
      fails_with(coordinator.extend(key, OwnerToken(lease.owner_token()), 20s), Errc::no_quorum));
  EXPECT_EQ(nodes.cluster.value(2, key), std::nullopt);
  EXPECT_TRUE(lease.is_valid());  // valid for as long as it was granted
}

TEST_F(EnrolmentOfNodes, AFlushedNodeIsFoundOutByTheNextAcquire) {
  // Nothing on the connection shows the flush. The script notices it and touches nothing.
  Forgetful nodes(20s);
  Coordinator coordinator = connect(nodes.options());
  ASSERT_TRUE(nodes.is_seen(coordinator, 2, NodeState::up));
  nodes.cluster.kill(1);
  nodes.cluster.raw(2, {"FLUSHALL"});
  const Result<Lease> first = coordinator.acquire(key);
  ASSERT_TRUE(fails_with(first, Errc::no_quorum));
  EXPECT_EQ(vote_of(first, 2), Vote::quarantined);
  ASSERT_TRUE(nodes.is_seen(coordinator, 2, NodeState::quarantined));
  const Result<Lease> second = coordinator.acquire(key);
  EXPECT_EQ(vote_of(second, 2), Vote::quarantined);
  EXPECT_EQ(nodes.cluster.value(2, key), std::nullopt);
}

TEST_F(EnrolmentOfNodes, AFlushedNodeDoesNotCountForAnExtend) {
  // The holder's own key is gone too: its extend must not count on setting the key again.
  Forgetful nodes(20s);
  Coordinator coordinator = connect(nodes.options());
  Lease lease = coordinator.acquire(key).value();
  ASSERT_TRUE(eventually([&] { return nodes.cluster.holders(key, lease.owner_token()) == 3; }));
  nodes.cluster.kill(1);
  nodes.cluster.raw(2, {"FLUSHALL"});
  const Result<void> refused = lease.extend(20s);
  ASSERT_TRUE(fails_with(refused, Errc::no_quorum));
  EXPECT_EQ(vote_of(refused, 2), Vote::quarantined);
  EXPECT_EQ(nodes.cluster.value(2, key), std::nullopt);
}

TEST_F(EnrolmentOfNodes, APromotedReplicaIsQuarantined) {
  // The address now leads to a server with another node's record, which may lack the last locks.
  Forgetful nodes(20s);
  const Reply stale = nodes.cluster.raw(1, {"GET", record_key});
  nodes.cluster.raw(2, {"SET", record_key, stale.text});
  Coordinator coordinator = connect(nodes.options());
  ASSERT_TRUE(ok(coordinator.acquire(key)));
  EXPECT_EQ(nodes.status(coordinator, 2).enrolment.standing, NodeEnrolment::Standing::quarantined);
}

TEST_F(EnrolmentOfNodes, AClientWithAnotherFencingMemoryGetsAnError) {
  Forgetful nodes(30s);
  Options other = nodes.options();
  other.fencing_memory = 1h;
  const Result<Lease> refused = connect(other).acquire(key);
  ASSERT_TRUE(fails_with(refused, Errc::misconfigured));
  const std::string sentence = refused.error().what();
  EXPECT_NE(sentence.find("fencing_memory 1d since epoch 0, and ours is 1h"), sentence.npos)
      << sentence;
}

TEST_F(EnrolmentOfNodes, ADurableNodeWaitsToo) {
  // The node has everything on its disk, and no client knows that.
  Forgetful nodes(1h, true);
  Coordinator coordinator = connect(nodes.options());
  nodes.restart(2);
  EXPECT_TRUE(nodes.is_seen(coordinator, 2, NodeState::quarantined));
  EXPECT_GT(nodes.status(coordinator, 2).enrolment.quarantined_for, 30min);
}

TEST_F(EnrolmentOfNodes, CountersAreRepairedBeforeANodeVotes) {
  // The node was away while tokens grew, and came back empty: no token may be given twice.
  Forgetful nodes(500ms);
  Coordinator coordinator = connect(nodes.options());
  ASSERT_TRUE(ok(coordinator.acquire(key)));
  nodes.cluster.kill(2);
  std::uint64_t last = 0;
  for (int i = 0; i < 3; ++i) {
    Lease lease = coordinator.acquire(key, {.wait = 20s}).value();
    EXPECT_GT(lease.fencing_token(), last);
    last = lease.fencing_token();
    ASSERT_TRUE(ok(lease.release()));
  }
  nodes.cluster.restart(2);
  ASSERT_TRUE(nodes.is_seen(coordinator, 2, NodeState::up));
  EXPECT_GE(nodes.counter(2, key), nodes.counter(0, key));
  EXPECT_GE(nodes.counter(2, key), nodes.counter(1, key));
  EXPECT_GE(nodes.counter(2, key), last);
  EXPECT_FALSE(nodes.status(coordinator, 2).enrolment.clocks_order_fences_since.has_value());
  nodes.cluster.kill(1);
  EXPECT_GT(coordinator.acquire(key, {.wait = 20s}).value().fencing_token(), last);
}

TEST_F(EnrolmentOfNodes, WithTooFewOtherNodesClocksOrderTheTokensAndStatusSaysSo) {
  // Only one other node is left to vouch for it and to repair from. On the operator's word it is
  // enrolled: tokens still grow, beyond every clock.
  Forgetful nodes(500ms);
  Coordinator coordinator = connect(nodes.options());
  std::uint64_t last = 0;
  {
    const Lease lease = coordinator.acquire(key).value();
    last = lease.fencing_token();
  }
  nodes.cluster.kill(1);
  nodes.restart(2);
  ASSERT_TRUE(nodes.is_seen(coordinator, 2, NodeState::quarantined));
  ASSERT_TRUE(ok(vouch_for_nodes(coordinator)));
  ASSERT_TRUE(nodes.is_seen(coordinator, 2, NodeState::up));
  EXPECT_TRUE(nodes.status(coordinator, 2).enrolment.clocks_order_fences_since.has_value());
  EXPECT_GT(coordinator.acquire(key, {.wait = 20s}).value().fencing_token(), last);
}

TEST_F(EnrolmentOfNodes, AClientWithAnotherMaxTtlGetsAnError) {
  // The client that came later gets an error with both values; the record stays.
  Forgetful nodes(30s);
  const auto recorded = nodes.cluster.value(0, record_key);
  Options other = nodes.options();
  other.max_ttl = 20s;
  other.ttl = 10s;
  Coordinator coordinator = connect(other);
  const Result<Lease> refused = coordinator.acquire(key);
  ASSERT_TRUE(fails_with(refused, Errc::misconfigured));
  EXPECT_GE(refused.error().outcome().count(Vote::max_ttl_differs), 2);  // the third may be asked
  const std::string sentence = refused.error().what();
  EXPECT_NE(sentence.find("30s"), sentence.npos) << sentence;
  EXPECT_NE(sentence.find("20s"), sentence.npos) << sentence;
  EXPECT_EQ(nodes.cluster.value(0, record_key), recorded);
  EXPECT_EQ(nodes.cluster.holders(key), 0);
}

TEST_F(EnrolmentOfNodes, TwoAddressesOfOneServerDoNotMakeAList) {
  // Two of three URLs lead to one server, which would have two votes.
  Forgetful nodes(20s);
  const TemporaryDirectory directory;
  const std::string again = directory.path() / "again.sock";
  const std::string url = nodes.cluster.plain_urls()[0];
  std::filesystem::create_symlink(url.substr(std::string("unix://").size()), again);
  Options options = nodes.options();
  options.nodes = {url, "unix://" + again, nodes.cluster.urls()[1]};
  Coordinator coordinator = connect(options);
  ASSERT_TRUE(fails_with(coordinator.acquire(key), Errc::misconfigured));
  const auto twice = [&] { return coordinator.status().value(); };
  ASSERT_TRUE(eventually([&] { return !twice().nodes[0].same_server_as.empty(); }));
  const ClusterStatus status = twice();
  EXPECT_EQ(status.nodes[0].same_server_as, std::vector<std::string>{"unix://" + again});
  EXPECT_EQ(status.nodes[1].same_server_as, std::vector<std::string>{url});
  EXPECT_EQ(status.voters(), 0);
  const bool first = status.nodes[0].trouble.find("is the same server as") != std::string::npos;
  const bool second = status.nodes[1].trouble.find("is the same server as") != std::string::npos;
  EXPECT_NE(first, second) << "the one that was greeted last";
}

}  // namespace
}  // namespace quorumlock::test
