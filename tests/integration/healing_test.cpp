#include <atomic>
#include <thread>

#include "integration/fixture.hpp"

// A renewal sets the key again on nodes that lost it, if that is safe.
namespace quorumlock::test {
namespace {

/// Five nodes that are enrolled once and then left alone, and a lock on them.
class HealingRollingRestart : public ::testing::Test {
 protected:
  void enrol(Cluster& cluster) {
    for (int node = 0; node < cluster.size(); ++node) cluster.enrol(node);
  }
  /// Kills each node in turn, starts it again and waits until it votes and has the key and its
  /// counter again and the lease has been renewed.
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
  /// Holds the lock across a restart of all nodes, while another client tries to get it all the
  /// time.
  void expect_held_throughout(Cluster& cluster) {
    enrol(cluster);
    Options options = cluster.options();
    options.ttl = 4s;
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

TEST_F(HealingRollingRestart, LosesNoLockOnDurableNodes) {
  // Each node has the key on its disk, and waits out its quarantine; meanwhile the others are a
  // quorum.
  Cluster cluster({.durable = true, .enrolled = false, .max_ttl = 4s});
  expect_held_throughout(cluster);
}

TEST_F(HealingRollingRestart, LosesNoLockOnNodesThatForget) {
  // Each node comes back empty, waits out its quarantine and has its counters repaired; then a
  // renewal sets the key again. In the end none of the original keys is left.
  Cluster cluster({.enrolled = false, .max_ttl = 4s});
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
  // The key is set with its full ttl and, if the counter is lost too, with the counter.
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

TEST_F(Healing, TheWatchdogPlantsALostKeyToo) {
  // No extend is called, and one node after the other loses the key: more than a quorum in all.
  Coordinator coordinator = connect();
  const Lease lease = coordinator.acquire(key, {.ttl = 1500ms, .wait = 20s}).value();
  for (int node = 0; node < 5; ++node) {
    cluster().raw(node, {"DEL", key});
    ASSERT_TRUE(eventually(
        [&] { return !lease.is_valid() || cluster().holders(key, lease.owner_token()) == 5; }));
    ASSERT_TRUE(lease.is_valid());
  }
  EXPECT_FALSE(lease.stop_token().stop_requested());
}

TEST_F(Healing, AKeyThatAMajorityLostEndsTheLease) {
  // Another client may have held the lock meanwhile. If the keys' loss is known only after a quorum
  // has granted once more, the extension succeeds, and the lease is lost then, long before its end.
  // The keys that the renewal set are deleted.
  Coordinator coordinator = test::connect(by_hand());
  Lease lease = acquire_everywhere(coordinator);
  const std::stop_token told = lease.stop_token();
  for (const int node : {0, 1, 4}) cluster().raw(node, {"DEL", key});
  const Result<void> extended = lease.extend(20s);
  EXPECT_TRUE(extended || fails_with(extended, Errc::lost));
  EXPECT_TRUE(eventually([&] { return told.stop_requested(); }));
  EXPECT_FALSE(lease.is_valid());
  EXPECT_EQ(coordinator.stats().lost, 1U) << "it would have expired by itself";
  EXPECT_TRUE(eventually([&] { return cluster().keys().empty(); }));
  const Result<Lease> next = coordinator.acquire(key, {.wait = 20s});
  ASSERT_TRUE(ok(next));
  EXPECT_GT(next->fencing_token(), lease.fencing_token());
}

TEST_F(Healing, AnothersKeyIsLeftAlone) {
  // Two nodes lost the key to another client: the renewal does not set it there.
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
  // Another client releases the lock by its token, but reaches two nodes only. The renewal keeps
  // the other three and does not undo the release.
  Coordinator coordinator = test::connect(by_hand());
  Lease lease = acquire_everywhere(coordinator);
  Options two = by_hand();
  two.nodes.resize(2);
  Coordinator other = test::connect(two);
  // By its own list these are all nodes; by what they say of theirs they are too few.
  EXPECT_TRUE(fails_with(other.release(key, OwnerToken(lease.owner_token())), Errc::no_quorum));
  ASSERT_TRUE(eventually([&] { return cluster().holders(key) == 3; }));
  std::vector<long long> scripts;
  for (const int node : {0, 1}) scripts.push_back(cluster().calls(node, "evalsha"));
  ASSERT_TRUE(ok(lease.extend(20s)));
  for (const int node : {0, 1}) {
    EXPECT_TRUE(eventually([&] {
      return cluster().calls(node, "evalsha") > scripts.at(static_cast<std::size_t>(node));
    }));
    EXPECT_EQ(cluster().value(node, key), std::nullopt);
  }
  // A release that reaches a quorum is final.
  Coordinator all = test::connect(by_hand());
  (void)all.release(key, OwnerToken(lease.owner_token()));
  EXPECT_TRUE(eventually([&] { return cluster().holders(key) == 0; }));
  EXPECT_TRUE(fails_with(lease.extend(20s), Errc::lost));
  EXPECT_TRUE(eventually([&] { return cluster().holders(key) == 0; }));
}

}  // namespace
}  // namespace quorumlock::test
