#include <atomic>
#include <vector>

#include "integration/fixture.hpp"

namespace quorumlock::test {
namespace {

/// Keys that nobody would ever delete but for the library's care: here they would outlive any
/// test, so that none is gone by its expiry.
class Orphan : public FiveNodes {
 protected:
  static constexpr std::chrono::seconds long_ttl{600};
  static void SetUpTestSuite() { start({.max_ttl = long_ttl}); }
  static Options long_lived(Options options) {
    options.max_ttl = long_ttl;
    options.ttl = long_ttl;
    options.auto_extend = false;
    return options;
  }
  static Coordinator connect() { return test::connect(long_lived(options())); }
  /// Returns when all that was sent before has been executed on every node.
  void see_all_executed(Coordinator& coordinator) {
    EXPECT_TRUE(eventually([&] {
      Result<Lease> marker = coordinator.acquire(key + "/marker", {.wait = 20s});
      return marker && eventually([&] { return cluster().holders(key + "/marker") >= 3; }) &&
             cluster().holders(key + "/marker", marker->owner_token()) == 5;
    }));
  }
};

TEST_F(Orphan, ReleasedWhileTheSetIsOnItsWay) {
  // Two nodes are silent while a lock is acquired and released: they run both when they go on.
  Coordinator coordinator = connect();
  warm(coordinator);
  cluster().pause(0);
  cluster().pause(4);
  {
    Result<Lease> lease = coordinator.acquire(key);
    ASSERT_TRUE(ok(lease));
    EXPECT_TRUE(ok(lease->release()));
  }
  cluster().resume(0);
  cluster().resume(4);
  see_all_executed(coordinator);
  EXPECT_EQ(cluster().holders(key), 0);
}

TEST_F(Orphan, ReleasedBeyondTheTimeout) {
  // The same where the silence lasts beyond node_timeout, and the node is known to be stalled.
  std::atomic<int> stalled{0};
  Options impatient = long_lived(options());
  impatient.node_timeout = 100ms;
  impatient.log = [&](std::string_view said) { stalled += said.find("stalled") != said.npos; };
  Coordinator coordinator = test::connect(impatient);
  warm(coordinator);
  cluster().pause(0);
  {
    Result<Lease> lease = coordinator.acquire(key);
    ASSERT_TRUE(ok(lease));
    EXPECT_TRUE(eventually([&] { return stalled > 0; }));
  }
  cluster().resume(0);
  EXPECT_TRUE(eventually([&] { return cluster().holders(key) == 0; }));
  see_all_executed(coordinator);
  EXPECT_EQ(cluster().holders(key), 0);
}

TEST_F(Orphan, CancelledWhileTheSetIsOnItsWay) {
  // A cancelled acquire ends at once, and its clean-up reaches the silent nodes all the same.
  Coordinator coordinator = connect();
  warm(coordinator);
  for (const int node : {0, 1, 2}) cluster().pause(node);
  std::stop_source stop;
  Answer<Result<Lease>> answer;
  coordinator.async_acquire(key, {.wait = forever}, stop.get_token(), answer.handler());
  ASSERT_TRUE(eventually([&] { return cluster().holders(key) == 2; }));
  stop.request_stop();
  EXPECT_TRUE(fails_with(answer.get(), Errc::cancelled));
  EXPECT_TRUE(eventually([&] { return cluster().holders(key) == 0; }));
  for (const int node : {0, 1, 2}) cluster().resume(node);
  see_all_executed(coordinator);
  EXPECT_EQ(cluster().holders(key), 0);
}

TEST_F(Orphan, RefusedWhileTheSetIsOnItsWay) {
  // An attempt that is lost to three foreign values is taken back on the silent node, too.
  Coordinator coordinator = connect();
  warm(coordinator);
  for (const int node : {0, 1, 2}) cluster().plant(node, key);
  cluster().pause(4);
  EXPECT_TRUE(fails_with(coordinator.acquire(key), Errc::contended));
  cluster().resume(4);
  see_all_executed(coordinator);
  EXPECT_EQ(cluster().holders(key), 3);
  EXPECT_EQ(cluster().holders(key, "foreign"), 3);
}

TEST_F(Orphan, OwedToANodeThatWasAway) {
  // A durable node is killed while it has our key. The lock is released without it, and when it
  // comes back with its data it is told.
  Cluster durable({.size = 3, .durable = true, .max_ttl = long_ttl});
  Coordinator coordinator = test::connect(long_lived(durable.options()));
  Lease lease = coordinator.acquire(key).value();
  ASSERT_TRUE(eventually([&] { return durable.holders(key) == 3; }));
  durable.kill(1);
  EXPECT_TRUE(ok(lease.release()));
  EXPECT_TRUE(eventually([&] { return durable.holders(key) == 0; }));
  durable.restart(1);
  EXPECT_TRUE(eventually([&] { return durable.holders(key) == 0; }));
}

TEST_F(Orphan, OwedAfterADestruction) {
  // The same for a lease that just went out of scope, and for two nodes one after the other.
  Cluster durable({.size = 3, .durable = true, .max_ttl = long_ttl});
  Coordinator coordinator = test::connect(long_lived(durable.options()));
  {
    const Lease lease = coordinator.acquire(key).value();
    ASSERT_TRUE(eventually([&] { return durable.holders(key) == 3; }));
    durable.kill(0);
    durable.kill(2);
  }
  EXPECT_TRUE(eventually([&] { return durable.holders(key) == 0; }));
  durable.restart(2);
  durable.restart(0);
  EXPECT_TRUE(eventually([&] { return durable.holders(key) == 0; }));
}

TEST_F(Orphan, AttemptCutOffWithTheSetUnanswered) {
  // A node holds our SET back, then drops the connection. Whether the SET ran nobody knows: after
  // the release nothing of ours is there.
  Coordinator coordinator = connect();
  warm(coordinator);
  cluster().raw(3, {"CLIENT", "PAUSE", "600000", "WRITE"});
  {
    Result<Lease> lease = coordinator.acquire(key);
    ASSERT_TRUE(ok(lease));
    cluster().drop_clients(3);
    EXPECT_TRUE(ok(lease->release()));
  }
  cluster().raw(3, {"CLIENT", "UNPAUSE"});
  see_all_executed(coordinator);
  EXPECT_TRUE(eventually([&] { return cluster().holders(key) == 0; }));
}

TEST_F(Orphan, ReleaseCutOffUnanswered) {
  // A node holds our release back and drops the connection with it: it is sent again on the next.
  Coordinator coordinator = connect();
  Lease lease = coordinator.acquire(key).value();
  ASSERT_TRUE(eventually([&] { return cluster().holders(key) == 5; }));
  cluster().raw(2, {"CLIENT", "PAUSE", "600000", "WRITE"});
  EXPECT_TRUE(ok(lease.release()));
  EXPECT_TRUE(eventually([&] { return cluster().holders(key) == 1; }));
  cluster().drop_clients(2);
  EXPECT_EQ(cluster().value(2, key), lease.owner_token());
  cluster().raw(2, {"CLIENT", "UNPAUSE"});
  EXPECT_TRUE(eventually([&] { return cluster().holders(key) == 0; }));
}

TEST_F(Orphan, AllConnectionsCutInTheMiddle) {
  // Every node drops us again and again while locks come and go; in the end no key is left.
  Coordinator coordinator = connect();
  for (int i = 0; i < 30; ++i) {
    Answer<Result<Lease>> answer;
    coordinator.async_acquire(key + std::to_string(i % 3), {}, {}, answer.handler());
    for (int node = 0; node < 5; ++node) cluster().drop_clients(node);
    (void)answer.get();
  }
  EXPECT_TRUE(eventually([&] { return cluster().keys().empty(); }));
}

TEST_F(Orphan, SilentNodesAreGivenUpAndFoundAgain) {
  // Three nodes are silent for so long that their connections are given up as dead. When they go
  // on, what was still in those connections must not leave a key behind.
  std::atomic<int> lost{0};
  Options impatient = long_lived(options());
  impatient.node_timeout = 50ms;
  impatient.connect_timeout = 100ms;
  impatient.log = [&](std::string_view said) { lost += said.find("lost") != said.npos; };
  Coordinator coordinator = test::connect(impatient);
  warm(coordinator);
  for (const int node : {0, 1, 2}) cluster().pause(node);
  EXPECT_FALSE(coordinator.acquire(key).has_value());
  EXPECT_TRUE(eventually([&] { return lost >= 3; }));
  for (const int node : {0, 1, 2}) cluster().resume(node);
  see_all_executed(coordinator);
  EXPECT_TRUE(eventually([&] { return cluster().holders(key) == 0; }));
}

}  // namespace
}  // namespace quorumlock::test
