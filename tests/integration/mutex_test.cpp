#include <atomic>
#include <concepts>
#include <condition_variable>
#include <functional>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

#include "integration/fixture.hpp"

namespace quorumlock::test {
namespace {

// The named requirements, as far as the compiler can check them.
template <class M>
concept BasicLockable = requires(M mutex) {
  { mutex.lock() } -> std::same_as<void>;
  { mutex.unlock() } -> std::same_as<void>;
};
template <class M>
concept Lockable = BasicLockable<M> && requires(M mutex) {
  { mutex.try_lock() } -> std::same_as<bool>;
};
template <class M>
concept TimedLockable = Lockable<M> && requires(M mutex) {
  { mutex.try_lock_for(std::chrono::seconds(1)) } -> std::same_as<bool>;
  { mutex.try_lock_for(std::chrono::duration<double>(1.5)) } -> std::same_as<bool>;
  { mutex.try_lock_until(std::chrono::steady_clock::now()) } -> std::same_as<bool>;
  { mutex.try_lock_until(std::chrono::system_clock::now()) } -> std::same_as<bool>;
  { mutex.try_lock_until(Clock::now()) } -> std::same_as<bool>;
};
static_assert(TimedLockable<Mutex>);
static_assert(!std::copyable<Mutex> && !std::movable<Mutex>);

class Mutexes : public FiveNodes {
 protected:
  Coordinator coordinator = connect();
  bool free() {
    return eventually([&] { return cluster().keys().empty(); });
  }
  static Errc thrown_by(const std::function<void()>& call) {
    try {
      call();
    } catch (const Error& error) {
      return static_cast<Errc>(error.code().value());
    }
    return Errc();
  }
};

TEST_F(Mutexes, LockExcludesOthersUntilUnlock) {
  // lock() sets the key on the nodes and keeps others out, and unlock() deletes it.
  Mutex mutex(coordinator, key);
  mutex.lock();
  EXPECT_TRUE(mutex.lease().is_valid());
  EXPECT_GE(cluster().holders(key, mutex.lease().owner_token()), 3);
  EXPECT_TRUE(fails_with(coordinator.acquire(key), Errc::contended));
  mutex.unlock();
  EXPECT_TRUE(free());
}

TEST_F(Mutexes, UnlockReturnsAfterTheRelease) {
  // The loop is busy, so nothing is released while another coordinator gets ten locks.
  Mutex mutex(coordinator, key);
  mutex.lock();
  std::promise<void> busy, go_on;
  coordinator.async_acquire(key + "/door", [&](const Result<Lease>&) {
    busy.set_value();
    go_on.get_future().wait();
  });
  busy.get_future().wait();
  std::atomic<bool> unlocked = false, too_early = false;
  std::thread watcher([&, elsewhere = connect()]() mutable {
    for (int i = 0; i < 10; ++i) {
      EXPECT_TRUE(ok(elsewhere.acquire(key + "/" + std::to_string(i))));
    }
    too_early = unlocked.load();
    go_on.set_value();
  });
  mutex.unlock();
  unlocked = true;
  watcher.join();
  EXPECT_FALSE(too_early);
  EXPECT_TRUE(free());
}

TEST_F(Mutexes, WorkWithGuardsOfTheStandardLibrary) {
  // The guards are lock_guard, unique_lock, and scoped_lock over two resources.
  Mutex mutex(coordinator, key + "/a");
  Mutex other(coordinator, key + "/b");
  {
    const std::lock_guard lock(mutex);
    EXPECT_TRUE(mutex.lease().is_valid());
  }
  {
    std::unique_lock lock(mutex, 20s);
    EXPECT_TRUE(lock.owns_lock());
    lock.unlock();
    EXPECT_TRUE(lock.try_lock_for(20s));
    lock.unlock();
    EXPECT_TRUE(lock.try_lock_until(std::chrono::system_clock::now() + 20s));
    lock.unlock();
    lock.lock();
  }
  {
    std::unique_lock lock(mutex, std::defer_lock);
    EXPECT_FALSE(lock.owns_lock());
    EXPECT_TRUE(eventually([&] { return lock.try_lock(); }));
  }
  {
    const std::scoped_lock lock(mutex, other);
    EXPECT_TRUE(mutex.lease().is_valid());
    EXPECT_TRUE(other.lease().is_valid());
  }
  EXPECT_TRUE(free());
}

TEST_F(Mutexes, ScopedLocksInOppositeOrderDoNotDeadlock) {
  // Two threads take the same two resources in opposite order, and both always succeed.
  Mutex first(coordinator, key + "/a");
  Mutex second(coordinator, key + "/b");
  std::thread other([&] {
    for (int i = 0; i < 20; ++i) const std::scoped_lock lock(second, first);
  });
  for (int i = 0; i < 20; ++i) const std::scoped_lock lock(first, second);
  other.join();
  EXPECT_TRUE(free());
}

TEST_F(Mutexes, TryLockOfATakenLockFails) {
  // A single attempt, and attempts for a given time, return false and never throw.
  for (int node = 0; node < 5; ++node) cluster().plant(node, key);
  Mutex mutex(coordinator, key);
  EXPECT_FALSE(mutex.try_lock());
  const auto before = std::chrono::steady_clock::now();
  EXPECT_FALSE(mutex.try_lock_for(100ms));
  EXPECT_FALSE(mutex.try_lock_until(before + 200ms));
  EXPECT_GE(std::chrono::steady_clock::now() - before, 200ms);
  EXPECT_FALSE(mutex.try_lock_for(-1s));
  EXPECT_FALSE(mutex.try_lock_until(before - 1h));
}

TEST_F(Mutexes, TryLockForHoursIsNotAnOverflow) {
  // The greatest durations of any clock count as a very long wait.
  Mutex mutex(coordinator, key);
  EXPECT_TRUE(mutex.try_lock_for(std::chrono::hours::max()));
  mutex.unlock();
  EXPECT_TRUE(mutex.try_lock_for(std::chrono::duration<double>(1e300)));
  mutex.unlock();
  EXPECT_TRUE(mutex.try_lock_until(std::chrono::steady_clock::time_point::max()));
  mutex.unlock();
}

TEST_F(Mutexes, LockWithALimitThrowsWithTheVotes) {
  // If `wait` is set, lock() waits no longer than that, and throws the reason, with the votes.
  for (int node = 0; node < 5; ++node) cluster().plant(node, key);
  Mutex mutex(coordinator, key, {.wait = 100ms});
  try {
    mutex.lock();
    FAIL() << "it was locked";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::timed_out);
    EXPECT_GE(error.outcome().count(Vote::held), 3);
  }
}

TEST_F(Mutexes, LockWaitsWithoutLimit) {
  // If `wait` is not set, lock() waits until the holder releases.
  Mutex mutex(coordinator, key);
  Result<Lease> held = coordinator.acquire(key);
  ASSERT_TRUE(ok(held));
  std::thread waiter([&] {
    const std::lock_guard lock(mutex);
    EXPECT_TRUE(mutex.lease().is_valid());
  });
  const long long before = cluster().commands(0);
  EXPECT_TRUE(eventually([&] { return cluster().commands(0) > before + 4; }));
  EXPECT_TRUE(ok(held->release()));
  waiter.join();
}

TEST_F(Mutexes, ThreadsThatShareOneObjectExcludeEachOther) {
  // Eight threads share one Mutex and a number that only it protects.
  Mutex mutex(coordinator, key);
  std::atomic<int> number{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        const std::lock_guard lock(mutex);
        const int read = number.load(std::memory_order_relaxed);
        std::this_thread::yield();
        number.store(read + 1, std::memory_order_relaxed);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(number, 160);
  EXPECT_TRUE(free());
}

TEST_F(Mutexes, ASecondLockByTheSameThreadIsAnError) {
  // A thread cannot wait for itself: a second lock() is an error at once, and the lock is still
  // held, once.
  Mutex mutex(coordinator, key);
  mutex.lock();
  EXPECT_EQ(thrown_by([&] { mutex.lock(); }), Errc::would_deadlock);
  EXPECT_TRUE(mutex.lease().is_valid());
  mutex.unlock();
  EXPECT_EQ(thrown_by([&] { (void)mutex.lease(); }), Errc::not_held);
  EXPECT_TRUE(free());
}

TEST_F(Mutexes, UnlockOfALostLeaseLeavesTheSuccessorAlone) {
  // The lease of one thread runs out, and another thread locks the same object: the first thread's
  // unlock releases nothing but its own lease.
  Mutex mutex(coordinator, key, {.ttl = 500ms, .auto_extend = false});
  mutex.lock();
  EXPECT_TRUE(eventually([&] { return !mutex.lease().is_valid(); }));
  Answer<std::string> locked;
  std::atomic<bool> done{false};
  std::thread successor([&] {
    Mutex longer(coordinator, key, {.ttl = 20s});
    longer.lock();
    locked.handler()(longer.lease().owner_token());
    EXPECT_TRUE(eventually([&] { return done.load(); }));
    EXPECT_TRUE(longer.lease().is_valid());
    longer.unlock();
  });
  const std::string token = locked.get();
  mutex.unlock();
  EXPECT_TRUE(eventually([&] { return cluster().holders(key, token) >= 3; }));
  done = true;
  successor.join();
  EXPECT_TRUE(free());
}

TEST_F(Mutexes, EachThreadUnlocksItsOwnLease) {
  // Two threads share one object: each unlocks the lease that it took.
  Mutex mutex(coordinator, key, {.ttl = 2s, .auto_extend = false});
  mutex.lock();
  EXPECT_TRUE(eventually([&] { return cluster().holders(key) == 5; }));
  for (int node = 0; node < 5; ++node) cluster().raw(node, {"DEL", key});
  Answer<std::string> locked;
  std::atomic<bool> done{false};
  std::thread successor([&] {
    mutex.lock();
    EXPECT_TRUE(ok(mutex.lease().extend(20s)));
    locked.handler()(mutex.lease().owner_token());
    EXPECT_TRUE(eventually([&] { return done.load(); }));
    EXPECT_TRUE(mutex.lease().is_valid());
    mutex.unlock();
  });
  const std::string token = locked.get();
  mutex.unlock();
  EXPECT_TRUE(eventually([&] { return cluster().holders(key, token) >= 3; }));
  done = true;
  successor.join();
  EXPECT_TRUE(free());
}

TEST_F(Mutexes, MayBeLockedAgainAfterALoss) {
  // A thread whose lease has run out may lock again, and then has a new lease.
  Mutex mutex(coordinator, key, {.ttl = 400ms, .auto_extend = false});
  mutex.lock();
  const std::string first = mutex.lease().owner_token();
  EXPECT_TRUE(eventually([&] { return !mutex.lease().is_valid(); }));
  mutex.lock();
  EXPECT_NE(mutex.lease().owner_token(), first);
  mutex.unlock();
}

TEST_F(Mutexes, DestructionReleases) {
  // A locked Mutex releases its lease when it is destroyed.
  {
    Mutex mutex(coordinator, key);
    mutex.lock();
  }
  EXPECT_TRUE(free());
}

TEST_F(Mutexes, BadArgumentsAndDeadNodesThrow) {
  // An impossible lock throws, even from try_lock if no attempt was made.
  Mutex wrong(coordinator, key, {.ttl = 1000s});
  EXPECT_EQ(thrown_by([&] { wrong.lock(); }), Errc::invalid_argument);
  EXPECT_EQ(thrown_by([&] { (void)wrong.try_lock(); }), Errc::invalid_argument);
  for (int node = 0; node < 5; ++node) cluster().kill(node);
  Mutex mutex(coordinator, key, {.wait = 50ms});
  EXPECT_EQ(thrown_by([&] { mutex.lock(); }), Errc::no_quorum);
  EXPECT_FALSE(mutex.try_lock());
}

TEST_F(Mutexes, WorkWithAConditionVariable) {
  // condition_variable_any requires no more than a BasicLockable.
  Mutex mutex(coordinator, key);
  std::condition_variable_any changed;
  std::atomic<bool> ready{false};
  std::thread setter([&] {
    const std::lock_guard lock(mutex);
    ready = true;
    changed.notify_one();
  });
  {
    std::unique_lock lock(mutex);
    EXPECT_TRUE(changed.wait_for(lock, patience, [&] { return ready.load(); }));
  }
  setter.join();
}

}  // namespace
}  // namespace quorumlock::test
