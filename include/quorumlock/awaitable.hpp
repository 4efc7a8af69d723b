#pragma once

#include <atomic>
#include <concepts>
#include <coroutine>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <type_traits>
#include <utility>

#include <quorumlock/handler.hpp>
#include <quorumlock/result.hpp>

namespace quorumlock {

/// The result of an awaited operation that returns nothing: co_await gives void.
struct Done {
  Done() = default;
  /// An operation that fails has ended, too, and its error is dropped.
  explicit Done(const Error&) {}
};

}  // namespace quorumlock

namespace quorumlock::detail {

/// Runs a function on the executor on which a coroutine is to resume. Awaitable::on() makes it.
using RunOn = Handler<std::function<void()>>;

/// The executors among what Awaitable::on() takes, in the way of Asio and that of Asio 1.22.
template <class Executor>
concept Executes = requires(Executor& executor, std::function<void()> resume) {
  executor.execute(resume);
};
template <class Executor>
concept Posts = requires(Executor& executor, std::function<void()> resume) {
  executor.post(resume, std::allocator<void>());
};

/// The state that a suspended coroutine shares with the operation that it waits for. Whichever of
/// the two ends first decides what becomes of the result.
template <class T>
class Awaited : public std::enable_shared_from_this<Awaited<T>> {
 public:
  Awaited(std::coroutine_handle<> caller, std::stop_token stop, Handler<T> undo, RunOn run)
      : caller_(caller), undo_(std::move(undo)), run_(std::move(run)) {
    if (stop.stop_possible()) link_.emplace(std::move(stop), Link{this});
  }
  Awaited(const Awaited&) = delete;
  Awaited& operator=(const Awaited&) = delete;

  /// The token that cancels the operation, on the caller's own stop request or when the coroutine
  /// is destroyed.
  [[nodiscard]] std::stop_token stop_token() const { return cancel_.get_token(); }

  /// The operation has ended: resumes the coroutine, on this thread or on its executor, unless the
  /// coroutine is gone.
  void settle(T value) {
    result_.emplace(std::move(value));
    if (state_.exchange(State::settled) == State::abandoned) return give_back();
    if (!run_) return resume();
    // An executor that ends destroys this function without a call: the result is then given back.
    run_([kept = std::shared_ptr<Awaited>(this, [self = this->shared_from_this()](Awaited*) {
            self->abandon();
          })] { kept->resume(); });
  }
  /// Called when the call that begins the operation has returned. Returns whether the coroutine has
  /// to wait.
  bool suspends() {
    starting_ = false;
    return !resumed_inside_;
  }
  /// The coroutine is gone, or has had its result, or will not be resumed.
  void abandon() {
    if (move_on(State::waiting, State::abandoned)) {
      cancel_.request_stop();
    } else if (move_on(State::settled, State::abandoned)) {
      give_back();
    }
  }
  T take() { return std::move(*result_); }

 private:
  enum class State { waiting, settled, resumed, abandoned };
  struct Link {
    Awaited* awaited;
    void operator()() const { awaited->cancel_.request_stop(); }
  };

  bool move_on(State from, State to) { return state_.compare_exchange_strong(from, to); }
  /// Resumes the coroutine. If it is still in the call that begins the operation, it goes on from
  /// there instead.
  void resume() {
    const bool inside = std::this_thread::get_id() == starter_ && starting_;
    if (!move_on(State::settled, State::resumed)) return;
    if (inside) {
      resumed_inside_ = true;
    } else {
      caller_.resume();
    }
  }
  void give_back() {
    if (undo_) undo_(std::move(*result_));
    result_.reset();
  }

  const std::coroutine_handle<> caller_;
  const std::thread::id starter_ = std::this_thread::get_id();
  bool starting_ = true;  // this and the next member: only for the starter's thread
  bool resumed_inside_ = false;
  std::atomic<State> state_{State::waiting};
  std::optional<T> result_;
  Handler<T> undo_;
  RunOn run_;
  std::stop_source cancel_;
  std::optional<std::stop_callback<Link>> link_;  // destroyed first: its callback may be running
};

struct AwaitableParts;

}  // namespace quorumlock::detail

namespace quorumlock {

/// What Awaitable::on() takes: an executor with execute(f), one with post(f, allocator), such as
/// that of io_context in Asio 1.22, or a callable.
template <class Executor>
concept RunsFunctions = detail::Executes<Executor> || detail::Posts<Executor> ||
    std::invocable<Executor&, std::function<void()>>;

/// An operation that a coroutine of any task type awaits, once. It begins when it is awaited, and
/// the coroutine resumes on the loop's thread, or on the executor given to on().
///
/// Destroying a coroutine while it is suspended here cancels the operation; a result that still
/// arrives, such as a lease, is given back. Destroy the coroutine on the thread or executor on
/// which it resumes; elsewhere only while the operation cannot resume it.
template <class T>
class [[nodiscard]] Awaitable {
 public:
  /// Begins the operation, which calls the handler once.
  using Start = Handler<std::stop_token, Handler<T>>;

  /// `undo` gets the result of an operation whose coroutine is gone; by default it is destroyed.
  explicit Awaitable(Start start, std::stop_token stop = {}, Handler<T> undo = {})
      : start_(std::move(start)), stop_(std::move(stop)), undo_(std::move(undo)) {}
  Awaitable(Awaitable&&) noexcept = default;
  Awaitable& operator=(Awaitable&&) = delete;
  ~Awaitable() {
    if (awaited_ != nullptr) awaited_->abandon();
  }

  /// Resumes the coroutine on this executor: `co_await lease.co_release().on(executor)`. It is an
  /// object with execute(f), such as an executor of Asio, or a callable that takes the function
  /// which resumes the coroutine (a std::function<void()>) and calls it, once, now or later. It is
  /// called on the loop's thread or within the co_await, and must not throw. If the function is
  /// destroyed without a call, as by an executor that ends, the coroutine stays suspended and the
  /// result is given back.
  template <RunsFunctions Executor>
  Awaitable on(Executor executor) && {
    run_ = [to = std::move(executor)](std::function<void()> resume) mutable {
      if constexpr (detail::Executes<Executor>) {
        to.execute(std::move(resume));
      } else if constexpr (detail::Posts<Executor>) {
        to.post(std::move(resume), std::allocator<void>());
      } else {
        to(std::move(resume));
      }
    };
    return std::move(*this);
  }

  /// co_await calls this. It begins the operation, and resumes the coroutine with the result.
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> caller) {
    // The coroutine may resume, and destroy this object, before the call below returns.
    const auto awaited = awaited_ = std::make_shared<detail::Awaited<T>>(
        caller, std::move(stop_), std::move(undo_), std::move(run_));
    Start start = std::move(start_);
    try {
      start(awaited->stop_token(), [awaited](T value) { awaited->settle(std::move(value)); });
    } catch (const Error& refused) {
      awaited->settle(T(refused));
    }
    return awaited->suspends();
  }
  auto await_resume() {
    if constexpr (!std::is_same_v<T, Done>) return awaited_->take();
  }

 private:
  friend struct detail::AwaitableParts;
  Start start_;
  std::stop_token stop_;
  Handler<T> undo_;
  detail::RunOn run_;
  std::shared_ptr<detail::Awaited<T>> awaited_;
};

}  // namespace quorumlock

namespace quorumlock::detail {

/// Uses an awaitable without a coroutine: begins the operation for a handler. `undo` is for a
/// result that nobody takes any more, and may be empty.
struct AwaitableParts {
  template <class T>
  static void begin(Awaitable<T>& awaitable, std::stop_token stop,
                    std::type_identity_t<Handler<T>> handler) {
    awaitable.start_(std::move(stop), std::move(handler));
  }
  template <class T>
  static Handler<T> undo(Awaitable<T>& awaitable) {
    return std::move(awaitable.undo_);
  }
};

/// The awaitable of a call that takes a handler and cannot be taken back.
template <class T, class Call>
Awaitable<T> awaitable_of(Call call) {
  return Awaitable<T>([call = std::move(call)](const std::stop_token&, Handler<T> handler) mutable {
    call(std::move(handler));
  });
}

}  // namespace quorumlock::detail
