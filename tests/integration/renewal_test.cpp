#include <atomic>
#include <set>

#include "integration/fixture.hpp"

namespace quorumlock::test {
namespace {

class Renewal : public FiveNodes {
 protected:
  static bool wait_until(Clock::time_point when) {
    return eventually([&] { return Clock::now() >= when; });
  }
};

TEST_F(Renewal, GoesOnForMoreThanTwoTtls) {
  // An untouched lease is still valid after two and a half ttls, under the same token.
  Coordinator coordinator = connect();
  const Clock::time_point before = Clock::now();
  Lease lease = coordinator.acquire(key, {.ttl = 3s}).value();
  const std::string token = lease.owner_token();
  int invalid = 0;
  int gone = 0;
  EXPECT_TRUE(eventually([&] {
    invalid += lease.is_valid() ? 0 : 1;
    gone += cluster().holders(key, token) >= 3 ? 0 : 1;
    return Clock::now() > before + 7500ms;
  }));
  EXPECT_EQ(invalid, 0);
  EXPECT_EQ(gone, 0);
  EXPECT_EQ(lease.owner_token(), token);
  EXPECT_FALSE(lease.stop_token().stop_requested());
  EXPECT_GT(lease.valid_until(), before + 7500ms);
}

TEST_F(Renewal, StopsAtRelease) {
  // After a release nothing extends the key, even if our own token is set there again.
  Coordinator coordinator = connect();
  Lease lease = coordinator.acquire(key, {.ttl = 600ms, .wait = 20s}).value();
  ASSERT_TRUE(ok(lease.release()));
  ASSERT_TRUE(eventually([&] { return cluster().holders(key) == 0; }));
  for (int node = 0; node < 5; ++node) {
    cluster().raw(node, {"SET", key, lease.owner_token(), "PX", "900"});
  }
  EXPECT_TRUE(eventually([&] {
    for (int node = 0; node < 5; ++node) EXPECT_LE(cluster().pttl(node, key), 900ms);
    return cluster().holders(key) == 0;
  }));
}

TEST_F(Renewal, NothingRenewsAnInterruptedAcquire) {
  // A cancelled wait leaves no renewal that would keep a key of its last attempt alive.
  Coordinator coordinator = connect();
  for (const int node : {0, 1, 2}) cluster().plant(node, key);
  std::stop_source stop;
  Answer<Result<Lease>> answer;
  // The wait is unordered, so that it makes attempt after attempt.
  coordinator.async_acquire(key, {.ttl = 900ms, .wait = forever, .order = WaitOrder::unordered},
                            stop.get_token(), answer.handler());
  EXPECT_TRUE(eventually([&] { return cluster().holders(key) > 3; }));
  stop.request_stop();
  EXPECT_TRUE(fails_with(answer.get(), Errc::cancelled));
  EXPECT_TRUE(eventually([&] { return cluster().holders(key) == 3; }));
  EXPECT_TRUE(eventually([&] { return cluster().holders("quorumlock:queue:" + key) == 0; }));
  // The wait's last commands come to an end; renewals, every 300 ms, would not.
  EXPECT_TRUE(eventually([&] {
    const long long scripts = cluster().calls(4, "evalsha");
    return wait_until(Clock::now() + 700ms) && cluster().calls(4, "evalsha") == scripts;
  }));
  EXPECT_EQ(cluster().holders(key), 3);
}

TEST_F(Renewal, EndsAtMaxHold) {
  // The lease is renewed beyond its ttl but never beyond acquisition + max_hold, when it expires.
  Options early = options();
  early.stop_margin = 500ms;
  Coordinator coordinator = test::connect(early);
  Lease lease = coordinator.acquire(key, {.ttl = 3s, .max_hold = 6s}).value();
  const Clock::time_point acquired = Clock::now();
  const Clock::time_point first_end = lease.valid_until();
  const std::stop_token told = lease.stop_token();
  Clock::time_point latest;
  EXPECT_TRUE(eventually([&] {
    latest = std::max(latest, lease.valid_until());
    return !lease.is_valid();
  }));
  EXPECT_GT(latest, first_end);
  EXPECT_LE(latest, acquired + 6s);
  EXPECT_GE(Clock::now(), latest);
  // The loop's thread may have had no processor for longer than the margin.
  EXPECT_TRUE(eventually([&] { return told.stop_requested(); }));
  EXPECT_TRUE(fails_with(lease.release(), Errc::expired));
  EXPECT_TRUE(eventually([&] { return cluster().keys().empty(); }));
}

TEST_F(Renewal, AMaxHoldBelowTheTtlApplies) {
  // The shorter of max_hold and the ttl applies from the beginning, and to an extend.
  Coordinator coordinator = connect();
  const Clock::time_point before = Clock::now();
  Lease lease = coordinator.acquire(key, {.ttl = 10s, .max_hold = 5s}).value();
  EXPECT_LE(lease.valid_until(), Clock::now() + 5s);
  EXPECT_GE(lease.valid_until(), before + 4s);
  (void)lease.extend(30s);
  EXPECT_LE(lease.valid_until(), Clock::now() + 5s);
  EXPECT_TRUE(lease.is_valid());
}

TEST_F(Renewal, EndsAfterMaxRenewals) {
  // Two renewals move the end twice; after that the end stays. A machine that stands still for two
  // seconds is no reason to lose it.
  Coordinator coordinator = connect();
  Lease lease = coordinator.acquire(key, {.ttl = 6s, .max_renewals = 2}).value();
  std::set<Clock::time_point> ends;
  EXPECT_TRUE(eventually([&] {
    ends.insert(lease.valid_until());
    return !lease.is_valid();
  }));
  // One more, if the test thread was never delayed.
  EXPECT_GE(ends.size(), 2U) << metrics_text(coordinator.stats()).value();
  EXPECT_LE(ends.size(), 3U);
  EXPECT_TRUE(fails_with(lease.release(), Errc::expired));
}

TEST_F(Renewal, IsNeverSentIfItIsOff) {
  // Without auto_extend, or with no renewals allowed, the lease ends with its first ttl.
  Coordinator coordinator = connect();
  Lease off =
      coordinator.acquire(key + "/off", {.ttl = 900ms, .wait = 20s, .auto_extend = false}).value();
  Lease none =
      coordinator.acquire(key + "/none", {.ttl = 900ms, .wait = 20s, .max_renewals = 0}).value();
  const Clock::time_point end_of_off = off.valid_until();
  const Clock::time_point end_of_none = none.valid_until();
  EXPECT_TRUE(eventually([&] { return !off.is_valid() && !none.is_valid(); }));
  EXPECT_EQ(off.valid_until(), end_of_off);
  EXPECT_EQ(none.valid_until(), end_of_none);
}

TEST_F(Renewal, SurvivesTwoDeadNodes) {
  // Two of five nodes die: the other three renew the lease.
  Coordinator coordinator = connect();
  Lease lease = coordinator.acquire(key, {.ttl = 3s}).value();
  cluster().kill(0);
  cluster().kill(1);
  const Clock::time_point end = Clock::now() + 3s;
  EXPECT_TRUE(eventually([&] { return lease.valid_until() > end; }));
  EXPECT_TRUE(lease.is_valid());
  EXPECT_FALSE(lease.stop_token().stop_requested());
}

TEST_F(Renewal, IsTriedUntilTheEnd) {
  // All five nodes are silent until they are reported as stalled, and go on before the lease has
  // run out: a later try renews it.
  std::atomic<int> stalled{0};
  Options watched = options();
  watched.node_timeout = 100ms;
  watched.log = [&](std::string_view sentence) {
    if (sentence.find("stalled") != sentence.npos) ++stalled;
  };
  Coordinator coordinator = test::connect(watched);
  warm(coordinator);
  Lease lease = coordinator.acquire(key, {.ttl = 4s}).value();
  const Clock::time_point first_end = lease.valid_until();
  for (int node = 0; node < 5; ++node) cluster().pause(node);
  EXPECT_TRUE(eventually([&] { return stalled >= 5; }));
  EXPECT_LT(Clock::now(), first_end);
  for (int node = 0; node < 5; ++node) cluster().resume(node);
  EXPECT_TRUE(eventually([&] { return lease.valid_until() > first_end || !lease.is_valid(); }));
  EXPECT_TRUE(lease.is_valid());
  EXPECT_FALSE(lease.stop_token().stop_requested());
}

}  // namespace
}  // namespace quorumlock::test
