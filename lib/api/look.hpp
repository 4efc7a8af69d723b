#pragma once

#include <quorumlock/handler.hpp>
#include <quorumlock/inspection.hpp>
#include <quorumlock/result.hpp>

#include "config/node_list.hpp"
#include "loop/inquiry.hpp"

namespace quorumlock::detail {

/// Asks every node what it holds under a key, and for the waiters of that key.
class Look final : public Inquiry {
 public:
  Inspection inspection;
  detail::Handler<Result<Inspection>> handler;

  void start(Driver& driver) override;
  void answered(Driver& driver, const Session::Answered& answer) override;
  void dismiss() override;

 private:
  void finish(Result<Inspection> result);

  NodeList list_;  ///< a copy: the driver's list may change meanwhile
  core::NodeSet to_come_;
};

/// Decodes a reply of inspect.lua; false if it is malformed.
bool holding_of(const redis::Reply& reply, NodeHolding& holding);
/// Adds what a quorum of the nodes agrees on.
void conclude(Inspection& all);

}  // namespace quorumlock::detail
