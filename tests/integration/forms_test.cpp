#include <array>
#include <atomic>
#include <future>
#include <list>
#include <ranges>
#include <span>

#include "integration/fixture.hpp"

// Each operation has three forms with the same arguments, and what was made from a coordinator
// survives its move.
namespace quorumlock::test {
namespace {

class Forms : public FiveNodes {
 protected:
  Coordinator coordinator = connect();
};

/// The result of an asynchronous form, which `start` begins with a handler.
template <class T, class Start>
T ended(Start&& start) {
  std::promise<T> result;
  start([&](T value) { result.set_value(std::move(value)); });
  return result.get_future().get();
}

TEST_F(Forms, OptionsAndStopTokenMayBeLeftOut) {
  // From the right, in the blocking form, with a handler, and in a coroutine's.
  const std::stop_token never;
  const LockOptions options{.wait = 5s};
  using Locked = Result<Lease>;
  EXPECT_TRUE(ok(coordinator.acquire(key)));
  EXPECT_TRUE(ok(coordinator.acquire(key, options)));
  EXPECT_TRUE(ok(coordinator.acquire(key, options, never)));
  EXPECT_TRUE(ok(ended<Locked>([&](auto then) { coordinator.async_acquire(key, then); })));
  EXPECT_TRUE(ok(ended<Locked>([&](auto then) { coordinator.async_acquire(key, options, then); })));
  EXPECT_TRUE(
      ok(ended<Locked>([&](auto then) { coordinator.async_acquire(key, options, never, then); })));

  const std::string one = key + "/1", two = key + "/2";
  EXPECT_TRUE(ok(coordinator.acquire_all({one, two})));
  EXPECT_TRUE(ok(coordinator.acquire_all({one, two}, options)));
  EXPECT_TRUE(ok(coordinator.acquire_all({one, two}, options, never)));
  EXPECT_TRUE(ok(ended<Locked>([&](auto then) {
    coordinator.async_acquire_all({one, two}, then);
  })));
  EXPECT_TRUE(ok(ended<Locked>([&](auto then) {
    coordinator.async_acquire_all({one, two}, options, then);
  })));
  EXPECT_TRUE(ok(ended<Locked>([&](auto then) {
    coordinator.async_acquire_all({one, two}, options, never, then);
  })));

  EXPECT_TRUE(ok(coordinator.acquire_permit(key, 2)));
  EXPECT_TRUE(ok(coordinator.acquire_permit(key, 2, options)));
  EXPECT_TRUE(ok(coordinator.acquire_permit(key, 2, options, never)));
  EXPECT_TRUE(
      ok(ended<Locked>([&](auto then) { coordinator.async_acquire_permit(key, 2, then); })));
  EXPECT_TRUE(ok(
      ended<Locked>([&](auto then) { coordinator.async_acquire_permit(key, 2, options, then); })));
  EXPECT_TRUE(ok(ended<Locked>(
      [&](auto then) { coordinator.async_acquire_permit(key, 2, options, never, then); })));

  const auto seven = [](Lease&) { return 7; };
  EXPECT_EQ(coordinator.with_lock(key, seven).value(), 7);
  EXPECT_EQ(coordinator.with_lock(key, {.wait = 5s}, seven).value(), 7);
  EXPECT_EQ(coordinator.with_lock(key, options, never, seven).value(), 7);
}

TEST_F(Forms, ResourcesComeInAnyRange) {
  // All of these are one set of two resources.
  const std::string one = key + "/1", two = key + "/2";
  const std::vector<std::string> strings = {one, two};
  const std::array<std::string_view, 2> views = {one, two};
  const std::list<const char*> letters = {one.c_str(), two.c_str()};
  for (const Resources& each : {Resources{one, two}, Resources(strings), Resources(views),
                                Resources(letters), Resources(std::span(views))}) {
    EXPECT_EQ(each.names(), strings);
    EXPECT_TRUE(ok(coordinator.acquire_all(each, {.wait = 5s})));
  }
  EXPECT_EQ(Resources("one").names(), std::vector<std::string>{"one"});
  // A range whose strings live only while it stands on them.
  const auto longer = [](const std::string& name) { return name + std::string(40, '+'); };
  const auto made = strings | std::views::transform(longer);
  EXPECT_EQ(Resources(made).names(), (std::vector{longer(one), longer(two)}));
}

TEST_F(Forms, ByToken) {
  // An owner token is given as it was taken.
  Lease lease = coordinator.acquire(key, {.auto_extend = false}).value();
  EXPECT_TRUE(ok(coordinator.extend(key, lease.owner_token(), 5s)));
  EXPECT_TRUE(ok(ended<Result<Clock::time_point>>(
      [&](auto then) { coordinator.async_extend(key, lease.owner_token(), 5s, then); })));
  EXPECT_EQ(ended<Result<Inspection>>([&](auto then) { coordinator.async_inspect(key, then); })
                .value()
                .holder,
            lease.owner_token());
  const std::string& text = lease.owner_token();
  EXPECT_TRUE(ok(ended<Result<void>>(
      [&](auto then) { coordinator.async_release(key, OwnerToken(text), then); })));
  EXPECT_TRUE(fails_with(coordinator.release(key, lease.owner_token()), Errc::not_held));
  lease.detach();
}

TEST_F(Forms, ABadArgumentIsReportedAfterTheCall) {
  // The handler never runs inside the call that took it.
  bool inside = true;
  std::atomic<int> called = 0;
  const auto late = [&](auto then) {
    return [&inside, &called, then](auto value) mutable {
      EXPECT_FALSE(inside);
      then(std::move(value));
      ++called;
    };
  };
  on_loop(coordinator, [&] {
    inside = true;
    coordinator.async_extend(key, OwnerToken(), 5s, late([](const auto&) {}));
    coordinator.async_extend(key, OwnerToken("x"), 0s, late([](const auto&) {}));
    coordinator.async_release("", OwnerToken("x"), late([](const auto&) {}));
    coordinator.async_inspect("", late([](const auto&) {}));
    inside = false;
  });
  EXPECT_TRUE(eventually([&] { return called == 4; }));
}

TEST_F(Forms, MutexesLockForALeaseAndUnlockForTheirThread) {
  Mutex mutex(coordinator, key);
  SharedMutex shared(coordinator, key + "/shared");
  Semaphore permits(coordinator, key, 1);
  const auto locks = [](auto& it, auto lock, auto async_lock, auto async_unlock) {
    EXPECT_TRUE(ok(ended<Result<Lease>>([&](auto then) { (it.*async_lock)(then); })));
    (it.*lock)({});
    EXPECT_TRUE(it.lease().is_valid());
    EXPECT_TRUE(ok(ended<Result<void>>([&](auto then) { (it.*async_unlock)(then); })));
    const auto again = ended<Result<void>>([&](auto then) { (it.*async_unlock)(then); });
    EXPECT_TRUE(fails_with(again, Errc::not_held));
  };
  using Taken = void (Mutex::*)(Handler<Result<Lease>>);
  locks(mutex, &Mutex::lock, static_cast<Taken>(&Mutex::async_lock), &Mutex::async_unlock);
  using Shared = void (SharedMutex::*)(Handler<Result<Lease>>);
  locks(shared, &SharedMutex::lock, static_cast<Shared>(&SharedMutex::async_lock),
        &SharedMutex::async_unlock);
  locks(shared, &SharedMutex::lock_shared, static_cast<Shared>(&SharedMutex::async_lock_shared),
        &SharedMutex::async_unlock_shared);
  using Permit = void (Semaphore::*)(Handler<Result<Lease>>);
  locks(permits, &Semaphore::acquire, static_cast<Permit>(&Semaphore::async_acquire),
        &Semaphore::async_release);
  RecursiveMutex recursive(coordinator, key + "/recursive");
  const LockOwner owner;
  recursive.lock(owner);
  EXPECT_TRUE(ok(ended<Result<void>>([&](auto then) { recursive.async_lock(owner, then); })));
  EXPECT_EQ(recursive.depth(owner), 2U);
  recursive.unlock(owner);
  // The loop cannot wait for the release, and the mutex is unlocked at once.
  on_loop(coordinator, [&] { recursive.unlock(owner); });
  EXPECT_EQ(recursive.depth(owner), 0U);
}

TEST_F(Forms, AStopEndsABlockingLock) {
  Coordinator other = connect();
  const Lease held = other.acquire(key).value();
  std::stop_source stop;
  Mutex mutex(coordinator, key);
  std::thread stopper([&] {
    EXPECT_TRUE(eventually([&] { return coordinator.stats().waiting == 1; }));
    stop.request_stop();
  });
  try {
    mutex.lock(stop.get_token());
    ADD_FAILURE() << "was locked";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::cancelled);
  }
  stopper.join();
}

TEST_F(Forms, EverythingSurvivesTheMoveOfItsCoordinator) {
  std::optional<Coordinator> first(std::move(coordinator));
  Mutex mutex(*first, key);
  SharedMutex shared(*first, key + "/shared");
  RecursiveMutex recursive(*first, key + "/recursive");
  Semaphore permits(*first, key, 2);
  Election election(*first, key + "/election");
  Coordinator moved = std::move(*first);
  first.reset();
  const auto use = [&] {
    { const std::scoped_lock all(mutex, shared, recursive); }
    permits.acquire();
    permits.release();
    return election.campaign("here");
  };
  EXPECT_TRUE(ok(use()));
  moved.close();
  EXPECT_TRUE(fails_with(election.campaign("here"), Errc::closed));
  const auto closed = [](auto call) {
    try {
      call();
      ADD_FAILURE() << "was locked";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::closed) << error.what();
    }
  };
  closed([&] { mutex.lock(); });
  closed([&] { shared.lock_shared(); });
  closed([&] { recursive.lock(); });
  closed([&] { permits.acquire(); });
}

}  // namespace
}  // namespace quorumlock::test
