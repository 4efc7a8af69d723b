#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include <quorumlock/clock.hpp>
#include <quorumlock/election.hpp>
#include <quorumlock/export.hpp>

namespace quorumlock {

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
