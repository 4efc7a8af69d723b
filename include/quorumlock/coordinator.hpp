#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <quorumlock/awaitable.hpp>
#include <quorumlock/detail/export.hpp>
#include <quorumlock/handler.hpp>
#include <quorumlock/inspection.hpp>
#include <quorumlock/lease.hpp>
#include <quorumlock/options.hpp>
#include <quorumlock/result.hpp>
#include <quorumlock/stats.hpp>
#include <quorumlock/status.hpp>

struct uv_loop_s;

namespace quorumlock {

class Coordinator;
namespace detail {
class Router;
struct CoordinatorParts;
}  // namespace detail

/// The awaitable that co_acquire() and co_acquire_all() return.
using AcquireAwaitable = Awaitable<Result<Lease>>;

/// The names of one or more resources: {"a", "b"}, a vector or another range of strings, or one
/// string.
class Resources {
 public:
  /// No resource.
  Resources() = default;
  Resources(std::vector<std::string> names) : names_(std::move(names)) {}  // NOLINT: implicit
  /// {"a", "b"} converts by this constructor and not as an initializer_list, because GCC 12 cannot
  /// keep an initializer_list for a coroutine that waits.
  template <class... Names>
  requires(sizeof...(Names) > 0 && (std::is_convertible_v<Names, std::string_view> && ...))
      Resources(Names&&... each) {  // NOLINT: implicit
    (names_.emplace_back(std::string_view(each)), ...);
  }
  /// A range of strings.
  template <class Names>
  requires(!std::is_convertible_v<Names, std::string_view> &&
           !std::is_same_v<std::remove_cvref_t<Names>, Resources> && requires(const Names& all) {
             { *all.begin() } -> std::convertible_to<std::string_view>;
             all.end();
           }) Resources(const Names& all) {  // NOLINT: implicit
    // A range may make its strings as it goes: each lives only for its turn.
    for (auto&& each : all) names_.emplace_back(std::string_view(each));
  }

  /// The names, in the order in which they were given.
  [[nodiscard]] const std::vector<std::string>& names() const& noexcept { return names_; }
  [[nodiscard]] std::vector<std::string> names() && noexcept { return std::move(names_); }

 private:
  std::vector<std::string> names_;
};

namespace detail {

/// Maps the return type of with_lock's function to the Result that with_lock returns.
template <class T>
struct ResultMaker {
  using type = Result<std::remove_cv_t<T>>;
};
template <class T>
struct ResultMaker<T&> {
  using type = Result<std::reference_wrapper<T>>;
};
template <class T>
struct ResultMaker<T&&> : ResultMaker<T> {};
template <class T>
struct ResultMaker<Result<T>> {
  using type = Result<T>;
};
template <class T>
struct ResultMaker<const Result<T>> : ResultMaker<Result<T>> {};

template <class T>
inline constexpr bool is_result = false;
template <class T>
inline constexpr bool is_result<Result<T>> = true;

/// The parts of once() besides its lock and its function: checks the arguments, finds out whether
/// the period is done, and has it noted as done on a quorum of nodes. The latter two block.
QUORUMLOCK_EXPORT Result<void> check_once(Coordinator& coordinator, std::uint64_t period,
                                          const OnceOptions& options);
QUORUMLOCK_EXPORT Result<bool> is_done(Coordinator& coordinator, const Lease& lease,
                                       std::uint64_t period, const OnceOptions& options);
QUORUMLOCK_EXPORT Result<void> note_done(Coordinator& coordinator, const Lease& lease,
                                         std::uint64_t period, const OnceOptions& options);

/// The lease to the function of once(), which may do without it.
template <class F>
decltype(auto) call_once_with(F& fn, Lease& lease) {
  if constexpr (std::is_invocable_v<F&, Lease&>) {
    return fn(lease);
  } else {
    return fn();
  }
}

/// Releases the lease of with_lock. Returns Errc::lost if the lease ended by itself before that.
QUORUMLOCK_EXPORT Result<void> end_of_with_lock(Lease& held);

}  // namespace detail

/// What with_lock() returns for a function of this type: a T as Result<T>, a Result<T> unchanged, a
/// T& as Result<std::reference_wrapper<T>>.
template <class F>
using WithLockResult = typename detail::ResultMaker<std::invoke_result_t<F, Lease&>>::type;

/// What became of a call of Coordinator::once().
enum class Once {
  ran,          ///< the function ran, and its period is done now
  done_before,  ///< this period or a later one was done before; the function did not run
};

/// Locks resources on a quorum of independent Redis nodes, or on several such groups of nodes.
///
/// A coordinator uses one event loop (its own or the caller's) or Options::loops loops of its own,
/// and each loop has one connection per node. With several loops, "the loop" is the one that the
/// resource is always on, and "the loop's own thread" is the thread of any of them.
///
/// All calls are thread-safe except moving and destroying. A handler runs on the loop, exactly
/// once, never inside the call that took it; it must not block or throw. Only a call that is made
/// once the coordinator has closed runs its handler itself, since no loop is left. In a forked
/// child, and if the coordinator was moved from, blocking calls and coroutines fail with
/// Errc::closed, and calls that take a handler throw that error and never run the handler.
class QUORUMLOCK_EXPORT Coordinator {
 public:
  /// Creates a coordinator with a loop thread of its own. It starts to connect and returns; a node
  /// that cannot be reached fails acquisitions later, not this call. Errc::invalid_argument if the
  /// options are wrong.
  static Result<Coordinator> create(Options options);
  /// Creates a coordinator on the caller's loop; call it on the thread that runs the loop. It
  /// starts no thread but for what may block, which is a password file, a file of the TLS options
  /// or a callback for credentials: host names are resolved on the loop. Its handles keep the loop
  /// alive only while there is work: an operation under way, a lease to be watched, a release to be
  /// answered, or a call from another thread that arrives while the loop runs. A call from another
  /// thread that arrives while the loop does not run waits for the loop's next turn, or for the
  /// next call on the loop's own thread. If other threads use a loop that may be idle, keep the
  /// loop alive with a handle of your own (docs/architecture.md, "Threads").
  static Result<Coordinator> attach(uv_loop_s* loop, Options options);

  Coordinator(Coordinator&&) noexcept = default;
  Coordinator& operator=(Coordinator&& other) noexcept;
  /// Closes a coordinator that has loop threads of its own, as close() does. For an attached
  /// coordinator it starts to close, and the loop's next turns finish that.
  ~Coordinator();

  // Each operation has three forms with the same arguments. x() blocks, and returns
  // Errc::would_deadlock on a loop's thread. async_x() may be called from any thread, and takes a
  // handler as its last argument; an empty handler throws std::invalid_argument. `co_await co_x()`
  // is for a coroutine of any task type, which resumes on the loop (Awaitable). Options and a
  // std::stop_token may be left out, from the right.

  /// Acquires one resource. Waits as long as LockOptions::wait says, or until `stop` is requested:
  /// then the result is Errc::cancelled, and locks that nodes granted by then are released in the
  /// background. On the loop's own thread async_acquire() allocates nothing once it is warm, if the
  /// resource name is short and the handler small (see Handler).
  Result<Lease> acquire(std::string_view resource, LockOptions options = {},
                        std::stop_token stop = {});
  void async_acquire(std::string resource, LockOptions options, std::stop_token stop,
                     Handler<Result<Lease>> handler);
  void async_acquire(std::string resource, LockOptions options, Handler<Result<Lease>> handler) {
    async_acquire(std::move(resource), options, {}, std::move(handler));
  }
  void async_acquire(std::string resource, Handler<Result<Lease>> handler) {
    async_acquire(std::move(resource), {}, {}, std::move(handler));
  }
  AcquireAwaitable co_acquire(std::string resource, LockOptions options = {},
                              std::stop_token stop = {});

  /// Acquires all of the resources or none. They become one lease with one fencing token, which
  /// exceeds every earlier token of each resource. Each resource excludes, and is excluded by,
  /// every other holder of it, alone or in another set. At most 64 resources, none twice, in any
  /// order: sets that overlap never deadlock. If Options has groups, all resources must be in one
  /// group (docs/scaling.md). With one resource this is acquire(). With LockMode::shared all are
  /// locked for reading, and other readers of any of them are admitted.
  Result<Lease> acquire_all(Resources resources, LockOptions options = {},
                            std::stop_token stop = {});
  void async_acquire_all(Resources resources, LockOptions options, std::stop_token stop,
                         Handler<Result<Lease>> handler);
  void async_acquire_all(Resources resources, LockOptions options, Handler<Result<Lease>> handler) {
    async_acquire_all(std::move(resources), options, {}, std::move(handler));
  }
  void async_acquire_all(Resources resources, Handler<Result<Lease>> handler) {
    async_acquire_all(std::move(resources), {}, {}, std::move(handler));
  }
  AcquireAwaitable co_acquire_all(Resources resources, LockOptions options = {},
                                  std::stop_token stop = {});

  /// Acquires one of `capacity` permits of the resource, as a Lease that belongs to no thread:
  /// Semaphore says what that is, and has the interface of std::counting_semaphore.
  Result<Lease> acquire_permit(std::string_view resource, std::ptrdiff_t capacity,
                               LockOptions options = {}, std::stop_token stop = {});
  void async_acquire_permit(std::string resource, std::ptrdiff_t capacity, LockOptions options,
                            std::stop_token stop, Handler<Result<Lease>> handler);
  void async_acquire_permit(std::string resource, std::ptrdiff_t capacity, LockOptions options,
                            Handler<Result<Lease>> handler) {
    async_acquire_permit(std::move(resource), capacity, options, {}, std::move(handler));
  }
  void async_acquire_permit(std::string resource, std::ptrdiff_t capacity,
                            Handler<Result<Lease>> handler) {
    async_acquire_permit(std::move(resource), capacity, {}, {}, std::move(handler));
  }
  AcquireAwaitable co_acquire_permit(std::string resource, std::ptrdiff_t capacity,
                                     LockOptions options = {}, std::stop_token stop = {});

  /// Runs fn(Lease&) under the lock and returns its result: a T as Result<T>, a Result<T>
  /// unchanged, a T& as Result<std::reference_wrapper<T>>. The lock is released on every way out,
  /// also if fn throws; the exception then propagates to the caller. If the lock is refused, fn
  /// does not run. If the lease ends before fn returns (its stop_token() announces that in time),
  /// the result is Errc::lost, and fn's own result is dropped. Blocking.
  template <std::invocable<Lease&> F>
  WithLockResult<F> with_lock(std::string_view resource, LockOptions options, std::stop_token stop,
                              F&& fn);
  template <std::invocable<Lease&> F>
  WithLockResult<F> with_lock(std::string_view resource, LockOptions options, F&& fn) {
    return with_lock(resource, options, {}, std::forward<F>(fn));
  }
  template <std::invocable<Lease&> F>
  WithLockResult<F> with_lock(std::string_view resource, F&& fn) {
    return with_lock(resource, {}, {}, std::forward<F>(fn));
  }

  /// Runs fn(Lease&) or fn() under the lock `name` unless this period of the name is done, so that
  /// it is done once by all processes on all machines together: a report each night, a bill each
  /// month (docs/locks.md). Periods are numbers that grow, such as the hours since
  /// 1970, or a date as 20261127; when one is done, so are all smaller ones. At most 2^53 - 1.
  ///
  /// A period is done when fn has returned and a quorum of nodes has noted that while the lease was
  /// valid. It is not if fn throws, which propagates to the caller, or returns an error as Result,
  /// which is returned here; nor if the holder dies or loses the lease meanwhile: the next caller
  /// runs it again. If fn has returned and no quorum has noted that, the result is Errc::lost:
  /// the next caller may find the period done or run it again.
  ///
  /// Two calls never both get Once::ran for a period, whatever clocks and networks do, as long as
  /// nodes do not forget; what a node forgot it is given by the others before it votes again. That
  /// rests on fencing tokens, so Options::fencing has to be on. If too few nodes remember, what was
  /// done is forgotten.
  ///
  /// Whoever asks while another one runs it gets Errc::contended, or waits as OnceOptions::wait
  /// says. Blocking.
  template <class F>
  Result<Once> once(std::string_view name, std::uint64_t period, OnceOptions options,
                    std::stop_token stop, F fn);
  template <class F>
  Result<Once> once(std::string_view name, std::uint64_t period, OnceOptions options, F fn) {
    return once(name, period, options, {}, std::move(fn));
  }
  template <class F>
  Result<Once> once(std::string_view name, std::uint64_t period, F fn) {
    return once(name, period, {}, {}, std::move(fn));
  }

  /// These act on the lock that an owner token holds, or on several that it holds as one, from any
  /// process, without a Lease. extend() counts only the nodes that still hold the token and
  /// requires one and the same fencing counter on a quorum; with fencing off it cannot promise that
  /// nobody else held the lock in between. A reader's lock is released only: extend() finds none.
  /// Errc::not_held if the token is on no quorum (extend) or on no node (release), Errc::no_quorum
  /// if fewer than a quorum answered.
  Result<Clock::time_point> extend(Resources resources, const OwnerToken& token,
                                   std::chrono::nanoseconds ttl);
  void async_extend(Resources resources, OwnerToken token, std::chrono::nanoseconds ttl,
                    Handler<Result<Clock::time_point>> handler);
  Awaitable<Result<Clock::time_point>> co_extend(Resources resources, OwnerToken token,
                                                 std::chrono::nanoseconds ttl);
  Result<void> release(Resources resources, const OwnerToken& token);
  void async_release(Resources resources, OwnerToken token, Handler<Result<void>> handler);
  Awaitable<Result<void>> co_release(Resources resources, OwnerToken token);

  /// Reports the holders and the waiters of the resource, and those of the semaphore of the same
  /// name, node by node. Each node looks at every permit and every waiter, see docs/watching.md for
  /// the cost.
  Result<Inspection> inspect(std::string_view resource);
  void async_inspect(std::string resource, Handler<Result<Inspection>> handler);
  Awaitable<Result<Inspection>> co_inspect(std::string resource);

  /// Reports how each node fares as a voter: what the node says of itself, and what this process
  /// knows of it. If a node does not allow this user a command, the facts from that command stay
  /// unknown.
  Result<ClusterStatus> status();
  void async_status(Handler<Result<ClusterStatus>> handler);
  Awaitable<Result<ClusterStatus>> co_status();

  /// Returns what this coordinator has counted so far: contention, waits, near misses, votes. May
  /// be called from any thread. A call on another thread than the loop's own waits for one turn of
  /// each loop; a call on a loop's own thread gets the other loops' numbers as of their last turn.
  /// A closed coordinator returns its last numbers; a moved-from one, or one in a forked child,
  /// returns zeros.
  [[nodiscard]] Stats stats() const;

  /// Replaces the list of nodes of the only group, or of `group`, without losing a lease. The
  /// coordinator moves as soon as the nodes accept the list, which they do once it has been
  /// announced (docs/members.md); until then it goes on with the present list, and asks the nodes
  /// twice a second. Returns at once: Errc::invalid_argument if the list or the group is wrong,
  /// Errc::closed after close(). May be called from any thread; a later call replaces an earlier
  /// one.
  Result<void> set_nodes(Nodes nodes);
  Result<void> set_nodes(std::string_view group, Nodes nodes);

  /// Finishes or cancels everything, then closes: acquisitions under way end with Errc::closed,
  /// leases are released, and answers are awaited for node_timeout at most, whatever nodes, name
  /// servers, file systems and callbacks for credentials do. On the loop's own thread it only
  /// starts to close, and the loop's next turns finish that. Idempotent.
  void close();
  /// The same without blocking. The handler is the last one to run on the loop.
  void async_close(Handler<> handler);
  Awaitable<Done> co_close();

 private:
  friend struct detail::CoordinatorParts;
  explicit Coordinator(std::shared_ptr<detail::Router> router) noexcept
      : router_(std::move(router)) {}
  std::shared_ptr<detail::Router> router_;
};

template <std::invocable<Lease&> F>
WithLockResult<F> Coordinator::with_lock(std::string_view resource, LockOptions options,
                                         std::stop_token stop, F&& fn) {
  Result<Lease> lease = acquire(resource, options, std::move(stop));
  if (!lease) return lease.error();
  Lease held = std::move(*lease);  // released by its destructor if fn throws
  if constexpr (std::is_void_v<std::invoke_result_t<F, Lease&>>) {
    std::forward<F>(fn)(held);
    return detail::end_of_with_lock(held);
  } else {
    WithLockResult<F> value(std::forward<F>(fn)(held));
    if (Result<void> stood = detail::end_of_with_lock(held); !stood) return stood.error();
    return value;
  }
}

template <class F>
Result<Once> Coordinator::once(std::string_view name, std::uint64_t period, OnceOptions options,
                               std::stop_token stop, F fn) {
  static_assert(std::is_invocable_v<F&, Lease&> || std::is_invocable_v<F&>,
                "once() takes a function fn(Lease&) or fn()");
  using Returned = std::remove_cvref_t<decltype(detail::call_once_with(std::declval<F&>(),
                                                                       std::declval<Lease&>()))>;
  static_assert(std::is_void_v<Returned> || detail::is_result<Returned>,
                "the function of once() returns nothing, or a Result that says whether it is done");
  if (Result<void> fine = detail::check_once(*this, period, options); !fine) return fine.error();
  Result<Lease> lease = acquire(name, options.lock(), std::move(stop));
  if (!lease) return lease.error();
  Lease held = std::move(*lease);  // released by its destructor if fn throws
  const Result<bool> done = detail::is_done(*this, held, period, options);
  if (!done) return done.error();
  if (*done) return Once::done_before;
  if constexpr (std::is_void_v<Returned>) {
    detail::call_once_with(fn, held);
  } else if (const Returned returned = detail::call_once_with(fn, held); !returned) {
    return returned.error();
  }
  if (Result<void> noted = detail::note_done(*this, held, period, options); !noted) {
    return noted.error();
  }
  (void)held.release();
  return Once::ran;
}

}  // namespace quorumlock
