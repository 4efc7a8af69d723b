#pragma once

#include <atomic>
#include <coroutine>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <type_traits>
#include <utility>

#include <quorumlock/detail/handler.hpp>
#include <quorumlock/error.hpp>

namespace quorumlock::detail {

/// The result of an awaited operation that returns nothing.
struct Done {
  Done() = default;
  explicit Done(const Error&) {}
};

/// The state that a suspended coroutine shares with the operation that it waits for. Whichever of
/// the two ends first decides what becomes of the result.
template <class T>
class Awaited {
 public:
  Awaited(std::coroutine_handle<> caller, std::stop_token stop, Handler<T> undo)
      : caller_(caller), undo_(std::move(undo)) {
    if (stop.stop_possible()) link_.emplace(std::move(stop), Link{this});
  }
  Awaited(const Awaited&) = delete;
  Awaited& operator=(const Awaited&) = delete;

  /// The token that cancels the operation, on the caller's own stop request or when the coroutine
  /// is destroyed.
  [[nodiscard]] std::stop_token stop_token() const { return cancel_.get_token(); }

  /// The operation has ended. Resumes the coroutine, unless the coroutine is still in the call that
  /// begins the operation, or is gone.
  void settle(T value) {
    result_.emplace(std::move(value));
    const bool inside = std::this_thread::get_id() == starter_ && starting_;
    if (state_.exchange(State::settled) == State::abandoned) {
      if (undo_) undo_(std::move(*result_));
      result_.reset();
    } else if (inside) {
      settled_inside_ = true;
    } else {
      caller_.resume();
    }
  }
  /// The call that begins the operation has returned: does the coroutine have to wait?
  bool suspends() {
    starting_ = false;
    return !settled_inside_;
  }
  /// The coroutine is gone, or has had its result.
  void abandon() {
    State waiting = State::waiting;
    if (state_.compare_exchange_strong(waiting, State::abandoned)) cancel_.request_stop();
  }
  T take() { return std::move(*result_); }

 private:
  enum class State { waiting, settled, abandoned };
  struct Link {
    Awaited* awaited;
    void operator()() const { awaited->cancel_.request_stop(); }
  };

  const std::coroutine_handle<> caller_;
  const std::thread::id starter_ = std::this_thread::get_id();
  bool starting_ = true;  // this and the next member: only for the starter's thread
  bool settled_inside_ = false;
  std::atomic<State> state_{State::waiting};
  std::optional<T> result_;
  Handler<T> undo_;
  std::stop_source cancel_;
  std::optional<std::stop_callback<Link>> link_;  // destroyed first: its callback may be running
};

struct AwaitableParts;

}  // namespace quorumlock::detail

namespace quorumlock {

/// An operation that a coroutine of any task type awaits, once. It begins when it is awaited, and
/// the coroutine resumes on the loop's thread.
///
/// Destroying a coroutine while it is suspended here cancels the operation; a result that still
/// arrives, such as a lease, is given back. The coroutine may be destroyed on the loop's thread,
/// and on another thread if the operation cannot resume it at that moment.
template <class T>
class [[nodiscard]] Awaitable {
 public:
  /// Begins the operation, which calls the handler once.
  using Start = detail::Handler<std::stop_token, detail::Handler<T>>;

  /// `undo` gets the result of an operation whose coroutine is gone; by default it is destroyed.
  explicit Awaitable(Start start, std::stop_token stop = {}, detail::Handler<T> undo = {})
      : start_(std::move(start)), stop_(std::move(stop)), undo_(std::move(undo)) {}
  Awaitable(Awaitable&&) noexcept = default;
  Awaitable& operator=(Awaitable&&) = delete;
  ~Awaitable() {
    if (awaited_ != nullptr) awaited_->abandon();
  }

  /// What co_await calls: it begins the operation, and resumes the coroutine with the result.
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> caller) {
    // The coroutine may resume, and destroy this object, before the call below returns.
    const auto awaited = awaited_ =
        std::make_shared<detail::Awaited<T>>(caller, std::move(stop_), std::move(undo_));
    Start start = std::move(start_);
    try {
      start(awaited->stop_token(), [awaited](T value) { awaited->settle(std::move(value)); });
    } catch (const Error& refused) {
      awaited->settle(T(refused));
    }
    return awaited->suspends();
  }
  auto await_resume() {
    if constexpr (!std::is_same_v<T, detail::Done>) return awaited_->take();
  }

 private:
  friend struct detail::AwaitableParts;
  Start start_;
  std::stop_token stop_;
  detail::Handler<T> undo_;
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

}  // namespace quorumlock::detail
