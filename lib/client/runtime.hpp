#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include <quorumlock/coordinator.hpp>

#include "client/cluster.hpp"
#include "client/driver.hpp"
#include "client/inbox.hpp"

namespace quorumlock::client {

/// On which thread each of a coordinator's runtimes is, by its number.
using LoopThreads = std::vector<std::atomic<std::thread::id>>;

/// One quorum on one loop: what a coordinator's handles share, the way to the loop from any thread.
/// Outlives the loop for as long as a Lease is about.
class Runtime final : public std::enable_shared_from_this<Runtime> {
 public:
  Runtime(Cluster cluster, std::shared_ptr<LoopThreads> threads, std::size_t number);

  /// From now on its work is done on this loop, of a thread that is to run yet or the caller's.
  void ride(uv_loop_t* loop, bool own_loop);
  /// An attached one: the loop may outlive every handle.
  void outlive_handles() { self_ = shared_from_this(); }
  /// In place of all of that, where the loop will never run.
  void give_up();

  [[nodiscard]] const Cluster& cluster() const { return cluster_; }
  Inbox& inbox() { return inbox_; }
  /// In a child that was forked off since: nothing of this may be used.
  [[nodiscard]] bool forked() const;
  [[nodiscard]] bool on_loop() const {
    return loop_thread_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }
  /// Of this coordinator's.
  [[nodiscard]] bool on_any_loop() const;
  [[nodiscard]] bool is_one_of_several() const { return threads_->size() > 1; }
  /// Each turn of the loop says which thread it is on.
  void turning() { loop_thread_.store(std::this_thread::get_id(), std::memory_order_relaxed); }

  /// Has it done on the loop, in the order of the posts. Takes the task over.
  void post(Task* task);
  void acquire(std::string resource, const LockOptions& options, std::stop_token stop,
               detail::Handler<Result<Lease>> handler);

  /// Refused where `refused` says so, which has nothing to do with the loop.
  void acquire_all(std::vector<std::string> resources, const LockOptions& options,
                   std::stop_token stop, detail::Handler<Result<Lease>> handler,
                   const Error* refused = nullptr);
  /// Of a semaphore with this capacity.
  void acquire_permit(std::string resource, std::ptrdiff_t capacity, const LockOptions& options,
                      std::stop_token stop, detail::Handler<Result<Lease>> handler);
  /// Extends by owner token, or releases where ttl is zero. Blocking.
  Result<Clock::time_point> call_by_token(std::string_view resource, const OwnerToken& token,
                                          core::Duration ttl);

  /// From any thread. One loop does not wait for another: it gets what was kept.
  [[nodiscard]] Stats stats();
  /// For when the loop is gone, or another loop asks.
  void keep_stats(const Stats& stats);
  [[nodiscard]] Stats last_stats() const;

  /// The error that a blocking call gives where it cannot be made here; unset where it can.
  [[nodiscard]] std::optional<Error> cannot_block(std::string_view call) const;
  [[nodiscard]] Error closed_error(std::string_view call) const;

  void async_close(detail::Handler<> handler);

  /// The driver has left the loop: its end, and then these.
  void loop_ended(std::vector<detail::Handler<>> then);

 private:
  void begin(std::string resource, std::vector<std::string> others, const LockOptions& options,
             std::stop_token stop, detail::Handler<Result<Lease>> handler,
             std::optional<std::ptrdiff_t> capacity = std::nullopt, const Error* refused = nullptr);

  const Cluster cluster_;
  const unsigned long fork_generation_;
  const std::shared_ptr<LoopThreads> threads_;
  std::atomic<std::thread::id>& loop_thread_;  // of those
  Inbox inbox_;
  std::unique_ptr<Driver> driver_;  // the loop's own
  mutable std::mutex keeping_;
  Stats last_stats_;
  std::shared_ptr<Runtime> self_;  // while attached
};

}  // namespace quorumlock::client
