#include <atomic>
#include <filesystem>
#include <memory>
#include <thread>
#include <vector>

#include <quorumlock/election.hpp>

#include "integration/fixture.hpp"

namespace quorumlock::test {
namespace {

std::ptrdiff_t entries_of(const char* directory) {
  using Entries = std::filesystem::directory_iterator;
  return std::distance(Entries(directory), Entries());
}

class Close : public FiveNodes {
 protected:
  void expect_closed(Coordinator& coordinator) {
    EXPECT_TRUE(fails_with(coordinator.acquire(key), Errc::closed));
    EXPECT_TRUE(fails_with(coordinator.acquire_all({key}), Errc::closed));
    EXPECT_TRUE(fails_with(coordinator.extend(key, OwnerToken("t"), 1s), Errc::closed));
    EXPECT_TRUE(fails_with(coordinator.release(key, OwnerToken("t")), Errc::closed));
    EXPECT_TRUE(fails_with(coordinator.inspect(key), Errc::closed));
    EXPECT_TRUE(fails_with(coordinator.with_lock(key, {}, [](Lease&) {}), Errc::closed));
    EXPECT_TRUE(fails_with(coordinator.set_nodes(options().nodes), Errc::closed));
    Election election(coordinator, key);
    EXPECT_TRUE(fails_with(election.observe([](const auto&) {}), Errc::closed));
  }
};

TEST_F(Close, EveryLaterCallReturnsClosed) {
  // Each call on a closed coordinator returns Errc::closed, and closing it again does nothing.
  Coordinator coordinator = connect();
  ASSERT_TRUE(ok(coordinator.acquire(key)));
  coordinator.close();
  expect_closed(coordinator);
  Answer<Result<Lease>> answer;
  coordinator.async_acquire(key, {}, {}, answer.handler());
  EXPECT_TRUE(fails_with(answer.get(), Errc::closed));
  EXPECT_EQ(answer.calls(), 1);
  coordinator.close();
  Answer<bool> closed_again;
  coordinator.async_close([tell = closed_again.handler()]() mutable { tell(true); });
  EXPECT_TRUE(closed_again.get());
}

TEST_F(Close, ClosedIsReportedOnNewThreadsToo) {
  // A thread made after the loop's has ended may get its id; its calls return closed nevertheless.
  Coordinator coordinator = connect();
  coordinator.close();
  for (int i = 0; i < 4; ++i) {
    std::thread([&] { expect_closed(coordinator); }).join();
  }
}

TEST_F(Close, AMovedFromCoordinatorIsClosed) {
  // The moved-from coordinator is closed; the one that was moved to works.
  Coordinator first = connect();
  Coordinator second = std::move(first);
  expect_closed(first);
  first.close();
  EXPECT_TRUE(ok(second.acquire(key)));
}

TEST_F(Close, MoveAssignmentClosesTheOldOne) {
  // The assigned-to coordinator ends as if destroyed: its lease is released.
  Coordinator coordinator = connect();
  Result<Lease> lease = coordinator.acquire(key);
  ASSERT_TRUE(ok(lease));
  coordinator = connect();
  EXPECT_FALSE(lease->is_valid());
  EXPECT_TRUE(ok(coordinator.acquire(key, {.wait = 20s})));
}

TEST_F(Close, PendingAcquisitionsEndClosed) {
  // Each handler of fifty waiters of a taken lock is called once, with closed, before close
  // returns.
  Coordinator coordinator = connect();
  for (int node = 0; node < 5; ++node) cluster().plant(node, key);
  std::vector<Answer<Result<Lease>>> answers(50);
  for (auto& answer : answers) {
    coordinator.async_acquire(key, {.wait = forever}, {}, answer.handler());
  }
  coordinator.close();
  for (auto& answer : answers) {
    ASSERT_EQ(answer.calls(), 1);
    EXPECT_TRUE(fails_with(answer.get(), Errc::closed));
  }
}

TEST_F(Close, BlockedThreadsReturnClosed) {
  // Threads that block in acquire() return when another thread closes the coordinator.
  Coordinator coordinator = connect();
  for (int node = 0; node < 5; ++node) cluster().plant(node, key);
  const long long before = cluster().commands(0);
  std::atomic<int> closed{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      if (fails_with(coordinator.acquire(key, {.wait = forever}), Errc::closed)) ++closed;
    });
  }
  EXPECT_TRUE(eventually([&] { return cluster().commands(0) > before + 4; }));
  coordinator.close();
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(closed, 4);
}

TEST_F(Close, HeldLeasesAreReleasedAndTheirHoldersNotified) {
  // The holder's stop token is requested, its lease is invalid, and the keys are gone when close
  // returns.
  Coordinator coordinator = connect();
  Result<Lease> lease = coordinator.acquire(key);
  ASSERT_TRUE(ok(lease));
  const std::stop_token told = lease->stop_token();
  EXPECT_FALSE(told.stop_requested());
  coordinator.close();
  EXPECT_TRUE(told.stop_requested());
  EXPECT_FALSE(lease->is_valid());
  EXPECT_EQ(lease->remaining(), 0s);
  EXPECT_TRUE(cluster().keys().empty());
}

TEST_F(Close, LeasesOutliveTheirCoordinator) {
  // A lease may be used and destroyed after its coordinator: it reports that it is over.
  Lease lease;
  {
    Coordinator coordinator = connect();
    lease = coordinator.acquire(key).value();
  }
  EXPECT_FALSE(lease.is_valid());
  EXPECT_EQ(lease.resource(), key);
  EXPECT_TRUE(lease.owner_token().text().ends_with("@" + default_label()));
  EXPECT_EQ(lease.outcome().votes.size(), 5U);
  EXPECT_TRUE(lease.stop_token().stop_requested());
  EXPECT_TRUE(fails_with(lease.extend(10s), Errc::closed));
  EXPECT_FALSE(lease.release().has_value());
  EXPECT_TRUE(cluster().keys().empty());
}

TEST_F(Close, ReleasesInTheBackgroundAreCompleted) {
  // A lease destroyed just before the coordinator is still released on all nodes.
  for (int i = 0; i < 20; ++i) {
    Coordinator coordinator = connect();
    { const Result<Lease> lease = coordinator.acquire(key, {.wait = 20s}); }
    coordinator.close();
    ASSERT_TRUE(cluster().keys().empty());
  }
}

TEST_F(Close, AnswersCallsThatTheNodesDoNot) {
  // Extend, release, release by token and inspect are waiting for silent nodes when the coordinator
  // is closed: each handler is called once, and each blocked thread returns.
  Options impatient = options();
  impatient.node_timeout = 200ms;
  Coordinator coordinator = test::connect(impatient);
  warm(coordinator);
  Lease extending = coordinator.acquire(key + "/extending").value();
  Lease releasing = coordinator.acquire(key + "/releasing").value();
  for (int node = 0; node < 5; ++node) cluster().pause(node);
  Answer<Result<void>> extended;
  Answer<Result<void>> released;
  extending.async_extend(20s, extended.handler());
  releasing.async_release(released.handler());
  std::thread by_token(
      [&] { EXPECT_FALSE(coordinator.release(key + "/token", OwnerToken("t")).has_value()); });
  std::thread looking([&] { (void)coordinator.inspect(key); });
  coordinator.close();
  by_token.join();
  looking.join();
  EXPECT_FALSE(extended.get().has_value());
  EXPECT_FALSE(released.get().has_value());
  EXPECT_EQ(extended.calls(), 1);
  EXPECT_EQ(released.calls(), 1);
}

TEST_F(Close, CallsThatComeWhileItWaitsAreClosedToo) {
  // The nodes are silent, so that the release of the lease keeps the loop.
  Options options = this->options();
  options.node_timeout = 2s;
  Coordinator coordinator = test::connect(options);
  const Result<Lease> lease = coordinator.acquire(key);
  ASSERT_TRUE(ok(lease));
  for (int node = 0; node < 5; ++node) cluster().pause(node);
  Answer<bool> closed;
  coordinator.async_close([tell = closed.handler()]() mutable { tell(true); });
  EXPECT_TRUE(fails_with(coordinator.status(), Errc::closed));
  expect_closed(coordinator);
  for (int node = 0; node < 5; ++node) cluster().resume(node);
  EXPECT_TRUE(closed.get());
}

TEST_F(Close, EndsEveryCallInTheMiddleOfTraffic) {
  // Eight threads lock and unlock while the coordinator is closed: each ends with closed, none
  // hangs, and no key is left.
  for (int round = 0; round < 5; ++round) {
    Coordinator coordinator = connect();
    std::atomic<int> running{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        for (;;) {
          Result<Lease> lease = coordinator.acquire(key + std::to_string(t % 4), {.wait = 20s});
          ++running;
          if (lease) continue;
          EXPECT_TRUE(fails_with(lease, Errc::closed));
          return;
        }
      });
    }
    EXPECT_TRUE(eventually([&] { return running > 20; }));
    coordinator.close();
    for (auto& thread : threads) thread.join();
    EXPECT_TRUE(eventually([&] { return cluster().keys().empty(); }));
  }
}

TEST_F(Close, MayBeCalledBySeveralThreadsAtOnce) {
  // All threads that close at the same time return once the coordinator is closed.
  Coordinator coordinator = connect();
  ASSERT_TRUE(ok(coordinator.acquire(key)));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) threads.emplace_back([&] { coordinator.close(); });
  for (auto& thread : threads) thread.join();
  expect_closed(coordinator);
}

TEST_F(Close, ItsHandlerIsTheLastOfAll) {
  // Ten waiters and a lease with an extend in flight all get answers before async_close's handler
  // runs.
  Coordinator coordinator = connect();
  Result<Lease> lease = coordinator.acquire(key);
  ASSERT_TRUE(ok(lease));
  std::atomic<int> answered{0};
  for (int i = 0; i < 10; ++i) {
    coordinator.async_acquire(key, {.wait = forever}, {},
                              [&](const Result<Lease>&) { ++answered; });
  }
  lease->async_extend(20s, [&](const Result<void>&) { ++answered; });
  Answer<int> closed;
  coordinator.async_close([&, tell = closed.handler()]() mutable { tell(answered.load()); });
  EXPECT_EQ(closed.get(), 11);
}

TEST_F(Close, OnlyBeginsOnItsOwnLoop) {
  // In a handler close() only begins: the handler goes on, later calls return closed, and the
  // destructor waits for the end.
  Answer<bool> inside;
  Coordinator coordinator = connect();
  coordinator.async_acquire(key, {}, {},
                            [&, tell = inside.handler()](const Result<Lease>&) mutable {
                              coordinator.close();
                              tell(true);
                            });
  EXPECT_TRUE(inside.get());
  EXPECT_TRUE(fails_with(coordinator.acquire(key), Errc::closed));
}

TEST_F(Close, ACoordinatorMayBeDestroyedInItsOwnHandler) {
  // The last owner may be a handler on the loop: the loop then ends itself.
  auto coordinator = std::make_unique<Coordinator>(connect());
  Coordinator& still = *coordinator;
  Answer<bool> gone;
  still.async_acquire(
      key, {}, {},
      [owned = std::move(coordinator), tell = gone.handler()](const Result<Lease>&) mutable {
        owned.reset();
        tell(true);
      });
  EXPECT_TRUE(gone.get());
  EXPECT_TRUE(eventually([&] { return cluster().keys().empty(); }));
}

TEST_F(Close, DoesNotWaitLongForDeadNodes) {
  // With nodes dead and silent, close stops waiting for answers after node_timeout.
  Options impatient = options();
  impatient.node_timeout = 200ms;
  impatient.connect_timeout = 60s;
  Coordinator coordinator = test::connect(impatient);
  Result<Lease> lease = coordinator.acquire(key);
  ASSERT_TRUE(ok(lease));
  cluster().kill(0);
  cluster().pause(1);
  const Clock::time_point before = Clock::now();
  coordinator.close();
  EXPECT_LT(Clock::now() - before, 30s);
  EXPECT_FALSE(lease->is_valid());
}

TEST_F(Close, LeavesNothingBeforeAnyConnectionStands) {
  // The coordinator is created and closed at once, with all nodes silent: nothing hangs or is left.
  for (int node = 0; node < 5; ++node) cluster().pause(node);
  Options impatient = options();
  impatient.node_timeout = 200ms;
  impatient.connect_timeout = 60s;
  Answer<Result<Lease>> answer;
  const Clock::time_point before = Clock::now();
  {
    Coordinator coordinator = test::connect(impatient);
    coordinator.async_acquire(key, {.wait = forever}, {}, answer.handler());
  }
  EXPECT_LT(Clock::now() - before, 30s);
  EXPECT_TRUE(fails_with(answer.get(), Errc::closed));
  EXPECT_EQ(answer.calls(), 1);
}

TEST_F(Close, LeaksNeitherDescriptorsNorThreads) {
  // After a hundred coordinators the process has as many descriptors and threads as before.
  const auto cycle = [&] {
    Coordinator coordinator = connect();
    Result<Lease> lease = coordinator.acquire(key, {.wait = 20s});
    EXPECT_TRUE(ok(lease));
    lease->detach();
    EXPECT_TRUE(ok(coordinator.release(key, OwnerToken(lease->owner_token()))));
  };
  cycle();
  const auto descriptors = entries_of("/proc/self/fd");
  const auto threads = entries_of("/proc/self/task");
  for (int i = 0; i < 100; ++i) cycle();
  EXPECT_EQ(entries_of("/proc/self/fd"), descriptors);
  EXPECT_TRUE(eventually([&] { return entries_of("/proc/self/task") <= threads; }));
}

}  // namespace
}  // namespace quorumlock::test
