#pragma once

#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include <quorumlock/handler.hpp>
#include <quorumlock/result.hpp>
#include <quorumlock/status.hpp>

#include "config/node_list.hpp"
#include "loop/inquiry.hpp"
#include "verbs/rights.hpp"

namespace quorumlock::detail {

/// Asks every node for its state as a voter. A command that the node does not allow leaves the
/// fields that it would have filled unknown.
class StatusInquiry final : public Inquiry {
 public:
  detail::Handler<Result<ClusterStatus>> handler;

  void start(Driver& driver) override;
  void answered(Driver& driver, const Session::Answered& answer) override;
  void dismiss() override;

 private:
  /// The question of a probe is `probe` plus its index in probes_.
  enum Question : std::uint16_t { info, config, record, size, sample, time, script, probe };
  /// The data of a node that is only needed until all answers are in.
  struct Node {
    int to_come = 0;
    int times_to_ask = 0;
    core::Time asked{};           // when the last TIME was sent
    std::int64_t wall_asked = 0;  // the same by the wall clock, in us
    std::string bind, port, protected_mode;
    std::uint64_t floor = 0;  // of its record
    std::int64_t time = 0;    // its TIME, in us
    std::int64_t keys = -1;   // the number of keys in the node's database; -1: unknown
  };

  void note(Driver& driver, int node, Question question, const redis::Reply& reply);
  void note_setting(int node, std::string_view name, std::string_view value);
  void note_right(int node, std::string_view right, const redis::Reply& reply);
  void note_sample(int node, const redis::Reply& reply);
  void note_time(Driver& driver, int node, const redis::Reply& reply);
  void ask_time(Driver& driver, int node);
  void conclude(const Driver& driver, int node);
  /// Why the node casts no vote.
  std::string trouble_of(const Driver& driver, int node);
  void judge_floors(const Driver& driver);
  void finish(Driver& driver);

  Node& of(int node) { return nodes_[list_.place_of(node)]; }
  NodeStatus& status_of(int node) { return status_.nodes[list_.place_of(node)]; }

  ClusterStatus status_;
  NodeList list_;  ///< a copy: the driver's list may change meanwhile
  std::vector<Node> nodes_;
  std::vector<redis::Probe> probes_;
  int to_come_ = 0;  // nodes that are still being asked
};

/// Merges the status of several groups into one, and calls the handler with it after the last. The
/// groups may report on different threads.
class StatusOfGroups {
 public:
  StatusOfGroups(std::size_t groups, detail::Handler<Result<ClusterStatus>> handler)
      : to_come_(groups), all_(groups), handler_(std::move(handler)) {}
  void note(std::size_t group, Result<ClusterStatus> status);

 private:
  std::mutex guard_;
  std::size_t to_come_;
  std::vector<std::optional<Result<ClusterStatus>>> all_;
  detail::Handler<Result<ClusterStatus>> handler_;
};

}  // namespace quorumlock::detail
