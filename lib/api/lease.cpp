#include <quorumlock/lease.hpp>

#include <utility>

#include "api/check_handler.hpp"
#include "config/quoted.hpp"
#include "lock/owner_token.hpp"
#include "loop/blocking.hpp"
#include "loop/call_later.hpp"
#include "loop/lease_state.hpp"
#include "loop/runtime.hpp"

namespace quorumlock {

using detail::LeaseState;
using detail::Runtime;

std::string_view OwnerToken::label() const noexcept {
  return core::TokenParts::read(text_).label;
}

namespace {

Error nothing_held(const char* what) {
  return {Errc::not_held, std::string("cannot ") + what + ": this Lease holds nothing"};
}

/// A task that reports a thread that has ended while it held a lock.
class ThreadEnded final : public detail::Task {
 public:
  ThreadEnded(std::string resource, std::string_view token)
      : resource_(std::move(resource)), token_(token) {}
  void run(detail::Driver& driver) override {
    const std::unique_ptr<ThreadEnded> mine(this);
    driver.calls().thread_ended(resource_, token_);
  }
  void dismiss() override { const std::unique_ptr<ThreadEnded> mine(this); }

 private:
  std::string resource_;
  std::string token_;
};

/// A task that brings a call to the loop: extend, downgrade, detach, or a release that is too late.
class LeaseCall final : public detail::Task {
 public:
  enum class What { extend, downgrade, release_late, detach };
  LeaseCall(What what, LeaseState& lease) : what_(what), lease_(lease) {}

  core::Duration ttl{};
  Errc ended_before{};
  detail::Handler<Result<void>> handler;

  void run(detail::Driver& driver) override {
    const std::unique_ptr<LeaseCall> mine(this);
    switch (what_) {
      case What::extend: return driver.calls().extend(lease_, ttl, std::move(handler));
      case What::downgrade: return driver.calls().downgrade(lease_, std::move(handler));
      case What::release_late:
        return driver.calls().release_late(lease_, ended_before, std::move(handler));
      case What::detach: return driver.calls().detach(lease_);
    }
  }
  void dismiss() override {
    const std::unique_ptr<LeaseCall> mine(this);
    const char* const call = what_ == What::extend      ? "extend"
                             : what_ == What::downgrade ? "downgrade"
                                                        : "release";
    if (handler) handler(lease_.runtime->closed_error(call));
  }

 private:
  What what_;
  LeaseState& lease_;
};

}  // namespace

Lease::Lease(Lease&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}

Lease& Lease::operator=(Lease&& other) noexcept {
  if (this == &other) return *this;
  Lease old(std::move(*this));  // releases the old lease at the end
  state_ = std::exchange(other.state_, nullptr);
  return *this;
}

Lease::~Lease() {
  LeaseState* state = std::exchange(state_, nullptr);
  if (state == nullptr || state->runtime->forked()) return;  // in a child the lease is the parent's
  state->end(LeaseState::released);
  const std::shared_ptr<Runtime> runtime = state->runtime;  // posting may free *state
  runtime->post(state);
}

std::string Lease::resource() const {
  return state_ != nullptr ? std::string(state_->resource()) : std::string();
}

std::vector<std::string> Lease::resources() const {
  if (state_ == nullptr) return {};
  std::vector<std::string> all = {std::string(state_->resource())};
  all.insert(all.end(), state_->others().begin(), state_->others().end());
  return all;
}

const OwnerToken& Lease::owner_token() const {
  static const OwnerToken none;
  return state_ != nullptr ? state_->owner_token() : none;
}

std::uint64_t Lease::fencing_token() const noexcept {
  return state_ != nullptr ? state_->won.fence : 0;
}

Clock::time_point Lease::valid_until() const noexcept {
  return state_ != nullptr ? state_->valid_until() : Clock::time_point();
}

Clock::duration Lease::remaining() const noexcept {
  if (!is_valid()) return Clock::duration::zero();
  return std::max(state_->valid_until() - Clock::now(), Clock::duration::zero());
}

bool Lease::is_valid() const noexcept {
  return state_ != nullptr && !state_->runtime->forked() && state_->is_valid();
}

std::stop_token Lease::stop_token() const {
  if (state_ == nullptr) return {};
  if (!state_->runtime->forked()) return state_->stop_token();
  // A new source: the parent's may have been locked at the fork.
  std::stop_source stopped;
  stopped.request_stop();
  return stopped.get_token();
}

Outcome Lease::outcome() const {
  if (state_ == nullptr) return {};
  Outcome outcome = state_->runtime->nodes().outcome_of(state_->won.votes, state_->won.attempts);
  outcome.trace = state_->trace();
  return outcome;
}

void Lease::async_extend(std::chrono::nanoseconds ttl, detail::Handler<Result<void>> handler) {
  detail::check_handler(handler, "extend");
  if (state_ == nullptr) throw nothing_held("extend");
  const std::shared_ptr<Runtime> runtime = state_->runtime;
  runtime->refuse_in_child("extend");
  if (Result<void> fine = detail::check_ttl(runtime->cluster().options, ttl); !fine) {
    return detail::call_later(*runtime, std::move(handler), std::move(fine));
  }
  auto call = std::make_unique<LeaseCall>(LeaseCall::What::extend, *state_);
  call->ttl = ttl;
  call->handler = std::move(handler);
  runtime->post(call.release());
}

void Lease::async_downgrade(detail::Handler<Result<void>> handler) {
  detail::check_handler(handler, "downgrade");
  if (state_ == nullptr) throw nothing_held("downgrade");
  const std::shared_ptr<Runtime> runtime = state_->runtime;
  runtime->refuse_in_child("downgrade");
  auto call = std::make_unique<LeaseCall>(LeaseCall::What::downgrade, *state_);
  call->handler = std::move(handler);
  runtime->post(call.release());
}

void Lease::async_release(detail::Handler<Result<void>> handler) {
  detail::check_handler(handler, "release");
  if (state_ == nullptr) throw nothing_held("release");
  const std::shared_ptr<Runtime> runtime = state_->runtime;
  runtime->refuse_in_child("release");
  // A lease that has run out by now must not end as released. On the loop the engine sees to that
  // itself.
  if (!runtime->on_loop()) (void)state_->is_valid();
  const Errc ended_before = state_->end(LeaseState::released);
  if (ended_before == Errc()) {
    LeaseState::Release& task = state_->release_task();
    task.handler = std::move(handler);
    return runtime->post(&task);
  }
  auto call = std::make_unique<LeaseCall>(LeaseCall::What::release_late, *state_);
  call->ended_before = ended_before;
  call->handler = std::move(handler);
  runtime->post(call.release());
}

Result<void> Lease::extend(std::chrono::nanoseconds ttl) {
  if (state_ == nullptr) return nothing_held("extend");
  if (const auto error = state_->runtime->cannot_block("extend")) return *error;
  return detail::wait_for<Result<void>>(
      [&](auto handler) { async_extend(ttl, std::move(handler)); });
}

Result<void> Lease::downgrade() {
  if (state_ == nullptr) return nothing_held("downgrade");
  if (const auto error = state_->runtime->cannot_block("downgrade")) return *error;
  return detail::wait_for<Result<void>>([&](auto handler) { async_downgrade(std::move(handler)); });
}

Result<void> Lease::release() {
  if (state_ == nullptr) return nothing_held("release");
  if (const auto error = state_->runtime->cannot_block("release")) return *error;
  return detail::wait_for<Result<void>>([&](auto handler) { async_release(std::move(handler)); });
}

Awaitable<Result<void>> Lease::co_extend(std::chrono::nanoseconds ttl) {
  return detail::awaitable_of<Result<void>>(
      [this, ttl](auto handler) { async_extend(ttl, std::move(handler)); });
}

Awaitable<Result<void>> Lease::co_downgrade() {
  return detail::awaitable_of<Result<void>>(
      [this](auto handler) { async_downgrade(std::move(handler)); });
}

Awaitable<Result<void>> Lease::co_release() {
  return detail::awaitable_of<Result<void>>(
      [this](auto handler) { async_release(std::move(handler)); });
}

void Lease::detach() noexcept {
  if (state_ == nullptr || state_->runtime->forked()) return;
  const std::shared_ptr<Runtime> runtime = state_->runtime;
  runtime->post(new LeaseCall(LeaseCall::What::detach, *state_));
}

void detail::release_with_thread(Lease lease) {
  const LeaseState* state = lease.state_;
  if (state == nullptr || !lease.is_valid()) return;
  state->runtime->post(
      new ThreadEnded(detail::names_of(state->resource(), state->others()), state->token()));
}

Error detail::closed_by_fork(std::string_view cannot, std::string_view resource) {
  return {Errc::closed,
          std::string(cannot) + " " + detail::quoted(resource) +
              ": this process was forked off after it was made; make one in the child"};
}

}  // namespace quorumlock
