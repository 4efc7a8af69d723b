#include <quorumlock/mutex.hpp>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <utility>
#include <variant>
#include <vector>

#include "api/operations.hpp"
#include "config/quoted.hpp"
#include "loop/call_later.hpp"
#include "loop/lease_state.hpp"
#include "loop/this_thread.hpp"

namespace quorumlock {
namespace {

using Owner = std::variant<detail::ThreadNumber, LockOwner>;

}  // namespace

LockOwner::LockOwner() {
  static std::atomic<std::uint64_t> last{0};
  id_ = last.fetch_add(1, std::memory_order_relaxed) + 1;
}

struct RecursiveMutex::State : detail::ThreadBound, std::enable_shared_from_this<State> {
  State(Coordinator& its_coordinator, std::string its_resource, LockOptions its_options)
      : router(detail::CoordinatorParts::router(its_coordinator)),
        resource(std::move(its_resource)),
        options(its_options) {}

  struct Owned {
    Lease lease;
    std::size_t depth = 1;
  };
  using Handlers = std::vector<detail::Handler<Result<void>>>;

  const detail::SharedRouter router;  ///< its coordinator may be moved
  const std::string resource;
  const LockOptions options;
  const detail::ForkWatch fork;  ///< in a forked child the guard may be locked for ever
  mutable std::mutex guard;
  std::map<Owner, Owned> held;
  std::map<Owner, Handlers> under_way;  ///< asynchronous locks; further ones by the same owner join
  bool abandoned = false;               ///< the mutex is destroyed

  [[nodiscard]] Error error(Errc why, const std::string& reason) const {
    return {why, "cannot lock " + detail::quoted(resource) + ": " + reason};
  }

  [[nodiscard]] Result<void> check_mode() const {
    if (options.mode.value_or(LockMode::exclusive) == LockMode::exclusive) return {};
    return error(Errc::invalid_argument,
                 "mode is not exclusive: a recursive mutex has one owner; leave mode out");
  }

  /// Locks once more for an owner that has the mutex already. Unset if the owner has to acquire it
  /// first. Call it with the guard locked.
  std::optional<Result<void>> nest(const Owner& owner) {
    const auto mine = held.find(owner);
    if (mine == held.end()) return std::nullopt;
    Owned& found = mine->second;
    if (!found.lease.is_valid()) {
      return error(Errc::lost, "this owner's lease has ended; unlock it " +
                                   std::to_string(found.depth) + " times before it is locked anew");
    }
    if (found.depth == max_depth) {
      return error(Errc::invalid_argument, "its owner has it locked " + std::to_string(max_depth) +
                                               " times, which is the most; unlock it as often");
    }
    ++found.depth;
    return Result<void>();
  }

  /// Locks for the calling thread.
  Result<void> take_here(const LockOptions& how, std::stop_token stop) {
    if (Result<void> fine = check_mode(); !fine) return fine;
    const Owner owner = detail::this_thread_number();
    if (!fork.forked()) {
      const std::lock_guard<std::mutex> lock(guard);
      if (std::optional<Result<void>> nested = nest(owner)) return *nested;
    }
    Result<Lease> lease = detail::block_on(
        router, "lock", detail::acquire(router, resource, how, {}), std::move(stop));
    if (!lease) return lease.error();
    detail::bind_to_this_thread(shared_from_this());
    const std::lock_guard<std::mutex> lock(guard);
    held.emplace(owner, Owned{std::move(*lease)});
    return {};
  }

  struct Left {
    bool was_locked = false;
    std::optional<Lease> last;  ///< the lease to release, unless the mutex stays locked
  };
  /// Undoes one lock of the calling thread.
  Left leave() {
    if (fork.forked()) return {};
    Left left = leave(detail::this_thread_number());
    if (left.last) detail::unbind_from_this_thread(*this);
    return left;
  }
  Left leave(const Owner& owner) {
    const std::lock_guard<std::mutex> lock(guard);
    const auto mine = held.find(owner);
    if (mine == held.end()) return {};
    if (--mine->second.depth > 0) return {.was_locked = true, .last = std::nullopt};
    Left left{.was_locked = true, .last = std::move(mine->second.lease)};
    held.erase(mine);
    return left;
  }

  [[nodiscard]] std::string_view mutex_of() const override { return resource; }
  [[nodiscard]] const detail::Router* router_of() const override { return router.get(); }
  void thread_ends(detail::ThreadNumber thread) override {
    if (fork.forked()) return;
    decltype(held)::node_type left;
    {
      const std::lock_guard<std::mutex> lock(guard);
      left = held.extract(thread);
    }
    if (left) detail::release_with_thread(std::move(left.mapped().lease));
  }

  void acquired(const Owner& owner, Result<Lease> lease) {
    Handlers handlers;
    Result<void> result;
    {
      const std::lock_guard<std::mutex> lock(guard);
      handlers = std::move(under_way.extract(owner).mapped());
      if (!lease) {
        result = lease.error();
      } else if (abandoned) {
        result = error(Errc::closed, "the mutex is gone");
      } else {
        held.emplace(owner, Owned{std::move(*lease), handlers.size()});
      }
    }
    for (auto& handler : handlers) handler(result);
  }

  Lease& lease_of(const Owner& owner) {
    if (fork.forked()) throw detail::closed_by_fork("no lease of", resource);
    const std::lock_guard<std::mutex> lock(guard);
    const auto mine = held.find(owner);
    if (mine != held.end()) return mine->second.lease;
    throw Error(Errc::not_held,
                "no lease of " + detail::quoted(resource) + ": this owner has not locked it");
  }

  std::size_t depth_of(const Owner& owner) const {
    if (fork.forked()) return 0;
    const std::lock_guard<std::mutex> lock(guard);
    const auto mine = held.find(owner);
    return mine == held.end() ? 0 : mine->second.depth;
  }

  /// The runtime that leads to the loop. Throws Error(closed) if there is none.
  [[nodiscard]] detail::Runtime& runtime() const {
    if (router == nullptr) throw error(Errc::closed, "its coordinator was moved from");
    return *router->of(resource);
  }

  [[nodiscard]] LockOptions waiting() const {
    LockOptions how = options;
    if (!how.wait) how.wait = forever;
    return how;
  }
};

RecursiveMutex::RecursiveMutex(Coordinator& coordinator, std::string resource, LockOptions options)
    : state_(std::make_shared<State>(coordinator, std::move(resource), options)) {}

RecursiveMutex::~RecursiveMutex() {
  if (state_->fork.forked()) return;
  const std::lock_guard<std::mutex> lock(state_->guard);
  state_->abandoned = true;
  state_->held.clear();
}

void RecursiveMutex::lock(std::stop_token stop) {
  state_->take_here(state_->waiting(), std::move(stop)).value();
}

bool RecursiveMutex::try_lock() {
  return try_lock_within(std::chrono::nanoseconds::zero());
}

bool RecursiveMutex::try_lock_within(std::chrono::nanoseconds patience) {
  LockOptions how = state_->options;
  how.wait = std::max(patience, detail::patience_of_this_thread(state_->resource));
  if (depth() == max_depth) return false;
  const Result<void> taken = state_->take_here(how, {});
  if (taken) return true;
  const std::error_code why = taken.error().code();
  if (why == Errc::contended || why == Errc::timed_out || why == Errc::no_quorum) return false;
  throw taken.error();
}

void RecursiveMutex::unlock() {
  State::Left left = state_->leave();
  if (left.last) (void)left.last->release();
}

Lease& RecursiveMutex::lease() {
  return state_->lease_of(detail::this_thread_number());
}

std::size_t RecursiveMutex::depth() const {
  return state_->depth_of(detail::this_thread_number());
}

void RecursiveMutex::async_lock(LockOwner owner, std::stop_token stop,
                                detail::Handler<Result<void>> handler) {
  detail::check_handler(handler, "lock");
  if (state_->fork.forked()) throw detail::closed_by_fork("cannot lock", state_->resource);
  detail::Runtime& runtime = state_->runtime();
  if (Result<void> fine = state_->check_mode(); !fine) {
    return detail::call_later(runtime, std::move(handler), std::move(fine));
  }
  std::optional<Result<void>> nested;
  {
    const std::lock_guard<std::mutex> lock(state_->guard);
    nested = state_->nest(owner);
    if (!nested) {
      State::Handlers& handlers = state_->under_way[owner];
      handlers.push_back(std::move(handler));
      if (handlers.size() > 1) return;
    }
  }
  // The handler may run inside this if the loop is gone, and must find the guard free.
  if (nested) return detail::call_later(runtime, std::move(handler), std::move(*nested));
  runtime.acquire(
      state_->resource, state_->waiting(), std::move(stop),
      [state = state_, owner](Result<Lease> lease) { state->acquired(owner, std::move(lease)); });
}

void RecursiveMutex::lock(LockOwner owner, std::stop_token stop) {
  detail::block_on(state_->router, "lock", co_lock(owner), std::move(stop)).value();
}

void RecursiveMutex::unlock(LockOwner owner) {
  if (state_->fork.forked()) return;
  State::Left left = state_->leave(owner);
  if (left.last) (void)left.last->release();
}

LockAwaitable RecursiveMutex::co_lock(LockOwner owner, std::stop_token stop) {
  return LockAwaitable(
      [this, owner](std::stop_token either, detail::Handler<Result<void>> handler) {
        async_lock(owner, std::move(either), std::move(handler));
      },
      std::move(stop),
      [state = state_, owner](const Result<void>& locked) {
        if (locked) state->leave(owner);  // the destructor releases the last lease
      });
}

LockAwaitable RecursiveMutex::co_unlock(LockOwner owner) {
  return LockAwaitable(
      [this, owner](const std::stop_token&, detail::Handler<Result<void>> handler) {
        async_unlock(owner, std::move(handler));
      });
}

void RecursiveMutex::async_unlock(LockOwner owner, detail::Handler<Result<void>> handler) {
  detail::check_handler(handler, "unlock");
  if (state_->fork.forked()) throw detail::closed_by_fork("cannot unlock", state_->resource);
  detail::Runtime& runtime = state_->runtime();
  State::Left left = state_->leave(owner);
  if (left.last) return left.last->async_release(std::move(handler));
  Result<void> result;
  if (!left.was_locked) {
    result = Error(Errc::not_held, "cannot unlock " + detail::quoted(state_->resource) +
                                       ": this owner has not locked it");
  }
  detail::call_later(runtime, std::move(handler), std::move(result));
}

Lease& RecursiveMutex::lease(LockOwner owner) {
  return state_->lease_of(owner);
}

std::size_t RecursiveMutex::depth(LockOwner owner) const {
  return state_->depth_of(owner);
}

}  // namespace quorumlock
