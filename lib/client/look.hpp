#pragma once

#include <vector>

#include <quorumlock/detail/handler.hpp>
#include <quorumlock/inspection.hpp>
#include <quorumlock/result.hpp>

#include "client/inquiry.hpp"

namespace quorumlock::client {

/// Asks every node for what it holds under a key: GET and PTTL, one behind the other.
class Look final : public Inquiry {
 public:
  Inspection inspection;
  detail::Handler<Result<Inspection>> handler;

  void start(Driver& driver) override;
  void answered(Driver& driver, const Session::Answered& answer) override;
  void dismiss() override;

 private:
  void finish(Result<Inspection> result);

  std::vector<int> to_come_;  // of each node: answers still out
};

}  // namespace quorumlock::client
