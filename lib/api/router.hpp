#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "lock/placement.hpp"
#include "loop/runtime.hpp"

namespace quorumlock::detail {

/// The implementation of a Coordinator: one runtime for each group on each loop, and the placement
/// of resources on them. Call it from any thread.
class Router final : public std::enable_shared_from_this<Router> {
 public:
  static Result<std::shared_ptr<Router>> with_threads(
      Options options, Cluster::Purpose purpose = Cluster::Purpose::to_lock);
  static Result<std::shared_ptr<Router>> attached(uv_loop_t* loop, Options options);
  Router(std::vector<Cluster> groups, int loops);
  ~Router();

  [[nodiscard]] const std::shared_ptr<Runtime>& of(std::string_view resource) const {
    if (runtimes_.size() == 1) return runtimes_.front();
    return at(placement_.of(resource));
  }
  /// The runtimes of the first loop, one of each group.
  [[nodiscard]] std::span<const std::shared_ptr<Runtime>> groups() const {
    return std::span(runtimes_).first(groups_);
  }
  /// The options that all groups share; `nodes` are the first group's.
  [[nodiscard]] const Options& options() const { return any().cluster().options; }

  /// These do the same as the functions of Runtime with the same names.
  [[nodiscard]] bool forked() const { return any().forked(); }
  [[nodiscard]] std::optional<Error> cannot_block(std::string_view call) const {
    return any().cannot_block(call);
  }
  void refuse_in_child(std::string_view call) const { any().refuse_in_child(call); }
  [[nodiscard]] Error closed_error(std::string_view call) const { return any().closed_error(call); }

  /// Acquires all resources on one loop: the loop of the resource whose name sorts first, in
  /// whatever order they are given.
  void acquire_all(std::vector<std::string> resources, const LockOptions& options,
                   std::stop_token stop, detail::Handler<Result<Lease>> handler) const;
  /// Extends or releases by owner token, on that loop.
  void call_by_token(std::vector<std::string> resources, const OwnerToken& token,
                     std::chrono::nanoseconds ttl,
                     detail::Handler<Result<Clock::time_point>> handler) const;
  /// Reports the status of all groups, as the first loop sees them.
  void async_status(detail::Handler<Result<ClusterStatus>> handler) const;
  [[nodiscard]] Stats stats() const;
  /// Checks the new nodes of this group, or of the only one, and passes them to its runtimes.
  Result<void> set_nodes(const std::optional<std::string>& group, Nodes nodes);
  void close();
  void async_close(detail::Handler<> handler) const;
  /// The coordinator is destroyed: closes, and joins the threads.
  void abandon();

 private:
  [[nodiscard]] const Runtime& any() const { return *runtimes_.front(); }
  [[nodiscard]] const std::shared_ptr<Runtime>& at(core::Placement::Home place) const {
    return runtimes_[place.loop * groups_ + place.group];
  }
  /// The runtime of the resource whose name sorts first; `refused` is set if not all are in its
  /// group.
  const std::shared_ptr<Runtime>& home_of(const std::vector<std::string>& resources,
                                          std::optional<Error>& refused) const;
  [[nodiscard]] Error apart(const std::vector<std::string>& resources) const;

  const std::size_t groups_;
  const core::Placement placement_;
  std::vector<std::shared_ptr<Runtime>> runtimes_;  ///< those of a loop are adjacent
  std::vector<std::thread> threads_;
  std::mutex joining_;
  bool has_threads_ = false;
  std::mutex listing_;
  std::map<std::string, Nodes> lists_;  ///< the nodes of each group, as they were set last
};

}  // namespace quorumlock::detail
