#include <atomic>
#include <thread>
#include <vector>

#include "integration/fixture.hpp"

namespace quorumlock::test {
namespace {

class Wait : public FiveNodes {
 protected:
  /// Returns once a node has received more than four further commands.
  static void see_attempts() {
    const long long before = cluster().commands(0);
    ASSERT_TRUE(eventually([&] { return cluster().commands(0) > before + 4; }));
  }
};

TEST_F(Wait, ZeroIsOneAttempt) {
  // Without a wait a taken lock is refused at the first attempt.
  Coordinator coordinator = connect();
  for (int node = 0; node < 5; ++node) cluster().plant(node, key);
  const Result<Lease> refused = coordinator.acquire(key, {.wait = 0s});
  ASSERT_TRUE(fails_with(refused, Errc::contended));
  EXPECT_EQ(refused.error().outcome().attempts, 1);
}

TEST_F(Wait, IsABudgetForTheFirstAttemptToo) {
  // The call ends with its wait, although the nodes have not answered yet, or are stopped; what the
  // attempt may have set is deleted.
  Options patient = options();
  patient.node_timeout = 10s;
  Coordinator coordinator = test::connect(patient);
  for (const WaitOrder order : {WaitOrder::fifo, WaitOrder::unordered}) {
    const Result<Lease> brief = coordinator.acquire(key, {.wait = 1us, .order = order});
    EXPECT_TRUE(fails_with(brief, Errc::no_quorum));
  }
  EXPECT_TRUE(eventually([&] { return cluster().keys().empty(); }));
  warm(coordinator);
  for (const int node : {0, 1, 2}) cluster().pause(node);
  const Clock::time_point before = Clock::now();
  EXPECT_TRUE(fails_with(coordinator.acquire(key, {.wait = 200ms}), Errc::no_quorum));
  const Clock::duration took = Clock::now() - before;
  EXPECT_GE(took, 200ms);
  EXPECT_LT(took, 5s);
  for (const int node : {0, 1, 2}) cluster().resume(node);
  EXPECT_TRUE(eventually([&] { return cluster().keys().empty(); }));
}

TEST_F(Wait, RunsOutAsTimedOut) {
  // A wait for a lock that stays taken lasts as long as requested and ends as timed_out.
  Coordinator coordinator = connect();
  for (int node = 0; node < 5; ++node) cluster().plant(node, key);
  const Clock::time_point before = Clock::now();
  const Result<Lease> refused = coordinator.acquire(key, {.wait = 300ms});
  EXPECT_GE(Clock::now() - before, 300ms);
  ASSERT_TRUE(fails_with(refused, Errc::timed_out));
  EXPECT_GE(refused.error().outcome().count(Vote::held), 3);
  const Result<Lease> unordered =
      coordinator.acquire(key, {.wait = 300ms, .order = WaitOrder::unordered});
  ASSERT_TRUE(fails_with(unordered, Errc::timed_out));
  EXPECT_GT(unordered.error().outcome().attempts, 1);
  EXPECT_EQ(cluster().holders(key, "foreign"), 5);
}

TEST_F(Wait, CountsFromTheCall) {
  // The loop is busy until the wait is over: there is time for the first attempt only.
  std::atomic<bool> busy{false};
  std::atomic<bool> over{false};
  Coordinator coordinator = connect();
  for (int node = 0; node < 5; ++node) cluster().plant(node, key);
  coordinator.async_acquire(key + "/other", {}, {}, [&](const Result<Lease>&) {
    busy = true;
    while (!over) std::this_thread::yield();
  });
  EXPECT_TRUE(eventually([&] { return busy.load(); }));
  Answer<Result<Lease>> answer;
  coordinator.async_acquire(key, {.wait = 300ms}, {}, answer.handler());
  const Clock::time_point end = Clock::now() + 300ms;
  EXPECT_TRUE(eventually([&] { return Clock::now() >= end; }));
  over = true;
  const Result<Lease> refused = answer.get();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().outcome().attempts, 1);
}

TEST_F(Wait, PausesAtLeastTheDelayBetweenAttempts) {
  // There is time for eleven attempts 30 ms apart in 300 ms, and for no more.
  Options paced = options();
  paced.retry = {30ms, 0ms};
  Coordinator coordinator = test::connect(paced);
  for (int node = 0; node < 5; ++node) cluster().plant(node, key);
  const Result<Lease> refused =
      coordinator.acquire(key, {.wait = 300ms, .order = WaitOrder::unordered});
  ASSERT_TRUE(fails_with(refused, Errc::timed_out));
  EXPECT_LE(refused.error().outcome().attempts, 11);
}

TEST_F(Wait, GetsTheLockWhenItIsReleased) {
  // The waiter has the lock soon after the holder's release, with its own token.
  Coordinator holder = connect();
  Coordinator waiter = connect();
  warm(holder);
  warm(waiter);  // so that the nodes see its attempts, and not its greetings
  Result<Lease> first = holder.acquire(key);
  ASSERT_TRUE(ok(first));
  Answer<Result<Lease>> answer;
  waiter.async_acquire(key, {.wait = forever}, {}, answer.handler());
  for (int node = 0; node < 5; ++node) {
    ASSERT_TRUE(eventually([&] {
      return cluster().raw(node, {"ZCARD", "quorumlock:queue:" + key}).integer == 1;
    }));
  }
  EXPECT_EQ(answer.calls(), 0);
  EXPECT_TRUE(ok(first->release()));
  Result<Lease> second = answer.get();
  ASSERT_TRUE(ok(second));
  EXPECT_GT(second->outcome().attempts, 1);
  EXPECT_TRUE(eventually([&] { return cluster().holders(key, second->owner_token()) >= 3; }));
}

TEST_F(Wait, GetsTheLockWhenAForeignKeyRunsOut) {
  // A holder of another library dies: its keys' expiry lets the waiter in.
  Coordinator coordinator = connect();
  for (int node = 0; node < 5; ++node) {
    cluster().raw(node, {"SET", key, "foreign", "NX", "PX", "400"});
  }
  EXPECT_TRUE(ok(coordinator.acquire(key, {.wait = forever})));
}

TEST_F(Wait, ManyWaitersAreAllServed) {
  // Fifty waiters of two coordinators hold the lock in turn, never two at once.
  std::vector<Coordinator> coordinators;
  coordinators.push_back(connect());
  coordinators.push_back(connect());
  std::atomic<int> inside{0};
  std::atomic<int> served{0};
  std::atomic<int> together{0};
  for (std::size_t i = 0; i < 50; ++i) {
    coordinators[i % 2].async_acquire(key, {.wait = forever}, {}, [&](Result<Lease> lease) {
      if (lease) {
        if (inside.fetch_add(1) > 0) ++together;
        inside.fetch_sub(1);
      }
      ++served;
    });
  }
  EXPECT_TRUE(eventually([&] { return served == 50; }));
  EXPECT_EQ(together, 0);
}

TEST_F(Wait, MayBeCancelled) {
  // A stop request ends a wait without limit, and no key or entry of it is left.
  Coordinator coordinator = connect();
  for (const int node : {0, 1, 2}) cluster().plant(node, key);
  std::stop_source stop;
  Answer<Result<Lease>> answer;
  coordinator.async_acquire(key, {.wait = forever}, stop.get_token(), answer.handler());
  see_attempts();
  stop.request_stop();
  EXPECT_TRUE(fails_with(answer.get(), Errc::cancelled));
  EXPECT_TRUE(eventually([&] { return cluster().holders(key) == 3; }));
  EXPECT_EQ(cluster().holders(key, "foreign"), 3);
}

TEST_F(Wait, ABlockedThreadIsCancelledFromAnother) {
  // acquire() returns when another thread requests its stop.
  Coordinator coordinator = connect();
  for (int node = 0; node < 5; ++node) cluster().plant(node, key);
  std::stop_source stop;
  std::thread other([&] {
    see_attempts();
    stop.request_stop();
  });
  EXPECT_TRUE(
      fails_with(coordinator.acquire(key, {.wait = forever}, stop.get_token()), Errc::cancelled));
  other.join();
}

TEST_F(Wait, AStoppedTokenCancelsBeforeItBegins) {
  // With a stop token requested before the call, nothing is sent.
  Coordinator coordinator = connect();
  warm(coordinator);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_TRUE(
      fails_with(coordinator.acquire(key, {.wait = forever}, stop.get_token()), Errc::cancelled));
  EXPECT_TRUE(fails_with(coordinator.acquire(key, {}, stop.get_token()), Errc::cancelled));
  EXPECT_TRUE(cluster().keys().empty());
}

TEST_F(Wait, AHundredWaitersAreCancelledAtOnce) {
  // One stop request ends a hundred waits, each handler once; a later waiter gets the lock.
  Coordinator coordinator = connect();
  Result<Lease> held = coordinator.acquire(key);
  ASSERT_TRUE(ok(held));
  std::stop_source stop;
  std::vector<Answer<Result<Lease>>> answers(100);
  for (auto& answer : answers) {
    coordinator.async_acquire(key, {.wait = forever}, stop.get_token(), answer.handler());
  }
  see_attempts();
  stop.request_stop();
  for (auto& answer : answers) EXPECT_TRUE(fails_with(answer.get(), Errc::cancelled));
  EXPECT_TRUE(held->is_valid());
  EXPECT_TRUE(ok(held->release()));
  EXPECT_TRUE(ok(coordinator.acquire(key, {.wait = 20s})));
  for (auto& answer : answers) EXPECT_EQ(answer.calls(), 1);
  EXPECT_TRUE(eventually([&] { return cluster().keys().empty(); }));
}

TEST_F(Wait, ACancelledWaiterLeavesTheOthersWaiting) {
  // One of two waiters is cancelled; the other gets the lock.
  Coordinator coordinator = connect();
  Result<Lease> held = coordinator.acquire(key);
  ASSERT_TRUE(ok(held));
  std::stop_source stop;
  Answer<Result<Lease>> impatient;
  Answer<Result<Lease>> patient;
  coordinator.async_acquire(key, {.wait = forever}, stop.get_token(), impatient.handler());
  coordinator.async_acquire(key, {.wait = forever}, {}, patient.handler());
  stop.request_stop();
  EXPECT_TRUE(fails_with(impatient.get(), Errc::cancelled));
  EXPECT_TRUE(ok(held->release()));
  EXPECT_TRUE(ok(patient.get()));
}

TEST_F(Wait, ACancellationThatMeetsTheGrantLeavesALeaseOrNoKey) {
  // The first of the two decides: a lease, or cancelled with no key on any node.
  Coordinator coordinator = connect();
  for (int i = 0; i < 200; ++i) {
    std::stop_source stop;
    Answer<Result<Lease>> answer;
    std::thread canceller([&] { stop.request_stop(); });
    coordinator.async_acquire(key, {.wait = 20s}, stop.get_token(), answer.handler());
    canceller.join();
    Result<Lease> lease = answer.get();
    if (lease)
      EXPECT_TRUE(ok(lease->release()));
    else
      ASSERT_TRUE(fails_with(lease, Errc::cancelled));
    EXPECT_EQ(answer.calls(), 1);
  }
  EXPECT_TRUE(eventually([&] { return cluster().keys().empty(); }));
}

TEST_F(Wait, TheStopTokenCancelsTheWaitAndNotTheLease) {
  // A stop request after the grant does not affect the lease.
  Coordinator coordinator = connect();
  std::stop_source stop;
  Result<Lease> lease = coordinator.acquire(key, {}, stop.get_token());
  ASSERT_TRUE(ok(lease));
  stop.request_stop();
  EXPECT_TRUE(ok(lease->extend(10s)));
  EXPECT_FALSE(lease->stop_token().stop_requested());
}

TEST_F(Wait, SurvivesServersThatAreKilledAndRestarted) {
  // During a wait the nodes die and come back one after the other, and then all at once.
  Cluster durable({.size = 3, .durable = true});
  Coordinator coordinator = test::connect(durable.options());
  for (int node = 0; node < 3; ++node) durable.plant(node, key);
  Answer<Result<Lease>> answer;
  coordinator.async_acquire(key, {.wait = forever}, {}, answer.handler());
  for (int node = 0; node < 3; ++node) {
    durable.kill(node);
    durable.restart(node);
  }
  for (int node = 0; node < 3; ++node) durable.kill(node);
  for (int node = 0; node < 3; ++node) durable.restart(node);
  EXPECT_EQ(answer.calls(), 0);
  EXPECT_EQ(durable.holders(key, "foreign"), 3);
  durable.raw_everywhere({"DEL", key});
  Result<Lease> lease = answer.get();
  ASSERT_TRUE(ok(lease));
  EXPECT_TRUE(eventually([&] { return durable.holders(key, lease->owner_token()) >= 2; }));
}

TEST_F(Wait, AnAttemptThatDiedDoesNotWinLater) {
  // A waiter's attempt outlives its ttl on three silent nodes; when they go on, their late grants
  // are released, and the waiter wins with a new token or not at all.
  Coordinator coordinator = connect();
  warm(coordinator);
  for (const int node : {0, 1, 2}) cluster().pause(node);
  Answer<Result<Lease>> answer;
  coordinator.async_acquire(key, {.ttl = 1s, .wait = forever, .auto_extend = true}, {},
                            answer.handler());
  std::string dead;
  EXPECT_TRUE(eventually([&] {
    dead = cluster().value(3, key).value_or("");
    return !dead.empty();
  }));
  EXPECT_TRUE(eventually([&] { return cluster().value(3, key).value_or("") != dead; }));
  for (const int node : {0, 1, 2}) cluster().resume(node);
  Result<Lease> lease = answer.get();
  ASSERT_TRUE(ok(lease));
  EXPECT_NE(lease->owner_token(), dead);
  EXPECT_TRUE(eventually([&] { return cluster().holders(key, lease->owner_token()) == 5; }));
}

}  // namespace
}  // namespace quorumlock::test
