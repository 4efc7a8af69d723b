#include <atomic>
#include <future>
#include <memory>
#include <thread>
#include <tuple>
#include <utility>

#include "with_asio/fixture.hpp"

namespace quorumlock::test {
namespace {

class Completion : public WithAsio {
 protected:
  Coordinator coordinator = connect();
};

TEST_F(Completion, AHandlerRunsOnItsContextAndNeverWithinTheCall) {
  // The context has work until the handler has run, so run() returns after it.
  net::io_context context;
  std::thread::id ran_on;
  AsioCode code;
  Lease held;
  const auto handler = [&](AsioCode refused, Lease lease) {
    ran_on = std::this_thread::get_id();
    code = refused;
    held = std::move(lease);
  };
  async_acquire(coordinator, key, {.wait = 20s}, net::bind_executor(context, handler));
  EXPECT_EQ(ran_on, std::thread::id());
  context.run();
  EXPECT_EQ(ran_on, std::this_thread::get_id());
  EXPECT_FALSE(code);
  EXPECT_TRUE(held.is_valid());
  EXPECT_EQ(held.resource(), key);
}

TEST_F(Completion, ARefusalIsAnErrorCode) {
  // A refused acquisition has a code that compares equal to Errc, and a Lease that holds nothing.
  net::io_context context;
  for (int node = 0; node < 5; ++node) cluster().plant(node, key);
  AsioCode code;
  Lease held;
  async_acquire(coordinator, key, net::bind_executor(context, [&](AsioCode refused, Lease lease) {
                  code = refused;
                  held = std::move(lease);
                }));
  context.run();
  EXPECT_EQ(code, Errc::contended);
  EXPECT_FALSE(held.is_valid());
}

TEST_F(Completion, ACallOnAClosedCoordinatorCompletesOnTheContextToo) {
  // The library runs the handler of such a call within the call; here it is posted.
  net::io_context context;
  coordinator.close();
  int codes = 0;
  const auto handler = net::bind_executor(context, [&](AsioCode code, const Lease&) {
    EXPECT_EQ(code, Errc::closed);
    ++codes;
  });
  async_acquire(coordinator, key, handler);
  const Coordinator elsewhere = std::move(coordinator);
  async_acquire(coordinator, key, handler);
  EXPECT_EQ(codes, 0);
  context.run();
  EXPECT_EQ(codes, 2);
}

TEST_F(Completion, AFutureGetsTheLeaseOrThrows) {
  // use_future needs no context. Its exception is Asio's, with the library's code.
  std::future<Lease> lease = async_acquire(coordinator, key, {.wait = 20s}, net::use_future);
  const Lease held = lease.get();
  EXPECT_TRUE(held.is_valid());
  std::future<Lease> refused = async_acquire(coordinator, key, net::use_future);
  try {
    refused.get();
    FAIL() << "two leases of one lock";
  } catch (const AsioError& error) {
    EXPECT_EQ(error.code(), Errc::contended);
  }
}

TEST_F(Completion, AHandlerMayTakeAResult) {
  // The handler gets the Error with its sentence and votes. as_result() does the same for any
  // token.
  net::io_context context;
  for (int node = 0; node < 5; ++node) cluster().plant(node, key);
  int votes = 0;
  async_acquire(coordinator, key, net::bind_executor(context, [&](const Result<Lease>& refused) {
                  ASSERT_TRUE(fails_with(refused, Errc::contended));
                  votes = refused.error().outcome().count(Vote::held);
                }));
  async_acquire(coordinator, key, as_result(net::bind_executor(context, [](auto refused) {
                  EXPECT_TRUE(fails_with(refused, Errc::contended));
                })));
  context.run();
  EXPECT_GE(votes, 3);
  std::future<Result<Lease>> refused = async_acquire(coordinator, key, as_result(net::use_future));
  EXPECT_TRUE(fails_with(refused.get(), Errc::contended));
}

TEST_F(Completion, ACoroutineGetsTheLeaseOrThrows) {
  // The coroutine resumes on its context; a refusal is an exception, a tuple or a Result.
  net::io_context context;
  run(context, [&]() -> net::awaitable<void> {
    const Lease held = co_await async_acquire(coordinator, key, {.wait = 20s}, net::use_awaitable);
    EXPECT_TRUE(held.is_valid());
    AsioCode thrown;
    try {
      co_await async_acquire(coordinator, key, net::use_awaitable);
    } catch (const AsioError& error) {
      thrown = error.code();
    }
    EXPECT_EQ(thrown, Errc::contended);
    const auto [code, none] =
        co_await async_acquire(coordinator, key, net::experimental::as_tuple(net::use_awaitable));
    EXPECT_EQ(code, Errc::contended);
    EXPECT_FALSE(none.is_valid());
    const Result<Lease> refused =
        co_await async_acquire(coordinator, key, as_result(net::use_awaitable));
    EXPECT_TRUE(fails_with(refused, Errc::contended));
  });
}

TEST_F(Completion, ADeferredOperationBeginsWhenItIsGivenAHandler) {
  // The operation keeps its arguments, and nothing is sent before.
  net::io_context context;
  auto operation = async_acquire(coordinator, key, {.wait = 20s}, net::experimental::deferred);
  EXPECT_EQ(context.run(), 0U);
  Lease held;
  std::move(operation)(net::bind_executor(context, [&](AsioCode code, Lease lease) {
    EXPECT_FALSE(code);
    held = std::move(lease);
  }));
  context.restart();
  context.run();
  EXPECT_EQ(held.resource(), key);
}

TEST_F(Completion, AHandlerWithoutAnExecutorRunsOnAThreadOfAsios) {
  // Such a handler may block: it runs neither in the call nor on the library's loop.
  Answer<bool> answer;
  std::atomic<bool> returned = false;
  async_acquire(coordinator, key, {.wait = 20s},
                [&, tell = answer.handler()](AsioCode code, Lease lease) mutable {
                  EXPECT_FALSE(code);
                  EXPECT_TRUE(eventually([&] { return returned.load(); }));
                  tell(lease.release().has_value());
                });
  returned = true;
  EXPECT_TRUE(answer.get());
  EXPECT_NE(answer.thread(), std::this_thread::get_id());
}

TEST_F(Completion, HandlersOfAStrandNeverOverlap) {
  // Four threads run the pool. Without the strand they would count up at the same time.
  net::thread_pool pool(4);
  const auto strand = net::make_strand(pool);
  int counted = 0;
  for (int i = 0; i < 200; ++i) {
    async_acquire(coordinator, key + std::to_string(i), {.wait = 20s},
                  net::bind_executor(strand, [&](AsioCode code, const Lease&) {
                    EXPECT_FALSE(code);
                    EXPECT_TRUE(strand.running_in_this_thread());
                    ++counted;
                  }));
  }
  pool.join();
  EXPECT_EQ(counted, 200);
}

/// Counts its blocks, and is used on one thread only.
struct Counters {
  std::thread::id thread = std::this_thread::get_id();
  int blocks = 0;
  int made = 0;
};
template <class T>
struct CountingAllocator {
  using value_type = T;
  Counters* counters;
  explicit CountingAllocator(Counters* its_counters) : counters(its_counters) {}
  template <class U>
  CountingAllocator(const CountingAllocator<U>& other) : counters(other.counters) {}
  T* allocate(std::size_t count) {
    EXPECT_EQ(std::this_thread::get_id(), counters->thread);
    ++counters->blocks;
    ++counters->made;
    return std::allocator<T>().allocate(count);
  }
  void deallocate(T* block, std::size_t count) {
    EXPECT_EQ(std::this_thread::get_id(), counters->thread);
    --counters->blocks;
    std::allocator<T>().deallocate(block, count);
  }
  bool operator==(const CountingAllocator&) const = default;
};
struct AllocatingHandler {
  using allocator_type = CountingAllocator<void*>;
  using executor_type = net::io_context::executor_type;
  Counters* counters;
  executor_type executor;
  std::unique_ptr<int> move_only = std::make_unique<int>(0);
  [[nodiscard]] allocator_type get_allocator() const noexcept { return allocator_type(counters); }
  [[nodiscard]] executor_type get_executor() const noexcept { return executor; }
  void operator()(AsioCode code, const Lease&) {
    EXPECT_FALSE(code);
    EXPECT_EQ(counters->blocks, 0);
    counters->made += 100;
  }
};

TEST_F(Completion, UsesTheHandlersAllocatorOnTheHandlersThread) {
  // The handler is kept in memory of its allocator, which is given back before the call. It is
  // given back too if the context is destroyed before the call.
  Counters counters;
  {
    net::io_context context;
    async_acquire(coordinator, key, {.wait = 20s},
                  AllocatingHandler{&counters, context.get_executor()});
    EXPECT_EQ(counters.blocks, 1);
    context.run();
    EXPECT_EQ(counters.made, 101);
    async_acquire(coordinator, key, {.wait = 20s},
                  AllocatingHandler{&counters, context.get_executor()});
  }
  EXPECT_EQ(counters.blocks, 0);
  EXPECT_EQ(counters.made, 102);
}

}  // namespace
}  // namespace quorumlock::test
