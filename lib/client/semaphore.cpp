#include <quorumlock/semaphore.hpp>

#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "client/blocking.hpp"
#include "client/quoted.hpp"
#include "client/router.hpp"

namespace quorumlock {

struct Semaphore::State {
  Coordinator& coordinator;
  const std::string resource;
  const std::ptrdiff_t capacity;
  const LockOptions options;
  std::mutex guard;
  std::map<std::thread::id, std::deque<Lease>> permits;  ///< of each thread, the last one last

  [[nodiscard]] LockOptions waiting() const {
    LockOptions how = options;
    if (!how.wait) how.wait = forever;
    return how;
  }

  void ask(const LockOptions& how, std::stop_token stop, detail::Handler<Result<Lease>> handler) {
    const std::shared_ptr<client::Router>& router = coordinator.router_;
    if (router == nullptr) {
      return handler(Error(Errc::closed, "cannot get a permit of " + client::quoted(resource) +
                                             ": the coordinator was moved from"));
    }
    router->of(resource)->acquire_permit(resource, capacity, how, std::move(stop),
                                         std::move(handler));
  }

  Result<void> take(const LockOptions& how) {
    if (coordinator.router_ != nullptr) {
      if (const auto error = coordinator.router_->cannot_block("get a permit")) return *error;
    }
    Result<Lease> permit =
        client::wait_for<Result<Lease>>([&](auto handler) { ask(how, {}, std::move(handler)); });
    if (!permit) return permit.error();
    const std::lock_guard<std::mutex> lock(guard);
    permits[std::this_thread::get_id()].push_back(std::move(*permit));
    return {};
  }
};

Semaphore::Semaphore(Coordinator& coordinator, std::string resource, std::ptrdiff_t capacity,
                     LockOptions options)
    : state_(new State{coordinator, std::move(resource), capacity, options, {}, {}}) {}

Semaphore::~Semaphore() = default;

std::ptrdiff_t Semaphore::capacity() const noexcept {
  return state_->capacity;
}

void Semaphore::lock() {
  state_->take(state_->waiting()).value();
}

bool Semaphore::try_lock() {
  return try_lock_within(std::chrono::nanoseconds::zero());
}

bool Semaphore::try_lock_within(std::chrono::nanoseconds patience) {
  LockOptions how = state_->options;
  how.wait = patience;
  const Result<void> taken = state_->take(how);
  if (taken) return true;
  const std::error_code why = taken.error().code();
  if (why == Errc::contended || why == Errc::timed_out || why == Errc::no_quorum) return false;
  throw taken.error();
}

void Semaphore::unlock() {
  Lease mine;
  {
    const std::lock_guard<std::mutex> lock(state_->guard);
    const auto found = state_->permits.find(std::this_thread::get_id());
    if (found == state_->permits.end()) return;
    mine = std::move(found->second.back());
    found->second.pop_back();
    if (found->second.empty()) state_->permits.erase(found);
  }
  (void)mine.release();
}

Lease& Semaphore::lease() {
  const std::lock_guard<std::mutex> lock(state_->guard);
  const auto found = state_->permits.find(std::this_thread::get_id());
  if (found == state_->permits.end()) {
    throw Error(Errc::not_held, "no permit of " + client::quoted(state_->resource) +
                                    ": this thread has not acquired one");
  }
  return found->second.back();
}

void Semaphore::async_acquire(std::stop_token stop, detail::Handler<Result<Lease>> handler) {
  state_->ask(state_->waiting(), std::move(stop), std::move(handler));
}

AcquireAwaitable Semaphore::co_acquire(std::stop_token stop) {
  AcquireAwaitable permit(state_->coordinator.router_, {state_->resource}, state_->waiting(),
                          std::move(stop));
  permit.capacity_ = state_->capacity;
  return permit;
}

}  // namespace quorumlock
