#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include <quorumlock/clock.hpp>
#include <quorumlock/coordinator.hpp>
#include <quorumlock/detail/export.hpp>

namespace quorumlock {

namespace detail {
class Announcement;
class Runtime;
}  // namespace detail

/// The leader of an election, as a quorum of nodes knows it.
struct Leader {
  /// The value that the leader proclaimed last; empty if it holds the lock and has proclaimed
  /// nothing.
  std::string value;
  std::uint64_t fencing_token = 0;  ///< grows from leader to leader; 0 if fencing is off
  OwnerToken owner_token;           ///< the leader's
  bool operator==(const Leader&) const = default;
};

/// Proof of leadership while its lease lasts. Move-only; the destructor resigns in the background.
/// A default-constructed or moved-from Leadership leads nothing. It must not be moved or destroyed
/// while a coroutine waits for its co_proclaim() or co_resign().
class QUORUMLOCK_EXPORT Leadership {
 public:
  Leadership() noexcept = default;
  Leadership(Leadership&& other) noexcept = default;
  Leadership& operator=(Leadership&& other) noexcept;
  ~Leadership();

  /// The lease of the election's lock. A Leadership that leads nothing returns a Lease that holds
  /// nothing.
  [[nodiscard]] const Lease& lease() const noexcept;
  /// A token that is requested to stop before another candidate may lead: stop giving orders then.
  [[nodiscard]] std::stop_token stop_token() const { return lease().stop_token(); }
  /// Send this number with every order: the receivers refuse an order with a smaller number than
  /// they have seen.
  [[nodiscard]] std::uint64_t fencing_token() const noexcept { return lease().fencing_token(); }
  /// As Lease::valid_until() and Lease::is_valid().
  [[nodiscard]] Clock::time_point valid_until() const noexcept { return lease().valid_until(); }
  [[nodiscard]] bool is_valid() const noexcept { return lease().is_valid(); }

  /// Replaces the value that others see, at most 65,536 bytes. Succeeds once a quorum of nodes has
  /// the value. Errc::not_held if this Leadership no longer leads, Errc::no_quorum if too few nodes
  /// answered; the others then receive the value in the background, for as long as it leads.
  /// Errc::invalid_argument if the value is too long or another proclaim() is under way.
  Result<void> proclaim(std::string value);
  void async_proclaim(std::string value, Handler<Result<void>> handler);
  Awaitable<Result<void>> co_proclaim(std::string value);
  /// Lets the next candidate lead. Releases the lease as Lease::release() does.
  Result<void> resign();
  void async_resign(Handler<Result<void>> handler);
  Awaitable<Result<void>> co_resign();

 private:
  friend class detail::Announcement;
  explicit Leadership(std::shared_ptr<detail::Announcement> announcement) noexcept
      : announcement_(std::move(announcement)) {}
  std::shared_ptr<detail::Announcement> announcement_;
};

/// The awaitable that co_campaign() returns.
using CampaignAwaitable = Awaitable<Result<Leadership>>;

/// Elects one of several candidates as the leader, and lets everybody know which one. The functions
/// are named as in etcd.
///
/// The leader is the holder of the lock with the election's name. Candidates wait for the lock in
/// order; a leader that dies is replaced once its ttl has passed, and at most one second later. A
/// process that takes the lock by other means (`quorumlock run`) leads too, without a value.
/// Several Election objects may have the same name. Thread-safe.
class QUORUMLOCK_EXPORT Election {
 public:
  /// `options` apply to the lock. If `wait` is not set, a campaign waits without limit.
  Election(Coordinator& coordinator, std::string name, LockOptions options = {});

  /// Waits until this candidate leads, then publishes `value`: what others see of the leader, such
  /// as its address, at most 65,536 bytes. Blocking; call it from any thread but the loop's own.
  /// Fails with the errors of Coordinator::acquire().
  Result<Leadership> campaign(std::string value, std::stop_token stop = {});
  void async_campaign(std::string value, std::stop_token stop, Handler<Result<Leadership>> handler);
  void async_campaign(std::string value, Handler<Result<Leadership>> handler) {
    async_campaign(std::move(value), {}, std::move(handler));
  }
  CampaignAwaitable co_campaign(std::string value, std::stop_token stop = {});

  /// Returns the leader, or std::nullopt if nobody leads. Errc::no_quorum if too few nodes
  /// answered. Blocking; call it from any thread but the loop's own.
  Result<std::optional<Leader>> leader();
  void async_leader(Handler<Result<std::optional<Leader>>> handler);
  Awaitable<Result<std::optional<Leader>>> co_leader();

  /// Reports the leader now, and then every change that lasts: a leader with a value at once, a
  /// leader without a value, or no leader, once that has lasted for a tenth of a second. Messages
  /// from the nodes announce changes. In addition the nodes are asked at least once a second, in
  /// case a message is lost or the leader dies. The handler runs on the loop, until `stop` is
  /// requested or the coordinator closes. Returns an error if it cannot begin; the handler is then
  /// never called.
  Result<void> observe(std::stop_token stop, Handler<std::optional<Leader>> handler);
  Result<void> observe(Handler<std::optional<Leader>> handler) {
    return observe({}, std::move(handler));
  }

 private:
  std::shared_ptr<detail::Runtime> runtime_;
  std::string name_;
  LockOptions options_;
};

/// The functions that a LeaderElector calls. Only `started` is required.
struct LeaderCallbacks {
  /// The work of the leader, on the thread of LeaderElector::run(). `stop` is requested to stop
  /// before another candidate may lead, or when run() is to end; return then. If `started` returns
  /// earlier, the elector resigns and campaigns again; if that was less than a second after the
  /// election it pauses before, for about 100 ms at first and then twice as long each time, up to
  /// 10 s, until a leadership has lasted for a second. The leadership must not be moved from.
  std::function<void(Leadership& leadership, std::stop_token stop)> started = {};
  /// Called after each return of `started`, once this process has resigned or lost the leadership,
  /// on the thread of LeaderElector::run().
  std::function<void()> stopped = {};
  /// The leader now, and each change that lasts, as Election::observe() reports them: on the
  /// coordinator's loop, so it must not block. It is not called any more once run() has returned.
  std::function<void(const std::optional<Leader>& leader)> observed = {};
};

/// A candidate that campaigns, works while it leads, and campaigns again, for as long as a server
/// runs. The callbacks are named as those of the leader election in Kubernetes' client-go.
///
///     LeaderElector elector(coordinator, "billing", "10.0.0.7:8080",
///                           {.started = [](Leadership& leadership, std::stop_token stop) {
///                             while (!stop.stop_requested()) bill(leadership.fencing_token());
///                           }});
///     Result<void> ended = elector.run(ending.get_token());
///
/// leads() and check_health() may be called from any thread. The coordinator must outlive the
/// elector.
class QUORUMLOCK_EXPORT LeaderElector {
 public:
  /// `value` is what others see of this leader, such as its address, at most 65,536 bytes.
  /// `options` apply to the lock; `wait` must not be set, since an elector campaigns without limit.
  LeaderElector(Coordinator& coordinator, std::string name, std::string value,
                LeaderCallbacks callbacks, LockOptions options = {});
  LeaderElector(const LeaderElector&) = delete;
  LeaderElector& operator=(const LeaderElector&) = delete;

  /// Campaigns and leads until `stop` is requested, and then returns success. Blocking; call it
  /// from any thread but the loop's own, and once at a time. While too few nodes answer it waits
  /// for them. Fails with Errc::invalid_argument if `started` is empty or `wait` is set, or if
  /// another run() is under way, and with an error of Coordinator::acquire() that waiting cannot
  /// mend, such as Errc::closed or Errc::misconfigured. If a callback throws, the elector resigns,
  /// and run() throws what the callback threw.
  Result<void> run(std::stop_token stop);

  /// Whether this process leads now.
  [[nodiscard]] bool leads() const;
  /// A probe of health: success, unless `started` still runs although it was asked to stop longer
  /// than `patience` ago. Errc::lost then: the process should be ended, since another leader may be
  /// at work at the same time.
  [[nodiscard]] Result<void> check_health(std::chrono::nanoseconds patience) const;

 private:
  class Term;
  Result<void> campaign_and_lead(const std::stop_token& stop);

  Election election_;
  const std::string name_;
  const std::string value_;
  const LeaderCallbacks callbacks_;
  const bool has_wait_;
  std::atomic<bool> runs_ = false;
  mutable std::mutex guard_;
  const Term* term_ = nullptr;  // while `started` runs
};

}  // namespace quorumlock
