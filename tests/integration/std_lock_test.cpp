#include <atomic>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

#include "integration/fixture.hpp"

namespace quorumlock::test {
namespace {

class StdLock : public FiveNodes {
 protected:
  /// Runs `work` `times` times on each of `threads` threads, or until the test's patience is over.
  /// Returns whether all runs were done.
  template <class Work>
  static bool all_do(int threads, int times, Work work) {
    const auto end = Clock::now() + patience;
    std::atomic<int> done{0};
    std::vector<std::thread> team;
    for (int thread = 0; thread < threads; ++thread) {
      team.emplace_back([&, thread] {
        for (int i = 0; i < times && Clock::now() < end; ++i) {
          work(thread);
          ++done;
        }
      });
    }
    for (std::thread& one : team) one.join();
    return done == threads * times;
  }
  /// Two mutexes that are locked together, and data that only the holder of both may touch.
  template <class First, class Second>
  struct Pair {
    First first;
    Second second;
    std::atomic<int> inside{0};
    std::atomic<bool> alone{true};

    explicit Pair(Coordinator& coordinator) : first(coordinator, "a"), second(coordinator, "b") {}
    void lock(bool turned_round) {
      if (turned_round) {
        const std::scoped_lock both(second, first);
        touch();
      } else {
        const std::scoped_lock both(first, second);
        touch();
      }
    }
    void touch() {
      if (++inside != 1) alone = false;
      --inside;
    }
  };
};

TEST_F(StdLock, LocksInBothOrdersWithoutADeadlock) {
  // Threads that lock two mutexes in both orders do not block each other.
  Coordinator coordinator = connect();
  Pair<Mutex, Mutex> pair(coordinator);
  EXPECT_TRUE(all_do(8, 15, [&](int thread) { pair.lock(thread % 2 == 1); }));
  EXPECT_TRUE(pair.alone);
  // A pair takes a few attempts, however slow the machine.
  EXPECT_LT(coordinator.stats().attempts, 8 * 15 * 10);
}

TEST_F(StdLock, LocksManyInTheSameOrder) {
  // Many threads do not block each other in one order either, whether it is that of the names or
  // its reverse.
  Coordinator coordinator = connect();
  Pair<Mutex, Mutex> pair(coordinator);
  for (const bool turned_round : {false, true}) {
    EXPECT_TRUE(all_do(16, 5, [&](int) { pair.lock(turned_round); }));
  }
  EXPECT_TRUE(pair.alone);
  EXPECT_LT(coordinator.stats().attempts, 2 * 16 * 5 * 10);
}

TEST_F(StdLock, LocksMutexesOfDifferentKindsAndProcesses) {
  // Other mutexes work with std::lock too, as do threads of different coordinators.
  Coordinator one = connect();
  Coordinator other = connect();
  Pair<RecursiveMutex, SharedMutex> here(one);
  Pair<RecursiveMutex, SharedMutex> there(other);
  EXPECT_TRUE(all_do(8, 5, [&](int thread) { (thread < 4 ? here : there).lock(thread % 2 == 1); }));
}

TEST_F(StdLock, OnlyTheLastUnlockOfSeveralWaits) {
  // The first unlock returns although no node answers. After the last one a quorum has released
  // both mutexes.
  Options patient = options();
  patient.node_timeout = 2min;
  Coordinator coordinator = test::connect(patient);
  Mutex first(coordinator, "a");
  Mutex second(coordinator, "b");
  std::promise<void> locked;
  std::promise<void> paused;
  std::atomic<bool> first_is_unlocked{false};
  std::thread holder([&] {
    first.lock();
    second.lock();
    locked.set_value();
    paused.get_future().wait();
    first.unlock();
    first_is_unlocked = true;
    second.unlock();
  });
  locked.get_future().wait();
  for (int node = 0; node < 5; ++node) cluster().pause(node);
  paused.set_value();
  EXPECT_TRUE(eventually([&] { return first_is_unlocked.load(); }));
  for (int node = 0; node < 5; ++node) cluster().resume(node);
  holder.join();
  Coordinator other = connect();
  EXPECT_TRUE(ok(other.acquire("a")));
  EXPECT_TRUE(ok(other.acquire("b")));
}

TEST_F(StdLock, ATryThatWaitsIsOverAfterASecond) {
  // A thread that has one mutex waits for another's for a second only; in the other order it does
  // not wait at all.
  Coordinator coordinator = connect();
  Coordinator other = connect();
  Mutex first(coordinator, "a");
  Mutex second(coordinator, "b");
  Lease kept = other.acquire("b").value();
  first.lock();
  EXPECT_FALSE(second.try_lock());
  EXPECT_EQ(coordinator.stats().refused.timed_out, 1);
  first.unlock();
  EXPECT_TRUE(kept.release());

  kept = other.acquire("a").value();
  second.lock();
  EXPECT_FALSE(first.try_lock());
  second.unlock();
  // A thread that has locked no mutex does not wait either.
  EXPECT_FALSE(first.try_lock());
  EXPECT_EQ(coordinator.stats().refused.timed_out, 1);
  EXPECT_EQ(coordinator.stats().refused.contended, 2);
}

TEST_F(StdLock, ATryOfAMutexOfAnotherThreadAsksNoNode) {
  // The holder is a thread of this process: no node is asked, and std::lock turns to the other
  // mutex sooner.
  Coordinator coordinator = connect();
  Mutex mutex(coordinator, key);
  SharedMutex shared(coordinator, key + "/shared");
  mutex.lock();
  shared.lock_shared();
  const Stats before = coordinator.stats();
  std::thread([&] {
    EXPECT_FALSE(mutex.try_lock());
    EXPECT_FALSE(shared.try_lock());
    EXPECT_EQ(coordinator.stats().attempts, before.attempts);
    EXPECT_TRUE(shared.try_lock_shared());
    shared.unlock_shared();
  }).join();
}

}  // namespace
}  // namespace quorumlock::test
