#include "api/thread_leases.hpp"

#include <algorithm>
#include <utility>

#include "config/quoted.hpp"
#include "loop/call_later.hpp"
#include "loop/lease_state.hpp"

namespace quorumlock::detail {
namespace {

std::string why_not(LockMode held, LockMode asked) {
  if (held == LockMode::exclusive || asked == LockMode::shared) {
    return "this thread holds it already, unlock it first";
  }
  return "this thread has it to read, and an upgrade would wait for its own reading; "
         "unlock_shared() "
         "first, or lock() in the first place and downgrade()";
}

}  // namespace

Result<void> ThreadLeases::set_mode(LockOptions& options, LockMode mode) {
  if (options.mode.value_or(mode) != mode) {
    return Error(Errc::invalid_argument,
                 "the mode of a mutex is said by the function that locks it: leave "
                 "LockOptions::mode unset");
  }
  options.mode = mode;
  return {};
}

Result<void> ThreadLeases::take(LockMode mode, LockOptions options, std::stop_token stop) {
  if (Result<void> fine = set_mode(options, mode); !fine) return fine;
  const ThreadNumber self = this_thread_number();
  if (!fork_.forked()) {
    const std::lock_guard<std::mutex> lock(guard_);
    const auto mine = held_.find(self);
    if (mine != held_.end() && mine->second.lease.is_valid()) {
      return Error(Errc::would_deadlock, "cannot lock " + detail::quoted(resource_) + ": " +
                                             why_not(mine->second.mode, mode));
    }
  }
  Result<Lease> lease =
      block_on(router_, "lock", acquire(router_, resource_, options, {}), std::move(stop));
  if (!lease) return lease.error();
  bind_to_this_thread(shared_from_this());
  const std::lock_guard<std::mutex> lock(guard_);
  held_.insert_or_assign(self, Owned{std::move(*lease), mode});
  return {};
}

void ThreadLeases::lock(LockMode mode, std::stop_token stop) {
  LockOptions options = options_;
  if (!options.wait) options.wait = forever;
  take(mode, options, std::move(stop)).value();
}

bool ThreadLeases::held_by_another(LockMode mode) {
  const ThreadNumber self = this_thread_number();
  const std::lock_guard<std::mutex> lock(guard_);
  return std::ranges::any_of(held_, [mode, self](const auto& each) {
    const auto& [thread, held] = each;
    const bool in_the_way = mode == LockMode::exclusive || held.mode == LockMode::exclusive;
    return in_the_way && thread != self && held.lease.is_valid();
  });
}

bool ThreadLeases::try_lock(LockMode mode, std::chrono::nanoseconds patience) {
  LockOptions options = options_;
  options.wait = std::max(patience, patience_of_this_thread(resource_));
  const bool one_attempt = options.wait <= std::chrono::nanoseconds::zero();
  if (one_attempt && !fork_.forked() && held_by_another(mode)) return false;
  const Result<void> taken = take(mode, options, {});
  if (taken) return true;
  const std::error_code why = taken.error().code();
  if (why == Errc::contended || why == Errc::timed_out || why == Errc::no_quorum) return false;
  throw taken.error();
}

std::optional<Lease> ThreadLeases::take_out(LockMode mode) {
  std::optional<Lease> mine;
  {
    const std::lock_guard<std::mutex> lock(guard_);
    const auto found = held_.find(this_thread_number());
    if (found == held_.end() || found->second.mode != mode) return mine;
    mine = std::move(found->second.lease);
    held_.erase(found);
  }
  unbind_from_this_thread(*this);
  return mine;
}

void ThreadLeases::unlock(LockMode mode) {
  if (fork_.forked()) return;
  std::optional<Lease> mine = take_out(mode);
  // Each node runs the releases in their order, so waiting for the last release is waiting for all
  // of them.
  if (mine && !this_thread_holds(router_.get())) (void)mine->release();
}

Awaitable<Result<void>> ThreadLeases::co_unlock(LockMode mode) {
  return awaitable_of<Result<void>>(
      [self = shared_from_this(), mode](Handler<Result<void>> handler) {
        if (self->fork_.forked()) throw closed_by_fork("cannot unlock", self->resource_);
        std::optional<Lease> mine = self->take_out(mode);
        if (mine) return mine->async_release(std::move(handler));
        if (self->router_ == nullptr) throw moved_from("unlock");
        call_later<Result<void>>(*self->router_->of(self->resource_), std::move(handler),
                                 self->nothing_held("cannot unlock", mode));
      });
}

Error ThreadLeases::nothing_held(const char* what, std::optional<LockMode> mode) const {
  return {Errc::not_held, std::string(what) + " " + detail::quoted(resource_) +
                              ": this thread has not locked it" +
                              (mode == LockMode::exclusive ? " to write" : "")};
}

Lease& ThreadLeases::lease(std::optional<LockMode> mode) {
  if (fork_.forked()) throw closed_by_fork("no lease of", resource_);
  const std::lock_guard<std::mutex> lock(guard_);
  const auto found = held_.find(this_thread_number());
  if (found == held_.end() || found->second.mode != mode.value_or(found->second.mode)) {
    throw nothing_held("no lease of", mode);
  }
  return found->second.lease;
}

void ThreadLeases::convert(LockMode mode) {
  const std::lock_guard<std::mutex> lock(guard_);
  const auto found = held_.find(this_thread_number());
  if (found != held_.end()) found->second.mode = mode;
}

AcquireAwaitable ThreadLeases::co_lock(LockMode mode, std::stop_token stop) {
  LockOptions options = options_;
  if (!options.wait) options.wait = forever;
  if (const Result<void> fine = set_mode(options, mode); !fine) {
    return AcquireAwaitable(
        [error = fine.error()](const std::stop_token&, detail::Handler<Result<Lease>>) {
          throw error;
        });
  }
  return acquire(router_, resource_, options, std::move(stop));
}

void ThreadLeases::thread_ends(ThreadNumber thread) {
  if (fork_.forked()) return;
  decltype(held_)::node_type left;
  {
    const std::lock_guard<std::mutex> lock(guard_);
    left = held_.extract(thread);
  }
  if (left) release_with_thread(std::move(left.mapped().lease));
}

}  // namespace quorumlock::detail
