#include <quorumlock/awaitable.hpp>
#include <quorumlock/result.hpp>

#include <gtest/gtest.h>

#include <coroutine>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

namespace quorumlock {
namespace {

/// A coroutine that its owner may destroy at any point of suspension.
class Owned {
 public:
  struct promise_type {
    Owned get_return_object() {
      return Owned(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };

  explicit Owned(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() { handle_.destroy(); }
  [[nodiscard]] bool done() const { return handle_.done(); }

 private:
  std::coroutine_handle<promise_type> handle_;
};

/// An operation that the test ends, in place of an operation of the library.
struct Operation {
  detail::Handler<Result<int>> handler;
  std::stop_token stop;
  std::optional<int> undone;

  Awaitable<Result<int>> begin() {
    return Awaitable<Result<int>>(
        [this](std::stop_token token, detail::Handler<Result<int>> then) {
          stop = std::move(token);
          handler = std::move(then);
        },
        {}, [this](const Result<int>& result) { undone = *result; });
  }
  /// Ends, and forgets the handler as the library does.
  void end(int result) { std::exchange(handler, {})(result); }
};

/// A queue of functions that wait until the test runs them. Copies share the queue.
struct Queue {
  std::shared_ptr<std::deque<std::function<void()>>> waiting =
      std::make_shared<std::deque<std::function<void()>>>();

  void operator()(std::function<void()> next) const { waiting->push_back(std::move(next)); }
  void run() const {
    while (!waiting->empty()) {
      const std::function<void()> next = std::move(waiting->front());
      waiting->pop_front();
      next();
    }
  }
};

/// An executor with the interface of Asio's. It runs each function at once, within the call.
struct Inline {
  int* calls;
  template <class F>
  void execute(F&& f) const {
    ++*calls;
    std::forward<F>(f)();
  }
};

Owned wait_on(Queue executor, Operation& operation, int& result) {
  result = *co_await operation.begin().on(executor);
}
Owned wait_on(Inline executor, Operation& operation, int& result) {
  result = *co_await operation.begin().on(executor);
}

TEST(AwaitableOn, ResumesTheCoroutineWhereTheExecutorRunsIt) {
  Operation operation;
  const Queue queue;
  int result = 0;
  const Owned waits = wait_on(queue, operation, result);
  operation.end(42);
  EXPECT_FALSE(waits.done());
  queue.run();
  EXPECT_TRUE(waits.done());
  EXPECT_EQ(result, 42);
  EXPECT_FALSE(operation.undone);
}

TEST(AwaitableOn, TakesAnExecutorWithExecute) {
  Operation operation;
  int result = 0;
  int calls = 0;
  const Owned waits = wait_on(Inline{&calls}, operation, result);
  operation.end(42);
  EXPECT_TRUE(waits.done());
  EXPECT_EQ(result, 42);
  EXPECT_EQ(calls, 1);
}

TEST(AwaitableOn, AnOperationThatEndsOnAnotherThreadResumesOnTheExecutor) {
  Operation operation;
  const Queue queue;
  std::thread::id resumed_on;
  const Owned waits = [](const Queue& on, Operation& from, std::thread::id& thread) -> Owned {
    (void)co_await from.begin().on(on);
    thread = std::this_thread::get_id();
  }(queue, operation, resumed_on);
  std::thread([&] { operation.end(1); }).join();
  queue.run();
  EXPECT_TRUE(waits.done());
  EXPECT_EQ(resumed_on, std::this_thread::get_id());
}

TEST(AwaitableOn, ACoroutineDestroyedBeforeItsTurnGivesTheResultBack) {
  Operation operation;
  const Queue queue;
  int result = 0;
  {
    const Owned waits = wait_on(queue, operation, result);
    operation.end(42);
  }
  EXPECT_EQ(operation.undone, 42);
  queue.run();  // does nothing
  EXPECT_EQ(result, 0);
}

TEST(AwaitableOn, ACoroutineDestroyedBeforeTheEndCancelsTheOperation) {
  Operation operation;
  const Queue queue;
  int result = 0;
  {
    const Owned waits = wait_on(queue, operation, result);
    EXPECT_FALSE(operation.stop.stop_requested());
  }
  EXPECT_TRUE(operation.stop.stop_requested());
  operation.end(42);
  EXPECT_EQ(operation.undone, 42);
  EXPECT_TRUE(queue.waiting->empty());
}

TEST(AwaitableOn, AnExecutorThatEndsGivesTheResultBack) {
  Operation operation;
  const Queue queue;
  int result = 0;
  const Owned waits = wait_on(queue, operation, result);
  operation.end(42);
  std::function<void()> copy = queue.waiting->front();
  queue.waiting->clear();
  EXPECT_FALSE(operation.undone) << "a copy is left that may be called";
  copy = nullptr;
  EXPECT_EQ(operation.undone, 42);
  EXPECT_FALSE(waits.done());
}

Awaitable<Result<int>> known_at_once(int number) {
  return detail::awaitable_of<Result<int>>([number](auto handler) { handler(number); });
}

TEST(AwaitableOn, ResultsWithinTheCallGoToTheExecutorToo) {
  const Queue queue;
  const Owned waits = [](const Queue& on) -> Owned {
    for (int i = 0; i < 3; ++i) EXPECT_EQ(*co_await known_at_once(i).on(on), i);
  }(queue);
  EXPECT_EQ(queue.waiting->size(), 1U);
  EXPECT_FALSE(waits.done());
  queue.run();
  EXPECT_TRUE(waits.done());
}

TEST(AwaitableOn, ACallThatThrowsAnErrorIsARefusalOnTheExecutor) {
  const Queue queue;
  std::error_code why;
  const Owned waits = [](const Queue& on, std::error_code& code) -> Owned {
    const Result<int> refused = co_await detail::awaitable_of<Result<int>>([](auto) {
                                  throw Error(Errc::closed, "it is closed");
                                }).on(on);
    code = refused.error().code();
  }(queue, why);
  EXPECT_FALSE(waits.done());
  queue.run();
  EXPECT_EQ(why, Errc::closed);
}

TEST(AwaitableOn, ResultsWithinTheCallDoNotFillTheStack) {
  int calls = 0;
  const Owned waits = [](Inline on) -> Owned {
    for (int i = 0; i < 100'000; ++i) EXPECT_EQ(*co_await known_at_once(i).on(on), i);
  }(Inline{&calls});
  EXPECT_TRUE(waits.done());
  EXPECT_EQ(calls, 100'000);
}

}  // namespace
}  // namespace quorumlock
