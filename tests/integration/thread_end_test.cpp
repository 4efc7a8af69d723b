#include <pthread.h>

#include <mutex>
#include <thread>

#include "integration/fixture.hpp"
#include "support/process.hpp"

namespace quorumlock::test {
namespace {

/// Threads that end while they hold a lock.
class ThreadEnd : public FiveNodes {
 protected:
  Coordinator connect_and_log() {
    Options logged = options();
    logged.log = [this](std::string_view sentence) {
      const std::lock_guard<std::mutex> lock(guard_);
      (log_ += sentence) += '\n';
    };
    return test::connect(std::move(logged));
  }
  bool logged(const std::string& words) {
    return eventually([&] {
      const std::lock_guard<std::mutex> lock(guard_);
      return log_.find(words) != log_.npos;
    });
  }
  std::string log() {
    const std::lock_guard<std::mutex> lock(guard_);
    return log_;
  }
  bool is_free(const std::string& name) const {
    return eventually([&] { return cluster().holders(name) == 0; });
  }

 private:
  std::mutex guard_;
  std::string log_;
};

TEST_F(ThreadEnd, ReleasesItsMutexAndSaysSo) {
  // The next thread, which mostly has the same id, gets the lock long before the ttl and is not
  // taken for the one that has ended.
  Coordinator coordinator = connect_and_log();
  Mutex mutex(coordinator, key, {.ttl = 30s});
  std::thread([&] { mutex.lock(); }).join();
  EXPECT_TRUE(is_free(key));
  EXPECT_TRUE(logged('"' + key + "\" was held by a thread that has ended"));
  for (int i = 0; i < 10; ++i) {
    std::thread([&] {
      EXPECT_THROW((void)mutex.lease(), Error);
      EXPECT_TRUE(mutex.try_lock_for(20s));
    }).join();
  }
}

TEST_F(ThreadEnd, ReleasesSharedAndExclusiveLocks) {
  // A shared lock, and one that was downgraded, are released too.
  Coordinator coordinator = connect_and_log();
  SharedMutex mutex(coordinator, key, {.ttl = 30s});
  std::thread([&] { mutex.lock_shared(); }).join();
  EXPECT_TRUE(logged('"' + key + "\" was held by a thread"));
  EXPECT_TRUE(mutex.try_lock_for(20s));
  mutex.unlock();
  std::thread([&] {
    mutex.lock();
    mutex.downgrade();
  }).join();
  EXPECT_TRUE(mutex.try_lock_for(20s));
  mutex.unlock();
}

TEST_F(ThreadEnd, ReleasesNestedLocksAndEveryPermit) {
  // A thread's end releases a recursive mutex at any depth, and any number of permits.
  Coordinator coordinator = connect_and_log();
  RecursiveMutex mutex(coordinator, key, {.ttl = 30s});
  std::thread([&] {
    for (int i = 0; i < 5; ++i) mutex.lock();
  }).join();
  EXPECT_TRUE(mutex.try_lock_for(20s));
  EXPECT_EQ(mutex.depth(), 1U);
  mutex.unlock();
  EXPECT_TRUE(logged('"' + key + "\" was held by a thread"));

  Semaphore permits(coordinator, key + "/permits", 2, {.ttl = 30s});
  std::thread([&] {
    permits.acquire();
    permits.acquire();
  }).join();
  EXPECT_TRUE(permits.try_acquire_for(20s));
  EXPECT_TRUE(permits.try_acquire_for(20s));
  permits.release();
  permits.release();
}

TEST_F(ThreadEnd, LeavesLocksOfOthersAlone) {
  // Two threads hold a shared lock; one of them ends.
  Coordinator coordinator = connect_and_log();
  SharedMutex mutex(coordinator, key);
  mutex.lock_shared();
  std::thread([&] { mutex.lock_shared(); }).join();
  EXPECT_TRUE(logged('"' + key + "\" was held by a thread"));
  EXPECT_TRUE(mutex.lease().is_valid());
  mutex.unlock_shared();
}

TEST_F(ThreadEnd, ReportsNothingIfTheMutexWasUnlocked) {
  // Nothing is logged for a mutex that was destroyed, or whose coordinator has closed, either.
  Coordinator coordinator = connect_and_log();
  Mutex kept(coordinator, key + "/kept");
  std::thread([&] {
    kept.lock();
    kept.unlock();
    Mutex gone(coordinator, key + "/gone");
    gone.lock();
  }).join();
  EXPECT_TRUE(is_free(key + "/gone"));
  Coordinator closed = connect_and_log();
  Mutex of_closed(closed, key + "/closed");
  std::thread([&] {
    of_closed.lock();
    closed.close();
  }).join();
  EXPECT_TRUE(is_free(key + "/closed"));
  EXPECT_EQ(log().find("a thread that has ended"), std::string::npos) << log();
}

TEST_F(ThreadEnd, OtherThreadLocalsMayStillUnlock) {
  // A thread_local with a destructor may unlock what the thread has locked, and lock again.
  Coordinator coordinator = connect_and_log();
  Mutex mutex(coordinator, key, {.ttl = 30s});
  struct Last {
    Mutex* mutex = nullptr;
    bool* locked = nullptr;
    ~Last() {
      if (mutex == nullptr) return;
      mutex->unlock();
      *locked = mutex->try_lock_for(20s);
      mutex->unlock();
    }
  };
  bool locked = false;
  std::thread([&] {
    static thread_local Last last;
    last.mutex = &mutex;
    last.locked = &locked;
    mutex.lock();
  }).join();
  EXPECT_TRUE(locked);
  EXPECT_TRUE(is_free(key));
}

TEST_F(ThreadEnd, LaterDestructorsMayLockAgain) {
  // The destructor of a thread-specific key runs after the library has released the thread's locks.
  // What it locks is released, too.
  Coordinator coordinator = connect_and_log();
  Mutex mutex(coordinator, key, {.ttl = 30s});
  mutex.lock();
  mutex.unlock();
  pthread_key_t last{};
  ASSERT_EQ(
      pthread_key_create(&last, [](void* it) { (void)static_cast<Mutex*>(it)->try_lock_for(20s); }),
      0);
  std::thread([&] {
    mutex.lock();
    pthread_setspecific(last, &mutex);
  }).join();
  pthread_key_delete(last);
  EXPECT_TRUE(is_free(key));
}

TEST_F(ThreadEnd, ReleasesAStaticMutexAtTheEndOfTheProcess) {
  // A process that leaves main() with a static mutex locked releases it and ends in order.
  std::string urls;
  for (const std::string& url : cluster().urls()) urls += (urls.empty() ? "" : ",") + url;
  Process leaver({QUORUMLOCK_TEST_WORKER, "leave", urls, key});
  EXPECT_EQ(leaver.line(), "locked");
  EXPECT_EQ(leaver.wait(), 0);
  EXPECT_TRUE(is_free(key));
}

}  // namespace
}  // namespace quorumlock::test
