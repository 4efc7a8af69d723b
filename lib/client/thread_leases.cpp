#include "client/thread_leases.hpp"

#include <utility>

#include "client/quoted.hpp"

namespace quorumlock::client {
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

Result<void> ThreadLeases::take(LockMode mode, LockOptions options) {
  if (options.mode.value_or(mode) != mode) {
    return Error(Errc::invalid_argument,
                 "the mode of a mutex is said by the function that locks it: leave "
                 "LockOptions::mode unset");
  }
  options.mode = mode;
  const std::thread::id self = std::this_thread::get_id();
  {
    const std::lock_guard<std::mutex> lock(guard_);
    const auto mine = held_.find(self);
    if (mine != held_.end() && mine->second.lease.is_valid()) {
      return Error(Errc::would_deadlock, "cannot lock " + client::quoted(resource_) + ": " +
                                             why_not(mine->second.mode, mode));
    }
  }
  Result<Lease> lease = coordinator_.acquire(resource_, options);
  if (!lease) return lease.error();
  const std::lock_guard<std::mutex> lock(guard_);
  held_.insert_or_assign(self, Held{std::move(*lease), mode});
  return {};
}

void ThreadLeases::lock(LockMode mode) {
  LockOptions options = options_;
  if (!options.wait) options.wait = forever;
  take(mode, options).value();
}

bool ThreadLeases::try_lock(LockMode mode, std::chrono::nanoseconds patience) {
  LockOptions options = options_;
  options.wait = patience;
  const Result<void> taken = take(mode, options);
  if (taken) return true;
  const std::error_code why = taken.error().code();
  if (why == Errc::contended || why == Errc::timed_out || why == Errc::no_quorum) return false;
  throw taken.error();
}

void ThreadLeases::unlock(LockMode mode) {
  Lease mine;
  {
    const std::lock_guard<std::mutex> lock(guard_);
    const auto found = held_.find(std::this_thread::get_id());
    if (found == held_.end() || found->second.mode != mode) return;
    mine = std::move(found->second.lease);
    held_.erase(found);
  }
  (void)mine.release();
}

Lease& ThreadLeases::lease(std::optional<LockMode> mode) {
  const std::lock_guard<std::mutex> lock(guard_);
  const auto found = held_.find(std::this_thread::get_id());
  if (found == held_.end() || found->second.mode != mode.value_or(found->second.mode)) {
    throw Error(Errc::not_held, "no lease of " + client::quoted(resource_) +
                                    ": this thread has not locked it" +
                                    (mode == LockMode::exclusive ? " to write" : ""));
  }
  return found->second.lease;
}

void ThreadLeases::convert(LockMode mode) {
  const std::lock_guard<std::mutex> lock(guard_);
  const auto found = held_.find(std::this_thread::get_id());
  if (found != held_.end()) found->second.mode = mode;
}

}  // namespace quorumlock::client
