#include <quorumlock/mutex.hpp>

#include <map>
#include <mutex>
#include <thread>
#include <utility>

namespace quorumlock {

struct Mutex::State {
  Coordinator& coordinator;
  const std::string resource;
  const LockOptions options;
  std::mutex guard;
  std::map<std::thread::id, Lease> leases;  // one each of the threads that have locked it
};

Mutex::Mutex(Coordinator& coordinator, std::string resource, LockOptions options)
    : state_(new State{coordinator, std::move(resource), options, {}, {}}) {}

Mutex::~Mutex() = default;

Result<void> Mutex::take(LockOptions options) {
  const std::thread::id self = std::this_thread::get_id();
  {
    const std::lock_guard<std::mutex> lock(state_->guard);
    const auto mine = state_->leases.find(self);
    if (mine != state_->leases.end() && mine->second.is_valid()) {
      return Error(Errc::would_deadlock, "cannot lock \"" + state_->resource +
                                             "\": this thread holds it already, unlock it first");
    }
  }
  Result<Lease> lease = state_->coordinator.acquire(state_->resource, options);
  if (!lease) return lease.error();
  const std::lock_guard<std::mutex> lock(state_->guard);
  state_->leases.insert_or_assign(self, std::move(*lease));
  return {};
}

void Mutex::lock() {
  LockOptions options = state_->options;
  if (!options.wait) options.wait = forever;
  take(options).value();
}

bool Mutex::try_lock() {
  return try_lock_within(std::chrono::nanoseconds::zero());
}

bool Mutex::try_lock_within(std::chrono::nanoseconds patience) {
  LockOptions options = state_->options;
  options.wait = patience;
  const Result<void> taken = take(options);
  if (taken) return true;
  const std::error_code why = taken.error().code();
  if (why == Errc::contended || why == Errc::timed_out || why == Errc::no_quorum) return false;
  throw taken.error();
}

void Mutex::unlock() {
  Lease mine;
  {
    const std::lock_guard<std::mutex> lock(state_->guard);
    const auto found = state_->leases.find(std::this_thread::get_id());
    if (found == state_->leases.end()) return;
    mine = std::move(found->second);
    state_->leases.erase(found);
  }
  (void)mine.release();
}

Lease& Mutex::lease() {
  const std::lock_guard<std::mutex> lock(state_->guard);
  const auto found = state_->leases.find(std::this_thread::get_id());
  if (found == state_->leases.end()) {
    throw Error(Errc::not_held,
                "no lease of \"" + state_->resource + "\": this thread has not locked it");
  }
  return found->second;
}

}  // namespace quorumlock
