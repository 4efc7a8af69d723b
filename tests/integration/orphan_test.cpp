#include <atomic>
#include <vector>

#include "integration/fixture.hpp"

namespace quorumlock::test {
namespace {

/// Keys that nothing but the library would ever delete: here their ttl is longer than any test, so
/// that none is gone by its expiry.
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
  /// Returns once every node has executed all earlier commands of the coordinator.
  void see_all_executed(Coordinator& coordinator) {
    EXPECT_TRUE(eventually([&] {
      Result<Lease> marker = coordinator.acquire(key + "/marker", {.wait = 20s});
      return marker && eventually([&] { return cluster().holders(key + "/marker") >= 3; }) &&
             cluster().holders(key + "/marker", marker->owner_token()) == 5;
    }));
  }
};

TEST_F(Orphan, NoKeyStaysAfterAReleaseWhileTheSetIsOnItsWay) {
  // Two nodes are silent while a lock is acquired and released: both run both commands when they go
  // on.
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

TEST_F(Orphan, NoKeyStaysAfterAReleaseBeyondTheTimeout) {
  // The silence lasts beyond node_timeout, so the nodes are known to be stalled.
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

TEST_F(Orphan, NoKeyStaysAfterACancellationWhileTheSetIsOnItsWay) {
  // A cancelled acquire ends at once, and its clean-up still reaches the silent nodes.
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

TEST_F(Orphan, NoKeyStaysAfterARefusalWhileTheSetIsOnItsWay) {
  // An attempt that fails because of three foreign values is undone on the silent node, too.
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

TEST_F(Orphan, AReleaseIsOwedToANodeThatWasAway) {
  // A durable node is killed while it has our key. The lock is released without it, and the node
  // gets the release when it comes back with its data.
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

TEST_F(Orphan, AReleaseIsOwedAfterADestruction) {
  // The lease just goes out of scope, and two nodes are away one after the other.
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

TEST_F(Orphan, NoKeyStaysIfAnAttemptIsCutOffBeforeTheAnswer) {
  // A node delays our SET, then drops the connection, so that its outcome is unknown: after the
  // release none of our keys is there.
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

TEST_F(Orphan, NoKeyStaysIfAReleaseIsCutOffBeforeTheAnswer) {
  // A node delays our release, then drops the connection: the release is sent again on the next
  // one.
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

TEST_F(Orphan, NoKeyStaysIfAllConnectionsAreCut) {
  // Every node drops us again and again while locks are taken and released; in the end no key is
  // left.
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
  // Three nodes are silent for so long that their connections are given up as dead. When the nodes
  // go on, the commands that were still in those connections must not leave a key.
  std::atomic<int> lost{0};
  Options impatient = long_lived(options());
  impatient.node_timeout = 50ms;
  impatient.connect_timeout = 100ms;
  impatient.log = [&](std::string_view said) { lost += said.find("is down") != said.npos; };
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
