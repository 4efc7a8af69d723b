#pragma once

#include <quorumlock/detail/handler.hpp>
#include <quorumlock/inspection.hpp>
#include <quorumlock/result.hpp>

#include "client/inquiry.hpp"

namespace quorumlock::client {

/// Asks every node for what it holds under a key and who waits for it.
class Look final : public Inquiry {
 public:
  Inspection inspection;
  detail::Handler<Result<Inspection>> handler;

  void start(Driver& driver) override;
  void answered(Driver& driver, const Session::Answered& answer) override;
  void dismiss() override;

 private:
  void finish(Result<Inspection> result);

  core::NodeSet to_come_;
};

/// What inspect.lua has answered. False where that is no such answer.
bool holding_of(const redis::Reply& reply, NodeHolding& holding);
/// What follows for a quorum of the nodes.
void conclude(Inspection& all);

}  // namespace quorumlock::client
