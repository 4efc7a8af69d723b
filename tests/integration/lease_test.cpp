#include <atomic>
#include <semaphore>
#include <thread>
#include <vector>

#include "integration/fixture.hpp"

namespace quorumlock::test {
namespace {

class Leases : public FiveNodes {
 protected:
  /// Returns once every node has executed all earlier commands of the coordinator.
  void see_all_executed(Coordinator& coordinator) {
    Result<Lease> marker = coordinator.acquire(key + "/marker", {.wait = 20s});
    ASSERT_TRUE(ok(marker));
    ASSERT_TRUE(
        eventually([&] { return cluster().holders(key + "/marker", marker->owner_token()) == 5; }));
  }
};

TEST_F(Leases, AnEmptyLeaseHoldsNothing) {
  // A default-constructed lease is not valid and cannot be extended, released or detached.
  Lease lease;
  EXPECT_FALSE(lease.is_valid());
  EXPECT_EQ(lease.remaining(), 0s);
  EXPECT_EQ(lease.resource(), "");
  EXPECT_EQ(lease.owner_token(), "");
  EXPECT_EQ(lease.fencing_token(), 0U);
  EXPECT_TRUE(lease.resources().empty());
  EXPECT_TRUE(fails_with(lease.release(), Errc::not_held));
  EXPECT_TRUE(fails_with(lease.extend(1s), Errc::not_held));
  lease.detach();
}

TEST_F(Leases, MoveWithTheLock) {
  // The lock goes with the move; the moved-from lease holds nothing and releases nothing.
  Coordinator coordinator = connect();
  Lease first = coordinator.acquire(key).value();
  {
    Lease second = std::move(first);
    EXPECT_FALSE(first.is_valid());
    EXPECT_TRUE(fails_with(first.release(), Errc::not_held));
    EXPECT_TRUE(second.is_valid());
    first = std::move(second);
  }
  EXPECT_TRUE(first.is_valid());
  EXPECT_TRUE(fails_with(coordinator.acquire(key), Errc::contended));
  Lease& same = first;
  first = std::move(same);
  EXPECT_TRUE(first.is_valid());
}

TEST_F(Leases, AssignmentReleasesTheOldLock) {
  // A lease that another one is assigned to releases its own lock in the background.
  Coordinator coordinator = connect();
  Lease lease = coordinator.acquire(key + "/old").value();
  lease = coordinator.acquire(key + "/new").value();
  EXPECT_EQ(lease.resource(), key + "/new");
  EXPECT_TRUE(eventually([&] { return cluster().holders(key + "/old") == 0; }));
  EXPECT_TRUE(lease.is_valid());
}

TEST_F(Leases, DestructionReleasesInTheBackground) {
  // A lease that goes out of scope is released on all nodes, and the next acquire gets the lock.
  Coordinator coordinator = connect();
  Coordinator other = connect();
  { const Result<Lease> lease = coordinator.acquire(key); }
  EXPECT_TRUE(ok(other.acquire(key, {.wait = 20s})));
  EXPECT_TRUE(eventually([&] { return cluster().keys().empty(); }));
}

TEST_F(Leases, AreDestroyedWithoutBlocking) {
  // Destroying a lease does not wait for silent nodes; they run the release when they go on.
  Coordinator coordinator = connect();
  {
    const Result<Lease> lease = coordinator.acquire(key);
    ASSERT_TRUE(ok(lease));
    ASSERT_TRUE(eventually([&] { return cluster().holders(key) == 5; }));
    for (int node = 0; node < 5; ++node) cluster().pause(node);
  }
  for (int node = 0; node < 5; ++node) cluster().resume(node);
  EXPECT_TRUE(eventually([&] { return cluster().keys().empty(); }));
}

TEST_F(Leases, ASecondReleaseHasNothingToDo) {
  // The second release has nothing to do, reports that, and leaves the next holder's keys alone.
  Coordinator coordinator = connect();
  Lease lease = coordinator.acquire(key).value();
  EXPECT_TRUE(ok(lease.release()));
  const Lease next = coordinator.acquire(key, {.wait = 20s}).value();
  EXPECT_TRUE(fails_with(lease.release(), Errc::not_held));
  EXPECT_TRUE(next.is_valid());
  EXPECT_TRUE(eventually([&] { return cluster().holders(key, next.owner_token()) == 5; }));
}

TEST_F(Leases, AReleaseAfterTheEndReportsExpired) {
  // The ttl has passed and another has the lock: release reports expired and touches nothing.
  Coordinator coordinator = connect();
  Coordinator other = connect();
  Lease lease = coordinator.acquire(key, {.ttl = 500ms, .wait = 20s, .auto_extend = false}).value();
  const Lease next = other.acquire(key, {.wait = forever}).value();
  EXPECT_FALSE(lease.is_valid());
  EXPECT_TRUE(fails_with(lease.release(), Errc::expired));
  see_all_executed(coordinator);
  EXPECT_TRUE(eventually([&] { return cluster().holders(key, next.owner_token()) >= 3; }));
  EXPECT_TRUE(next.is_valid());
}

TEST_F(Leases, AReleaseReportsThatAThirdPartyTookTheKeys) {
  // The keys were removed and taken by another while the lease seemed valid: release reports a
  // loss.
  Coordinator coordinator = connect();
  Lease lease = coordinator.acquire(key, {.ttl = 20s}).value();
  ASSERT_TRUE(eventually([&] { return cluster().holders(key) == 5; }));
  for (int node = 0; node < 5; ++node) cluster().plant(node, key);
  EXPECT_TRUE(fails_with(lease.release(), Errc::lost));
  EXPECT_FALSE(lease.is_valid());
  EXPECT_EQ(cluster().holders(key, "foreign"), 5);
}

TEST_F(Leases, AreOverAtOnceWhenReleased) {
  // As soon as release is called no thread sees a valid lease, answered or not, and the stop token
  // is requested.
  Coordinator coordinator = connect();
  Lease lease = coordinator.acquire(key).value();
  const std::stop_token stop = lease.stop_token();
  for (int node = 0; node < 5; ++node) cluster().pause(node);
  Answer<Result<void>> answer;
  lease.async_release(answer.handler());
  EXPECT_FALSE(lease.is_valid());
  EXPECT_EQ(lease.remaining(), 0s);
  EXPECT_EQ(answer.calls(), 0);
  for (int node = 0; node < 5; ++node) cluster().resume(node);
  EXPECT_TRUE(ok(answer.get()));
  EXPECT_TRUE(stop.stop_requested());
  EXPECT_FALSE(lease.is_valid());
}

TEST_F(Leases, MayBeReleasedAndDestroyedAtOnce) {
  // The lease goes out of scope while its release is in flight: the handler is called once.
  Coordinator coordinator = connect();
  Answer<Result<void>> answer;
  {
    Lease lease = coordinator.acquire(key).value();
    lease.async_release(answer.handler());
  }
  EXPECT_TRUE(ok(answer.get()));
  coordinator.close();
  EXPECT_EQ(answer.calls(), 1);
  EXPECT_TRUE(cluster().keys().empty());
}

TEST_F(Leases, AReleaseBeatsARenewal) {
  // An extend and a release are sent back to back, fifty times: the key is always gone in the end.
  Coordinator coordinator = connect();
  for (int i = 0; i < 50; ++i) {
    Lease lease = coordinator.acquire(key, {.wait = 20s}).value();
    Answer<Result<void>> extended;
    Answer<Result<void>> released;
    lease.async_extend(20s, extended.handler());
    lease.async_release(released.handler());
    EXPECT_TRUE(ok(released.get()));
    (void)extended.get();
    EXPECT_EQ(extended.calls(), 1);
    EXPECT_FALSE(lease.is_valid());
  }
  see_all_executed(coordinator);
  EXPECT_EQ(cluster().holders(key), 0);
}

TEST_F(Leases, AReleaseSucceedsBeforeARenewalsAnswersAreRead) {
  // The nodes have renewed, but when the holder releases, the loop is in a handler and has not read
  // their answers. The release succeeds: the lease has not expired.
  Coordinator coordinator = connect();
  warm(coordinator);
  Lease lease = coordinator.acquire(key).value();
  ASSERT_TRUE(eventually([&] { return cluster().holders(key) == 5; }));
  // The two replies arrive together: the handler of the first runs before the second is read.
  for (int node = 0; node < 5; ++node) cluster().pause(node);
  std::binary_semaphore busy(0);
  std::binary_semaphore go_on(0);
  coordinator.async_acquire(key + "/busy", {}, {}, [&](const Result<Lease>&) {
    busy.release();
    go_on.acquire();
  });
  Answer<Result<void>> extended;
  lease.async_extend(30s, extended.handler());
  for (int turn = 0; turn < 3; ++turn) {  // after these, both have been written
    Answer<Result<Lease>> refused;
    coordinator.async_acquire(key, {.ttl = -1s}, {}, refused.handler());
    EXPECT_TRUE(fails_with(refused.get(), Errc::invalid_argument));
  }
  for (int node = 0; node < 5; ++node) cluster().resume(node);
  busy.acquire();
  Answer<Result<void>> released;
  lease.async_release(released.handler());
  go_on.release();
  EXPECT_TRUE(ok(released.get()));
  (void)extended.get();
  EXPECT_TRUE(eventually([&] { return cluster().keys().empty(); }));
}

TEST_F(Leases, DetachedLeasesRunOut) {
  // detach() leaves the keys to their expiry: they are not renewed, and the destructor does not
  // release them.
  Coordinator coordinator = connect();
  {
    Lease lease = coordinator.acquire(key, {.ttl = 1s, .wait = 20s}).value();
    ASSERT_TRUE(eventually([&] { return cluster().holders(key) == 5; }));
    lease.detach();
    EXPECT_TRUE(lease.is_valid());
  }
  see_all_executed(coordinator);
  EXPECT_EQ(cluster().holders(key), 5);
  EXPECT_TRUE(eventually([&] { return cluster().holders(key) == 0; }));
}

TEST_F(Leases, DetachedLeasesAreStillWatched) {
  // A detached lease that is kept stays valid to its end, requests its stop token in time, and may
  // still be released.
  Options early = options();
  early.stop_margin = 1s;
  Coordinator coordinator = test::connect(early);
  Lease kept = coordinator.acquire(key + "/kept", {.ttl = 1500ms, .wait = 20s}).value();
  kept.detach();
  const Clock::time_point end = kept.valid_until();
  const std::stop_token stop = kept.stop_token();
  EXPECT_TRUE(eventually([&] { return stop.stop_requested(); }));
  EXPECT_TRUE(eventually([&] { return !kept.is_valid(); }));
  EXPECT_EQ(kept.valid_until(), end);
  Lease released = coordinator.acquire(key + "/released").value();
  released.detach();
  EXPECT_TRUE(ok(released.release()));
  EXPECT_TRUE(eventually([&] { return cluster().holders(key + "/released") == 0; }));
}

TEST_F(Leases, AreReadFromAnyThread) {
  // Four threads read a lease while it is extended and released; none sees it become valid again.
  Coordinator coordinator = connect();
  Lease lease = coordinator.acquire(key).value();
  std::atomic<bool> over{false};
  std::atomic<int> revived{0};
  std::atomic<int> looks{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back([&] {
      bool ended = false;
      while (!over) {
        const bool valid = lease.is_valid();
        if (ended && (valid || lease.remaining() > 0s)) ++revived;
        ended = ended || !valid;
        (void)lease.valid_until();
        (void)lease.stop_token();
        (void)lease.owner_token();
        (void)lease.resource();
        ++looks;
      }
    });
  }
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(ok(lease.extend(10s)));
  EXPECT_TRUE(ok(lease.release()));
  const int before = looks;
  EXPECT_TRUE(eventually([&] { return looks > before + 8; }));
  over = true;
  for (auto& reader : readers) reader.join();
  EXPECT_EQ(revived, 0);
}

}  // namespace
}  // namespace quorumlock::test
