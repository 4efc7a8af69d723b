#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include <quorumlock/outcome.hpp>

#include "core/engine.hpp"
#include "redis/reply.hpp"

namespace quorumlock::redis {

/// Appends one command as RESP: what redisFormatCommandArgv gives, without its allocation.
void append_command(std::string& out, std::initializer_list<std::string_view> words);

/// Appends how a command of the engine's is said to Redis: SET key token NX PX ttl, or one of the
/// scripts, by name or (Tag::with_source) whole.
void append_command(std::string& out, const core::Send& send);

/// What a reply to a command of this kind means as a vote.
Vote vote_of(core::CommandKind kind, const Reply& reply);
/// What an error reply means, whatever was asked.
Vote vote_of_error(std::string_view text);

}  // namespace quorumlock::redis
