#pragma once

#include "lock/slots.hpp"
#include "loop/inbox.hpp"
#include "loop/session.hpp"

namespace quorumlock::detail {

/// A task that asks the nodes questions of its own, on the loop: see Inquiries.
class Inquiry : public Task {
 public:
  core::SlotId id;
  void run(Driver& driver) final;
  /// Asks the first questions.
  virtual void start(Driver& driver) = 0;
  /// Takes the answer to Inquiries::ask(.., question, ..), or the report that there is none. Called
  /// once per question, or twice if the answer comes after its timeout.
  virtual void answered(Driver& driver, const Session::Answered& answer) = 0;
  /// The time of Inquiries::wake_at() has come.
  virtual void due(Driver& /*driver*/) {}
  /// A message about the leader of this lock has come, or such messages may have been lost.
  virtual void heard(Driver& /*driver*/, std::string_view /*key*/) {}
};

}  // namespace quorumlock::detail
