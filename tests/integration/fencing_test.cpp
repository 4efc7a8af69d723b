#include <fstream>
#include <string>
#include <vector>

#include "integration/nodes_clocks.hpp"
#include "support/process.hpp"

// Fencing tokens on real servers: their order, what they cost, and the counters that are left.
namespace quorumlock::test {
namespace {

constexpr std::chrono::milliseconds counter_life = 24h * 30;

TEST(FencingTokens, GrowStrictlyWhateverTheNodesClocksSay) {
  // 1000 leases in turn by four coordinators in two processes, on nodes whose clocks are up to 80
  // seconds apart. The lock itself keeps the lines of the file in order.
  ClockedNodes nodes;
  for (int node = 0; node < 5; ++node) nodes.clock(node).step((node - 2) * 20s);
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
  /// Returns once no node has the key or is still to be told to delete it.
  static void release(Lease& lease) {
    ASSERT_TRUE(ok(lease.release()));
    ASSERT_TRUE(eventually([&] { return cluster().holders(lease.resource()) == 0; }));
  }
  /// The token of a lease that is over.
  std::uint64_t acquire_and_release(Coordinator& coordinator) const {
    Lease lease = coordinator.acquire(key, {.wait = 20s}).value();
    EXPECT_TRUE(eventually([&] { return cluster().holders(key, lease.owner_token()) == 5; }));
    release(lease);
    return lease.fencing_token();
  }
};

TEST_F(Fencing, CostsNoRoundTripWhereTheNodesAgree) {
  // Two coordinators take turns: the first acquisition of each is a script on each node, the later
  // ones are commands of the node's own; each release is another script.
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
  for (int node = 0; node < 5; ++node) {
    EXPECT_EQ(cluster().calls(node, "evalsha"), 2 + 10);
    EXPECT_EQ(cluster().calls(node, "incr"), 8);
  }
  EXPECT_EQ(calls("eval"), 0);
}

TEST_F(Fencing, CountersThatDifferAreRaisedToOneToken) {
  // Every node has a counter of its own, ahead of all clocks: a quorum is raised to the greatest of
  // those that granted, and the next token is greater than it.
  Coordinator coordinator = test::connect(by_hand());
  warm(coordinator);
  const std::uint64_t ahead = 4'000'000'000'000'000;
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
  // Extends and renewals change neither it nor the counters.
  Coordinator coordinator = test::connect(by_hand());
  Lease lease = coordinator.acquire(key).value();
  const std::uint64_t token = lease.fencing_token();
  ASSERT_TRUE(eventually([&] { return cluster().holders(key, lease.owner_token()) == 5; }));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(ok(lease.extend(20s)));
  EXPECT_EQ(lease.fencing_token(), token);
  EXPECT_EQ(cluster().holders(counter_of(key), std::to_string(token)), 5);
}

TEST_F(Fencing, ACounterOutlivesTheLockByThirtyDays) {
  // From its last write on; then it goes too, so that resources that are not used take no room.
  Coordinator coordinator = test::connect(by_hand());
  acquire_and_release(coordinator);
  for (int node = 0; node < 5; ++node) {
    EXPECT_LE(cluster().pttl(node, counter_of(key)), counter_life);
    EXPECT_GT(cluster().pttl(node, counter_of(key)), counter_life - 1h);
  }
}

TEST_F(Fencing, WhoHasSeenATokenNeverGetsASmallerOneEvenWhereEveryCounterIsLost) {
  // And be it ahead of all clocks.
  Coordinator coordinator = test::connect(by_hand());
  cluster().raw_everywhere({"SET", counter_of(key), "4000000000000000"});
  const std::uint64_t first = acquire_and_release(coordinator);
  EXPECT_EQ(first, 4'000'000'000'000'001U);
  cluster().raw_everywhere({"DEL", counter_of(key)});
  EXPECT_GT(acquire_and_release(coordinator), first);
}

TEST_F(Fencing, WhereEveryCounterIsLostTheClocksStillOrderTokens) {
  // To a coordinator that has seen none.
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

TEST_F(Fencing, OffThereIsNoTokenAndNoCounter) {
  // A plain SET is all that the nodes see of an acquisition.
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
