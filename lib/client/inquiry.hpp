#pragma once

#include "client/inbox.hpp"
#include "client/session.hpp"
#include "core/slots.hpp"

namespace quorumlock::client {

/// Something that asks the nodes questions of its own, on the loop: Driver::begin(), ask() and
/// end().
class Inquiry : public Task {
 public:
  core::SlotId id;
  void run(Driver& driver) final;
  /// Its first questions.
  virtual void start(Driver& driver) = 0;
  /// The answer to Driver::ask(.., question, ..), or that there is none; once each, or twice where
  /// it comes after its timeout.
  virtual void answered(Driver& driver, const Session::Answered& answer) = 0;
  /// The time of Driver::wake_at() has come.
  virtual void due(Driver& /*driver*/) {}
  /// A message about the leader of this lock, or such messages may have been lost.
  virtual void heard(Driver& /*driver*/, std::string_view /*key*/) {}
};

}  // namespace quorumlock::client
