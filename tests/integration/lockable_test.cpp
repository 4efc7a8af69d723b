#include <atomic>
#include <concepts>
#include <condition_variable>
#include <future>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "integration/fixture.hpp"

// What everything that locks like a mutex promises, for each kind.
namespace quorumlock::test {
namespace {

// The named requirements, as far as the compiler can check them.
template <class M>
concept TimedLockable = requires(M mutex) {
  { mutex.lock() } -> std::same_as<void>;
  { mutex.unlock() } -> std::same_as<void>;
  { mutex.try_lock() } -> std::same_as<bool>;
  { mutex.try_lock_for(std::chrono::duration<double>(1.5)) } -> std::same_as<bool>;
  { mutex.try_lock_until(std::chrono::steady_clock::now()) } -> std::same_as<bool>;
  { mutex.try_lock_until(std::chrono::system_clock::now()) } -> std::same_as<bool>;
  { mutex.try_lock_until(Clock::now()) } -> std::same_as<bool>;
};

struct OnePermit : Semaphore {
  OnePermit(Coordinator& coordinator, std::string resource, LockOptions options = {})
      : Semaphore(coordinator, std::move(resource), 1, options) {}
};

template <class M>
class Lockable : public FiveNodes {
 protected:
  static_assert(TimedLockable<M> && !std::copyable<M> && !std::movable<M>);

  /// Returns whether another thread locks it at the first attempt.
  static bool another_thread_gets(M& mutex) {
    bool got = false;
    std::thread([&] {
      got = mutex.try_lock();
      if (got) mutex.unlock();
    }).join();
    return got;
  }

  Coordinator coordinator = connect();
  Coordinator other = connect();
  M here{coordinator, key};
  M elsewhere{other, key};  ///< the same lock in another process
};
using LockableKinds = ::testing::Types<Mutex, SharedMutex, RecursiveMutex, OnePermit>;
TYPED_TEST_SUITE(Lockable, LockableKinds);

TYPED_TEST(Lockable, ExcludesThreadsAndProcessesUntilUnlock) {
  TypeParam& mutex = this->here;
  mutex.lock();
  EXPECT_TRUE(mutex.lease().is_valid());
  EXPECT_EQ(mutex.lease().resource(), this->key);
  EXPECT_FALSE(this->another_thread_gets(mutex));
  EXPECT_FALSE(this->elsewhere.try_lock());
  mutex.unlock();
  EXPECT_EQ(this->thrown_by([&] { (void)mutex.lease(); }), Errc::not_held);
  EXPECT_TRUE(this->elsewhere.try_lock_for(20s));
  EXPECT_FALSE(mutex.try_lock());
}

TYPED_TEST(Lockable, ATryForEndsAtItsBudget) {
  // Attempts for a given time return false and never throw.
  this->elsewhere.lock();
  const auto before = std::chrono::steady_clock::now();
  EXPECT_FALSE(this->here.try_lock_for(1s));
  EXPECT_FALSE(this->here.try_lock_until(before + 2s));
  EXPECT_GE(std::chrono::steady_clock::now() - before, 200ms);
  EXPECT_FALSE(this->here.try_lock_for(-1s));
  EXPECT_FALSE(this->here.try_lock_until(before - 1h));
  EXPECT_LT(std::chrono::steady_clock::now() - before, 5s);
  this->elsewhere.unlock();
}

TYPED_TEST(Lockable, WaitsForAnyTime) {
  // The extreme durations of any clock are served without an overflow: the longest wait until the
  // lock is free, and the shortest is over.
  using Steady = std::chrono::steady_clock::time_point;
  using System = std::chrono::sys_time<std::chrono::hours>;
  TypeParam& mutex = this->here;
  for (int kind = 0; kind < 4; ++kind) {
    this->elsewhere.lock();
    EXPECT_FALSE(mutex.try_lock_until(Steady::min()));
    std::thread waiter([&] {
      EXPECT_TRUE(kind == 0   ? mutex.try_lock_until(Steady::max())
                  : kind == 1 ? mutex.try_lock_until(System::max())
                  : kind == 2 ? mutex.try_lock_for(std::chrono::hours::max())
                              : mutex.try_lock_for(std::chrono::duration<double>(1e300)));
      mutex.unlock();
    });
    const long long before = this->cluster().commands(0);
    EXPECT_TRUE(eventually([&] { return this->cluster().commands(0) > before + 4; }));
    this->elsewhere.unlock();
    waiter.join();
  }
}

TYPED_TEST(Lockable, WorksWithGuardsOfTheStandardLibrary) {
  // An exception leaves a scoped_lock over two of them, and both are free.
  TypeParam& mutex = this->here;
  TypeParam second(this->coordinator, this->key + "/second");
  {
    std::unique_lock lock(mutex, 20s);
    EXPECT_TRUE(lock.owns_lock());
    lock.unlock();
    EXPECT_TRUE(lock.try_lock_until(std::chrono::system_clock::now() + 20s));
    lock.unlock();
    lock.lock();
  }
  EXPECT_THROW(
      {
        const std::scoped_lock both(mutex, second);
        EXPECT_TRUE(mutex.lease().is_valid());
        EXPECT_TRUE(second.lease().is_valid());
        throw std::runtime_error("an exception");
      },
      std::runtime_error);
  EXPECT_TRUE(this->elsewhere.try_lock_for(20s));
  this->elsewhere.unlock();
  TypeParam second_elsewhere(this->other, this->key + "/second");
  EXPECT_TRUE(second_elsewhere.try_lock_for(20s));
}

TYPED_TEST(Lockable, WorksWithAConditionVariable) {
  std::condition_variable_any changed;
  std::atomic<bool> ready{false};
  std::thread setter([&] {
    const std::lock_guard lock(this->here);
    ready = true;
    changed.notify_one();
  });
  {
    std::unique_lock lock(this->here);
    EXPECT_TRUE(changed.wait_for(lock, patience, [&] { return ready.load(); }));
  }
  setter.join();
}

TYPED_TEST(Lockable, ProtectsANumberOfManyThreads) {
  // Eight threads of two coordinators read and write a number that only the lock protects.
  std::atomic<int> number{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        const std::lock_guard lock(t % 2 == 0 ? this->here : this->elsewhere);
        const int read = number.load(std::memory_order_relaxed);
        std::this_thread::yield();
        number.store(read + 1, std::memory_order_relaxed);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(number, 160);
}

TYPED_TEST(Lockable, LockWaitsForTheHolder) {
  this->elsewhere.lock();
  std::thread waiter([&] {
    const std::lock_guard lock(this->here);
    EXPECT_TRUE(this->here.lease().is_valid());
  });
  const long long before = this->cluster().commands(0);
  EXPECT_TRUE(eventually([&] { return this->cluster().commands(0) > before + 4; }));
  this->elsewhere.unlock();
  waiter.join();
}

TYPED_TEST(Lockable, LockThrowsIfItCannot) {
  // The error of a wait that is limited has the votes; a try returns false if it could be made.
  this->elsewhere.lock();
  TypeParam limited(this->coordinator, this->key, {.wait = 1s});
  try {
    limited.lock();
    ADD_FAILURE() << "it was locked";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::timed_out);
    EXPECT_GE(error.outcome().count(Vote::held), 3);
  }
  TypeParam wrong(this->coordinator, this->key, {.ttl = 1000s});
  EXPECT_EQ(this->thrown_by([&] { wrong.lock(); }), Errc::invalid_argument);
  EXPECT_EQ(this->thrown_by([&] { (void)wrong.try_lock(); }), Errc::invalid_argument);
  for (int node = 0; node < 5; ++node) this->cluster().kill(node);
  EXPECT_EQ(this->thrown_by([&] { limited.lock(); }), Errc::no_quorum);
  EXPECT_FALSE(limited.try_lock());
}

TYPED_TEST(Lockable, RefusesAModeThatItDoesNotHave) {
  TypeParam reader(this->coordinator, this->key, {.mode = LockMode::shared});
  EXPECT_EQ(this->thrown_by([&] { reader.lock(); }), Errc::invalid_argument);
  EXPECT_EQ(this->thrown_by([&] { (void)reader.try_lock(); }), Errc::invalid_argument);
  EXPECT_EQ(this->thrown_by([&] { (void)reader.try_lock_for(20s); }), Errc::invalid_argument);
}

TYPED_TEST(Lockable, BlocksNoLoop) {
  this->on_loop(this->coordinator, [&] {
    EXPECT_EQ(this->thrown_by([&] { this->here.lock(); }), Errc::would_deadlock);
    EXPECT_EQ(this->thrown_by([&] { (void)this->here.try_lock(); }), Errc::would_deadlock);
    EXPECT_EQ(this->thrown_by([&] { (void)this->here.try_lock_for(20s); }), Errc::would_deadlock);
  });
}

TYPED_TEST(Lockable, IsClosedWithItsCoordinator) {
  this->coordinator.close();
  EXPECT_EQ(this->thrown_by([&] { this->here.lock(); }), Errc::closed);
  EXPECT_EQ(this->thrown_by([&] { (void)this->here.try_lock(); }), Errc::closed);
  EXPECT_EQ(this->thrown_by([&] { (void)this->here.try_lock_for(20s); }), Errc::closed);
}

TYPED_TEST(Lockable, UnlockReturnsAfterTheRelease) {
  // The loop is busy, so nothing is released while another coordinator gets ten locks.
  this->here.lock();
  std::promise<void> busy, go_on;
  this->coordinator.async_acquire(this->key + "/door", [&](const Result<Lease>&) {
    busy.set_value();
    go_on.get_future().wait();
  });
  busy.get_future().wait();
  std::atomic<bool> unlocked = false, too_early = false;
  std::thread watcher([&] {
    for (int i = 0; i < 10; ++i) {
      EXPECT_TRUE(ok(this->other.acquire(this->key + "/" + std::to_string(i))));
    }
    too_early = unlocked.load();
    go_on.set_value();
  });
  this->here.unlock();
  unlocked = true;
  watcher.join();
  EXPECT_FALSE(too_early);
}

TYPED_TEST(Lockable, UnlockOfALostLeaseLeavesTheSuccessorAlone) {
  TypeParam brief(this->coordinator, this->key, {.ttl = 500ms, .auto_extend = false});
  brief.lock();
  EXPECT_TRUE(eventually([&] { return !brief.lease().is_valid(); }));
  this->elsewhere.lock();
  brief.unlock();
  EXPECT_TRUE(ok(this->elsewhere.lease().extend(20s)));
  EXPECT_FALSE(brief.try_lock());
}

TYPED_TEST(Lockable, DestructionReleases) {
  {
    TypeParam gone(this->coordinator, this->key);
    gone.lock();
  }
  EXPECT_TRUE(this->elsewhere.try_lock_for(5s));  // the ttl is 10 s
}

}  // namespace
}  // namespace quorumlock::test
