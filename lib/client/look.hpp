#pragma once

#include <vector>

#include <quorumlock/detail/handler.hpp>
#include <quorumlock/inspection.hpp>
#include <quorumlock/result.hpp>

#include "client/inbox.hpp"
#include "core/slots.hpp"

namespace quorumlock::client {

/// Asks every node for what it holds under a key.
class Look final : public Task {
 public:
  Inspection inspection;
  std::vector<int> to_come;  ///< of each node: answers still out
  core::SlotId id;
  detail::Handler<Result<Inspection>> handler;

  void run(Driver& driver) override;
  void dismiss() override;
  void finish(Result<Inspection> result);
};

}  // namespace quorumlock::client
