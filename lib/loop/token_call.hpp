#pragma once

#include <string>
#include <vector>

#include <quorumlock/clock.hpp>
#include <quorumlock/handler.hpp>
#include <quorumlock/result.hpp>

#include "lock/types.hpp"
#include "loop/inbox.hpp"

namespace quorumlock::detail {

/// A release or an extend by owner token.
class TokenCall final : public Task {
 public:
  std::string resource;
  std::vector<std::string> others;
  std::string token;
  core::Duration ttl{};  ///< zero: release
  detail::Handler<Result<Clock::time_point>> handler;

  void run(Driver& driver) override;
  void dismiss() override;
  void finish(Result<Clock::time_point> result);
};

}  // namespace quorumlock::detail
