#pragma once

#include <string>
#include <vector>

#include "lock/answer.hpp"
#include "lock/output.hpp"
#include "wire/reply.hpp"

/// The verb "line": puts waiters' entries into the lines of their locks, or keeps them there.
namespace quorumlock::redis::line {

void append(std::string& out, const core::SendEntries& sending);
core::Answer read(const Reply& reply);
/// Reads the places of the entries into `places`, which is empty if the reply is malformed.
void read_places(const Reply& reply, std::vector<core::Place>& places);

}  // namespace quorumlock::redis::line
