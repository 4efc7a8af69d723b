#include <semaphore>
#include <thread>

#include "integration/fixture.hpp"

// A mutex that its owner may lock again.
namespace quorumlock::test {
namespace {

class RecursiveMutexes : public FiveNodes {
 protected:
  Coordinator coordinator = connect();
  RecursiveMutex mutex{coordinator, key};

  bool free() {
    return eventually([&] { return cluster().keys().empty(); });
  }
  /// Returns whether another thread locks it at the first attempt.
  bool another_gets_it() {
    bool got = false;
    std::thread([&] {
      got = mutex.try_lock();
      if (got) mutex.unlock();
    }).join();
    return got;
  }
  Result<void> locked(LockOwner owner, std::stop_token stop = {}) {
    return ended([&](auto handler) { mutex.async_lock(owner, stop, std::move(handler)); });
  }
  Result<void> unlocked(LockOwner owner) {
    return ended([&](auto handler) { mutex.async_unlock(owner, std::move(handler)); });
  }
  template <class Start>
  static Result<void> ended(Start start) {
    Result<void> result;
    std::binary_semaphore done(0);
    start([&](Result<void> got) {
      result = std::move(got);
      done.release();
    });
    done.acquire();
    return result;
  }
};

TEST_F(RecursiveMutexes, TheLastUnlockReleases) {
  // Three locks share one lease and one token; other threads can lock after the third unlock.
  mutex.lock();
  const std::string token = mutex.lease().owner_token();
  mutex.lock();
  EXPECT_TRUE(mutex.try_lock());
  EXPECT_EQ(mutex.depth(), 3U);
  EXPECT_EQ(mutex.lease().owner_token(), token);
  mutex.unlock();
  mutex.unlock();
  EXPECT_GE(cluster().holders(key, token), 3);
  EXPECT_FALSE(another_gets_it());
  mutex.unlock();
  EXPECT_EQ(mutex.depth(), 0U);
  EXPECT_TRUE(free());
  EXPECT_TRUE(another_gets_it());
  EXPECT_EQ(thrown_by([&] { mutex.lease(); }), Errc::not_held);
}

TEST_F(RecursiveMutexes, ItsDepthIsBounded) {
  // max_depth locks succeed; one more is an error that names the remedy, and false from try_lock.
  for (std::size_t i = 0; i < RecursiveMutex::max_depth; ++i) mutex.lock();
  EXPECT_FALSE(mutex.try_lock());
  EXPECT_EQ(thrown_by([&] { mutex.lock(); }), Errc::invalid_argument);
  for (std::size_t i = 1; i < RecursiveMutex::max_depth; ++i) mutex.unlock();
  EXPECT_EQ(mutex.depth(), 1U);
  mutex.unlock();
  EXPECT_TRUE(free());
}

TEST_F(RecursiveMutexes, ALostLeaseIsNotNested) {
  // The keys were removed: another level would only seem to be safe.
  RecursiveMutex brief(coordinator, key, {.ttl = 300ms});
  brief.lock();
  for (int node = 0; node < 5; ++node) cluster().raw(node, {"DEL", key});
  for (int node = 0; node < 5; ++node) cluster().plant(node, key);
  EXPECT_TRUE(eventually([&] { return !brief.lease().is_valid(); }));
  EXPECT_EQ(thrown_by([&] { brief.lock(); }), Errc::lost);
  EXPECT_EQ(thrown_by([&] { (void)brief.try_lock(); }), Errc::lost);
  brief.unlock();
  EXPECT_EQ(brief.depth(), 0U);
  EXPECT_FALSE(brief.try_lock());  // another holds the key
}

TEST_F(RecursiveMutexes, AnOwnerMayReplaceTheThread) {
  // Handlers have no thread of their own: a LockOwner identifies their caller instead. Another
  // owner, and every thread, waits.
  const LockOwner owner;
  EXPECT_TRUE(ok(locked(owner)));
  EXPECT_TRUE(ok(locked(owner)));
  EXPECT_EQ(mutex.depth(owner), 2U);
  EXPECT_GE(cluster().holders(key, mutex.lease(owner).owner_token()), 3);
  EXPECT_FALSE(another_gets_it());
  EXPECT_FALSE(mutex.try_lock());
  std::stop_source impatient;
  impatient.request_stop();
  EXPECT_TRUE(fails_with(locked(LockOwner(), impatient.get_token()), Errc::cancelled));
  EXPECT_TRUE(ok(unlocked(owner)));
  EXPECT_FALSE(another_gets_it());
  EXPECT_TRUE(ok(unlocked(owner)));
  EXPECT_TRUE(free());
  EXPECT_TRUE(fails_with(unlocked(owner), Errc::not_held));
}

TEST_F(RecursiveMutexes, AnOwnerIsRefusedAnotherMode) {
  // Two owners would hold it at once.
  RecursiveMutex reader(coordinator, key, {.mode = LockMode::shared});
  const Result<void> refused =
      ended([&](auto handler) { reader.async_lock(LockOwner(), {}, std::move(handler)); });
  EXPECT_TRUE(fails_with(refused, Errc::invalid_argument));
}

TEST_F(RecursiveMutexes, LocksUnderWayAreJoined) {
  // Three calls before the first answer make one acquisition, and need three unlocks.
  const LockOwner owner;
  std::counting_semaphore<3> done(0);
  for (int i = 0; i < 3; ++i) {
    mutex.async_lock(owner, {}, [&](Result<void> result) {
      EXPECT_TRUE(ok(result));
      done.release();
    });
  }
  for (int i = 0; i < 3; ++i) done.acquire();
  EXPECT_EQ(mutex.depth(owner), 3U);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(ok(unlocked(owner)));
  EXPECT_TRUE(free());
}

TEST_F(RecursiveMutexes, OnTheLoopAHandlerIsNeverCalledInsideTheCall) {
  // A handler on the loop locks again: it returns before the next handler runs.
  const LockOwner owner;
  std::binary_semaphore done(0);
  bool returned = false;
  mutex.async_lock(owner, {}, [&](Result<void>) {
    mutex.async_lock(owner, {}, [&](Result<void> nested) {
      EXPECT_TRUE(returned);
      EXPECT_TRUE(ok(nested));
      done.release();
    });
    returned = true;
  });
  done.acquire();
  EXPECT_EQ(mutex.depth(owner), 2U);
}

TEST_F(RecursiveMutexes, DestructionReleasesWhatIsHeld) {
  // A lock in flight fails, as its mutex no longer exists.
  const LockOwner holder;
  std::binary_semaphore done(0);
  {
    RecursiveMutex gone(coordinator, key + "/other");
    EXPECT_TRUE(ok(ended([&](auto handler) { gone.async_lock(holder, {}, std::move(handler)); })));
    gone.async_lock(LockOwner(), {}, [&](Result<void> result) {
      EXPECT_TRUE(fails_with(result, Errc::closed));
      done.release();
    });
  }
  done.acquire();
  EXPECT_TRUE(free());
}

}  // namespace
}  // namespace quorumlock::test
