#pragma once

#include <coroutine>
#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <quorumlock/detail/handler.hpp>
#include <quorumlock/inspection.hpp>
#include <quorumlock/lease.hpp>
#include <quorumlock/options.hpp>
#include <quorumlock/result.hpp>
#include <quorumlock/stats.hpp>
#include <quorumlock/status.hpp>

struct uv_loop_s;

namespace quorumlock {

class Coordinator;
namespace client {
class Router;
Result<Coordinator> create_enrolling(Options options);
void vouch_for_groups(const Coordinator& coordinator);
void forget_counters(Coordinator& coordinator, std::vector<std::string> resources);
}  // namespace client
class AcquireAwaitable;

/// An owner token as text, of its own type so that it cannot be mistaken for a resource.
class OwnerToken {
 public:
  explicit OwnerToken(std::string text) : text_(std::move(text)) {}
  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  bool operator==(const OwnerToken&) const = default;

 private:
  std::string text_;
};

/// Locks on a quorum of independent Redis nodes, or on several such groups.
///
/// Holds one event loop, its own or the caller's, or Options::loops of its own, and on each a
/// connection per node. Thread-safe but for moving and destroying. Of several loops, "the loop" is
/// the one that the resource is always on, and "the loop's own thread" that of any of them.
/// Handlers run on the loop, exactly once, never inside the call that took them; they must not
/// block or throw. In a forked child every call gives Errc::closed.
class Coordinator {
 public:
  /// With a loop thread of its own. Starts to connect and returns; nodes that cannot be reached are
  /// the acquisitions' matter. Errc::invalid_argument where the options are wrong.
  static Result<Coordinator> create(Options options);
  /// On the caller's loop: call it on the thread that runs the loop. Starts no thread (a host name
  /// is resolved on libuv's pool). Its handles keep the loop alive only while there is work: an
  /// operation under way, a lease to be watched, a release to be answered.
  static Result<Coordinator> attach(uv_loop_s* loop, Options options);

  Coordinator(Coordinator&&) noexcept = default;
  Coordinator& operator=(Coordinator&& other) noexcept;
  /// close()s one with a loop thread of its own; for an attached one starts to close, which the
  /// loop's next turns finish.
  ~Coordinator();

  /// Blocking, from any thread but the loop's own (there: Errc::would_deadlock). Waits as
  /// LockOptions::wait says, or until `stop` is requested (Errc::cancelled; what was granted by
  /// then is released in the background).
  Result<Lease> acquire(std::string_view resource, LockOptions options = {},
                        std::stop_token stop = {});
  /// All of them or none, as one lease with one fencing token that exceeds every earlier one of
  /// each; each excludes, and is excluded by, whoever locks it alone or in another set. At most 64,
  /// none twice, in any order: sets that overlap never wait for each other in a circle. One
  /// resource is acquire(). With LockMode::shared all are read, together with whoever else reads
  /// any of them.
  Result<Lease> acquire_all(std::vector<std::string> resources, LockOptions options = {},
                            std::stop_token stop = {});

  /// From any thread. Without a heap allocation of the library's once warm, where the resource is
  /// short and the handler small (see Handler).
  void async_acquire(std::string resource, LockOptions options, std::stop_token stop,
                     detail::Handler<Result<Lease>> handler);
  void async_acquire_all(std::vector<std::string> resources, LockOptions options,
                         std::stop_token stop, detail::Handler<Result<Lease>> handler);

  /// `Result<Lease> lease = co_await coordinator.co_acquire("orders:42", {.ttl = 10s});` in a
  /// coroutine of any task type, which goes on on the loop.
  AcquireAwaitable co_acquire(std::string resource, LockOptions options = {},
                              std::stop_token stop = {});
  AcquireAwaitable co_acquire_all(std::vector<std::string> resources, LockOptions options = {},
                                  std::stop_token stop = {});

  /// Runs fn(Lease&) under the lock and gives what it returns. Releases on every way out, also by
  /// an exception, which goes on to the caller. Where the lock is refused fn does not run. A lease
  /// lost while fn ran is told by its stop_token(), not by this result. Blocking.
  template <class F>
  auto with_lock(std::string_view resource, LockOptions options, F&& fn, std::stop_token stop = {})
      -> Result<std::invoke_result_t<F, Lease&>>;

  /// By owner token, from any process: what a Lease does without being one. `extend` counts only
  /// nodes that still hold the token, with one and the same fencing counter on a quorum; with
  /// fencing off it cannot promise that nobody else held the lock in between. Errc::not_held where
  /// the token is on no quorum (extend) or nowhere (release), ::no_quorum where fewer than a quorum
  /// answered. Blocking.
  Result<Clock::time_point> extend(std::string_view resource, const OwnerToken& token,
                                   std::chrono::nanoseconds ttl);
  Result<void> release(std::string_view resource, const OwnerToken& token);
  /// Who holds the resource, or permits of the semaphore of its name, and who waits, node by node.
  /// Costs each node a look at every permit and waiter: docs/watching.md. Blocking.
  Result<Inspection> inspect(std::string_view resource);

  /// How each node fares as a voter: what it says of itself, and what we know of it. A command that
  /// a node does not allow us leaves what it would have told unknown. Blocking.
  Result<ClusterStatus> status();
  void async_status(detail::Handler<Result<ClusterStatus>> handler);

  /// What this coordinator has done so far: contention, waits, near misses, votes. From any thread,
  /// also the loop's own; another's waits until the loop has turned. The last of a closed one,
  /// nothing of one that was moved from, or in a forked child.
  [[nodiscard]] Stats stats() const;

  /// Enrolls all nodes at once: your word that no client can hold a lock on them yet. Else a node
  /// without an enrolment casts no vote until max_ttl has passed. Refused with Errc::misconfigured,
  /// and nothing changed, unless every node answers and none has an enrolment or a key of the
  /// library's; with `force` those that answer are enrolled whatever they have. Blocking.
  Result<void> enroll_new(bool force = false);

  /// Finishes or cancels everything, then closes: acquisitions under way end with Errc::closed,
  /// leases are released, answers are awaited for node_timeout at most. On the loop's own thread
  /// it starts that and returns, and the loop's next turns finish it. Idempotent.
  void close();
  /// The handler runs on the loop once all is closed, as the last one of all.
  void async_close(detail::Handler<> handler);

 private:
  friend class AcquireAwaitable;
  friend class Election;
  friend class RecursiveMutex;
  friend class Semaphore;
  friend Result<Coordinator> client::create_enrolling(Options options);
  friend void client::vouch_for_groups(const Coordinator& coordinator);
  friend void client::forget_counters(Coordinator& coordinator, std::vector<std::string> resources);
  explicit Coordinator(std::shared_ptr<client::Router> router) noexcept
      : router_(std::move(router)) {}
  std::shared_ptr<client::Router> router_;
};

/// What co_acquire gives; awaited once, at once.
class AcquireAwaitable {
 public:
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> caller);
  Result<Lease> await_resume() { return std::move(*result_); }

 private:
  friend class Coordinator;
  friend class Semaphore;
  AcquireAwaitable(std::shared_ptr<client::Router> router, std::vector<std::string> resources,
                   LockOptions options, std::stop_token stop)
      : router_(std::move(router)),
        resources_(std::move(resources)),
        options_(options),
        stop_(std::move(stop)) {}

  std::shared_ptr<client::Router> router_;
  std::vector<std::string> resources_;
  LockOptions options_;
  std::optional<std::ptrdiff_t> capacity_;  ///< of the semaphore whose permit it is for
  std::stop_token stop_;
  std::optional<Result<Lease>> result_;
};

template <class F>
auto Coordinator::with_lock(std::string_view resource, LockOptions options, F&& fn,
                            std::stop_token stop) -> Result<std::invoke_result_t<F, Lease&>> {
  Result<Lease> lease = acquire(resource, options, std::move(stop));
  if (!lease) return lease.error();
  Lease held = std::move(*lease);  // released by its destructor, on every way out
  if constexpr (std::is_void_v<std::invoke_result_t<F, Lease&>>) {
    std::forward<F>(fn)(held);
    (void)held.release();
    return {};
  } else {
    Result<std::invoke_result_t<F, Lease&>> value(std::forward<F>(fn)(held));
    (void)held.release();
    return value;
  }
}

}  // namespace quorumlock
