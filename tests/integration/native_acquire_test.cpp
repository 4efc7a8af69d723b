#include <string>
#include <utility>
#include <vector>

#include "integration/fixture.hpp"

// Acquisitions without a script, on real servers (docs/architecture.md).
namespace quorumlock::test {
namespace {

class NativeAcquire : public FiveNodes {
 protected:
  void SetUp() override {
    FiveNodes::SetUp();
    warm(coordinator);
    first_token = cycle();
    ASSERT_NE(first_token, 0U);
  }
  void TearDown() override {
    cluster().raw_everywhere({"ACL", "SETUSER", "default", "+@all", "allkeys"});
  }

  /// Acquires and releases, so that nothing of it is left; the fencing token, zero where refused.
  std::uint64_t cycle() {
    std::uint64_t token = 0;
    {
      const Result<Lease> lease = coordinator.acquire(key);
      EXPECT_TRUE(ok(lease));
      if (!lease) return 0;
      token = lease->fencing_token();
    }
    EXPECT_TRUE(eventually([] { return cluster().keys().empty(); }));
    return token;
  }
  static long long counted() {
    long long all = 0;
    for (int node = 0; node < 5; ++node) all += cluster().calls(node, "incr");
    return all;
  }
  /// How often this user was told by the first node that INCR is not for it.
  static long long forbidden() {
    const std::string stats = cluster().raw(0, {"INFO", "commandstats"}).text;
    const std::string_view name = "rejected_calls=";
    const std::size_t incr = stats.find("cmdstat_incr:");
    return incr == stats.npos ? 0 : std::stoll(stats.substr(stats.find(name, incr) + name.size()));
  }
  static long long ms_of(const Reply& time) {
    return std::stoll(time.elements.at(0).text) * 1000 +
           std::stoll(time.elements.at(1).text) / 1000;
  }

  const std::string counter = "quorumlock:fence:" + key;
  Coordinator coordinator = connect();
  std::uint64_t first_token = 0;
};

TEST_F(NativeAcquire, FollowsALeaseOfOurOwn) {
  // On each node one INCR, and one script: the release's.
  const long long before = cluster().calls(0, "incr");
  const long long scripts = cluster().calls(0, "evalsha");
  const std::uint64_t second = cycle();
  EXPECT_EQ(second, first_token + 1);
  EXPECT_EQ(cycle(), second + 1);
  EXPECT_EQ(cluster().calls(0, "incr") - before, 2);
  EXPECT_EQ(cluster().calls(0, "evalsha") - scripts, 2);
  for (int node = 0; node < 5; ++node) {
    EXPECT_EQ(cluster().value(node, counter), std::to_string(second + 1));
    EXPECT_GT(cluster().pttl(node, counter), 29 * 24h);
  }
}

TEST_F(NativeAcquire, AnothersTokenIsExceededAndOursByHis) {
  // Whoever comes next, with a script or without.
  Coordinator other = connect();
  warm(other);
  std::uint64_t last = first_token;
  for (int i = 0; i < 3; ++i) {
    {
      const Result<Lease> theirs = other.acquire(key);
      ASSERT_TRUE(ok(theirs));
      EXPECT_GT(theirs->fencing_token(), last);
      last = theirs->fencing_token();
    }
    ASSERT_TRUE(eventually([] { return cluster().keys().empty(); }));
    const std::uint64_t ours = cycle();
    EXPECT_GT(ours, last);
    last = ours;
  }
}

TEST_F(NativeAcquire, CountersThatAreGoneAreRaised) {
  // On a quorum: they begin at one, which is no token.
  for (const int node : {0, 2, 4}) cluster().raw(node, {"DEL", counter});
  const std::uint64_t second = cycle();
  EXPECT_GT(second, first_token);
  EXPECT_GT(cycle(), second);
  for (int node = 0; node < 5; ++node) EXPECT_GT(cluster().pttl(node, counter), 29 * 24h);
}

TEST_F(NativeAcquire, AnothersTokenIsExceededWhereAllCountersAreGone) {
  // We have not seen his.
  Coordinator other = connect();
  std::uint64_t theirs = 0;
  {
    const Result<Lease> lease = other.acquire(key, {.wait = 20s});
    ASSERT_TRUE(ok(lease));
    theirs = lease->fencing_token();
  }
  ASSERT_TRUE(eventually([] { return cluster().keys().empty(); }));
  cluster().raw_everywhere({"DEL", counter});
  EXPECT_GT(cycle(), theirs);
}

TEST_F(NativeAcquire, CountersThatDifferAreRaised) {
  // No three of them are equal.
  const std::vector<std::pair<int, std::uint64_t>> ahead = {{0, 50}, {1, 1000}, {3, 1000}};
  for (const auto& [node, by] : ahead) {
    cluster().raw(node, {"SET", counter, std::to_string(first_token + by), "PX", "60000"});
  }
  const std::uint64_t second = cycle();
  EXPECT_GE(second, first_token + 51);
  EXPECT_GT(cycle(), second);
}

TEST_F(NativeAcquire, CountersThatAreNoNumbersAreMadeAnew) {
  // A script is asked, as it is where their kind is another.
  cluster().raw_everywhere({"SET", counter, "nonsense"});
  const std::uint64_t second = cycle();
  EXPECT_GT(second, first_token);
  cluster().raw_everywhere({"DEL", counter});
  cluster().raw_everywhere({"LPUSH", counter, "nonsense"});
  EXPECT_GT(cycle(), second);
}

TEST_F(NativeAcquire, NodesThatForgotCastNoVote) {
  // Also where their counters are as they were. Where they are not, none is left behind.
  for (const int node : {0, 2}) cluster().raw(node, {"DEL", "quorumlock:enrolment"});
  cluster().raw(4, {"FLUSHALL"});
  const Result<Lease> lease = coordinator.acquire(key);
  ASSERT_TRUE(fails_with(lease, Errc::no_quorum));
  EXPECT_GE(lease.error().outcome().count(Vote::not_enrolled) +
                lease.error().outcome().count(Vote::quarantined),
            3);
  EXPECT_TRUE(eventually([] { return cluster().keys().empty(); }));
  EXPECT_TRUE(eventually([&] { return !cluster().value(4, counter); }));
  EXPECT_TRUE(cluster().value(0, counter));
}

TEST_F(NativeAcquire, WhoWaitsInTheLineIsNotOvertaken) {
  // An entry of somebody whom nobody serves: the request is refused, and leaves nothing there.
  const std::string line = "quorumlock:queue:" + key;
  const std::string lives = "quorumlock:waiting:" + key;
  const std::string entry = "wdeadbeefdeadbeef.1";
  for (int node = 0; node < 5; ++node) {
    const long long now = ms_of(cluster().raw(node, {"TIME"}));
    cluster().raw(node, {"ZADD", line, "1", entry});
    cluster().raw(node, {"ZADD", lives, std::to_string(now + 600'000), entry});
  }
  const long long before = counted();
  EXPECT_TRUE(fails_with(coordinator.acquire(key), Errc::contended));
  EXPECT_GT(counted(), before) << "it was asked for without a script first";
  EXPECT_TRUE(eventually([&] { return cluster().holders(key) == 0; }));
  // Where its time is over it is in nobody's way, although it is still there.
  for (int node = 0; node < 5; ++node) cluster().raw(node, {"ZADD", lives, "1", entry});
  EXPECT_GT(cycle(), first_token);
}

TEST_F(NativeAcquire, ReadersWhoseTimeIsOverAreInNobodysWay) {
  for (int node = 0; node < 5; ++node) {
    const long long now = ms_of(cluster().raw(node, {"TIME"}));
    cluster().raw(node, {"ZADD", key, std::to_string(now - 1000), "a reader's token"});
    cluster().raw(node, {"PEXPIRE", key, "600000"});
  }
  EXPECT_GT(cycle(), first_token);
}

TEST_F(NativeAcquire, AUserWhoMayRunScriptsOnlyStillGetsTheLock) {
  // Each command but INCR, which the scripts do without. It is asked for once.
  cluster().raw_everywhere({"ACL", "SETUSER", "default", "-incr"});
  const long long before = forbidden();
  for (int i = 0; i < 3; ++i) EXPECT_GT(cycle(), first_token);
  EXPECT_EQ(forbidden() - before, 1);
}

TEST_F(NativeAcquire, SeveralInOneTurnAreOneScript) {
  const long long before = counted();
  std::vector<Answer<Result<Lease>>> answers(2);
  on_loop(coordinator, [&] {
    coordinator.async_acquire(key, {}, {}, answers[0].handler());
    coordinator.async_acquire(key + "/2", {}, {}, answers[1].handler());
  });
  const Result<Lease> one = answers[0].get();
  const Result<Lease> two = answers[1].get();
  ASSERT_TRUE(ok(one));
  ASSERT_TRUE(ok(two));
  EXPECT_GT(one->fencing_token(), first_token);
  EXPECT_EQ(counted(), before);
}

}  // namespace
}  // namespace quorumlock::test
