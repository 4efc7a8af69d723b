#include <optional>
#include <utility>
#include <vector>

#include "support/detached.hpp"
#include "with_asio/fixture.hpp"

namespace quorumlock::test {
namespace {

class Operations : public WithAsio {
 protected:
  Coordinator coordinator = connect();
  net::io_context context;
};

TEST_F(Operations, SeveralLocksAndTheLease) {
  // A lease of two locks is extended and released. A writer is downgraded, and a reader gets in.
  run(context, [&]() -> net::awaitable<void> {
    std::vector<std::string> names;
    names.push_back(key + "/1");
    names.push_back(key + "/2");
    Lease both = co_await async_acquire_all(coordinator, std::move(names), {.wait = 20s},
                                            net::use_awaitable);
    EXPECT_EQ(both.resources().size(), 2U);
    const Clock::time_point before = both.valid_until();
    co_await async_extend(both, 25s, net::use_awaitable);
    EXPECT_GT(both.valid_until(), before);
    co_await async_release(both, net::use_awaitable);
    EXPECT_FALSE(both.is_valid());
    const Result<void> again = co_await async_release(both, as_result(net::use_awaitable));
    EXPECT_TRUE(fails_with(again, Errc::not_held));

    Lease writer = co_await async_acquire(coordinator, key, {.wait = 20s}, net::use_awaitable);
    co_await async_downgrade(writer, net::use_awaitable);
    const Lease reader = co_await async_acquire(
        coordinator, key, {.wait = 20s, .mode = LockMode::shared}, net::use_awaitable);
    EXPECT_TRUE(writer.is_valid() && reader.is_valid());
  });
}

TEST_F(Operations, ALeaseThatHoldsNothingIsNotHeld) {
  // The members would throw at the call.
  run(context, [&]() -> net::awaitable<void> {
    Lease nothing;
    const Result<void> released = co_await async_release(nothing, as_result(net::use_awaitable));
    EXPECT_TRUE(fails_with(released, Errc::not_held));
  });
}

TEST_F(Operations, MutexesAndPermits) {
  // Each kind of lock completes with the Lease that holds it.
  Mutex mutex(coordinator, key + "/mutex");
  SharedMutex shared(coordinator, key + "/shared");
  Semaphore semaphore(coordinator, key + "/semaphore", 2);
  run(context, [&]() -> net::awaitable<void> {
    const Lease locked = co_await async_lock(mutex, net::use_awaitable);
    EXPECT_FALSE(mutex.try_lock());
    {
      const Lease writer = co_await async_lock(shared, net::use_awaitable);
      EXPECT_FALSE(shared.try_lock_shared());
    }
    const Lease reader = co_await async_lock_shared(shared, net::use_awaitable);
    const Lease other = co_await async_lock_shared(shared, net::use_awaitable);
    const Lease one = co_await async_acquire(semaphore, net::use_awaitable);
    const Lease two = co_await async_lock(semaphore, net::use_awaitable);
    EXPECT_FALSE(semaphore.try_acquire());
    EXPECT_TRUE(locked.is_valid() && reader.is_valid() && other.is_valid());
    EXPECT_TRUE(one.is_valid() && two.is_valid());
  });
}

TEST_F(Operations, WhatAThreadHoldsIsUnlocked) {
  Mutex mutex(coordinator, key + "/mutex");
  SharedMutex shared(coordinator, key + "/shared");
  Semaphore semaphore(coordinator, key + "/semaphore", 1);
  run(context, [&]() -> net::awaitable<void> {
    mutex.lock();
    co_await async_unlock(mutex, net::use_awaitable);
    shared.lock();
    co_await async_unlock(shared, net::use_awaitable);
    shared.lock_shared();
    co_await async_unlock_shared(shared, net::use_awaitable);
    for (int round = 0; round < 2; ++round) {
      semaphore.acquire();
      if (round == 0) co_await async_release(semaphore, net::use_awaitable);
      if (round == 1) co_await async_unlock(semaphore, net::use_awaitable);
    }
    const Result<void> again = co_await async_unlock(mutex, as_result(net::use_awaitable));
    EXPECT_TRUE(fails_with(again, Errc::not_held));
    EXPECT_TRUE(mutex.try_lock() && shared.try_lock() && semaphore.try_acquire());
    mutex.unlock();
    shared.unlock();
    semaphore.release();
  });
}

TEST_F(Operations, OptionsMayBeLeftOut) {
  run(context, [&]() -> net::awaitable<void> {
    const Lease both =
        co_await async_acquire_all(coordinator, {key + "/1", key + "/2"}, net::use_awaitable);
    EXPECT_EQ(both.resources().size(), 2U);
    const Lease first = co_await async_acquire_permit(coordinator, key, 2, net::use_awaitable);
    const Lease second =
        co_await async_acquire_permit(coordinator, key, 2, {.ttl = 20s}, net::use_awaitable);
    EXPECT_TRUE(first.is_valid() && second.is_valid());
    const Result<Lease> third =
        co_await async_acquire_permit(coordinator, key, 2, as_result(net::use_awaitable));
    EXPECT_TRUE(fails_with(third, Errc::contended));
  });
}

TEST_F(Operations, ARecursiveMutex) {
  RecursiveMutex mutex(coordinator, key);
  const LockOwner owner;
  run(context, [&]() -> net::awaitable<void> {
    co_await async_lock(mutex, owner, net::use_awaitable);
    co_await async_lock(mutex, owner, net::use_awaitable);
    EXPECT_EQ(mutex.depth(owner), 2U);
    co_await async_unlock(mutex, owner, net::use_awaitable);
    co_await async_unlock(mutex, owner, net::use_awaitable);
    EXPECT_EQ(mutex.depth(owner), 0U);
    const Result<void> more = co_await async_unlock(mutex, owner, as_result(net::use_awaitable));
    EXPECT_TRUE(fails_with(more, Errc::not_held));
  });
}

TEST_F(Operations, AnElection) {
  // A candidate leads, proclaims and resigns.
  Election election(coordinator, key);
  run(context, [&]() -> net::awaitable<void> {
    Leadership leadership = co_await async_campaign(election, "here", net::use_awaitable);
    EXPECT_TRUE(leadership.is_valid());
    co_await async_proclaim(leadership, "there", net::use_awaitable);
    const std::optional<Leader> leader = co_await async_leader(election, net::use_awaitable);
    EXPECT_TRUE(leader && leader->value == "there");
    co_await async_resign(leadership, net::use_awaitable);
    EXPECT_FALSE(leadership.is_valid());
  });
}

TEST_F(Operations, ByOwnerToken) {
  // Another process looks at a lock, extends it and releases it by its token.
  run(context, [&]() -> net::awaitable<void> {
    const Lease lease = co_await async_acquire(coordinator, key, {.wait = 20s}, net::use_awaitable);
    const OwnerToken owner(lease.owner_token());
    const Inspection seen = co_await async_inspect(coordinator, key, net::use_awaitable);
    EXPECT_EQ(seen.holder, owner.text());
    const Clock::time_point until =
        co_await async_extend(coordinator, key, owner, 20s, net::use_awaitable);
    EXPECT_GT(until, Clock::now());
    co_await async_release(coordinator, key, owner, net::use_awaitable);
    const Result<void> again =
        co_await async_release(coordinator, key, owner, as_result(net::use_awaitable));
    EXPECT_TRUE(fails_with(again, Errc::not_held));
  });
}

Detached lock_on(net::io_context& context, Coordinator& coordinator, std::string key, bool& done) {
  const auto work = net::make_work_guard(context);
  const Result<Lease> lease =
      co_await coordinator.co_acquire(key, {.wait = 20s}).on(context.get_executor());
  EXPECT_TRUE(ok(lease));
  EXPECT_TRUE(context.get_executor().running_in_this_thread());
  done = true;
}

TEST_F(Operations, ACoroutineOfAnotherTaskTypeResumesOnAnExecutor) {
  bool done = false;
  lock_on(context, coordinator, key, done);
  context.run();
  EXPECT_TRUE(done);
}

TEST_F(Operations, StatusAndClose) {
  run(context, [&]() -> net::awaitable<void> {
    const ClusterStatus status = co_await async_status(coordinator, net::use_awaitable);
    EXPECT_EQ(status.nodes.size(), 5U);
    co_await async_close(coordinator, net::use_awaitable);
    const Result<Lease> closed =
        co_await async_acquire(coordinator, key, as_result(net::use_awaitable));
    EXPECT_TRUE(fails_with(closed, Errc::closed));
  });
}

}  // namespace
}  // namespace quorumlock::test
