#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "with_asio/fixture.hpp"

namespace quorumlock::test {
namespace {

class End : public WithAsio {
 protected:
  bool nothing_is_held() {
    return eventually([&] { return cluster().holders(key) == 0 && waiting(key) == 0; });
  }
  Coordinator coordinator = connect();
};

TEST_F(End, DestroyingTheContextTakesAWaitingAcquisitionBack) {
  // The handler is destroyed with the context, without a call, and the request leaves the line.
  const Lease held = coordinator.acquire(key, {.wait = 20s}).value();
  const auto alive = std::make_shared<int>();
  {
    net::io_context context;
    async_acquire(coordinator, key, {.wait = forever},
                  net::bind_executor(context, [alive](AsioCode, const Lease&) {
                    ADD_FAILURE() << "the handler of a context that is gone was called";
                  }));
    ASSERT_TRUE(eventually([&] { return waiting(key) == 1; }));
    EXPECT_EQ(alive.use_count(), 2);
  }
  EXPECT_EQ(alive.use_count(), 1);
  EXPECT_TRUE(eventually([&] { return waiting(key) == 0; }));
}

TEST_F(End, ALeaseInAStoppedContextIsReleasedWithIt) {
  // The lock is granted after the context was stopped. Its handler waits for a restart, and if the
  // context is destroyed instead, the lease is released.
  for (const bool restarted : {true, false}) {
    net::io_context context;
    bool called = false;
    context.stop();
    async_acquire(coordinator, key, {.wait = 20s},
                  net::bind_executor(context, [&](AsioCode code, const Lease& lease) {
                    called = !code && lease.is_valid();
                  }));
    ASSERT_TRUE(eventually([&] { return cluster().holders(key) == 5; }));
    if (restarted) {
      context.restart();
      context.run();
    }
    EXPECT_EQ(called, restarted);
    EXPECT_TRUE(restarted || cluster().holders(key) == 5);
  }
  EXPECT_TRUE(nothing_is_held());
}

TEST_F(End, AContextMayBeDestroyedWhileALockIsGranted) {
  // The context goes at any moment of 200 acquisitions; the library's thread may be about to post.
  for (int i = 0; i < 200; ++i) {
    const auto alive = std::make_shared<int>();
    {
      net::io_context context;
      async_acquire(
          coordinator, key, {.wait = 20s},
          net::bind_executor(context, [alive](AsioCode, const Lease&) { ADD_FAILURE(); }));
      for (int turn = 0; turn < i; ++turn) std::this_thread::yield();
    }
    EXPECT_EQ(alive.use_count(), 1);
  }
  EXPECT_TRUE(nothing_is_held());
}

TEST_F(End, AStrandOfADestroyedContextIsNotPostedTo) {
  // The executor is type-erased and has a strand in it, and still belongs to the context.
  {
    net::io_context context;
    const net::any_io_executor executor = net::make_strand(context);
    async_acquire(coordinator, key, {.wait = 20s},
                  net::bind_executor(executor, [](AsioCode, const Lease&) { ADD_FAILURE(); }));
  }
  EXPECT_TRUE(nothing_is_held());
}

net::awaitable<void> work(Coordinator& coordinator, std::string key, bool& done) {
  Lease lease = co_await async_acquire(coordinator, key, {.wait = 20s}, net::use_awaitable);
  co_await async_extend(lease, 20s, net::use_awaitable);
  co_await async_downgrade(lease, net::use_awaitable);
  co_await async_release(lease, net::use_awaitable);
  done = true;
}

TEST_F(End, ACoroutineMayBeDestroyedAtEveryStage) {
  // The coroutine is destroyed with its context after each number of handlers, until it finishes.
  bool done = false;
  for (int handlers = 0; !done; ++handlers) {
    ASSERT_LT(handlers, 100);
    {
      net::io_context context;
      net::co_spawn(context, work(coordinator, key, done), net::detached);
      for (int ran = 0; ran < handlers && !done; ++ran) context.run_one();
    }
    ASSERT_TRUE(nothing_is_held()) << "after " << handlers << " handlers";
  }
}

TEST_F(End, ALockOfARecursiveMutexThatNoHandlerGetsIsUndone) {
  // The lock is granted in a context that never runs, and in one that is gone before the grant.
  RecursiveMutex mutex(coordinator, key);
  const LockOwner owner;
  for (const bool granted : {true, false}) {
    {
      net::io_context context;
      async_lock(mutex, owner, net::bind_executor(context, [](AsioCode) { ADD_FAILURE(); }));
      if (granted) {
        ASSERT_TRUE(eventually([&] { return cluster().holders(key) == 5; }));
        ASSERT_TRUE(eventually([&] { return mutex.depth(owner) == 1; }));
      }
    }
    EXPECT_TRUE(eventually([&] { return mutex.depth(owner) == 0; }));
    EXPECT_TRUE(nothing_is_held());
  }
}

TEST_F(End, ACoordinatorMayBeDestroyedBeforeTheHandlerRuns) {
  // The operation ends as closed, in the context.
  net::io_context context;
  const Lease held = coordinator.acquire(key, {.wait = 20s}).value();
  AsioCode code;
  {
    Coordinator other = connect();
    async_acquire(other, key, {.wait = forever},
                  net::bind_executor(context, [&](AsioCode why, const Lease&) { code = why; }));
  }
  context.run();
  EXPECT_EQ(code, Errc::closed);
}

}  // namespace
}  // namespace quorumlock::test
