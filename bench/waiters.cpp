#include "waiters.hpp"

#include <stdexcept>
#include <utility>

namespace quorumlock::bench {
namespace {

Coordinator attach(uv_loop_t* loop, std::vector<std::string> nodes, bool fencing) {
  Options options;
  options.nodes = std::move(nodes);
  options.fencing = fencing;
  Result<Coordinator> coordinator = Coordinator::attach(loop, std::move(options));
  if (!coordinator) throw std::runtime_error(coordinator.error().what());
  return std::move(*coordinator);
}

}  // namespace

Waiters::Waiters(std::vector<std::string> nodes, bool fencing)
    : coordinator_(attach(loop_.get(), std::move(nodes), fencing)) {
  uv_timer_init(loop_.get(), &timer_);
}

Waiters::~Waiters() {
  uv_close(reinterpret_cast<uv_handle_t*>(&timer_), nullptr);
  leases_.clear();
  coordinator_.close();
  uv_run(loop_.get(), UV_RUN_DEFAULT);
}

Played Waiters::run(const Turn& turn) {
  const auto count = static_cast<std::size_t>(turn.waiters);
  resources_.assign(count, turn.resource);
  for (std::size_t i = 0; i < count && !turn.shared; ++i) {
    resources_[i].append("/").append(std::to_string(turn.first + static_cast<int>(i)));
  }
  leases_.clear();
  leases_.resize(count);
  played_.grants.resize(count);
  stop_ = {};
  turn_until(turn.start);
  for (std::size_t waiter = 0; waiter < count; ++waiter) {
    ++busy_;
    begin(waiter);
  }
  turn_until(turn.end);
  stop_.request_stop();
  while (busy_ > 0) uv_run(loop_.get(), UV_RUN_ONCE);
  turn_until(Steady::now() + std::chrono::milliseconds(20));  // the remaining releases
  return std::exchange(played_, {});
}

void Waiters::begin(std::size_t waiter) {
  constexpr int too_often = 1000;  // gives up instead of retrying for ever
  if (stop_.stop_requested() || played_.failed >= too_often) {
    --busy_;
    return;
  }
  played_.grants[waiter].push_back({.called = Steady::now(), .acquired = {}, .releasing = {}});
  coordinator_.async_acquire(
      resources_[waiter], {.wait = forever}, stop_.get_token(),
      [this, waiter](Result<Lease> lease) { granted(waiter, std::move(lease)); });
}

void Waiters::granted(std::size_t waiter, Result<Lease> lease) {
  if (!lease) {
    played_.grants[waiter].pop_back();
    if (lease.error().code() != Errc::cancelled) failed(lease.error());
    return begin(waiter);
  }
  Grant& grant = played_.grants[waiter].back();
  grant.acquired = Steady::now();
  leases_[waiter] = std::move(*lease);
  grant.releasing = Steady::now();
  leases_[waiter].async_release([this, waiter](const Result<void>& released) {
    leases_[waiter] = Lease();
    if (!released) failed(released.error());
    begin(waiter);
  });
}

void Waiters::failed(const Error& error) {
  ++played_.failed;
  played_.trouble = error.what();
}

void Waiters::turn_until_readable(int descriptor) {
  uv_poll_t poll;
  uv_poll_init(loop_.get(), &poll, descriptor);
  bool there = false;
  poll.data = &there;
  uv_poll_start(&poll, UV_READABLE,
                [](uv_poll_t* of, int, int) { *static_cast<bool*>(of->data) = true; });
  while (!there) uv_run(loop_.get(), UV_RUN_ONCE);
  uv_close(reinterpret_cast<uv_handle_t*>(&poll),
           [](uv_handle_t* closed) { *static_cast<bool*>(closed->data) = false; });
  while (there) uv_run(loop_.get(), UV_RUN_NOWAIT);
}

void Waiters::turn_until(Steady::time_point then) {
  bool over = false;
  timer_.data = &over;
  while (!over) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(then - Steady::now());
    if (left.count() <= 0) break;
    uv_update_time(loop_.get());
    uv_timer_start(
        &timer_, [](uv_timer_t* fired) { *static_cast<bool*>(fired->data) = true; },
        static_cast<std::uint64_t>(left.count()), 0);
    while (!over) uv_run(loop_.get(), UV_RUN_ONCE);
  }
  uv_timer_stop(&timer_);
}

}  // namespace quorumlock::bench
