#include <functional>
#include <stdexcept>

#include "integration/fixture.hpp"

namespace quorumlock::test {
namespace {

class Handlers : public FiveNodes {};

template <class T>
std::vector<detail::Handler<T>> empty_handlers() {
  std::vector<detail::Handler<T>> all;
  all.emplace_back();
  all.emplace_back(std::function<void(T)>());
  all.emplace_back(static_cast<void (*)(T)>(nullptr));
  return all;
}

TEST_F(Handlers, EmptyHandlersAreRefusedAtTheCall) {
  // An empty handler of any type is refused by every call, which then begins nothing.
  Coordinator coordinator = connect();
  Lease lease = coordinator.acquire(key).value();
  RecursiveMutex recursive(coordinator, key + "/recursive");
  Semaphore semaphore(coordinator, key + "/semaphore", 2);
  Election election(coordinator, key + "/election");
  Leadership leadership = election.campaign("me").value();
  using Refused = std::invalid_argument;
  for (std::size_t i = 0; i < 3; ++i) {
    const auto locked = [&] { return std::move(empty_handlers<Result<Lease>>()[i]); };
    const auto done = [&] { return std::move(empty_handlers<Result<void>>()[i]); };
    EXPECT_THROW(coordinator.async_acquire(key + "/a", {}, {}, locked()), Refused);
    EXPECT_THROW(coordinator.async_acquire(key + "/a", {}, locked()), Refused);
    EXPECT_THROW(coordinator.async_acquire(key + "/a", locked()), Refused);
    EXPECT_THROW(coordinator.async_acquire_all({key + "/a"}, {}, {}, locked()), Refused);
    EXPECT_THROW(semaphore.async_acquire({}, locked()), Refused);
    EXPECT_THROW(lease.async_extend(10s, done()), Refused);
    EXPECT_THROW(lease.async_downgrade(done()), Refused);
    EXPECT_THROW(lease.async_release(done()), Refused);
    EXPECT_THROW(recursive.async_lock(LockOwner(), {}, done()), Refused);
    EXPECT_THROW(recursive.async_unlock(LockOwner(), done()), Refused);
    EXPECT_THROW(leadership.async_proclaim("me", done()), Refused);
    EXPECT_THROW(leadership.async_resign(done()), Refused);
  }
  EXPECT_THROW(coordinator.async_status({}), Refused);
  EXPECT_THROW(coordinator.async_close({}), Refused);
  EXPECT_THROW(election.async_campaign("me", {}, {}), Refused);
  EXPECT_THROW(election.async_leader({}), Refused);
  EXPECT_THROW((void)election.observe({}, {}), Refused);
  EXPECT_TRUE(lease.is_valid());
  EXPECT_TRUE(leadership.is_valid());
  EXPECT_EQ(cluster().holders(key + "/a"), 0);
}

TEST_F(Handlers, TheStopTokenAndTheOptionsMayBeOmitted) {
  // Calls may omit the stop token and the options.
  Coordinator coordinator = connect();
  Answer<Result<Lease>> one;
  Answer<Result<Lease>> two;
  coordinator.async_acquire(key, one.handler());
  ASSERT_TRUE(ok(one.get()));
  coordinator.async_acquire(key, {.wait = 20s}, two.handler());
  EXPECT_TRUE(ok(two.get()));
  Answer<Result<Lease>> all;
  coordinator.async_acquire_all({"a", "b"}, {}, {}, all.handler());
  EXPECT_TRUE(ok(all.get()));
  const std::string name = key + "/x";
  const std::string_view view = "y";
  EXPECT_TRUE(ok(coordinator.acquire_all({name, view, "z"}, {.wait = 20s})));
  EXPECT_TRUE(fails_with(coordinator.acquire_all({}), Errc::invalid_argument));
}

TEST_F(Handlers, AFunctionMayBeAHandler) {
  // A function pointer that is not null is called.
  Coordinator coordinator = connect();
  static std::atomic<int> calls{0};
  struct Free {
    static void told(Result<Lease> result) { calls += result ? 1 : 0; }
  };
  coordinator.async_acquire(key, Free::told);
  EXPECT_TRUE(eventually([&] { return calls == 1; }));
  coordinator.async_acquire(key, {.wait = 20s}, std::function<void(Result<Lease>)>(&Free::told));
  EXPECT_TRUE(eventually([&] { return calls == 2; }));
}

TEST_F(Handlers, TheHandlerOfACloseMayDestroyTheCoordinator) {
  // The handler of the close destroys the coordinator, on the loop's own thread.
  auto coordinator = std::make_shared<Coordinator>(connect());
  Answer<int> ended;
  Coordinator& same = *coordinator;
  same.async_close([mine = std::move(coordinator), tell = ended.handler()]() mutable {
    mine.reset();
    tell(1);
  });
  EXPECT_EQ(ended.get(), 1);
}

TEST_F(Handlers, TheEarliestAndTheLatestDeadlinesAreValid) {
  // The four lockables with deadlines take the earliest and the latest possible ones.
  Coordinator coordinator = connect();
  const auto all_deadlines = [](auto& lockable) {
    using Steady = std::chrono::steady_clock::time_point;
    using System = std::chrono::sys_time<std::chrono::hours>;
    for (int kind = 0; kind < 5; ++kind) {
      EXPECT_TRUE(kind == 0   ? lockable.try_lock_until(Steady::min()) || lockable.try_lock_for(20s)
                  : kind == 1 ? lockable.try_lock_until(Steady::max())
                  : kind == 2 ? lockable.try_lock_until(System::max())
                  : kind == 3 ? lockable.try_lock_for(std::chrono::hours::max())
                              : lockable.try_lock_for(std::chrono::duration<float>::max()));
      lockable.unlock();
    }
  };
  Mutex mutex(coordinator, key);
  SharedMutex shared(coordinator, key + "/shared");
  RecursiveMutex recursive(coordinator, key + "/recursive");
  Semaphore semaphore(coordinator, key + "/semaphore", 1);
  all_deadlines(mutex);
  all_deadlines(shared);
  all_deadlines(recursive);
  all_deadlines(semaphore);
  EXPECT_TRUE(shared.try_lock_shared_until(std::chrono::system_clock::time_point::max()));
  shared.unlock_shared();
}

}  // namespace
}  // namespace quorumlock::test
