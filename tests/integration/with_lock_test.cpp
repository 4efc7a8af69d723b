#include <memory>
#include <stdexcept>

#include "integration/fixture.hpp"

namespace quorumlock::test {
namespace {

class WithLock : public FiveNodes {};

TEST_F(WithLock, GivesWhatTheBodyReturns) {
  // A value, a move-only value and nothing at all come through; the lock is free afterwards.
  Coordinator coordinator = connect();
  const Result<int> number = coordinator.with_lock(key, {}, [&](Lease& lease) {
    EXPECT_TRUE(lease.is_valid());
    EXPECT_EQ(lease.resource(), key);
    EXPECT_GE(cluster().holders(key, lease.owner_token()), 3);
    return 42;
  });
  ASSERT_TRUE(ok(number));
  EXPECT_EQ(*number, 42);
  Result<std::unique_ptr<int>> owned =
      coordinator.with_lock(key, {.wait = 20s}, [](Lease&) { return std::make_unique<int>(7); });
  ASSERT_TRUE(ok(owned));
  EXPECT_EQ(**owned, 7);
  int runs = 0;
  const Result<void> nothing = coordinator.with_lock(key, {.wait = 20s}, [&](Lease&) { ++runs; });
  EXPECT_TRUE(ok(nothing));
  EXPECT_EQ(runs, 1);
  EXPECT_TRUE(eventually([&] { return cluster().keys().empty(); }));
}

TEST_F(WithLock, ReleasesOnAnException) {
  // The body's exception goes on to the caller, and the lock is released all the same.
  Coordinator coordinator = connect();
  const auto throwing = [](Lease&) -> int { throw std::runtime_error("the body's own"); };
  try {
    (void)coordinator.with_lock(key, {}, throwing);
    FAIL() << "the exception was swallowed";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "the body's own");
  }
  EXPECT_TRUE(ok(coordinator.acquire(key, {.wait = 20s})));
  EXPECT_TRUE(eventually([&] { return cluster().keys().empty(); }));
}

TEST_F(WithLock, DoesNotRunTheBodyWhenRefused) {
  // Contended, timed out, cancelled, bad arguments: the body does not run, the result says why.
  Coordinator coordinator = connect();
  for (int node = 0; node < 5; ++node) cluster().plant(node, key);
  int runs = 0;
  const auto body = [&](Lease&) { return ++runs; };
  EXPECT_TRUE(fails_with(coordinator.with_lock(key, {}, body), Errc::contended));
  EXPECT_TRUE(fails_with(coordinator.with_lock(key, {.wait = 50ms}, body), Errc::timed_out));
  std::stop_source stop;
  stop.request_stop();
  EXPECT_TRUE(fails_with(coordinator.with_lock(key, {.wait = forever}, body, stop.get_token()),
                         Errc::cancelled));
  EXPECT_TRUE(fails_with(coordinator.with_lock(key, {.ttl = 0s}, body), Errc::invalid_argument));
  EXPECT_EQ(runs, 0);
}

TEST_F(WithLock, ALossInsideDoesNotThrow) {
  // The keys go away while the body runs: it can see that, and its result is given nevertheless.
  Coordinator coordinator = connect();
  const Result<bool> told = coordinator.with_lock(key, {.ttl = 1500ms}, [&](Lease& lease) {
    EXPECT_TRUE(eventually([&] { return cluster().holders(key) == 5; }));
    for (int node = 0; node < 5; ++node) cluster().plant(node, key);
    const std::stop_token stop = lease.stop_token();
    EXPECT_TRUE(eventually([&] { return stop.stop_requested(); }));
    return !lease.is_valid();
  });
  ASSERT_TRUE(ok(told));
  EXPECT_TRUE(*told);
  EXPECT_EQ(cluster().holders(key, "foreign"), 5);
}

TEST_F(WithLock, TheBodyMayReleaseOrKeepTheLease) {
  // Released early, moved out to be kept, extended: each is the body's right.
  Coordinator coordinator = connect();
  const Result<bool> early =
      coordinator.with_lock(key, {}, [](Lease& lease) { return lease.release().has_value(); });
  EXPECT_TRUE(early && *early);
  const Result<bool> extended = coordinator.with_lock(
      key, {.wait = 20s}, [](Lease& lease) { return lease.extend(20s).has_value(); });
  EXPECT_TRUE(extended && *extended);
  Result<Lease> kept =
      coordinator.with_lock(key, {.wait = 20s}, [](Lease& lease) { return std::move(lease); });
  ASSERT_TRUE(ok(kept));
  EXPECT_TRUE(kept->is_valid());
  EXPECT_TRUE(fails_with(coordinator.acquire(key), Errc::contended));
}

TEST_F(WithLock, Nested) {
  // Two resources, one inside the other.
  Coordinator coordinator = connect();
  const Result<int> sum = coordinator.with_lock(key + "/outer", {}, [&](Lease&) {
    return 1 + coordinator.with_lock(key + "/inner", {}, [](Lease&) { return 2; }).value();
  });
  ASSERT_TRUE(ok(sum));
  EXPECT_EQ(*sum, 3);
}

}  // namespace
}  // namespace quorumlock::test
