#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include <quorumlock/coordinator.hpp>

#include "config/cluster.hpp"
#include "config/node_list.hpp"
#include "loop/driver.hpp"
#include "loop/inbox.hpp"
#include "loop/this_thread.hpp"

namespace quorumlock::detail {

/// The thread of each of a coordinator's runtimes, by the runtime's number.
using LoopThreads = std::vector<std::atomic<ThreadNumber>>;

/// One quorum on one loop, shared by a coordinator's handles. Calls of any thread reach the loop
/// through it. It outlives the loop for as long as there is a Lease.
class Runtime final : public std::enable_shared_from_this<Runtime> {
 public:
  Runtime(Cluster cluster, std::shared_ptr<LoopThreads> threads, std::size_t number);

  /// Attaches the runtime to this loop, which belongs to the user, or to a thread that is still to
  /// be started.
  void ride(uv_loop_t* loop, bool own_loop);
  /// Keeps this alive on a loop of the user's, which may outlive every handle.
  void outlive_handles() { self_ = shared_from_this(); }
  /// Undoes ride() if the loop will never run.
  void give_up();

  [[nodiscard]] const Cluster& cluster() const { return cluster_; }
  /// The present nodes. May be called from any thread.
  [[nodiscard]] NodeList nodes() const;
  /// Makes this the list of nodes from now on.
  void keep_nodes(const NodeList& nodes);
  Inbox& inbox() { return inbox_; }
  /// Returns true in a child that was forked off after this was made: there the runtime must not be
  /// used.
  [[nodiscard]] bool forked() const { return fork_.forked(); }
  /// Whether calls are refused: in such a child, and since async_close() or the loop's end.
  [[nodiscard]] bool is_closed() const {
    return forked() || closing_.load(std::memory_order_relaxed) || inbox_.closed();
  }
  /// Throws closed_error(call) in such a child.
  void refuse_in_child(std::string_view call) const;
  [[nodiscard]] bool on_loop() const {
    return loop_thread_.load(std::memory_order_relaxed) == this_thread_number();
  }
  /// Whether the calling thread runs one of this coordinator's loops.
  [[nodiscard]] bool on_any_loop() const;
  [[nodiscard]] bool is_one_of_several() const { return threads_->size() > 1; }
  /// Each turn of the loop records its thread.
  void turning() { loop_thread_.store(this_thread_number(), std::memory_order_relaxed); }

  /// Runs tasks on the loop, in the order of the posts, and owns them. On the loop's own thread the
  /// tasks posted by other threads run first, and then this one before post() returns.
  void post(Task* task);
  void acquire(std::string resource, const LockOptions& options, std::stop_token stop,
               detail::Handler<Result<Lease>> handler);

  /// If `refused` is set, the call fails with that error, which was found before.
  void acquire_all(std::vector<std::string> resources, const LockOptions& options,
                   std::stop_token stop, detail::Handler<Result<Lease>> handler,
                   const Error* refused = nullptr);
  /// Acquires a permit of a semaphore with this capacity.
  void acquire_permit(std::string resource, std::ptrdiff_t capacity, const LockOptions& options,
                      std::stop_token stop, detail::Handler<Result<Lease>> handler);
  /// Extends by owner token, or releases if ttl is zero. Bad arguments and closed runtimes are
  /// reported within the call; `refused` as for acquire_all().
  void call_by_token(std::vector<std::string> resources, const OwnerToken& token,
                     core::Duration ttl, detail::Handler<Result<Clock::time_point>> handler,
                     const Error* refused = nullptr);

  /// May be called from any thread. A loop must not wait for another loop, so on its thread this
  /// returns the other one's last kept statistics.
  [[nodiscard]] Stats stats();
  /// Keeps the statistics for calls after the end of the loop, or from another loop.
  void keep_stats(Stats stats, core::Time waiting_since);
  [[nodiscard]] Stats last_stats() const;

  /// The error of a blocking call that cannot be made on this thread; unset if it can.
  [[nodiscard]] std::optional<Error> cannot_block(std::string_view call) const;
  [[nodiscard]] Error closed_error(std::string_view call) const;

  void async_close(detail::Handler<> handler);

  /// The driver has left the loop: deletes it, and then calls these handlers.
  void loop_ended(std::vector<detail::Handler<>> then);

 private:
  void begin(std::string resource, std::vector<std::string> others, const LockOptions& options,
             std::stop_token stop, detail::Handler<Result<Lease>> handler,
             std::optional<std::ptrdiff_t> capacity = std::nullopt, const Error* refused = nullptr);

  const Cluster cluster_;
  const ForkWatch fork_;
  const std::shared_ptr<LoopThreads> threads_;
  std::atomic<ThreadNumber>& loop_thread_;  // this loop's entry in threads_
  Inbox inbox_;
  std::atomic<bool> closing_{false};
  std::unique_ptr<Driver> driver_;  // used only on the loop
  mutable std::mutex keeping_;
  Stats last_stats_;                        ///< the engine's statistics when they were last kept
  core::Time waiting_since_ = core::never;  ///< belongs to last_stats_: see Engine
  NodeList nodes_;
  std::shared_ptr<Runtime> self_;  // while attached
};

}  // namespace quorumlock::detail
