#pragma once

#include <string>

#include <quorumlock/clock.hpp>
#include <quorumlock/detail/handler.hpp>
#include <quorumlock/result.hpp>

#include "client/inbox.hpp"
#include "core/types.hpp"

namespace quorumlock::client {

/// Releases or extends by owner token.
class TokenCall final : public Task {
 public:
  std::string resource;
  std::string token;
  core::Duration ttl{};  ///< zero: release
  detail::Handler<Result<Clock::time_point>> handler;

  void run(Driver& driver) override;
  void dismiss() override;
  void finish(Result<Clock::time_point> result);
};

}  // namespace quorumlock::client
