#include <functional>
#include <memory>
#include <stdexcept>

#include "integration/fixture.hpp"

namespace quorumlock::test {
namespace {

class WithLock : public FiveNodes {};

TEST_F(WithLock, ReturnsWhatTheBodyReturns) {
  // A value, a move-only value and void are returned; the lock is free afterwards.
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
  // The body's exception goes on to the caller, and the lock is still released.
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
  // If contended, timed out, cancelled or given bad arguments, the body does not run, and the
  // result has the reason.
  Coordinator coordinator = connect();
  for (int node = 0; node < 5; ++node) cluster().plant(node, key);
  int runs = 0;
  const auto body = [&](Lease&) { return ++runs; };
  EXPECT_TRUE(fails_with(coordinator.with_lock(key, {}, body), Errc::contended));
  EXPECT_TRUE(fails_with(coordinator.with_lock(key, {.wait = 1s}, body), Errc::timed_out));
  std::stop_source stop;
  stop.request_stop();
  EXPECT_TRUE(fails_with(coordinator.with_lock(key, {.wait = forever}, stop.get_token(), body),
                         Errc::cancelled));
  EXPECT_TRUE(fails_with(coordinator.with_lock(key, {.ttl = 0s}, body), Errc::invalid_argument));
  EXPECT_EQ(runs, 0);
}

TEST_F(WithLock, ALossInsideIsTheResult) {
  // The keys are removed while the body runs: it can see that, and its return value is dropped.
  Coordinator coordinator = connect();
  std::weak_ptr<int> given;
  bool seen = false;
  const Result<std::shared_ptr<int>> lost =
      coordinator.with_lock(key, {.ttl = 1500ms}, [&](Lease& lease) {
        EXPECT_TRUE(eventually([&] { return cluster().holders(key) == 5; }));
        for (int node = 0; node < 5; ++node) cluster().plant(node, key);
        const std::stop_token stop = lease.stop_token();
        EXPECT_TRUE(eventually([&] { return stop.stop_requested() && !lease.is_valid(); }));
        seen = true;
        auto value = std::make_shared<int>(7);
        given = value;
        return value;
      });
  EXPECT_TRUE(fails_with(lost, Errc::lost));
  EXPECT_TRUE(seen);
  EXPECT_TRUE(given.expired());
  EXPECT_EQ(cluster().holders(key, "foreign"), 5);
}

TEST_F(WithLock, ALossThatOnlyTheNodesHaveSeenIsTheResult) {
  // An unnoticed loss is the result too, even of a body that returns void or a Result.
  Coordinator coordinator = connect();
  const auto lose = [&](Lease& lease) {
    EXPECT_TRUE(eventually([&] { return cluster().holders(key, lease.owner_token()) == 5; }));
    for (int node = 0; node < 5; ++node) cluster().plant(node, key);
    EXPECT_TRUE(lease.is_valid());
  };
  EXPECT_TRUE(fails_with(coordinator.with_lock(key, {.ttl = 30s}, lose), Errc::lost));
  cluster().heal();
  const Result<int> lost = coordinator.with_lock(key, {.ttl = 30s}, [&](Lease& lease) {
    lose(lease);
    return Result<int>(3);
  });
  EXPECT_TRUE(fails_with(lost, Errc::lost));
}

TEST_F(WithLock, ALeaseThatRunsOutInsideIsTheResult) {
  // The lease is not renewed, and the body takes longer than it lasts.
  Coordinator coordinator = connect();
  const Result<void> lost = coordinator.with_lock(
      key, {.ttl = 300ms, .wait = 20s, .auto_extend = false},
      [](Lease& lease) { EXPECT_TRUE(eventually([&] { return !lease.is_valid(); })); });
  EXPECT_TRUE(fails_with(lost, Errc::lost));
}

TEST_F(WithLock, AResultAndAReferenceArePassedOn) {
  // A Result is not wrapped in another one, and a reference refers to the same object.
  Coordinator coordinator = connect();
  const Result<std::string> text = coordinator.with_lock(
      key, {}, [](Lease&) -> Result<std::string> { return std::string("text"); });
  ASSERT_TRUE(ok(text));
  EXPECT_EQ(*text, "text");
  const Result<std::string> error = coordinator.with_lock(
      key, {.wait = 20s},
      [](Lease&) -> Result<std::string> { return Error(Errc::not_held, "the body's own"); });
  EXPECT_TRUE(fails_with(error, Errc::not_held));
  EXPECT_STREQ(error.error().what(), "the body's own");
  const Result<void> nothing =
      coordinator.with_lock(key, {.wait = 20s}, [](Lease&) { return Result<void>(); });
  EXPECT_TRUE(ok(nothing));
  int number = 1;
  Result<std::reference_wrapper<int>> same =
      coordinator.with_lock(key, {.wait = 20s}, [&](Lease&) -> int& { return number; });
  ASSERT_TRUE(ok(same));
  same->get() = 2;
  EXPECT_EQ(number, 2);
  const int& constant = number;
  const Result<std::reference_wrapper<const int>> read =
      coordinator.with_lock(key, {.wait = 20s}, [&](Lease&) -> const int& { return constant; });
  ASSERT_TRUE(ok(read));
  EXPECT_EQ(&read->get(), &number);
}

TEST_F(WithLock, TheBodyMayReleaseOrKeepTheLease) {
  // The body may release the lease early, move it out to keep it, or extend it.
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

TEST_F(WithLock, MayBeNested) {
  // One lock is taken within another.
  Coordinator coordinator = connect();
  const Result<int> sum = coordinator.with_lock(key + "/outer", {}, [&](Lease&) {
    return 1 + coordinator.with_lock(key + "/inner", {}, [](Lease&) { return 2; }).value();
  });
  ASSERT_TRUE(ok(sum));
  EXPECT_EQ(*sum, 3);
}

}  // namespace
}  // namespace quorumlock::test
