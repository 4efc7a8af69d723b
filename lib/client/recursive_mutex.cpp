#include <quorumlock/recursive_mutex.hpp>

#include <atomic>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "client/quoted.hpp"
#include "client/router.hpp"

namespace quorumlock {
namespace {

using Owner = std::variant<std::thread::id, LockOwner>;

/// A handler to be called in a turn of the loop's own, or at once where there is no loop any more.
struct Call final : client::Task {
  detail::Handler<Result<void>> handler;
  Result<void> result;
  void run(client::Driver& driver) override {
    driver.later([this] { dismiss(); });
  }
  void dismiss() override {
    const std::unique_ptr<Call> mine(this);
    handler(std::move(result));
  }
};

}  // namespace

LockOwner::LockOwner() {
  static std::atomic<std::uint64_t> last{0};
  id_ = last.fetch_add(1, std::memory_order_relaxed) + 1;
}

struct RecursiveMutex::State : std::enable_shared_from_this<State> {
  State(Coordinator& its_coordinator, std::string its_resource, LockOptions its_options)
      : coordinator(its_coordinator), resource(std::move(its_resource)), options(its_options) {}

  struct Held {
    Lease lease;
    std::size_t depth = 1;
  };
  using Handlers = std::vector<detail::Handler<Result<void>>>;

  Coordinator& coordinator;
  const std::string resource;
  const LockOptions options;
  mutable std::mutex guard;
  std::map<Owner, Held> held;
  std::map<Owner, Handlers> under_way;  ///< asynchronous locks, which their owner may join
  bool abandoned = false;               ///< the mutex is gone

  [[nodiscard]] Error error(Errc why, const std::string& reason) const {
    return {why, "cannot lock " + client::quoted(resource) + ": " + reason};
  }

  /// Once more for who has it: unset where it has to be acquired first. With the guard.
  std::optional<Result<void>> nest(const Owner& owner) {
    const auto mine = held.find(owner);
    if (mine == held.end()) return std::nullopt;
    Held& found = mine->second;
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

  Result<void> take(const Owner& owner, LockOptions how) {
    {
      const std::lock_guard<std::mutex> lock(guard);
      if (std::optional<Result<void>> nested = nest(owner)) return *nested;
    }
    Result<Lease> lease = coordinator.acquire(resource, how);
    if (!lease) return lease.error();
    const std::lock_guard<std::mutex> lock(guard);
    held.emplace(owner, Held{std::move(*lease)});
    return {};
  }

  struct Left {
    bool was_locked = false;
    std::optional<Lease> last;  ///< to be released, unless it stays locked
  };
  Left leave(const Owner& owner) {
    const std::lock_guard<std::mutex> lock(guard);
    const auto mine = held.find(owner);
    if (mine == held.end()) return {};
    if (--mine->second.depth > 0) return {.was_locked = true, .last = std::nullopt};
    Left left{.was_locked = true, .last = std::move(mine->second.lease)};
    held.erase(mine);
    return left;
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
        held.emplace(owner, Held{std::move(*lease), handlers.size()});
      }
    }
    for (auto& handler : handlers) handler(result);
  }

  Lease& lease_of(const Owner& owner) {
    const std::lock_guard<std::mutex> lock(guard);
    const auto mine = held.find(owner);
    if (mine != held.end()) return mine->second.lease;
    throw Error(Errc::not_held,
                "no lease of " + client::quoted(resource) + ": this owner has not locked it");
  }

  std::size_t depth_of(const Owner& owner) const {
    const std::lock_guard<std::mutex> lock(guard);
    const auto mine = held.find(owner);
    return mine == held.end() ? 0 : mine->second.depth;
  }

  void call(detail::Handler<Result<void>> handler, Result<void> result) const {
    const std::shared_ptr<client::Router>& router = coordinator.router_;
    if (router == nullptr || router->forked()) {
      return handler(error(Errc::closed, "its coordinator is of no use here"));
    }
    auto task = std::make_unique<Call>();
    task->handler = std::move(handler);
    task->result = std::move(result);
    router->of(resource)->post(task.release());
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
  const std::lock_guard<std::mutex> lock(state_->guard);
  state_->abandoned = true;
  state_->held.clear();
}

void RecursiveMutex::lock() {
  state_->take(std::this_thread::get_id(), state_->waiting()).value();
}

bool RecursiveMutex::try_lock() {
  return try_lock_within(std::chrono::nanoseconds::zero());
}

bool RecursiveMutex::try_lock_within(std::chrono::nanoseconds patience) {
  LockOptions how = state_->options;
  how.wait = patience;
  if (depth() == max_depth) return false;
  const Result<void> taken = state_->take(std::this_thread::get_id(), how);
  if (taken) return true;
  const std::error_code why = taken.error().code();
  if (why == Errc::contended || why == Errc::timed_out || why == Errc::no_quorum) return false;
  throw taken.error();
}

void RecursiveMutex::unlock() {
  State::Left left = state_->leave(std::this_thread::get_id());
  if (left.last) (void)left.last->release();
}

Lease& RecursiveMutex::lease() {
  return state_->lease_of(std::this_thread::get_id());
}

std::size_t RecursiveMutex::depth() const {
  return state_->depth_of(std::this_thread::get_id());
}

void RecursiveMutex::async_lock(LockOwner owner, std::stop_token stop,
                                detail::Handler<Result<void>> handler) {
  {
    const std::lock_guard<std::mutex> lock(state_->guard);
    if (std::optional<Result<void>> nested = state_->nest(owner)) {
      return state_->call(std::move(handler), std::move(*nested));
    }
    State::Handlers& handlers = state_->under_way[owner];
    handlers.push_back(std::move(handler));
    if (handlers.size() > 1) return;
  }
  state_->coordinator.async_acquire(
      state_->resource, state_->waiting(), std::move(stop),
      [state = state_, owner](Result<Lease> lease) { state->acquired(owner, std::move(lease)); });
}

LockAwaitable RecursiveMutex::co_lock(LockOwner owner, std::stop_token stop) {
  return {*this, owner, std::move(stop)};
}

void RecursiveMutex::async_unlock(LockOwner owner, detail::Handler<Result<void>> handler) {
  State::Left left = state_->leave(owner);
  if (!left.was_locked) {
    return state_->call(std::move(handler),
                        Error(Errc::not_held, "cannot unlock " + client::quoted(state_->resource) +
                                                  ": this owner has not locked it"));
  }
  if (!left.last) return state_->call(std::move(handler), {});
  left.last->async_release(std::move(handler));
}

Lease& RecursiveMutex::lease(LockOwner owner) {
  return state_->lease_of(owner);
}

std::size_t RecursiveMutex::depth(LockOwner owner) const {
  return state_->depth_of(owner);
}

}  // namespace quorumlock
