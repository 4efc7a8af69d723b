#include <fstream>
#include <string>
#include <vector>

#include <quorumlock/admin.hpp>

#include "integration/nodes_clocks.hpp"
#include "support/process.hpp"

// Fencing tokens on real servers: their order, their cost, and their counters.
namespace quorumlock::test {
namespace {

constexpr std::chrono::milliseconds counter_life = 24h;

TEST(FencingTokens, GrowStrictlyWhateverTheNodesClocksSay) {
  // Four coordinators in two processes take 1000 leases in turn, on nodes whose clocks are up to 80
  // seconds apart. The lock itself keeps the lines of the file in order.
  ClockedNodes nodes;
  for (int node = 0; node < 5; ++node) nodes.step({node}, (node - 2) * 20s);
  for (int node = 0; node < 5; ++node) nodes.cluster.enrol(node);
  std::string urls;
  for (const std::string& url : nodes.cluster.urls()) urls += (urls.empty() ? "" : ",") + url;
  const TemporaryDirectory directory;
  const std::string file = directory.path() / "tokens";
  const std::vector<std::string> command{
      QUORUMLOCK_TEST_WORKER, "fences", urls, "resource", file, "250"};
  Process one(command);
  Process two(command);
  EXPECT_EQ(one.wait(), 0);
  EXPECT_EQ(two.wait(), 0);

  std::ifstream lines(file);
  int count = 0;
  std::uint64_t last = 0;
  for (std::uint64_t token = 0; lines >> token; ++count) {
    ASSERT_GT(token, last) << "line " << count + 1;
    last = token;
  }
  EXPECT_EQ(count, 1000);
  EXPECT_LT(last, std::uint64_t{1} << 53U);
}

class Fencing : public FiveNodes {
 protected:
  [[nodiscard]] static std::string counter_of(const std::string& key) {
    return "quorumlock:fence:" + key;
  }
  static Options by_hand() {
    Options options = FiveNodes::options();
    options.auto_extend = false;
    return options;
  }
  static void forget_calls() { cluster().raw_everywhere({"CONFIG", "RESETSTAT"}); }
  static long long calls(const std::string& command) {
    long long sum = 0;
    for (int node = 0; node < 5; ++node) sum += cluster().calls(node, command);
    return sum;
  }
  /// Releases the lease, and returns once the key is gone from every node.
  static void release(Lease& lease) {
    ASSERT_TRUE(ok(lease.release()));
    ASSERT_TRUE(eventually([&] { return cluster().holders(lease.resource()) == 0; }));
  }
  /// Acquires and releases a lease, and returns its token.
  std::uint64_t acquire_and_release(Coordinator& coordinator) const {
    Lease lease = coordinator.acquire(key, {.wait = 20s}).value();
    EXPECT_TRUE(eventually([&] { return cluster().holders(key, lease.owner_token()) == 5; }));
    release(lease);
    return lease.fencing_token();
  }
};

TEST_F(Fencing, CostsNoRoundTripIfTheNodesAgree) {
  // Two coordinators take turns: each acquisition is one script on each node, each release another.
  Coordinator one = test::connect(by_hand());
  Coordinator two = test::connect(by_hand());
  warm(one);
  warm(two);
  forget_calls();
  std::uint64_t last = 0;
  for (int turn = 0; turn < 10; ++turn) {
    Lease lease = (turn % 2 == 0 ? one : two).acquire(key, {.wait = 20s}).value();
    ASSERT_TRUE(eventually([&] { return cluster().holders(key, lease.owner_token()) == 5; }));
    EXPECT_GT(lease.fencing_token(), last);
    last = lease.fencing_token();
    release(lease);
  }
  for (int node = 0; node < 5; ++node) EXPECT_EQ(cluster().calls(node, "evalsha"), 20);
  EXPECT_EQ(calls("eval"), 0);
}

/// A counter that is ahead of all clocks, and by less than fencing_memory.
std::uint64_t ahead_of_clocks() {
  const auto then = std::chrono::system_clock::now().time_since_epoch() + 1h;
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(then).count());
}

TEST_F(Fencing, CountersThatDifferAreRaisedToOneToken) {
  // Each node's counter differs, and all are ahead of the clocks: a quorum is raised to the
  // greatest of the granting nodes' counters, and the next token is greater than that.
  Coordinator coordinator = test::connect(by_hand());
  warm(coordinator);
  const std::uint64_t ahead = ahead_of_clocks();
  for (int node = 0; node < 5; ++node) {
    const std::uint64_t its = ahead + static_cast<std::uint64_t>(node) * 10;
    cluster().raw(node, {"SET", counter_of(key), std::to_string(its)});
  }
  forget_calls();
  Lease first = coordinator.acquire(key).value();
  const auto stand_for = [&](const Lease& lease) {
    return cluster().holders(counter_of(key), std::to_string(lease.fencing_token()));
  };
  EXPECT_GE(first.fencing_token(), ahead + 21);
  EXPECT_LE(first.fencing_token(), ahead + 41);
  EXPECT_GE(stand_for(first), 3);
  ASSERT_TRUE(eventually([&] { return cluster().holders(key, first.owner_token()) == 5; }));
  EXPECT_GE(calls("evalsha"), 5 + 2);
  release(first);
  const Lease second = coordinator.acquire(key, {.wait = 20s}).value();
  EXPECT_GT(second.fencing_token(), first.fencing_token());
  EXPECT_GE(stand_for(second), 3);
}

TEST_F(Fencing, ATokenIsThatOfTheLeaseForAsLongAsItIsHeld) {
  // Extends and renewals change neither the token nor the counters.
  Coordinator coordinator = test::connect(by_hand());
  Lease lease = coordinator.acquire(key).value();
  const std::uint64_t token = lease.fencing_token();
  ASSERT_TRUE(eventually([&] { return cluster().holders(key, lease.owner_token()) == 5; }));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(ok(lease.extend(20s)));
  EXPECT_EQ(lease.fencing_token(), token);
  EXPECT_EQ(cluster().holders(counter_of(key), std::to_string(token)), 5);
}

TEST_F(Fencing, ACounterOutlivesTheLockByADay) {
  // A counter expires a day after its last write, so that unused resources take no room.
  Coordinator coordinator = test::connect(by_hand());
  acquire_and_release(coordinator);
  for (int node = 0; node < 5; ++node) {
    EXPECT_LE(cluster().pttl(node, counter_of(key)), counter_life);
    EXPECT_GT(cluster().pttl(node, counter_of(key)), counter_life - 1h);
  }
}

TEST(FencingMemory, IsTheLifeOfEachCounterAndIsRecorded) {
  // The life is that of each kind of lock's counter. Clients that name another one are refused;
  // those that name none follow the nodes.
  Cluster cluster({.size = 3, .enrolled = false});
  Options options = cluster.options();
  options.fencing_memory = 3min;
  Coordinator coordinator = connect(options);
  ASSERT_TRUE(ok(enroll_new(coordinator)));
  // A node that does not vote yet is not asked, and would never get the counters.
  ASSERT_TRUE(eventually([&] {
    const std::vector<NodeStatus> nodes = coordinator.status().value().nodes;
    return std::all_of(nodes.begin(), nodes.end(),
                       [](const NodeStatus& node) { return node.votes; });
  }));
  // Each lease is held until its counters have been seen: after a release the script is no longer
  // sent to a node that lacks it.
  ASSERT_TRUE(ok(coordinator.acquire("one")));
  const Result<Lease> one = coordinator.acquire("one", {.wait = 20s});
  const Result<Lease> reader = coordinator.acquire("read", {.mode = LockMode::shared});
  const Result<Lease> in_line = coordinator.acquire("line", {.wait = 20s});
  const Result<Lease> set = coordinator.acquire_all({"a", "b"});
  for (const Result<Lease>* lease : {&one, &reader, &in_line, &set}) ASSERT_TRUE(ok(*lease));
  Semaphore permits(coordinator, "permits", 2);
  permits.acquire();
  for (const std::string name : {"one", "read", "line", "a", "b", "quorumlock:semaphore:permits"}) {
    for (int node = 0; node < 3; ++node) {
      ASSERT_TRUE(eventually([&] { return cluster.value(node, "quorumlock:fence:" + name); }));
      EXPECT_LE(cluster.pttl(node, "quorumlock:fence:" + name), 3min) << name;
      EXPECT_GT(cluster.pttl(node, "quorumlock:fence:" + name), 1min) << name;
    }
  }
  permits.release();
  Coordinator follower = connect(cluster.options());
  EXPECT_TRUE(fails_with(follower.acquire("one"), Errc::contended));
  options.fencing_memory = 4min;
  Coordinator other = connect(options);
  EXPECT_TRUE(fails_with(other.acquire("one"), Errc::misconfigured));
}

TEST_F(Fencing, ACounterWithoutAnExpiryGetsOneAtItsNextWrite) {
  // An operator may have left such a counter. Its next writer gives it an expiry: each script that
  // acquires, and a renewal that sets the key again.
  Coordinator coordinator = test::connect(by_hand());
  const std::string semaphore = "quorumlock:semaphore:" + key;
  const auto crash = [&](int first = 0) {
    for (int node = first; node < 5; ++node) {
      for (const std::string& name : {key, semaphore}) {
        cluster().raw(node, {"SET", counter_of(name), "5"});
        cluster().raw(node, {"DEL", name});
      }
    }
  };
  const auto mended = [&](const std::string& name) {
    return eventually([&] {
      for (int node = 0; node < 5; ++node) {
        if (cluster().pttl(node, counter_of(name)) <= 0ms) return false;
      }
      return true;
    });
  };
  crash();
  acquire_and_release(coordinator);
  EXPECT_TRUE(mended(key)) << "acquire.lua";
  for (const LockMode mode : {LockMode::exclusive, LockMode::shared}) {
    crash();
    Result<Lease> lease = coordinator.acquire(key, {.wait = 20s, .mode = mode});
    ASSERT_TRUE(ok(lease));
    EXPECT_TRUE(mended(key)) << "one, mode " << static_cast<int>(mode);
    crash(3);
    ASSERT_TRUE(ok(lease->extend(20s)));
    EXPECT_TRUE(mended(key)) << "extended, mode " << static_cast<int>(mode);
    release(*lease);
    crash();
    Result<Lease> all = coordinator.acquire_all({key, key + "/b"}, {.wait = 20s, .mode = mode});
    ASSERT_TRUE(ok(all));
    EXPECT_TRUE(mended(key)) << "all, mode " << static_cast<int>(mode);
    crash(3);
    ASSERT_TRUE(ok(all->extend(20s)));
    EXPECT_TRUE(mended(key)) << "all extended, mode " << static_cast<int>(mode);
    ASSERT_TRUE(ok(all->release()));
  }
  crash();
  Semaphore permits(coordinator, key, 2);
  permits.acquire();
  EXPECT_TRUE(mended(semaphore));
  permits.release();
}

TEST_F(Fencing, AClientThatHasSeenATokenNeverGetsASmallerOneEvenIfAllCountersAreLost) {
  // This holds even if the token is ahead of all clocks.
  Coordinator coordinator = test::connect(by_hand());
  const std::uint64_t ahead = ahead_of_clocks();
  cluster().raw_everywhere({"SET", counter_of(key), std::to_string(ahead)});
  const std::uint64_t first = acquire_and_release(coordinator);
  EXPECT_EQ(first, ahead + 1);
  cluster().raw_everywhere({"DEL", counter_of(key)});
  EXPECT_GT(acquire_and_release(coordinator), first);
}

TEST_F(Fencing, ClocksStillOrderTokensIfAllCountersAreLost) {
  // The second coordinator has seen no token.
  Coordinator one = test::connect(by_hand());
  const std::uint64_t first = acquire_and_release(one);
  cluster().raw_everywhere({"DEL", counter_of(key)});
  Coordinator another = test::connect(by_hand());
  EXPECT_GT(acquire_and_release(another), first);
}

TEST_F(Fencing, ACounterAtItsGreatestIsAnErrorAndNoLock) {
  // From 2^53 on a script could not tell two tokens apart.
  Coordinator coordinator = connect();
  const std::string greatest = std::to_string((std::uint64_t{1} << 53U) - 1);
  cluster().raw_everywhere({"SET", counter_of(key), greatest});
  const Result<Lease> refused = coordinator.acquire(key);
  ASSERT_TRUE(fails_with(refused, Errc::no_quorum));
  const std::string sentence = refused.error().what();
  EXPECT_NE(sentence.find("2^53"), sentence.npos) << sentence;
  EXPECT_EQ(cluster().holders(key), 0);
  EXPECT_EQ(cluster().holders(counter_of(key), greatest), 5);
}

TEST_F(Fencing, ACounterThatIsNotANumberIsAnErrorAndGivesNoLock) {
  // Somebody wrote to the counters of a quorum.
  Coordinator coordinator = connect();
  for (const int node : {0, 1, 2}) cluster().raw(node, {"SET", counter_of(key), "nan"});
  const Result<Lease> refused = coordinator.acquire(key);
  ASSERT_TRUE(fails_with(refused, Errc::no_quorum));
  const std::string sentence = refused.error().what();
  EXPECT_NE(sentence.find("not a whole number below 2^53"), sentence.npos) << sentence;
  EXPECT_TRUE(eventually([&] { return cluster().holders(key) == 0; }));
  EXPECT_EQ(cluster().holders(counter_of(key), "nan"), 3);
}

TEST_F(Fencing, GivesNoTokenAndSetsNoCounterIfItIsOff) {
  // The nodes see only a plain SET of each acquisition.
  Options off = by_hand();
  off.fencing = false;
  Coordinator coordinator = test::connect(off);
  warm(coordinator);
  forget_calls();
  Lease lease = coordinator.acquire(key).value();
  EXPECT_EQ(lease.fencing_token(), 0U);
  ASSERT_TRUE(eventually([&] { return cluster().holders(key, lease.owner_token()) == 5; }));
  EXPECT_EQ(calls("set"), 5);
  EXPECT_EQ(calls("evalsha") + calls("eval"), 0);
  ASSERT_TRUE(ok(lease.extend(20s)));
  EXPECT_EQ(lease.fencing_token(), 0U);
  release(lease);
  EXPECT_EQ(cluster().holders(counter_of(key)), 0);
  EXPECT_EQ(cluster().holders(counter_of(key + "/warm")), 0);
}

}  // namespace
}  // namespace quorumlock::test
