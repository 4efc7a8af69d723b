#include <atomic>
#include <thread>

#include "integration/fixture.hpp"

namespace quorumlock::test {
namespace {

class Mutexes : public FiveNodes {
 protected:
  Coordinator coordinator = connect();
  bool free() {
    return eventually([&] { return cluster().keys().empty(); });
  }
};

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

}  // namespace
}  // namespace quorumlock::test
