#include <atomic>
#include <concepts>
#include <functional>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "integration/fixture.hpp"

// Readers and writers with SharedMutex (docs/architecture.md).
namespace quorumlock::test {
namespace {

template <class M>
concept SharedTimedMutex = requires(M mutex) {
  { mutex.lock_shared() } -> std::same_as<void>;
  { mutex.try_lock_shared() } -> std::same_as<bool>;
  { mutex.try_lock_shared_for(std::chrono::duration<double>(1.5)) } -> std::same_as<bool>;
  { mutex.try_lock_shared_until(Clock::now()) } -> std::same_as<bool>;
  { mutex.unlock_shared() } -> std::same_as<void>;
};
static_assert(SharedTimedMutex<SharedMutex>);

class SharedMutexes : public FiveNodes {
 protected:
  Coordinator coordinator = connect();
  SharedMutex mutex{coordinator, key};
  static Error thrown_by(const std::function<void()>& call) {
    try {
      call();
    } catch (const Error& error) {
      return error;
    }
    return {Errc(), "nothing was thrown"};
  }
  /// Returns the result of the call on another thread.
  template <class F>
  static auto elsewhere(F&& call) {
    decltype(call()) result{};
    std::thread([&] { result = call(); }).join();
    return result;
  }
};

TEST_F(SharedMutexes, ReadersHoldTogetherAndWritersAlone) {
  // Two threads read at once while nobody writes, and a writer is alone.
  {
    const std::shared_lock mine(mutex);
    EXPECT_TRUE(mutex.lease().is_valid());
    EXPECT_TRUE(elsewhere([&] {
      const std::shared_lock theirs(mutex, std::try_to_lock);
      return theirs.owns_lock();
    }));
    EXPECT_FALSE(elsewhere([&] { return mutex.try_lock(); }));
  }
  EXPECT_TRUE(mutex.try_lock_shared_until(std::chrono::system_clock::time_point::max()));
  mutex.unlock_shared();
  const std::unique_lock mine(mutex);
  EXPECT_FALSE(elsewhere([&] { return mutex.try_lock_shared(); }));
  EXPECT_FALSE(elsewhere([&] { return mutex.try_lock_for(50ms); }));
}

TEST_F(SharedMutexes, AnUpgradeIsRefusedWithTheReason) {
  // Two upgrades would wait for each other for ever; the shared lock stays as it is.
  const std::shared_lock mine(mutex);
  const Error error = thrown_by([&] { mutex.lock(); });
  EXPECT_EQ(error.code(), Errc::would_deadlock);
  EXPECT_NE(std::string(error.what()).find("an upgrade would wait for its own reading"),
            std::string::npos)
      << error.what();
  EXPECT_EQ(thrown_by([&] { mutex.lock_shared(); }).code(), Errc::would_deadlock);
  EXPECT_TRUE(mutex.lease().is_valid());
}

TEST_F(SharedMutexes, EachFunctionUsesItsOwnMode) {
  // A mode in the options would contradict one of the functions; lockable_test.cpp has the other.
  SharedMutex wrong(coordinator, key, {.mode = LockMode::exclusive});
  EXPECT_EQ(thrown_by([&] { wrong.lock_shared(); }).code(), Errc::invalid_argument);
}

TEST_F(SharedMutexes, DowngradeLetsReadersInAndNoWriter) {
  // A waiting reader gets in, and a writer that waits with it does not until both are done.
  mutex.lock();
  const std::string token = mutex.lease().owner_token();
  std::atomic<bool> read = false;
  std::atomic<bool> done = false;
  std::atomic<bool> written = false;
  std::jthread reader([&] {
    const std::shared_lock lock(mutex);
    read = true;
    EXPECT_TRUE(eventually([&] { return done.load(); }));
    EXPECT_FALSE(written);
  });
  ASSERT_TRUE(eventually([&] { return coordinator.inspect(key).value().waiters.size() == 1; }));
  std::jthread writer([&] {
    const std::unique_lock lock(mutex);
    written = true;
  });
  ASSERT_TRUE(eventually([&] { return coordinator.inspect(key).value().waiters.size() >= 2; }));
  mutex.downgrade();
  EXPECT_EQ(mutex.lease().owner_token(), token);
  EXPECT_TRUE(eventually([&] { return read.load(); }));
  EXPECT_FALSE(written);
  EXPECT_EQ(thrown_by([&] { mutex.downgrade(); }).code(), Errc::not_held);
  mutex.unlock_shared();
  done = true;
  EXPECT_TRUE(eventually([&] { return written.load(); }));
}

TEST_F(SharedMutexes, ThreadsOfManyProcessesNeverWriteWhileOthersRead) {
  // The holders count themselves: every thread gets its turns, and the counters never meet.
  Coordinator other = connect();
  SharedMutex others(other, key);
  std::atomic<int> reading = 0;
  std::atomic<int> writing = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      SharedMutex& mine = i % 2 == 0 ? mutex : others;
      for (int turn = 0; turn < 20; ++turn) {
        if ((i + turn) % 4 == 0) {
          const std::unique_lock lock(mine);
          EXPECT_EQ(++writing, 1);
          EXPECT_EQ(reading, 0);
          --writing;
        } else {
          const std::shared_lock lock(mine);
          ++reading;
          EXPECT_EQ(writing, 0);
          --reading;
        }
      }
    });
  }
  threads.clear();
  EXPECT_TRUE(eventually([&] { return cluster().keys().empty(); }));
}

}  // namespace
}  // namespace quorumlock::test
