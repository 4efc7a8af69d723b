#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <quorumlock/handler.hpp>
#include <quorumlock/result.hpp>

#include "config/node_list.hpp"
#include "loop/inquiry.hpp"

namespace quorumlock::detail {

/// Enrols all nodes without a wait, on the operator's word that no client can hold a lock yet.
///
/// First it looks at all nodes: unless forced, each must answer and have neither an enrolment nor
/// any key of ours. A candidate is allowed, since waiting clients leave one. No client may be
/// connected whose name says that it has seen these nodes enrolled: it may still hold locks. Only
/// then are the nodes enrolled.
class EnrolNew final : public Inquiry {
 public:
  bool force = false;
  bool only_look = false;  ///< find out whether the nodes could be enrolled
  detail::Handler<Result<void>> handler;

  void start(Driver& driver) override;
  void answered(Driver& driver, const Session::Answered& answer) override;
  void dismiss() override;

 private:
  enum Question : std::uint16_t { record, clients, keys, enrol, settled };

  void look_at_keys(Driver& driver, int node, std::string_view cursor);
  /// Notes that this node has been looked at or, in the second part, enrolled.
  void looked(Driver& driver, int node, const std::string& objection);
  void enrol_all(Driver& driver);
  void finish(Driver& driver);

  struct Node {
    std::string record;
    std::string objection;  ///< why the node must not be enrolled
    bool may_pass = false;  ///< it has not answered, or refuses writes
    int looks = 0;          ///< how often our link has looked at its enrolment
    bool done = false;  ///< looked at, or later enrolled, or given up: its answers no longer count
  };
  NodeList list_;  ///< a copy: the driver's list may change meanwhile
  std::vector<Node> nodes_;
  int to_come_ = 0;  // nodes that are still being asked
  bool enrolling_ = false;
};

}  // namespace quorumlock::detail
