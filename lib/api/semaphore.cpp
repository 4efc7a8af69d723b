#include <quorumlock/semaphore.hpp>

#include <deque>
#include <map>
#include <mutex>
#include <utility>

#include "api/operations.hpp"
#include "config/quoted.hpp"
#include "loop/call_later.hpp"
#include "loop/lease_state.hpp"
#include "loop/this_thread.hpp"

namespace quorumlock {

struct Semaphore::State : detail::ThreadBound, std::enable_shared_from_this<State> {
  State(Coordinator& its_coordinator, std::string its_resource, std::ptrdiff_t its_capacity,
        LockOptions its_options)
      : router(detail::CoordinatorParts::router(its_coordinator)),
        resource(std::move(its_resource)),
        capacity(its_capacity),
        options(its_options) {}

  const detail::SharedRouter router;  ///< its coordinator may be moved
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

  [[nodiscard]] AcquireAwaitable permit(const LockOptions& how, std::stop_token stop = {}) const {
    return detail::acquire_permit(router, resource, capacity, how, std::move(stop));
  }

  Result<void> take(const LockOptions& how, std::stop_token stop) {
    Result<Lease> permit =
        detail::block_on(router, "get a permit", this->permit(how), std::move(stop));
    if (!permit) return permit.error();
    detail::bind_to_this_thread(shared_from_this());
    const std::lock_guard<std::mutex> lock(guard);
    permits[detail::this_thread_number()].push_back(std::move(*permit));
    return {};
  }

  /// Takes out the permit that the calling thread got last, if it has one.
  std::optional<Lease> take_out() {
    std::optional<Lease> mine;
    bool was_last = false;
    {
      const std::lock_guard<std::mutex> lock(guard);
      const auto found = permits.find(detail::this_thread_number());
      if (found == permits.end()) return mine;
      mine = std::move(found->second.back());
      found->second.pop_back();
      was_last = found->second.empty();
      if (was_last) permits.erase(found);
    }
    if (was_last) detail::unbind_from_this_thread(*this);
    return mine;
  }

  [[nodiscard]] Error nothing_held() const {
    return {Errc::not_held,
            "no permit of " + detail::quoted(resource) + ": this thread has not acquired one"};
  }
  [[nodiscard]] std::string_view mutex_of() const override { return {}; }
  [[nodiscard]] const detail::Router* router_of() const override { return router.get(); }
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

void Semaphore::lock(std::stop_token stop) {
  state_->take(state_->waiting(), std::move(stop)).value();
}

bool Semaphore::try_lock() {
  return try_lock_within(std::chrono::nanoseconds::zero());
}

bool Semaphore::try_lock_within(std::chrono::nanoseconds patience) {
  LockOptions how = state_->options;
  how.wait = patience;
  const Result<void> taken = state_->take(how, {});
  if (taken) return true;
  const std::error_code why = taken.error().code();
  if (why == Errc::contended || why == Errc::timed_out || why == Errc::no_quorum) return false;
  throw taken.error();
}

void Semaphore::unlock() {
  if (state_->fork.forked()) return;
  if (std::optional<Lease> mine = state_->take_out()) (void)mine->release();
}

void Semaphore::async_release(Handler<Result<void>> handler) {
  detail::begin("give back a permit", co_release(), std::move(handler));
}

Awaitable<Result<void>> Semaphore::co_release() {
  return detail::awaitable_of<Result<void>>([state = state_](Handler<Result<void>> handler) {
    if (state->fork.forked()) throw detail::closed_by_fork("no permit of", state->resource);
    std::optional<Lease> mine = state->take_out();
    if (mine) return mine->async_release(std::move(handler));
    if (state->router == nullptr) throw detail::moved_from("give back a permit");
    detail::call_later<Result<void>>(*state->router->of(state->resource), std::move(handler),
                                     state->nothing_held());
  });
}

Lease& Semaphore::lease() {
  if (state_->fork.forked()) throw detail::closed_by_fork("no permit of", state_->resource);
  const std::lock_guard<std::mutex> lock(state_->guard);
  const auto found = state_->permits.find(detail::this_thread_number());
  if (found == state_->permits.end()) {
    throw state_->nothing_held();
  }
  return found->second.back();
}

void Semaphore::async_acquire(std::stop_token stop, Handler<Result<Lease>> handler) {
  detail::begin("get a permit", state_->permit(state_->waiting()), std::move(handler),
                std::move(stop));
}

AcquireAwaitable Semaphore::co_acquire(std::stop_token stop) {
  return state_->permit(state_->waiting(), std::move(stop));
}

}  // namespace quorumlock
