#pragma once

#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include <quorumlock/detail/handler.hpp>
#include <quorumlock/result.hpp>
#include <quorumlock/status.hpp>

#include "client/inquiry.hpp"

namespace quorumlock::client {

/// Asks every node how it fares as a voter. A command that it does not allow leaves what it would
/// have told unknown.
class StatusInquiry final : public Inquiry {
 public:
  detail::Handler<Result<ClusterStatus>> handler;

  void start(Driver& driver) override;
  void answered(Driver& driver, const Session::Answered& answer) override;
  void dismiss() override;

 private:
  enum Question : std::uint16_t { info, config, eval, record, time };
  /// What is only needed until all answers are in.
  struct Node {
    int to_come = 0;
    int times_to_ask = 0;
    core::Time asked{};           // for the time
    std::int64_t wall_asked = 0;  // in us
    std::string bind, port, protected_mode;
  };

  void note(Driver& driver, int node, Question question, const redis::Reply& reply);
  void note_setting(int node, std::string_view name, std::string_view value);
  void note_time(Driver& driver, int node, const redis::Reply& reply);
  void ask_time(Driver& driver, int node);
  void conclude(const Driver& driver, int node);
  void finish(Driver& driver);

  ClusterStatus status_;
  std::vector<Node> nodes_;
  int to_come_ = 0;  // nodes that are still being asked
};

/// Makes one of what several groups give, on whatever threads, and hands it on.
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

}  // namespace quorumlock::client
