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

TEST_F(Handlers, OfCallsThatFailAtOnceRunAfterTheCall) {
  // The test runs on the loop's own thread and on another: a call with a bad argument has returned
  // before its handler gets the error, on the loop.
  Coordinator coordinator = connect();
  Lease lease = coordinator.acquire(key).value();
  RecursiveMutex recursive(coordinator, key + "/recursive");
  Election election(coordinator, key + "/election");
  Election misnamed(coordinator, "quorumlock:fence:x");
  Election shared(coordinator, key + "/election", {.mode = LockMode::shared});
  Leadership leadership = election.campaign("me").value();
  const std::string long_value(65537, 'x');
  struct Call {
    std::string name;
    Errc why;
    std::function<void(std::function<void(const Error*)>)> begin;
  };
  const auto told = [](const std::function<void(const Error*)>& report) {
    return [report](const auto& result) { report(result ? nullptr : &result.error()); };
  };
  const std::vector<Call> calls = {
      {"extend", Errc::invalid_argument,
       [&](auto report) { lease.async_extend(-1s, told(report)); }},
      {"unlock", Errc::not_held,
       [&](auto report) { recursive.async_unlock(LockOwner(), told(report)); }},
      {"proclaim", Errc::invalid_argument,
       [&](auto report) { leadership.async_proclaim(long_value, told(report)); }},
      {"campaign with a long value", Errc::invalid_argument,
       [&](auto report) { election.async_campaign(long_value, {}, told(report)); }},
      {"campaign to read", Errc::invalid_argument,
       [&](auto report) { shared.async_campaign("me", {}, told(report)); }},
      {"leader", Errc::invalid_argument, [&](auto report) { misnamed.async_leader(told(report)); }},
      {"acquire", Errc::invalid_argument,
       [&](auto report) { coordinator.async_acquire("quorumlock:fence:x", told(report)); }}};
  struct Heard {
    Errc why{};
    bool inside = false;
    std::thread::id thread;
  };
  Answer<std::thread::id> loop;
  coordinator.async_status([tell = loop.handler()](const Result<ClusterStatus>&) mutable {
    tell(std::this_thread::get_id());
  });
  const std::thread::id loops_thread = loop.get();
  for (const Call& call : calls) {
    SCOPED_TRACE(call.name);
    Answer<Heard> elsewhere;
    call.begin([tell = elsewhere.handler()](const Error* error) mutable {
      tell({error != nullptr ? static_cast<Errc>(error->code().value()) : Errc(), false,
            std::this_thread::get_id()});
    });
    const Heard from_elsewhere = elsewhere.get();
    EXPECT_EQ(from_elsewhere.why, call.why);
    EXPECT_EQ(from_elsewhere.thread, loops_thread);

    Answer<Heard> here;
    coordinator.async_status([&, tell = here.handler()](const Result<ClusterStatus>&) {
      const auto inside = std::make_shared<bool>(true);
      call.begin([inside, tell](const Error* error) mutable {
        tell({error != nullptr ? static_cast<Errc>(error->code().value()) : Errc(), *inside,
              std::this_thread::get_id()});
      });
      *inside = false;
    });
    const Heard from_here = here.get();
    EXPECT_EQ(from_here.why, call.why);
    EXPECT_FALSE(from_here.inside);
    EXPECT_EQ(from_here.thread, loops_thread);
  }
}

TEST_F(Handlers, WithoutALoopAreNeverRun) {
  // A moved-from object has no loop that could run a handler: the call throws the error that the
  // blocking call returns.
  Coordinator first = connect();
  const Coordinator second = std::move(first);
  RecursiveMutex recursive(first, key + "/recursive");
  Semaphore semaphore(first, key + "/semaphore", 2);
  Election election(first, key + "/election");
  Lease lease;
  Leadership leadership;
  const auto never = [](const auto&...) { ADD_FAILURE() << "a handler was run"; };
  for (const std::function<void()>& call : std::initializer_list<std::function<void()>>{
           [&] { first.async_acquire(key, never); },
           [&] {
             first.async_acquire_all({key + "/a", key + "/b"}, {}, {}, never);
           },
           [&] { first.async_status(never); }, [&] { first.async_close(never); },
           [&] { recursive.async_lock(LockOwner(), {}, never); },
           [&] { recursive.async_unlock(LockOwner(), never); },
           [&] { semaphore.async_acquire(never); },
           [&] { election.async_campaign("me", {}, never); },
           [&] { election.async_leader(never); }}) {
    EXPECT_EQ(thrown_by(call), Errc::closed);
  }
  EXPECT_EQ(thrown_by([&] { lease.async_extend(10s, never); }), Errc::not_held);
  EXPECT_EQ(thrown_by([&] { lease.async_downgrade(never); }), Errc::not_held);
  EXPECT_EQ(thrown_by([&] { lease.async_release(never); }), Errc::not_held);
  EXPECT_EQ(thrown_by([&] { leadership.async_proclaim("me", never); }), Errc::not_held);
  EXPECT_EQ(thrown_by([&] { leadership.async_resign(never); }), Errc::not_held);
  EXPECT_THROW(semaphore.acquire(), Error);
}

TEST_F(Handlers, OfANestedLockMayUseTheMutexAfterTheEnd) {
  // The coordinator has closed, so that the call itself runs the handler, which looks at the mutex.
  Coordinator coordinator = connect();
  RecursiveMutex mutex(coordinator, key);
  const LockOwner owner;
  Answer<Result<void>> locked;
  mutex.async_lock(owner, {}, locked.handler());
  ASSERT_TRUE(ok(locked.get()));
  coordinator.close();
  std::size_t depth = 0;
  mutex.async_lock(owner, {}, [&](const Result<void>&) { depth = mutex.depth(owner); });
  EXPECT_EQ(depth, 1U);
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

}  // namespace
}  // namespace quorumlock::test
