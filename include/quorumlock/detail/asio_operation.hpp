#pragma once

#include <version>

#ifdef ASIO_STANDALONE
#if !__has_include(<asio/version.hpp>)
#error \
    "<quorumlock/asio.hpp>: ASIO_STANDALONE is defined, but Asio's headers (libasio-dev) are missing"
#endif
#include <asio/associated_allocator.hpp>
#include <asio/associated_cancellation_slot.hpp>
#include <asio/associated_executor.hpp>
#include <asio/async_result.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/error.hpp>
#include <asio/execution.hpp>
#include <asio/execution_context.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/post.hpp>
#include <asio/query.hpp>
#include <asio/version.hpp>
#if ASIO_VERSION < 102200
#error "<quorumlock/asio.hpp> needs Asio 1.22 or later"
#endif
#define QUORUMLOCK_ASIO_FLAVOUR standalone_asio
#else
#if !__has_include(<boost/asio/version.hpp>)
#error "<quorumlock/asio.hpp> needs Boost.Asio; for standalone Asio define ASIO_STANDALONE"
#endif
// First, since an older Boost lacks some of the headers that follow.
#include <boost/asio/version.hpp>
#if BOOST_ASIO_VERSION < 102200
#error \
    "<quorumlock/asio.hpp> needs Boost 1.78 or later (on Debian 12 libboost1.81-dev, since libboost-dev is 1.74); for standalone Asio (libasio-dev) define ASIO_STANDALONE"
#endif
#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/execution.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/query.hpp>
#define QUORUMLOCK_ASIO_FLAVOUR boost_asio
#endif

#include <concepts>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

#include <quorumlock/awaitable.hpp>
#include <quorumlock/handler.hpp>
#include <quorumlock/result.hpp>

// One program may use both kinds of Asio in different sources: each kind has its own names.
namespace quorumlock::detail {

inline namespace QUORUMLOCK_ASIO_FLAVOUR {

#ifdef ASIO_STANDALONE
namespace net = ::asio;
using ErrorCode = ::asio::error_code;
#else
namespace net = ::boost::asio;
using ErrorCode = ::boost::system::error_code;
#endif

/// An operation whose handler has not been posted yet. It is in the list of its execution context.
class Pending {
 public:
  Pending() = default;
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;
  virtual ~Pending() = default;

 private:
  friend class PendingList;
  virtual void unlink() noexcept = 0;   ///< under the list's guard: no result will be accepted
  virtual void abandon() noexcept = 0;  ///< cancels the operation and destroys this

  Pending* before_ = nullptr;
  Pending* after_ = nullptr;
};

/// The pending operations of an execution context. Results are posted under its guard, so that no
/// handler is posted to a context that is gone.
class PendingList {
 public:
  std::mutex guard;

  /// Returns false if the context is shutting down. Call add() and remove() under the guard.
  bool add(Pending& pending) noexcept {
    if (over_) return false;
    pending.after_ = first_;
    if (first_ != nullptr) first_->before_ = &pending;
    first_ = &pending;
    return true;
  }
  void remove(Pending& pending) noexcept {
    (pending.before_ != nullptr ? pending.before_->after_ : first_) = pending.after_;
    if (pending.after_ != nullptr) pending.after_->before_ = pending.before_;
  }
  /// The context shuts down: abandons all operations. Their handlers are destroyed without a call.
  void end() noexcept {
    Pending* all = nullptr;
    {
      const std::lock_guard<std::mutex> lock(guard);
      over_ = true;
      all = std::exchange(first_, nullptr);
      for (Pending* each = all; each != nullptr; each = each->after_) each->unlink();
    }
    while (all != nullptr) std::exchange(all, all->after_)->abandon();
  }

 private:
  bool over_ = false;
  Pending* first_ = nullptr;
};

/// Ends the list of pending operations when its execution context is destroyed.
class PendingService final : public net::execution_context::service {
 public:
  static inline net::execution_context::id id;
  explicit PendingService(net::execution_context& context) : service(context) {}
  [[nodiscard]] const std::shared_ptr<PendingList>& list() const noexcept { return list_; }

 private:
  void shutdown() noexcept override { list_->end(); }
  const std::shared_ptr<PendingList> list_ = std::make_shared<PendingList>();
};

/// The list of an executor's context; an executor without a context gets a list of its own.
template <class Executor>
std::shared_ptr<PendingList> list_of(const Executor& executor) {
  if constexpr (requires {
                  {
                    net::query(executor, net::execution::context)
                    } -> std::convertible_to<net::execution_context&>;
                }) {
    net::execution_context& context = net::query(executor, net::execution::context);
    return net::use_service<PendingService>(context).list();
  } else if constexpr (requires {
                         { executor.context() } -> std::convertible_to<net::execution_context&>;
                       }) {
    net::execution_context& context = executor.context();
    return net::use_service<PendingService>(context).list();
  } else {
    return std::make_shared<PendingList>();
  }
}

/// A pending operation with a result of this type.
template <class T>
class PendingResult : public Pending {
 public:
  virtual void post(Result<T> result) = 0;  ///< under the list's guard, once
};

/// The library and the cancellation slot share this state of an operation. It may outlive the
/// operation.
template <class T>
struct Link {
  std::shared_ptr<PendingList> list;
  PendingResult<T>* pending = nullptr;  ///< under the list's guard
  std::stop_source stop{std::nostopstate};
  Handler<Result<T>> undo;  ///< is called with a result that no handler gets

  /// The operation has ended. Only the first result counts.
  void settle(Result<T> result) {
    {
      const std::lock_guard<std::mutex> lock(list->guard);
      if (pending != nullptr) {
        list->remove(*pending);
        return std::exchange(pending, nullptr)->post(std::move(result));
      }
    }
    if (undo) undo(std::move(result));
  }
};

/// An operation with its handler, in memory of the handler's associated allocator. `with_result`:
/// the handler takes a Result instead of an error code and a value.
template <class T, bool with_result, class Callback>
class Operation final : public PendingResult<T> {
  using Executor = net::associated_executor_t<Callback>;
  using Allocator = typename std::allocator_traits<
      net::associated_allocator_t<Callback>>::template rebind_alloc<Operation>;

 public:
  static void create(const std::shared_ptr<Link<T>>& link, Callback callback,
                     const Executor& executor) {
    Allocator allocator(net::get_associated_allocator(callback));
    Operation* const place = allocator.allocate(1);
    auto* const made = ::new (place) Operation(link, std::move(callback), executor);
    std::unique_lock<std::mutex> lock(link->list->guard);
    if (link->list->add(*made)) {
      link->pending = made;
    } else {
      lock.unlock();
      destroy(made);
    }
  }

 private:
  struct Destroy {
    void operator()(Operation* operation) const noexcept { destroy(operation); }
  };
  /// The function that is posted. It allocates nothing from the handler's allocator, which need not
  /// be thread-safe.
  struct Completion {
    std::unique_ptr<Operation, Destroy> operation;
    void operator()() { complete(std::move(operation)); }
  };

  Operation(const std::shared_ptr<Link<T>>& link, Callback callback, const Executor& executor)
      : callback_(std::move(callback)), work_(executor), link_(link) {}
  ~Operation() override {
    if (result_ && link_->undo) link_->undo(std::move(*result_));
  }

  static void destroy(Operation* operation) noexcept {
    Allocator allocator(net::get_associated_allocator(operation->callback_));
    operation->~Operation();
    allocator.deallocate(operation, 1);
  }
  static void complete(std::unique_ptr<Operation, Destroy> operation) {
    Callback callback(std::move(operation->callback_));
    Result<T> result(std::move(*operation->result_));
    operation->result_.reset();
    // The moved-from callback may have lost its allocator.
    Allocator allocator(net::get_associated_allocator(callback));
    Operation* const ended = operation.release();
    ended->~Operation();
    allocator.deallocate(ended, 1);  // Asio promises that this comes before the call
    if constexpr (with_result) {
      std::move(callback)(std::move(result));
    } else {
      ErrorCode code;
      if (!result) code = result.error().code();
      if (!result && result.error().code() == Errc::cancelled) {
        code = net::error::operation_aborted;
      }
      if constexpr (std::is_void_v<T>) {
        std::move(callback)(code);
      } else {
        std::move(callback)(code, result ? std::move(*result) : T());
      }
    }
  }

  void post(Result<T> result) override {
    result_.emplace(std::move(result));
    const Executor executor = work_.get_executor();
    net::post(executor, Completion{std::unique_ptr<Operation, Destroy>(this)});
  }
  void unlink() noexcept override { link_->pending = nullptr; }
  void abandon() noexcept override {
    link_->stop.request_stop();
    destroy(this);
  }

  Callback callback_;
  net::executor_work_guard<Executor> work_;
  const std::shared_ptr<Link<T>> link_;
  std::optional<Result<T>> result_;
};

/// The effect of a cancellation slot on an operation.
enum class OnCancel {
  stop,       ///< the operation is taken back
  stop_call,  ///< only the handler stops waiting: the nodes have been asked to change something
  stop_look,  ///< only the handler stops waiting, for an operation that changes nothing
};

/// Begins an operation once its completion token has become a handler. `make` returns an Awaitable
/// and may be called again, as a deferred operation may.
template <class T, bool with_result, OnCancel on_cancel, class Make>
struct Initiation {
  Make make;

  template <class Callback>
  void operator()(Callback&& callback) const {
    using Kept = std::decay_t<Callback>;
    const auto executor = net::get_associated_executor(callback);
    const auto link = std::make_shared<Link<T>>();
    link->list = list_of(executor);
    if constexpr (on_cancel == OnCancel::stop) link->stop = std::stop_source();
    auto slot = net::get_associated_cancellation_slot(callback);
    if (slot.is_connected()) {
      slot.assign([link](net::cancellation_type_t kind) {
        const auto kept = link;  // the slot may be used anew as soon as the handler is posted
        cancel(*kept, kind);
      });
    }
    Operation<T, with_result, Kept>::create(link, std::forward<Callback>(callback), executor);
    try {
      Awaitable<Result<T>> operation = make();
      link->undo = AwaitableParts::undo(operation);
      AwaitableParts::begin(operation, link->stop.get_token(),
                            [link](Result<T> result) { link->settle(std::move(result)); });
    } catch (const Error& refused) {
      link->settle(refused);
    }
  }

 private:
  static void cancel(Link<T>& link, net::cancellation_type_t kind) {
    using Kind = net::cancellation_type_t;
    const Kind accepted = on_cancel == OnCancel::stop_call
                              ? Kind::terminal | Kind::partial
                              : Kind::terminal | Kind::partial | Kind::total;
    if ((kind & accepted) == Kind::none) return;
    if constexpr (on_cancel == OnCancel::stop) {
      link.stop.request_stop();
    } else {
      link.settle(
          Error(Errc::cancelled,
                "the wait for the nodes' answers was cancelled; the request itself goes on"));
    }
  }
};

}  // namespace QUORUMLOCK_ASIO_FLAVOUR

}  // namespace quorumlock::detail
