#pragma once

#include <string>
#include <vector>

#include <quorumlock/detail/handler.hpp>
#include <quorumlock/result.hpp>

#include "client/inquiry.hpp"

namespace quorumlock::client {

/// Enrols all nodes without a wait, on the operator's word that no client can hold a lock yet.
///
/// First looks at all of them: each must answer and must have neither an enrolment nor any key of
/// ours. A candidate is no such key: other clients that wait leave it. Only then are they enrolled.
class EnrolNew final : public Inquiry {
 public:
  bool force = false;
  bool only_look = false;  ///< whether they could be enrolled
  detail::Handler<Result<void>> handler;

  void start(Driver& driver) override;
  void answered(Driver& driver, const Session::Answered& answer) override;
  void dismiss() override;

 private:
  enum Question : std::uint16_t { record, keys, enrol, settled };

  void looked(Driver& driver, int node, const std::string& objection);
  void enrol_all(Driver& driver);
  void finish(Driver& driver);

  struct Node {
    std::string record;
    std::string objection;  ///< why it is not to be enrolled
    bool answered = false;
  };
  std::vector<Node> nodes_;
  int to_come_ = 0;  // nodes that are still being asked
  bool enrolling_ = false;
};

}  // namespace quorumlock::client
