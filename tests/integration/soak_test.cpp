#include <malloc.h>

#include <atomic>
#include <coroutine>
#include <cstdlib>
#include <functional>
#include <semaphore>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "integration/fixture.hpp"
#include "support/detached.hpp"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define QUORUMLOCK_SOAK_SANITIZED 1
extern "C" std::size_t __sanitizer_get_current_allocated_bytes();  // GCC has no header for it
#endif

namespace quorumlock::test {
namespace {

#ifdef QUORUMLOCK_SOAK_SANITIZED
constexpr int few = 300;
#else
constexpr int few = 1000;
#endif

/// Returns the bytes of this process's heap that are in use.
std::size_t live_bytes() {
#ifdef QUORUMLOCK_SOAK_SANITIZED
  return __sanitizer_get_current_allocated_bytes();
#else
  const auto info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
#endif
}

/// A process that locks for weeks needs no more memory than at first. QUORUMLOCK_SOAK_CYCLES sets
/// the number of cycles for each way of locking.
class Soak : public FiveNodes {
 protected:
  static int cycles() {
    const char* const asked = std::getenv("QUORUMLOCK_SOAK_CYCLES");
    return asked != nullptr ? std::atoi(asked) : few;
  }
  /// Runs a number of cycles several times. Memory that grows with every cycle grows each time;
  /// memory that grows with the most requests ever in flight, which a busy machine decides, does
  /// not.
  void stays_flat(const std::function<void(int)>& run) {
    run(300);
    std::string growths;
    for (int round = 0; round < 20; ++round) {
      const std::size_t before = bytes_at_rest();
      run(cycles());
      const std::size_t after = bytes_at_rest();
      if (after <= before + most_growth) return;
      growths += std::to_string(after - before) + " ";
    }
    ADD_FAILURE() << "the heap grew by " << growths << "bytes in " << cycles() << " cycles each";
  }
  template <class Cycle>
  void each_stays_flat(Cycle&& cycle) {
    stays_flat([&](int count) {
      for (int i = 0; i < count; ++i) cycle();
    });
  }
  /// Runs the cycle on several threads at once.
  template <class Cycle>
  void each_stays_flat_among_threads(Cycle&& cycle) {
    stays_flat([&](int count) {
      std::atomic<int> left{count};
      std::vector<std::thread> all;
      for (int t = 0; t < 4; ++t) {
        all.emplace_back([&, t] {
          while (left.fetch_sub(1) > 0) cycle(t);
        });
      }
      for (std::thread& thread : all) thread.join();
    });
  }

  Coordinator coordinator = connect();

 private:
  /// A quorum's answers end a cycle. This also waits for the answers of the other nodes, since the
  /// requests to them take memory until then.
  std::size_t bytes_at_rest() {
    (void)coordinator.status();
    return live_bytes();
  }

  static constexpr std::size_t most_growth = 64 * 1024;
};

TEST_F(Soak, BlockingCallsLeakNothing) {
  // A lease is acquired, extended and released; another one is only destroyed.
  each_stays_flat([&] {
    Lease lease = coordinator.acquire(key, {.wait = 20s}).value();
    ASSERT_TRUE(ok(lease.extend(10s)));
    ASSERT_TRUE(ok(lease.release()));
    const Lease dropped = coordinator.acquire(key, {.wait = 20s}).value();
  });
}

TEST_F(Soak, BlockingCallsOfManyThreadsLeakNothing) {
  // Each thread has its own lock, and all of them wait for one more.
  each_stays_flat_among_threads([&](int thread) {
    Lease own = coordinator.acquire(key + std::to_string(thread), {.wait = 20s}).value();
    ASSERT_TRUE(ok(own.release()));
    Lease common = coordinator.acquire(key, {.wait = 20s}).value();
    ASSERT_TRUE(ok(common.release()));
  });
}

TEST_F(Soak, RefusalsLeakNothing) {
  // Attempts are contended, arguments are bad, and waits are cancelled.
  for (int node = 0; node < 5; ++node) cluster().plant(node, key);
  each_stays_flat([&] {
    ASSERT_TRUE(fails_with(coordinator.acquire(key), Errc::contended));
    ASSERT_TRUE(fails_with(coordinator.acquire(key, {.ttl = 0s}), Errc::invalid_argument));
    std::stop_source stop;
    Answer<bool> told;
    coordinator.async_acquire(
        key, {.wait = forever}, stop.get_token(),
        [tell = told.handler()](const Result<Lease>&) mutable { tell(true); });
    stop.request_stop();
    ASSERT_TRUE(told.get());
  });
}

TEST_F(Soak, HandlersOfCallsFromAnotherThreadLeakNothing) {
  // The calls are async_acquire and async_release.
  each_stays_flat([&] {
    std::binary_semaphore done(0);
    Lease lease;
    coordinator.async_acquire(key, {.wait = 20s}, [&](Result<Lease> result) {
      lease = std::move(result).value();
      lease.async_release([&](const Result<void>&) { done.release(); });
    });
    done.acquire();
  });
}

TEST_F(Soak, HandlersOfCallsOnTheLoopLeakNothing) {
  // The handler of each cycle requests the next one.
  struct Chain {
    Coordinator& coordinator;
    const std::string key;
    Lease lease;
    int left = 0;
    std::binary_semaphore done{0};
    void next() {
      if (left-- == 0) return done.release();
      coordinator.async_acquire(key, {.wait = 20s}, [this](Result<Lease> result) {
        lease = std::move(result).value();
        lease.async_release([this](const Result<void>&) { next(); });
      });
    }
  };
  Chain chain{coordinator, key, {}, 0};
  each_stays_flat([&] {
    chain.left = 10;
    chain.next();
    chain.done.acquire();
  });
}

Detached lock_some(Coordinator& coordinator, std::string key, std::binary_semaphore& done) {
  for (int i = 0; i < 3; ++i) {
    Result<Lease> lease = co_await coordinator.co_acquire(key, {.wait = 20s});
    if (!lease) std::terminate();
    if (Result<void> released = co_await lease->co_release(); !released) std::terminate();
  }
  done.release();
}

TEST_F(Soak, CoroutinesLeakNothing) {
  // The test's thread requests the first lock of each cycle, the loop the others.
  each_stays_flat([&] {
    std::binary_semaphore done(0);
    lock_some(coordinator, key, done);
    done.acquire();
  });
}

TEST_F(Soak, MutexesLeakNothing) {
  // Each cycle locks every kind of mutex, and takes a permit.
  Mutex mutex(coordinator, key + "/mutex");
  SharedMutex shared(coordinator, key + "/shared");
  RecursiveMutex recursive(coordinator, key + "/recursive");
  Semaphore semaphore(coordinator, key + "/semaphore", 2);
  each_stays_flat([&] {
    { const std::scoped_lock lock(mutex); }
    { const std::shared_lock lock(shared); }
    { const std::unique_lock lock(shared); }
    {
      const std::scoped_lock lock(recursive);
      const std::scoped_lock again(recursive);
    }
    semaphore.acquire();
    semaphore.release();
  });
}

TEST_F(Soak, MutexesOfThreadsThatEndLeakNothing) {
  // Each cycle has its own thread and mutex; every other one is never unlocked.
  int number = 0;
  each_stays_flat([&] {
    std::thread([&] {
      Mutex mutex(coordinator, key);
      Mutex other(coordinator, key + "/other");
      mutex.lock();
      other.lock();
      if (++number % 2 == 0) mutex.unlock();
    }).join();
  });
}

TEST_F(Soak, SetsAndFunctionsLeakNothing) {
  // The calls are acquire_all, with_lock, and a release by token.
  each_stays_flat([&] {
    Lease all = coordinator.acquire_all({key + "/a", key + "/b"}, {.wait = 20s}).value();
    ASSERT_TRUE(ok(all.release()));
    ASSERT_TRUE(ok(coordinator.with_lock(key, {.wait = 20s}, [](Lease&) { return 1; })));
    Lease lease = coordinator.acquire(key, {.wait = 20s}).value();
    const OwnerToken token(lease.owner_token());
    lease.detach();
    ASSERT_TRUE(ok(coordinator.release(key, token)));
  });
}

TEST_F(Soak, ElectionsLeakNothing) {
  // A candidate leads, proclaims another value, and resigns.
  Election election(coordinator, key);
  each_stays_flat([&] {
    Leadership leadership = election.campaign("one").value();
    ASSERT_TRUE(ok(leadership.proclaim("two")));
    ASSERT_TRUE(ok(leadership.resign()));
  });
}

}  // namespace
}  // namespace quorumlock::test
