#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>

#include <quorumlock/coordinator.hpp>

#include "client/cluster.hpp"
#include "client/driver.hpp"
#include "client/inbox.hpp"

namespace quorumlock::client {

/// What a coordinator's handles share: the way to the loop, from any thread. Outlives the loop for
/// as long as a Lease is about.
class Runtime final : public std::enable_shared_from_this<Runtime> {
 public:
  static Result<std::shared_ptr<Runtime>> with_thread(Options options,
                                                      bool changes_max_ttl = false);
  static Result<std::shared_ptr<Runtime>> attached(uv_loop_t* loop, Options options);
  ~Runtime();

  explicit Runtime(Cluster cluster);

  [[nodiscard]] const Cluster& cluster() const { return cluster_; }
  Inbox& inbox() { return inbox_; }
  /// In a child that was forked off since: nothing of this may be used.
  [[nodiscard]] bool forked() const;
  [[nodiscard]] bool on_loop() const {
    return loop_thread_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }
  /// Each turn of the loop says which thread it is on.
  void turning() { loop_thread_.store(std::this_thread::get_id(), std::memory_order_relaxed); }

  /// Has it done on the loop, in the order of the posts. Takes the task over.
  void post(Task* task);
  void acquire(std::string resource, const LockOptions& options, std::stop_token stop,
               detail::Handler<Result<Lease>> handler);

  void acquire_all(std::vector<std::string> resources, const LockOptions& options,
                   std::stop_token stop, detail::Handler<Result<Lease>> handler);
  /// Of a semaphore with this capacity.
  void acquire_permit(std::string resource, std::ptrdiff_t capacity, const LockOptions& options,
                      std::stop_token stop, detail::Handler<Result<Lease>> handler);
  /// Extends by owner token, or releases where ttl is zero. Blocking.
  Result<Clock::time_point> call_by_token(std::string_view resource, const OwnerToken& token,
                                          core::Duration ttl);

  /// From any thread.
  [[nodiscard]] Stats stats();
  /// No task is accepted from now on: these are the last.
  void keep_stats(const Stats& stats) { last_stats_ = stats; }
  [[nodiscard]] const Stats& last_stats() const { return last_stats_; }

  /// The error that a blocking call gives where it cannot be made here; unset where it can.
  [[nodiscard]] std::optional<Error> cannot_block(std::string_view call) const;
  [[nodiscard]] Error closed_error(std::string_view call) const;

  void close();
  void async_close(detail::Handler<> handler);
  /// The coordinator is gone: close, and be rid of the thread.
  void abandon();

  /// The driver has left the loop: its end, and then these.
  void loop_ended(std::vector<detail::Handler<>> then);

 private:
  void begin(std::string resource, std::vector<std::string> others, const LockOptions& options,
             std::stop_token stop, detail::Handler<Result<Lease>> handler,
             std::optional<std::ptrdiff_t> capacity = std::nullopt);

  const Cluster cluster_;
  const unsigned long fork_generation_;
  Inbox inbox_;
  std::atomic<std::thread::id> loop_thread_;
  std::unique_ptr<Driver> driver_;  // the loop's own
  bool has_thread_ = false;
  std::thread thread_;
  std::mutex joining_;
  Stats last_stats_;
  std::shared_ptr<Runtime> self_;  // while attached: the loop may outlive every handle
};

}  // namespace quorumlock::client
