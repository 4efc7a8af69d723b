#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "integration/fixture.hpp"

namespace quorumlock::test {
namespace {

class Async : public FiveNodes {};

TEST_F(Async, HandlersRunOnTheLoopAndOnce) {
  // Every handler of a coordinator is called once, and all on one thread, which is not the test's.
  Coordinator coordinator = connect();
  std::vector<Answer<Result<Lease>>> answers(20);
  std::set<std::thread::id> threads;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    coordinator.async_acquire(key + std::to_string(i % 10), {}, {}, answers[i].handler());
  }
  for (auto& answer : answers) {
    (void)answer.get();
    threads.insert(answer.thread());
  }
  EXPECT_EQ(threads.size(), 1U);
  EXPECT_FALSE(threads.contains(std::this_thread::get_id()));
  coordinator.close();
  for (auto& answer : answers) EXPECT_EQ(answer.calls(), 1);
}

TEST_F(Async, HandlersNeverRunInsideTheCall) {
  // Even on the loop itself a handler runs only after the call that took it has returned: for a
  // free lock, bad arguments, a stop token already requested, extend and release.
  Coordinator coordinator = connect();
  Result<Lease> lease = coordinator.acquire(key);
  ASSERT_TRUE(ok(lease));
  std::stop_source stopped;
  stopped.request_stop();
  std::atomic<int> called{0};
  std::atomic<int> within{0};
  on_loop(coordinator, [&] {
    coordinator.async_acquire(key + "/free", {}, {}, [&](const Result<Lease>&) { ++called; });
    coordinator.async_acquire(key, {.ttl = -1s}, {}, [&](const Result<Lease>&) { ++called; });
    coordinator.async_acquire(key, {}, stopped.get_token(),
                              [&](const Result<Lease>&) { ++called; });
    coordinator.async_acquire_all({}, {}, {}, [&](const Result<Lease>&) { ++called; });
    lease->async_extend(0s, [&](const Result<void>&) { ++called; });
    lease->async_extend(10s, [&](const Result<void>&) { ++called; });
    lease->async_release([&](const Result<void>&) { ++called; });
    lease->async_release([&](const Result<void>&) { ++called; });
    within = called.load();
  });
  EXPECT_TRUE(eventually([&] { return called == 8; }));
  EXPECT_EQ(within, 0);
  coordinator.close();
  EXPECT_EQ(called, 8);
}

TEST_F(Async, HandlersMayBeMoveOnlyAndLarge) {
  // One handler owns something, another is larger than any small buffer.
  Coordinator coordinator = connect();
  Answer<int> small;
  Answer<int> large;
  coordinator.async_acquire(key, {}, {},
                            [owned = std::make_unique<int>(7), tell = small.handler()](
                                const Result<Lease>& lease) mutable { tell(lease ? *owned : -1); });
  EXPECT_EQ(small.get(), 7);
  std::array<int, 100> numbers{};
  numbers.back() = 9;
  coordinator.async_acquire(
      key, {.wait = 20s}, {},
      [numbers, owned = std::make_unique<int>(1), tell = large.handler()](
          const Result<Lease>& lease) mutable { tell(lease ? numbers.back() + *owned : -1); });
  EXPECT_EQ(large.get(), 10);
}

TEST_F(Async, AHandlerIsGoneAfterItsCall) {
  // A handler is destroyed after it has run, whether the lock was granted or not.
  Coordinator coordinator = connect();
  const auto watched = std::make_shared<std::atomic<int>>(0);
  for (const auto& options : {LockOptions{}, LockOptions{.ttl = -1s}}) {
    coordinator.async_acquire(key, options, {}, [watched](const Result<Lease>&) { ++*watched; });
  }
  EXPECT_TRUE(eventually([&] { return watched.use_count() == 1; }));
  EXPECT_EQ(*watched, 2);
}

TEST_F(Async, HandlersMayMakeFurtherCalls) {
  // Two hundred locks form a chain: each is acquired in the handler of the release before it.
  Coordinator coordinator = connect();
  Answer<int> done;
  struct Chain {
    Coordinator& coordinator;
    std::string key;
    std::function<void(int)> end;
    Lease lease{};
    int links = 0;
    void next() {
      coordinator.async_acquire(key, {.wait = 20s}, {}, [this](Result<Lease> result) {
        if (!result) return end(-1);
        lease = std::move(*result);
        lease.async_release([this](const Result<void>& released) {
          if (!released) return end(-2);
          ++links == 200 ? end(links) : next();
        });
      });
    }
  } chain{coordinator, key, done.handler()};
  chain.next();
  EXPECT_EQ(done.get(), 200);
}

TEST_F(Async, CallsMayComeFromManyThreads) {
  // Eight threads use one coordinator at the same time, with blocking and asynchronous calls.
  Coordinator coordinator = connect();
  std::atomic<int> locked{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      const std::string mine = key + std::to_string(t);
      for (int i = 0; i < 25; ++i) {
        Result<Lease> lease = coordinator.acquire(mine, {.wait = 20s});
        if (lease && lease->release()) ++locked;
        Answer<Result<Lease>> answer;
        coordinator.async_acquire(mine, {.wait = 20s}, {}, answer.handler());
        if (answer.get()) ++locked;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(locked, 8 * 50);
}

TEST_F(Async, ExtendAndReleaseTakeHandlers) {
  // The asynchronous forms do what the blocking ones do.
  Coordinator coordinator = connect();
  Result<Lease> lease = coordinator.acquire(key, {.ttl = 5s});
  ASSERT_TRUE(ok(lease));
  Answer<Result<void>> extended;
  lease->async_extend(20s, extended.handler());
  EXPECT_TRUE(ok(extended.get()));
  EXPECT_GT(lease->remaining(), 10s);
  Answer<Result<void>> released;
  lease->async_release(released.handler());
  EXPECT_FALSE(lease->is_valid());
  EXPECT_TRUE(ok(released.get()));
  EXPECT_TRUE(eventually([&] { return cluster().keys().empty(); }));
}

TEST_F(Async, BlockingCallsOnTheLoopWouldDeadlock) {
  // Every call that would wait for its own thread is refused at once.
  Coordinator coordinator = connect();
  Result<Lease> lease = coordinator.acquire(key);
  ASSERT_TRUE(ok(lease));
  on_loop(coordinator, [&] {
    EXPECT_TRUE(fails_with(coordinator.acquire("x"), Errc::would_deadlock));
    EXPECT_TRUE(fails_with(coordinator.acquire_all({"x"}), Errc::would_deadlock));
    EXPECT_TRUE(fails_with(coordinator.extend("x", OwnerToken("t"), 1s), Errc::would_deadlock));
    EXPECT_TRUE(fails_with(coordinator.release("x", OwnerToken("t")), Errc::would_deadlock));
    EXPECT_TRUE(fails_with(coordinator.inspect("x"), Errc::would_deadlock));
    EXPECT_TRUE(fails_with(coordinator.with_lock("x", {}, [](Lease&) {}), Errc::would_deadlock));
    EXPECT_TRUE(fails_with(lease->extend(10s), Errc::would_deadlock));
    EXPECT_TRUE(fails_with(lease->release(), Errc::would_deadlock));
  });
  EXPECT_TRUE(lease->is_valid());
  EXPECT_TRUE(ok(lease->release()));
}

TEST_F(Async, AnotherCoordinatorsLoopMayBlock) {
  // A loop refuses only its own coordinator's blocking calls: with a second one the call works.
  Coordinator coordinator = connect();
  Coordinator second = connect();
  on_loop(coordinator, [&] { EXPECT_TRUE(ok(second.acquire(key))); });
}

}  // namespace
}  // namespace quorumlock::test
