#include <array>
#include <future>
#include <memory>
#include <utility>
#include <variant>

#include "with_asio/fixture.hpp"

namespace quorumlock::test {
namespace {

class Cancel : public WithAsio {
 protected:
  Coordinator coordinator = connect();
  net::io_context context;
};

TEST_F(Cancel, ASlotTakesAWaitingAcquisitionBack) {
  // Each kind of cancellation ends the wait with operation_aborted and leaves the line.
  const Lease held = coordinator.acquire(key, {.wait = 20s}).value();
  for (const auto kind : {net::cancellation_type::terminal, net::cancellation_type::partial,
                          net::cancellation_type::total}) {
    net::cancellation_signal signal;
    AsioCode code;
    async_acquire(coordinator, key, {.wait = forever},
                  net::bind_cancellation_slot(
                      signal.slot(), net::bind_executor(context, [&](AsioCode why, const Lease&) {
                        code = why;
                      })));
    ASSERT_TRUE(eventually([&] { return waiting(key) == 1; }));
    signal.emit(kind);
    EXPECT_FALSE(code);
    context.restart();
    context.run();
    EXPECT_EQ(code, net::error::operation_aborted);
    EXPECT_TRUE(eventually([&] { return waiting(key) == 0; }));
    signal.emit(kind);  // nothing is left to cancel
  }
}

TEST_F(Cancel, AResultOfACancelledOperationIsErrcCancelled) {
  // as_result() keeps the library's own code.
  const Lease held = coordinator.acquire(key, {.wait = 20s}).value();
  net::cancellation_signal signal;
  std::future<Result<Lease>> refused =
      async_acquire(coordinator, key, {.wait = forever},
                    as_result(net::bind_cancellation_slot(signal.slot(), net::use_future)));
  signal.emit(net::cancellation_type::total);
  EXPECT_TRUE(fails_with(refused.get(), Errc::cancelled));
}

TEST_F(Cancel, ARequestOnItsWayIsNotWaitedFor) {
  // The nodes do not answer, and a partial cancellation ends the wait for the release. A total one
  // does not, because the keys may be deleted already. The release goes on without the Lease.
  auto lease = std::make_unique<Lease>(coordinator.acquire(key, {.ttl = 30s, .wait = 20s}).value());
  for (int node = 0; node < 5; ++node) cluster().pause(node);
  net::cancellation_signal signal;
  AsioCode code;
  async_release(*lease,
                net::bind_cancellation_slot(
                    signal.slot(), net::bind_executor(context, [&](AsioCode why) { code = why; })));
  signal.emit(net::cancellation_type::total);
  context.poll();
  EXPECT_FALSE(code);
  EXPECT_FALSE(context.stopped());
  signal.emit(net::cancellation_type::partial);
  lease.reset();
  context.run();
  EXPECT_EQ(code, net::error::operation_aborted);
  for (int node = 0; node < 5; ++node) cluster().resume(node);
  EXPECT_TRUE(eventually([&] { return cluster().holders(key) == 0; }));
}

TEST_F(Cancel, ATimerEndsAWait) {
  // The operator || cancels the loser, whether that is the lock or the timer.
  using namespace net::experimental::awaitable_operators;
  run(context, [&]() -> net::awaitable<void> {
    net::steady_timer timer(context, 1ms);
    const Lease held = co_await async_acquire(coordinator, key, {.wait = 20s}, net::use_awaitable);
    const auto late =
        co_await (async_acquire(coordinator, key, {.wait = forever}, net::use_awaitable) ||
                  timer.async_wait(net::use_awaitable));
    EXPECT_EQ(late.index(), 1U);
    timer.expires_after(1h);
    const auto early =
        co_await (async_acquire(coordinator, key + "/free", {.wait = 20s}, net::use_awaitable) ||
                  timer.async_wait(net::use_awaitable));
    EXPECT_EQ(early.index(), 0U);
    EXPECT_TRUE(std::get<0>(early).is_valid());
  });
  EXPECT_TRUE(eventually([&] { return waiting(key) == 0; }));
}

TEST_F(Cancel, TheFirstOfAGroupCancelsTheOthers) {
  // One of two locks is free. Once it is acquired, the wait for the other one is given up.
  const Lease held = coordinator.acquire(key + "/taken", {.wait = 20s}).value();
  const auto on_context = [&](auto token) { return net::bind_executor(context, token); };
  std::array<std::size_t, 2> order{};
  AsioCode taken;
  AsioCode free;
  Lease got;
  net::experimental::make_parallel_group(
      async_acquire(coordinator, key + "/taken", {.wait = forever},
                    on_context(net::experimental::deferred)),
      async_acquire(coordinator, key + "/free", {.wait = 20s},
                    on_context(net::experimental::deferred)))
      .async_wait(net::experimental::wait_for_one_success(),
                  on_context([&](std::array<std::size_t, 2> finished, AsioCode first, const Lease&,
                                 AsioCode second, Lease lease) {
                    order = finished;
                    taken = first;
                    free = second;
                    got = std::move(lease);
                  }));
  context.run();
  EXPECT_EQ(order[0], 1U);
  EXPECT_EQ(taken, net::error::operation_aborted);
  EXPECT_FALSE(free);
  EXPECT_TRUE(got.is_valid());
  EXPECT_TRUE(eventually([&] { return waiting(key + "/taken") == 0; }));
}

}  // namespace
}  // namespace quorumlock::test
