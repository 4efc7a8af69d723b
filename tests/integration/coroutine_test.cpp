#include <condition_variable>
#include <coroutine>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include "integration/fixture.hpp"
#include "support/detached.hpp"
#include "support/uv_loop.hpp"

namespace quorumlock::test {
namespace {

/// A task as in other libraries: lazy, awaited once, it resumes its awaiter by symmetric transfer
/// and passes every awaited object through await_transform.
template <class T>
class Lazy {
 public:
  struct promise_type {
    std::coroutine_handle<> awaiter;
    std::optional<T> value;
    std::exception_ptr error;

    Lazy get_return_object() {
      return Lazy(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    auto final_suspend() noexcept {
      struct Transfer {
        bool await_ready() noexcept { return false; }
        std::coroutine_handle<> await_suspend(
            std::coroutine_handle<promise_type> finished) noexcept {
          return finished.promise().awaiter;
        }
        void await_resume() noexcept {}
      };
      return Transfer{};
    }
    template <class Awaitable>
    Awaitable&& await_transform(Awaitable&& awaitable) {
      return std::forward<Awaitable>(awaitable);
    }
    void return_value(T result) { value.emplace(std::move(result)); }
    void unhandled_exception() { error = std::current_exception(); }
  };

  explicit Lazy(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  Lazy(Lazy&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  Lazy& operator=(Lazy&&) = delete;
  ~Lazy() {
    if (handle_) handle_.destroy();
  }

  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiter) {
    handle_.promise().awaiter = awaiter;
    return handle_;
  }
  T await_resume() {
    if (handle_.promise().error) std::rethrow_exception(handle_.promise().error);
    return std::move(*handle_.promise().value);
  }

 private:
  std::coroutine_handle<promise_type> handle_;
};

class Coroutine : public FiveNodes {};

using Tell = std::function<void(int)>;

Detached lock_twice(Coordinator& coordinator, std::string key, Tell tell) {
  int locked = 0;
  for (int i = 0; i < 2; ++i) {
    Result<Lease> lease = co_await coordinator.co_acquire(key, {.ttl = 10s, .wait = 20s});
    if (lease && lease->is_valid() && lease->resource() == key) ++locked;
  }
  tell(locked);
}

TEST_F(Coroutine, LocksInATaskOfAnyType) {
  // The smallest possible task locks twice with the contract's line; the lease releases by scope.
  Coordinator coordinator = connect();
  Answer<int> answer;
  lock_twice(coordinator, key, answer.handler());
  EXPECT_EQ(answer.get(), 2);
  EXPECT_NE(answer.thread(), std::this_thread::get_id());
  EXPECT_TRUE(eventually([&] { return cluster().keys().empty(); }));
}

Lazy<int> buy(Coordinator& coordinator, std::string key, int price) {
  Result<Lease> lease = co_await coordinator.co_acquire(std::move(key), {.wait = 20s});
  co_return lease.value().is_valid() ? price : 0;
}

Lazy<int> shop(Coordinator& coordinator, std::string key) {
  int sum = 0;
  for (int price = 1; price <= 20; ++price) sum += co_await buy(coordinator, key, price);
  co_return sum;
}

Detached run(Lazy<int> task, Tell tell) {
  int result = -1;
  try {
    result = co_await task;
  } catch (const Error& error) {
    result = -error.code().value();
  }
  tell(result);
}

TEST_F(Coroutine, LocksInAForeignTask) {
  // Nested lazy tasks with their own promise type await locks one after the other.
  Coordinator coordinator = connect();
  Answer<int> answer;
  run(shop(coordinator, key), answer.handler());
  EXPECT_EQ(answer.get(), 210);
}

TEST_F(Coroutine, ARefusalIsAResult) {
  // co_await returns the refusal as a Result; value() turns it into an exception.
  Coordinator coordinator = connect();
  for (int node = 0; node < 5; ++node) cluster().plant(node, key);
  Answer<int> answer;
  run(
      [](Coordinator& on, std::string name) -> Lazy<int> {
        Result<Lease> refused = co_await on.co_acquire(name, {.wait = 0s});
        if (refused || refused.error().code() != Errc::contended) co_return 1;
        (void)refused.value();
        co_return 2;
      }(coordinator, key),
      answer.handler());
  EXPECT_EQ(answer.get(), -static_cast<int>(Errc::contended));
}

Detached wait_for_it(Coordinator& coordinator, std::string key, std::stop_token stop, Tell tell) {
  Result<Lease> lease = co_await coordinator.co_acquire(key, {.wait = forever}, stop);
  tell(lease ? 0 : lease.error().code().value());
}

TEST_F(Coroutine, IsResumedByAStopRequest) {
  // A stop request resumes the coroutine with cancelled, even if it was made before the co_await.
  Coordinator coordinator = connect();
  for (int node = 0; node < 5; ++node) cluster().plant(node, key);
  std::stop_source stop;
  Answer<int> waiting;
  Answer<int> late;
  wait_for_it(coordinator, key, stop.get_token(), waiting.handler());
  stop.request_stop();
  wait_for_it(coordinator, key, stop.get_token(), late.handler());
  EXPECT_EQ(waiting.get(), static_cast<int>(Errc::cancelled));
  EXPECT_EQ(late.get(), static_cast<int>(Errc::cancelled));
}

TEST_F(Coroutine, IsResumedByClose) {
  // close() resumes the waiters; after it, and on a moved-from coordinator, co_await returns
  // closed.
  Coordinator coordinator = connect();
  for (int node = 0; node < 5; ++node) cluster().plant(node, key);
  Answer<int> waiting;
  Answer<int> after;
  Answer<int> moved_from;
  wait_for_it(coordinator, key, {}, waiting.handler());
  coordinator.close();
  wait_for_it(coordinator, key, {}, after.handler());
  EXPECT_EQ(waiting.get(), static_cast<int>(Errc::closed));
  EXPECT_EQ(after.get(), static_cast<int>(Errc::closed));
  const Coordinator elsewhere = std::move(coordinator);
  wait_for_it(coordinator, key, {}, moved_from.handler());
  EXPECT_EQ(moved_from.get(), static_cast<int>(Errc::closed));
}

TEST_F(Coroutine, LocksSetsAndRefusesBadArguments) {
  // co_acquire_all of two resources holds both, and with one resource it is co_acquire; co_await,
  // and not the call before it, refuses an impossible ttl.
  Coordinator coordinator = connect();
  Answer<int> answer;
  [](Coordinator& on, std::string name, Tell tell) -> Detached {
    std::vector<std::string> one;
    one.push_back(name);
    Result<Lease> lease = co_await on.co_acquire_all(std::move(one));
    std::vector<std::string> two;
    two.push_back(name + "/1");
    two.push_back(name + "/2");
    Result<Lease> both = co_await on.co_acquire_all(std::move(two));
    Result<Lease> refused = co_await on.co_acquire(name, {.ttl = 1000s});
    tell(lease && both && both->resources().size() == 2 && !refused &&
                 refused.error().code() == Errc::invalid_argument
             ? 1
             : 0);
  }(coordinator, key, answer.handler());
  EXPECT_EQ(answer.get(), 1);
}

TEST_F(Coroutine, TakesPermitsOfASemaphore) {
  // As many coroutines as there are permits hold one at once; one more waits until a permit goes
  // out of scope.
  Coordinator coordinator = connect();
  Semaphore permits(coordinator, key, 2, {.wait = 20s});
  Answer<int> answer;
  [](Semaphore& of, Tell tell) -> Detached {
    Result<Lease> one = co_await of.co_acquire();
    std::optional<Result<Lease>> other(co_await of.co_acquire());
    const bool both = one && *other && one->owner_token() != (*other)->owner_token();
    [](Semaphore& also, bool fine, Tell then) -> Detached {
      Result<Lease> late = co_await also.co_acquire();
      then(fine && late && late->is_valid() ? 1 : 0);
    }(of, both, std::move(tell));
    other.reset();
  }(permits, answer.handler());
  EXPECT_EQ(answer.get(), 1);
  EXPECT_TRUE(eventually([&] { return permits.try_acquire(); }));
  permits.release();
}

/// Functions that the test's own thread runs. Copies are the same queue.
class OwnThread {
 public:
  void operator()(std::function<void()> next) const {
    const std::lock_guard<std::mutex> lock(queue_->guard);
    queue_->waiting.push_back(std::move(next));
    queue_->changed.notify_all();
  }
  /// Runs what comes until the condition holds.
  template <class Condition>
  void run_until(Condition&& condition) const {
    while (!condition()) {
      std::unique_lock<std::mutex> lock(queue_->guard);
      if (!queue_->changed.wait_for(lock, patience, [&] { return !queue_->waiting.empty(); })) {
        throw std::runtime_error("nothing was given to the executor");
      }
      const std::function<void()> next = std::move(queue_->waiting.front());
      queue_->waiting.pop_front();
      lock.unlock();
      next();
    }
  }

 private:
  struct Queue {
    std::mutex guard;
    std::condition_variable changed;
    std::deque<std::function<void()>> waiting;
  };
  std::shared_ptr<Queue> queue_ = std::make_shared<Queue>();
};

Detached use_by_token(Coordinator& coordinator, std::string key, OwnThread here, bool& done) {
  const std::thread::id mine = std::this_thread::get_id();
  const Result<Lease> lease = co_await coordinator.co_acquire(key, {.wait = 20s}).on(here);
  EXPECT_TRUE(ok(lease));
  const OwnerToken token(lease->owner_token());
  const Result<Inspection> seen = co_await coordinator.co_inspect(key).on(here);
  EXPECT_TRUE(ok(seen));
  EXPECT_EQ(seen->holder, token.text());
  const auto extended = co_await coordinator.co_extend(key, token, 20s).on(here);
  EXPECT_TRUE(ok(extended));
  EXPECT_GT(*extended, lease->valid_until());
  EXPECT_TRUE(ok(co_await coordinator.co_release(key, token).on(here)));
  EXPECT_TRUE(fails_with(co_await coordinator.co_release(key, token).on(here), Errc::not_held));
  EXPECT_TRUE(
      fails_with(co_await coordinator.co_extend(key, token, 0s).on(here), Errc::invalid_argument));
  EXPECT_TRUE(
      fails_with(co_await coordinator.co_release("", token).on(here), Errc::invalid_argument));
  EXPECT_TRUE(fails_with(co_await coordinator.co_inspect("").on(here), Errc::invalid_argument));
  const Result<ClusterStatus> status = co_await coordinator.co_status().on(here);
  EXPECT_TRUE(ok(status));
  EXPECT_EQ(status->nodes.size(), 5U);
  co_await coordinator.co_close().on(here);
  EXPECT_TRUE(fails_with(co_await coordinator.co_status().on(here), Errc::closed));
  EXPECT_TRUE(fails_with(co_await coordinator.co_inspect(key).on(here), Errc::closed));
  EXPECT_TRUE(fails_with(co_await coordinator.co_release(key, token).on(here), Errc::closed));
  EXPECT_EQ(std::this_thread::get_id(), mine);
  done = true;
}

TEST_F(Coroutine, UsesALockByTokenAndResumesOnTheGivenThread) {
  // A coroutine looks at a lock, extends and releases it by its token, asks for the status, and
  // closes; it resumes on the test's own thread each time.
  Coordinator coordinator = connect();
  warm(coordinator);
  const OwnThread here;
  bool done = false;
  use_by_token(coordinator, key, here, done);
  here.run_until([&] { return done; });
}

Detached lead_and_resign(Election& election, OwnThread here, bool& done) {
  const Result<std::optional<Leader>> nobody = co_await election.co_leader().on(here);
  EXPECT_TRUE(ok(nobody));
  EXPECT_FALSE(*nobody);
  Result<Leadership> leadership = co_await election.co_campaign("here").on(here);
  EXPECT_TRUE(ok(leadership));
  EXPECT_TRUE(ok(co_await leadership->co_proclaim("there").on(here)));
  const Result<std::optional<Leader>> leader = co_await election.co_leader().on(here);
  EXPECT_TRUE(ok(leader));
  EXPECT_EQ(leader->value().value, "there");
  EXPECT_TRUE(ok(co_await leadership->co_resign().on(here)));
  EXPECT_FALSE(leadership->is_valid());
  Leadership nothing;
  EXPECT_TRUE(fails_with(co_await nothing.co_proclaim("x").on(here), Errc::not_held));
  EXPECT_TRUE(fails_with(co_await nothing.co_resign().on(here), Errc::not_held));
  done = true;
}

TEST_F(Coroutine, LeadsAndResigns) {
  // A coroutine campaigns, proclaims another value, asks who leads, and resigns.
  Coordinator coordinator = connect();
  warm(coordinator);
  Election election(coordinator, key);
  const OwnThread here;
  bool done = false;
  lead_and_resign(election, here, done);
  here.run_until([&] { return done; });
}

TEST_F(Coroutine, ResumesOnTheHostsThread) {
  // On an attached loop coroutines resume on the host's own thread.
  UvLoop loop;
  Coordinator coordinator = Coordinator::attach(loop.get(), options()).value();
  Answer<int> answer;
  run(shop(coordinator, key), answer.handler());
  loop.run();
  EXPECT_EQ(answer.calls(), 1);
  EXPECT_EQ(answer.get(), 210);
  EXPECT_EQ(answer.thread(), std::this_thread::get_id());
  coordinator.close();
  loop.run();
  EXPECT_EQ(loop.close(), 0);
}

}  // namespace
}  // namespace quorumlock::test
