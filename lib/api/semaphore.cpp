#include <quorumlock/semaphore.hpp>

#include <deque>
#include <map>
#include <mutex>
#include <utility>

#include "api/check_handler.hpp"
#include "api/router.hpp"
#include "config/quoted.hpp"
#include "loop/blocking.hpp"
#include "loop/lease_state.hpp"
#include "loop/this_thread.hpp"

namespace quorumlock {

struct Semaphore::State : detail::ThreadBound, std::enable_shared_from_this<State> {
  State(Coordinator& its_coordinator, std::string its_resource, std::ptrdiff_t its_capacity,
        LockOptions its_options)
      : coordinator(its_coordinator),
        resource(std::move(its_resource)),
        capacity(its_capacity),
        options(its_options) {}

  Coordinator& coordinator;
  const std::string resource;
  const std::ptrdiff_t capacity;
  const LockOptions options;
  const detail::ForkWatch fork;  ///< in a forked child the guard may be locked for ever
  std::mutex guard;
  std::map<detail::ThreadNumber, std::deque<Lease>> permits;  ///< in the order of acquisition

  [[nodiscard]] LockOptions waiting() const {
    LockOptions how = options;
    if (!how.wait) how.wait = forever;
    return how;
  }

  static Error gone(const std::string& resource) {
    return {Errc::closed, "cannot get a permit of " + detail::quoted(resource) +
                              ": the coordinator was moved from"};
  }

  static void ask(const std::shared_ptr<detail::Router>& router, const std::string& resource,
                  std::ptrdiff_t capacity, const LockOptions& how, std::stop_token stop,
                  detail::Handler<Result<Lease>> handler) {
    if (router == nullptr) throw gone(resource);
    router->of(resource)->acquire_permit(resource, capacity, how, std::move(stop),
                                         std::move(handler));
  }

  Result<void> take(const LockOptions& how) {
    if (coordinator.router_ == nullptr) return gone(resource);
    if (const auto error = coordinator.router_->cannot_block("get a permit")) return *error;
    Result<Lease> permit = detail::wait_for<Result<Lease>>([&](auto handler) {
      ask(coordinator.router_, resource, capacity, how, {}, std::move(handler));
    });
    if (!permit) return permit.error();
    detail::bind_to_this_thread(shared_from_this());
    const std::lock_guard<std::mutex> lock(guard);
    permits[detail::this_thread_number()].push_back(std::move(*permit));
    return {};
  }

  [[nodiscard]] std::string_view mutex_of() const override { return {}; }
  [[nodiscard]] const Coordinator& coordinator_of() const override { return coordinator; }
  void thread_ends(detail::ThreadNumber thread) override {
    if (fork.forked()) return;
    std::deque<Lease> left;
    {
      const std::lock_guard<std::mutex> lock(guard);
      const auto found = permits.find(thread);
      if (found == permits.end()) return;
      left = std::move(found->second);
      permits.erase(found);
    }
    for (Lease& permit : left) detail::release_with_thread(std::move(permit));
  }
};

Semaphore::Semaphore(Coordinator& coordinator, std::string resource, std::ptrdiff_t capacity,
                     LockOptions options)
    : state_(std::make_shared<State>(coordinator, std::move(resource), capacity, options)) {}

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
  if (state_->fork.forked()) return;
  Lease mine;
  bool was_last = false;
  {
    const std::lock_guard<std::mutex> lock(state_->guard);
    const auto found = state_->permits.find(detail::this_thread_number());
    if (found == state_->permits.end()) return;
    mine = std::move(found->second.back());
    found->second.pop_back();
    was_last = found->second.empty();
    if (was_last) state_->permits.erase(found);
  }
  if (was_last) detail::unbind_from_this_thread(*state_);
  (void)mine.release();
}

Lease& Semaphore::lease() {
  if (state_->fork.forked()) throw detail::closed_by_fork("no permit of", state_->resource);
  const std::lock_guard<std::mutex> lock(state_->guard);
  const auto found = state_->permits.find(detail::this_thread_number());
  if (found == state_->permits.end()) {
    throw Error(Errc::not_held, "no permit of " + detail::quoted(state_->resource) +
                                    ": this thread has not acquired one");
  }
  return found->second.back();
}

void Semaphore::async_acquire(std::stop_token stop, detail::Handler<Result<Lease>> handler) {
  detail::check_handler(handler, "get a permit");
  State::ask(state_->coordinator.router_, state_->resource, state_->capacity, state_->waiting(),
             std::move(stop), std::move(handler));
}

void Semaphore::async_acquire(detail::Handler<Result<Lease>> handler) {
  async_acquire({}, std::move(handler));
}

AcquireAwaitable Semaphore::co_acquire(std::stop_token stop) {
  return AcquireAwaitable(
      [router = state_->coordinator.router_, resource = state_->resource,
       capacity = state_->capacity,
       how = state_->waiting()](std::stop_token either, detail::Handler<Result<Lease>> handler) {
        State::ask(router, resource, capacity, how, std::move(either), std::move(handler));
      },
      std::move(stop));
}

}  // namespace quorumlock
