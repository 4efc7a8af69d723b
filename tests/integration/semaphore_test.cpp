#include <signal.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "integration/fixture.hpp"
#include "support/process.hpp"

// Permits on real servers.
namespace quorumlock::test {
namespace {

class Semaphores : public FiveNodes {
 protected:
  Coordinator coordinator = connect();
  const std::string semaphore_key = "quorumlock:semaphore:" + key;
  const std::string line = "quorumlock:queue:" + semaphore_key;

  [[nodiscard]] std::string slot(int number) const {
    return "quorumlock:permit:" + key + ":" + std::to_string(number);
  }
  /// Returns how many permits this node has granted.
  int given(int node) const {
    return static_cast<int>(
        cluster().raw(node, {"KEYS", "quorumlock:permit:" + key + ":*"}).elements.size());
  }
  bool none_given() const {
    return eventually([&] {
      for (int node = 0; node < 5; ++node) {
        if (given(node) != 0) return false;
      }
      return true;
    });
  }
  void see_waiters(long long count) const {
    ASSERT_TRUE(eventually([&] {
      for (int node = 0; node < 5; ++node) {
        if (cluster().raw(node, {"ZCARD", line}).integer != count) return false;
      }
      return true;
    })) << count
        << " waiters";
  }
  static Result<Lease> ask(Semaphore& semaphore) {
    Answer<Result<Lease>> answer;
    semaphore.async_acquire({}, answer.handler());
    return answer.get();
  }
};

TEST_F(Semaphores, GivesAsManyPermitsAsThereAreAndNoMore) {
  // Permits are found without waiting, each with its own slot and fencing token; then there is
  // none.
  Coordinator other = connect();
  Semaphore here(coordinator, key, 3);
  Semaphore there(other, key, 3);
  EXPECT_EQ(here.capacity(), 3);
  ASSERT_TRUE(eventually([&] { return here.try_acquire(); }));
  std::vector<std::uint64_t> tokens = {here.lease().fencing_token()};
  for (Semaphore* semaphore : {&there, &here}) {
    ASSERT_TRUE(eventually([&] { return semaphore->try_acquire(); }));
    tokens.push_back(semaphore->lease().fencing_token());
  }
  EXPECT_LT(tokens[0], tokens[1]);
  EXPECT_LT(tokens[1], tokens[2]);
  EXPECT_EQ(here.lease().resource(), key);
  EXPECT_FALSE(here.try_acquire());
  EXPECT_FALSE(there.try_acquire_for(1s));
  EXPECT_FALSE(there.try_acquire_until(std::chrono::steady_clock::now() + 1s));
  for (int i = 1; i <= 3; ++i) EXPECT_GE(cluster().holders(slot(i)), 3) << i;
  EXPECT_EQ(cluster().value(0, semaphore_key), "3");
  here.release();
  EXPECT_TRUE(there.try_acquire_for(20s));
  here.release();
  there.release();
  there.release();
  EXPECT_TRUE(none_given());
  EXPECT_EQ(thrown_by([&] { here.release(); }), Errc());
  EXPECT_EQ(thrown_by([&] { (void)here.lease(); }), Errc::not_held);
}

TEST_F(Semaphores, ASingleAttemptFindsTheOnlyFreePermit) {
  // Each of twenty permits in turn is the only free one.
  Semaphore semaphore(coordinator, key, 20);
  std::deque<Lease> permits;
  for (int i = 0; i < 20; ++i) {
    Result<Lease> permit = ask(semaphore);
    ASSERT_TRUE(ok(permit));
    permits.push_back(std::move(*permit));
  }
  EXPECT_FALSE(semaphore.try_acquire());
  Coordinator other = connect();
  warm(other);
  Semaphore there(other, key, 20);
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(ok(permits.front().release()));
    permits.pop_front();
    // A release is complete once a quorum has run it.
    ASSERT_TRUE(there.try_acquire()) << i;
    permits.push_back(std::move(there.lease()));
    there.release();  // a moved-out lease is not released
  }
  EXPECT_FALSE(there.try_acquire());
  permits.clear();
  EXPECT_TRUE(none_given());
}

TEST_F(Semaphores, ThreadsOfManyCoordinatorsNeverHoldTooManyPermits) {
  // Twelve threads share three permits; all three are in use at some time.
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  std::mutex guard;
  std::set<std::uint64_t> tokens;
  std::vector<std::thread> threads;
  for (int t = 0; t < 12; ++t) {
    threads.emplace_back([&, t] {
      Coordinator own = connect();
      LockOptions options;
      if (t % 3 == 0) options.order = WaitOrder::unordered;
      Semaphore semaphore(own, key, 3, options);
      for (int i = 0; i < 20; ++i) {
        semaphore.acquire();
        const int now = ++inside;
        EXPECT_LE(now, 3);
        for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
        }
        {
          const std::lock_guard one_at_a_time(guard);
          EXPECT_TRUE(tokens.insert(semaphore.lease().fencing_token()).second);
        }
        EXPECT_TRUE(eventually([&] { return most == 3; }));  // the first ones wait for two others
        EXPECT_TRUE(semaphore.lease().is_valid());
        --inside;
        semaphore.release();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 3);
  EXPECT_EQ(tokens.size(), 240U);
  EXPECT_TRUE(none_given());
}

TEST_F(Semaphores, WaitersAreServedInTheOrderInWhichTheyCame) {
  // The waiters are of several processes; each of two released permits goes to the next waiter.
  std::vector<Coordinator> processes;
  for (int i = 0; i < 4; ++i) processes.push_back(connect());
  std::deque<Semaphore> semaphores;
  for (Coordinator& process : processes) semaphores.emplace_back(process, key, 2);
  Result<Lease> one = ask(semaphores[0]);
  Result<Lease> two = ask(semaphores[1]);
  ASSERT_TRUE(ok(one));
  ASSERT_TRUE(ok(two));
  std::mutex guard;
  std::vector<int> order;
  std::deque<Lease> permits;
  for (int i = 0; i < 8; ++i) {
    semaphores[static_cast<std::size_t>(i % 4)].async_acquire({}, [&, i](Result<Lease> permit) {
      EXPECT_TRUE(ok(permit));
      const std::lock_guard one_at_a_time(guard);
      order.push_back(i);
      permits.push_back(std::move(*permit));
    });
    see_waiters(i + 1);
  }
  const auto served = [&] {
    const std::lock_guard one_at_a_time(guard);
    return order.size();
  };
  EXPECT_TRUE(ok(one->release()));
  EXPECT_TRUE(ok(two->release()));
  for (std::size_t i = 2; i <= 8; i += 2) {
    // Two waiters are served at a time, while the others wait.
    ASSERT_TRUE(eventually([&] { return served() == i; }));
    see_waiters(8 - static_cast<long long>(i));
    EXPECT_EQ(served(), i);
    std::deque<Lease> done;
    {
      const std::lock_guard one_at_a_time(guard);
      done = std::exchange(permits, {});
    }
    for (Lease& permit : done) EXPECT_TRUE(ok(permit.release()));
  }
  // The two waiters of each pair were served at the same time, in either order.
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(order[i] / 2, static_cast<int>(i) / 2) << i;
  }
  EXPECT_TRUE(none_given());
}

TEST_F(Semaphores, APermitIsRenewedAndRunsOutWithItsHolder) {
  // A permit still exists long after its ttl; that of a killed process goes to the next waiter.
  Semaphore semaphore(coordinator, key, 1, {.ttl = 3s});
  semaphore.acquire();
  const Clock::time_point end = semaphore.lease().valid_until();
  EXPECT_TRUE(eventually([&] { return Clock::now() > end + 1s; }));
  EXPECT_TRUE(semaphore.lease().is_valid());
  EXPECT_FALSE(semaphore.try_acquire());
  EXPECT_TRUE(ok(semaphore.lease().extend(20s)));
  EXPECT_GT(semaphore.lease().remaining(), 10s);
  semaphore.release();
  EXPECT_TRUE(none_given());

  std::string nodes;
  for (const std::string& url : cluster().urls()) nodes += (nodes.empty() ? "" : ",") + url;
  Process holder({QUORUMLOCK_TEST_WORKER, "permit", nodes, key, "1", "1500"});
  EXPECT_EQ(holder.line(), "held");
  EXPECT_FALSE(semaphore.try_acquire());
  holder.signal(SIGKILL);
  holder.wait();
  EXPECT_TRUE(semaphore.try_acquire_for(20s));
  semaphore.release();
}

TEST_F(Semaphores, ProcessesNeverHoldTooManyPermits) {
  // Each process has a file in a directory while it holds one of two permits, and counts the files.
  const TemporaryDirectory directory;
  std::string nodes;
  for (const std::string& url : cluster().urls()) nodes += (nodes.empty() ? "" : ",") + url;
  std::vector<Process> workers;
  for (int i = 0; i < 4; ++i) {
    workers.push_back(Process(
        {QUORUMLOCK_TEST_WORKER, "crowd", nodes, key, "2", directory.path().string(), "40"}));
  }
  for (Process& worker : workers) EXPECT_EQ(worker.wait(), 0);
  EXPECT_TRUE(none_given());
}

TEST_F(Semaphores, AnotherCapacityIsRefusedWithBothNumbers) {
  // While a permit is held the error has both numbers, with or without a wait. If none is held, the
  // new capacity applies.
  Semaphore three(coordinator, key, 3);
  Coordinator other = connect();
  warm(other);
  Semaphore five(other, key, 5);
  three.acquire();
  ASSERT_TRUE(eventually([&] { return cluster().holders(semaphore_key) == 5; }));
  EXPECT_EQ(thrown_by([&] { (void)five.try_acquire(); }), Errc::misconfigured);
  const Result<Lease> refused = ask(five);
  ASSERT_TRUE(fails_with(refused, Errc::misconfigured));
  EXPECT_GE(refused.error().outcome().count(Vote::capacity_differs), 3);
  const std::string sentence = refused.error().what();
  EXPECT_NE(sentence.find("it has a capacity of 3, and not of 5"), sentence.npos) << sentence;
  three.release();
  ASSERT_TRUE(none_given());
  five.acquire();
  EXPECT_EQ(thrown_by([&] { (void)three.try_acquire(); }), Errc::misconfigured);
  five.release();
}

TEST_F(Semaphores, BadCapacitiesAreRefusedBeforeAnythingIsSent) {
  for (const std::ptrdiff_t capacity : {std::ptrdiff_t{0}, std::ptrdiff_t{-1},
                                        Semaphore::max_capacity + 1, PTRDIFF_MAX, PTRDIFF_MIN}) {
    Semaphore semaphore(coordinator, key, capacity);
    EXPECT_EQ(thrown_by([&] { semaphore.acquire(); }), Errc::invalid_argument) << capacity;
    EXPECT_TRUE(fails_with(ask(semaphore), Errc::invalid_argument));
  }
  Semaphore reader(coordinator, key, 2, {.mode = LockMode::shared});
  EXPECT_TRUE(fails_with(ask(reader), Errc::invalid_argument));
  Semaphore writer(coordinator, key + "/permit", 2);
  Result<Lease> permit = ask(writer);
  ASSERT_TRUE(ok(permit));
  EXPECT_TRUE(fails_with(permit->downgrade(), Errc::invalid_argument));
  EXPECT_TRUE(ok(permit->release()));
  Semaphore reserved(coordinator, "quorumlock:x", 2);
  EXPECT_EQ(thrown_by([&] { reserved.acquire(); }), Errc::invalid_argument);
  Semaphore most(coordinator, key, Semaphore::max());
  EXPECT_TRUE(most.try_acquire_for(20s));
}

TEST_F(Semaphores, IsNotTheLockOfThatName) {
  // A mutex and a semaphore share a name, and another semaphore's name contains it.
  Mutex mutex(coordinator, key);
  Semaphore semaphore(coordinator, key, 1);
  Semaphore other(coordinator, "1:" + key, 1);
  mutex.lock();
  semaphore.acquire();
  other.acquire();
  EXPECT_TRUE(mutex.lease().is_valid() && semaphore.lease().is_valid() && other.lease().is_valid());
  mutex.unlock();
}

TEST_F(Semaphores, ForeignKeysAndDeadNodesOnAMinorityDoNotMatter) {
  // Another client's keys are in all slots of two nodes; then those two nodes are down.
  Semaphore semaphore(coordinator, key, 2);
  for (const int node : {1, 4}) {
    for (const int number : {1, 2}) cluster().plant(node, slot(number));
  }
  ASSERT_TRUE(semaphore.try_acquire_for(20s));
  ASSERT_TRUE(semaphore.try_acquire_for(20s));
  EXPECT_FALSE(semaphore.try_acquire());
  semaphore.release();
  semaphore.release();
  cluster().kill(1);
  cluster().kill(4);
  ASSERT_TRUE(semaphore.try_acquire_for(20s));
  ASSERT_TRUE(semaphore.try_acquire_for(20s));
  EXPECT_FALSE(semaphore.try_acquire());
}

TEST_F(Semaphores, APermitChangesHandsAsALease) {
  // A permit is taken on the loop and released by another thread; a semaphore that is destroyed
  // releases the permits of its threads.
  Lease permit;
  {
    Semaphore semaphore(coordinator, key, 2);
    semaphore.acquire();
    permit = ask(semaphore).value();
  }
  EXPECT_TRUE(eventually([&] { return given(0) == 1 && given(1) == 1; }));
  std::thread([lease = std::move(permit)]() mutable { EXPECT_TRUE(ok(lease.release())); }).join();
  EXPECT_TRUE(none_given());
}

TEST_F(Semaphores, WaitsThatEndLeaveTheLine) {
  // A waiter is cancelled: the next one gets the permit.
  Semaphore semaphore(coordinator, key, 1);
  semaphore.acquire();
  std::stop_source stop;
  Answer<Result<Lease>> cancelled;
  Answer<Result<Lease>> patient;
  Coordinator other = connect();
  Semaphore there(other, key, 1);
  there.async_acquire(stop.get_token(), cancelled.handler());
  see_waiters(1);
  semaphore.async_acquire({}, patient.handler());
  see_waiters(2);
  stop.request_stop();
  EXPECT_TRUE(fails_with(cancelled.get(), Errc::cancelled));
  see_waiters(1);
  semaphore.release();
  Result<Lease> permit = patient.get();
  ASSERT_TRUE(ok(permit));
  see_waiters(0);
}

}  // namespace
}  // namespace quorumlock::test
