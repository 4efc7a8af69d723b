#pragma once

#include <string>

#include "core/answer.hpp"
#include "redis/reply.hpp"
#include "redis/verbs/call.hpp"

/// The verb "raise": raises the fencing counters of locks that we hold to one number.
namespace quorumlock::redis::raise {

void append(std::string& out, const core::Send& send, const Surroundings& around);
core::Answer read(const Reply& reply);

}  // namespace quorumlock::redis::raise
