#include <coroutine>
#include <exception>
#include <functional>
#include <thread>
#include <utility>

#include "integration/fixture.hpp"
#include "support/detached.hpp"
#include "support/uv_loop.hpp"

namespace quorumlock::test {
namespace {

/// A coroutine that its owner may destroy at any point of suspension.
class Owned {
 public:
  struct promise_type {
    Owned get_return_object() {
      return Owned(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };

  explicit Owned(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  Owned& operator=(Owned&&) = delete;
  ~Owned() {
    if (handle_) handle_.destroy();
  }
  [[nodiscard]] bool done() const { return handle_.done(); }

 private:
  std::coroutine_handle<promise_type> handle_;
};

/// All lockable objects of a coordinator, on a loop that the test runs itself.
struct World {
  Coordinator coordinator;
  std::string key;
  Mutex mutex{coordinator, key + "/mutex"};
  SharedMutex shared{coordinator, key + "/shared"};
  RecursiveMutex recursive{coordinator, key + "/recursive"};
  Semaphore semaphore{coordinator, key + "/semaphore", 2};
  Election election{coordinator, key + "/election"};
  LockOwner owner{};
};

Owned lock_one(World& world) {
  const Result<Lease> lease = co_await world.coordinator.co_acquire(world.key, {.wait = 20s});
  EXPECT_TRUE(ok(lease));
}

Owned lock_two(World& world) {
  const Result<Lease> lease = co_await world.coordinator.co_acquire_all({"a", "b"}, {.wait = 20s});
  EXPECT_TRUE(ok(lease));
}

Owned lock_mutexes(World& world) {
  Result<Lease> one = co_await world.mutex.co_lock();
  EXPECT_TRUE(ok(one));
  const Result<Lease> two = co_await world.shared.co_lock_shared();
  EXPECT_TRUE(ok(two));
  const Result<Lease> three = co_await world.shared.co_lock_shared();
  EXPECT_TRUE(ok(three));
  const Result<Lease> four = co_await world.semaphore.co_lock();
  EXPECT_TRUE(ok(four));
}

Owned lock_recursively(World& world) {
  const Result<void> once = co_await world.recursive.co_lock(world.owner);
  EXPECT_TRUE(ok(once));
  const Result<void> again = co_await world.recursive.co_lock(world.owner);
  EXPECT_TRUE(ok(again));
  EXPECT_EQ(world.recursive.depth(world.owner), 2U);
  const Result<void> back = co_await world.recursive.co_unlock(world.owner);
  EXPECT_TRUE(ok(back));
  const Result<void> free = co_await world.recursive.co_unlock(world.owner);
  EXPECT_TRUE(ok(free));
}

Owned campaign(World& world) {
  Result<Leadership> leadership = co_await world.election.co_campaign("me");
  EXPECT_TRUE(ok(leadership));
  EXPECT_TRUE(ok(co_await leadership->co_proclaim("still me")));
  EXPECT_TRUE(ok(co_await world.election.co_leader()));
  EXPECT_TRUE(ok(co_await leadership->co_resign()));
}

Owned hold(World& world) {
  Result<Lease> lease = co_await world.coordinator.co_acquire(world.key, {.wait = 20s});
  EXPECT_TRUE(ok(lease));
  const Result<void> extended = co_await lease->co_extend(20s);
  EXPECT_TRUE(ok(extended));
  const Result<void> downgraded = co_await lease->co_downgrade();
  EXPECT_TRUE(ok(downgraded));
  const Result<void> released = co_await lease->co_release();
  EXPECT_TRUE(ok(released));
  EXPECT_FALSE(lease->is_valid());
  EXPECT_TRUE(fails_with(co_await lease->co_release(), Errc::not_held));
}

Owned hold_by_token(World& world) {
  const Result<Lease> lease = co_await world.coordinator.co_acquire(world.key, {.wait = 20s});
  EXPECT_TRUE(ok(lease));
  const OwnerToken token(lease->owner_token());
  EXPECT_TRUE(ok(co_await world.coordinator.co_extend(world.key, token, 20s)));
  EXPECT_TRUE(ok(co_await world.coordinator.co_inspect(world.key)));
  EXPECT_TRUE(ok(co_await world.coordinator.co_status()));
  EXPECT_TRUE(ok(co_await world.coordinator.co_release(world.key, token)));
}

Owned close(World& world) {
  co_await world.coordinator.co_close();
}

class CoroutineEnd : public FiveNodes {
 protected:
  /// Begins the coroutine and destroys it after each number of turns, until it finishes within that
  /// number. None of its keys may then be left.
  void destroyed_at_every_stage(Owned (*begin)(World&), bool elsewhere) {
    for (int turns = 0;; ++turns) {
      UvLoop loop;
      World world{Coordinator::attach(loop.get(), options()).value(), key};
      auto coroutine = std::make_unique<Owned>(begin(world));
      for (int turn = 0; turn < turns && !coroutine->done(); ++turn) {
        // The loop makes one turn at a time, even if it has no work.
        uv_run(loop.get(), UV_RUN_NOWAIT);
        std::this_thread::yield();
      }
      if (turns > 1'000) loop.run_until([&] { return coroutine->done(); });
      const bool done = coroutine->done();
      if (elsewhere) {
        std::thread([&] { coroutine.reset(); }).join();
      } else {
        coroutine.reset();
      }
      // A request that was on its way to the loop keeps it alive from its next turn on.
      uv_idle_t turn{};
      uv_idle_init(loop.get(), &turn);
      uv_idle_start(
          &turn, [](uv_idle_t* idle) { uv_close(reinterpret_cast<uv_handle_t*>(idle), nullptr); });
      loop.run();
      ASSERT_TRUE(eventually([&] { return nothing_held(); })) << "after " << turns << " turns";
      EXPECT_EQ(world.recursive.depth(world.owner), 0U);
      world.coordinator.close();
      loop.run();
      ASSERT_EQ(loop.close(), 0);
      if (done) return;
      if (turns >= 20) turns += turns / 4;
    }
  }
  static bool nothing_held() {
    for (const std::string& name : cluster().keys()) {
      if (name.find("leader") == name.npos) return false;
    }
    return true;
  }
};

TEST_F(CoroutineEnd, ACoroutineMayBeDestroyedAtEveryStage) {
  // The coroutine is destroyed on the loop's own thread.
  for (Owned (*begin)(World&) :
       {lock_one, lock_two, lock_mutexes, lock_recursively, campaign, hold, hold_by_token, close}) {
    destroyed_at_every_stage(begin, false);
  }
}

TEST_F(CoroutineEnd, ACoroutineMayBeDestroyedAtEveryStageByAnotherThread) {
  // The coroutine is destroyed on another thread while the loop does not run.
  for (Owned (*begin)(World&) :
       {lock_one, lock_two, lock_mutexes, lock_recursively, campaign, hold, hold_by_token}) {
    destroyed_at_every_stage(begin, true);
  }
}

Owned wait_for_ever(Coordinator& coordinator, std::string key, std::stop_token stop) {
  const Result<Lease> lease = co_await coordinator.co_acquire(key, {.wait = forever}, stop);
  ADD_FAILURE() << "it was destroyed before";
}

TEST_F(CoroutineEnd, ADestroyedCoroutineLeavesTheLine) {
  // The loop runs on its own thread. A coroutine that waits in the line is destroyed, its entry is
  // removed, and a later request of its stop token does nothing.
  Coordinator coordinator = connect();
  const Lease held = coordinator.acquire(key, {.wait = 20s}).value();
  for (int i = 0; i < 20; ++i) {
    std::stop_source stop;
    {
      const Owned waits = wait_for_ever(coordinator, key, stop.get_token());
      if (i % 2 == 0) {
        ASSERT_TRUE(eventually([&] {
          return cluster().raw(0, {"ZCARD", "quorumlock:queue:" + key}).integer == 1;
        }));
      }
    }
    stop.request_stop();
    ASSERT_TRUE(eventually([&] {
      for (int node = 0; node < 5; ++node) {
        if (cluster().raw(node, {"ZCARD", "quorumlock:queue:" + key}).integer != 0) return false;
      }
      return true;
    }));
  }
}

Detached use_on_the_loop(Coordinator& coordinator, std::string key,
                         std::function<void(bool)> tell) {
  Result<Lease> lease = co_await coordinator.co_acquire(key, {.wait = 20s});
  const std::thread::id loop = std::this_thread::get_id();
  bool fine = lease && lease->is_valid();
  // This is the loop's thread, on which release() would deadlock.
  fine = fine && fails_with(lease->release(), Errc::would_deadlock) && lease->is_valid();
  const Result<void> extended = co_await lease->co_extend(20s);
  fine = fine && extended && std::this_thread::get_id() == loop;
  const Result<void> released = co_await lease->co_release();
  fine = fine && released && std::this_thread::get_id() == loop;
  co_await coordinator.co_close();
  const Result<Lease> closed = co_await coordinator.co_acquire(key);
  tell(fine && fails_with(closed, Errc::closed));
}

TEST_F(CoroutineEnd, ACoroutineMayCloseItsCoordinator) {
  // A coroutine locks, extends, releases and closes; each later call returns closed at once.
  Coordinator coordinator = connect();
  Answer<bool> answer;
  use_on_the_loop(coordinator, key, answer.handler());
  EXPECT_TRUE(answer.get());
}

Owned try_often(Coordinator& coordinator, int& refused) {
  for (int i = 0; i < 100'000; ++i) {
    const Result<Lease> lease = co_await coordinator.co_acquire("orders");
    if (!lease && lease.error().code() == Errc::closed) ++refused;
  }
}

TEST_F(CoroutineEnd, RefusalsWithinTheCallDoNotFillTheStack) {
  // Refusals that complete within the call do not nest on the stack.
  Coordinator coordinator = connect();
  coordinator.close();
  int refused = 0;
  const Owned tries = try_often(coordinator, refused);
  EXPECT_TRUE(tries.done());
  EXPECT_EQ(refused, 100'000);
}

}  // namespace
}  // namespace quorumlock::test
