#include <atomic>
#include <thread>

#include "integration/fixture.hpp"

// What a renewal does about nodes that lost the key: it is planted again, where that is safe.
namespace quorumlock::test {
namespace {

/// Five nodes that were enrolled once and are then on their own, and a lock on them.
class RollingRestart : public ::testing::Test {
 protected:
  void enrol(Cluster& cluster) {
    for (int node = 0; node < cluster.size(); ++node) cluster.enrol(node);
  }
  /// Kills each node, starts it again and waits until it votes, it has the key and its counter
  /// again and the lease was renewed; then the next.
  void restart_all(Cluster& cluster, Coordinator& coordinator, const Lease& lease) {
    for (int node = 0; node < cluster.size(); ++node) {
      cluster.kill(node);
      cluster.restart(node);
      const Clock::time_point end = lease.valid_until();
      const std::string info = cluster.raw(node, {"INFO", "server"}).text;
      ASSERT_TRUE(eventually([&] {
        const NodeStatus seen =
            coordinator.status().value().nodes.at(static_cast<std::size_t>(node));
        return seen.votes && info.find(seen.run_id) != info.npos;
      })) << "node "
          << node;
      ASSERT_TRUE(eventually([&] {
        const bool has_key = cluster.value(node, key) == lease.owner_token();
        return !lease.is_valid() || (has_key && lease.valid_until() > end);
      })) << "node "
          << node;
      ASSERT_TRUE(lease.is_valid()) << "node " << node;
      EXPECT_GE(std::stoull(cluster.value(node, "quorumlock:fence:" + key).value_or("0")),
                lease.fencing_token());
    }
  }
  /// Holds the lock across a restart of all nodes, while another one tries to get it all the time.
  void expect_held_throughout(Cluster& cluster) {
    enrol(cluster);
    Options options = cluster.options();
    options.ttl = 2s;
    Coordinator coordinator = connect(options);
    Lease lease = coordinator.acquire(key, {.wait = 20s}).value();
    const std::string token = lease.owner_token();
    const std::uint64_t fence = lease.fencing_token();
    std::atomic<bool> released{false};
    std::atomic<bool> too_early{false};
    std::thread rival([&] {
      Coordinator other = connect(options);
      const Result<Lease> next = other.acquire(key, {.wait = forever});
      too_early = !released;
      EXPECT_TRUE(ok(next));
      EXPECT_GT(next ? next->fencing_token() : 0, fence);
    });
    restart_all(cluster, coordinator, lease);
    EXPECT_TRUE(lease.is_valid());
    EXPECT_FALSE(lease.stop_token().stop_requested());
    EXPECT_EQ(lease.owner_token(), token);
    EXPECT_EQ(lease.fencing_token(), fence);
    released = true;
    EXPECT_TRUE(ok(lease.release()));
    rival.join();
    EXPECT_FALSE(too_early);
  }

  const std::string key = resource_of_this_test();
};

TEST_F(RollingRestart, OfDurableNodesLosesNoLock) {
  // Each has the key on its disk and votes at once; meanwhile the others are a quorum.
  Cluster cluster({.durable = true, .enrolled = false});
  expect_held_throughout(cluster);
}

TEST_F(RollingRestart, OfNodesThatForgetLosesNoLock) {
  // Each comes back empty, waits out its quarantine, has its counters repaired, and is given the
  // key again by a renewal: in the end none of the keys of the beginning is left.
  Cluster cluster({.enrolled = false, .max_ttl = 2s});
  expect_held_throughout(cluster);
}

class Healing : public FiveNodes {
 protected:
  static Options by_hand() {
    Options options = FiveNodes::options();
    options.auto_extend = false;
    return options;
  }
  Lease acquire_everywhere(Coordinator& coordinator) const {
    Lease lease = coordinator.acquire(key, {.ttl = 20s}).value();
    EXPECT_TRUE(eventually([&] { return cluster().holders(key, lease.owner_token()) == 5; }));
    return lease;
  }
  [[nodiscard]] std::string counter() const { return "quorumlock:fence:" + key; }
};

TEST_F(Healing, AKeyThatAMinorityLostIsPlantedAgainByTheNextRenewal) {
  // With its full ttl and, where that is lost too, the counter.
  Coordinator coordinator = test::connect(by_hand());
  Lease lease = acquire_everywhere(coordinator);
  const std::uint64_t fence = lease.fencing_token();
  for (const int node : {1, 4}) cluster().raw(node, {"DEL", key, counter()});
  ASSERT_TRUE(ok(lease.extend(20s)));
  EXPECT_TRUE(eventually([&] { return cluster().holders(key, lease.owner_token()) == 5; }));
  for (const int node : {1, 4}) {
    EXPECT_EQ(cluster().value(node, counter()), std::to_string(fence));
    EXPECT_GT(cluster().pttl(node, key), 0ms);
    EXPECT_LE(cluster().pttl(node, key), 20s);
  }
  EXPECT_EQ(lease.fencing_token(), fence);
}

TEST_F(Healing, TheWatchdogPlantsItToo) {
  // Nobody calls extend, and one node after the other loses the key: more than a quorum in all.
  Coordinator coordinator = connect();
  const Lease lease = coordinator.acquire(key, {.ttl = 1500ms}).value();
  for (int node = 0; node < 5; ++node) {
    cluster().raw(node, {"DEL", key});
    ASSERT_TRUE(eventually(
        [&] { return !lease.is_valid() || cluster().holders(key, lease.owner_token()) == 5; }));
    ASSERT_TRUE(lease.is_valid());
  }
  EXPECT_FALSE(lease.stop_token().stop_requested());
}

TEST_F(Healing, AKeyThatAMajorityLostEndsTheLease) {
  // Somebody else may have had it in between. What the renewal planted is cleared away.
  Coordinator coordinator = test::connect(by_hand());
  Lease lease = acquire_everywhere(coordinator);
  const std::stop_token told = lease.stop_token();
  for (const int node : {0, 1, 4}) cluster().raw(node, {"DEL", key});
  EXPECT_TRUE(fails_with(lease.extend(20s), Errc::lost));
  EXPECT_TRUE(eventually([&] { return told.stop_requested(); }));
  EXPECT_FALSE(lease.is_valid());
  EXPECT_TRUE(eventually([&] { return cluster().keys().empty(); }));
  const Result<Lease> next = coordinator.acquire(key, {.wait = 20s});
  ASSERT_TRUE(ok(next));
  EXPECT_GT(next->fencing_token(), lease.fencing_token());
}

TEST_F(Healing, AnothersKeyIsLeftAlone) {
  // Two nodes lost the key to somebody else: those are no places to plant it.
  Coordinator coordinator = test::connect(by_hand());
  Lease lease = acquire_everywhere(coordinator);
  cluster().plant(0, key);
  cluster().plant(3, key);
  ASSERT_TRUE(ok(lease.extend(20s)));
  ASSERT_TRUE(ok(lease.release()));
  EXPECT_TRUE(
      eventually([&] { return cluster().holders(key, "foreign") == cluster().holders(key); }));
  EXPECT_EQ(cluster().holders(key, "foreign"), 2);
}

TEST_F(Healing, ALockThatWasReleasedByTokenIsNotPlantedAgain) {
  // Somebody who knows the token gives the lock up, and reaches two nodes. The renewal holds on to
  // the other three and does not undo the release.
  Coordinator coordinator = test::connect(by_hand());
  Lease lease = acquire_everywhere(coordinator);
  Options two = by_hand();
  two.nodes.resize(2);
  Coordinator other = test::connect(two);
  ASSERT_TRUE(ok(other.release(key, OwnerToken(lease.owner_token()))));
  std::vector<long long> scripts;
  for (const int node : {0, 1}) scripts.push_back(cluster().calls(node, "evalsha"));
  ASSERT_TRUE(ok(lease.extend(20s)));
  for (const int node : {0, 1}) {
    EXPECT_TRUE(eventually([&] {
      return cluster().calls(node, "evalsha") > scripts.at(static_cast<std::size_t>(node));
    }));
    EXPECT_EQ(cluster().value(node, key), std::nullopt);
  }
  // From the quorum it is final.
  Coordinator all = test::connect(by_hand());
  (void)all.release(key, OwnerToken(lease.owner_token()));
  EXPECT_TRUE(eventually([&] { return cluster().holders(key) == 0; }));
  EXPECT_TRUE(fails_with(lease.extend(20s), Errc::lost));
  EXPECT_TRUE(eventually([&] { return cluster().holders(key) == 0; }));
}

}  // namespace
}  // namespace quorumlock::test
