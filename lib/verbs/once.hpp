#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lock/answer.hpp"
#include "lock/types.hpp"
#include "wire/reply.hpp"

/// The verb "once": tells how far a name is done, and notes that a period of it is done.
namespace quorumlock::redis::once {

struct Asked {
  std::string_view key;                 ///< of the name's lock
  std::string_view owner;               ///< its holder's owner token
  std::uint64_t fence = 0;              ///< its holder's fencing token
  core::Duration keep{};                ///< how long the node keeps what is noted
  std::optional<std::uint64_t> period;  ///< the period that is done; unset: only ask
};

/// Appends the command, without own_words().
void append(std::string& out, const Asked& what);

/// Answer::fence is the first period that is not done.
core::Answer read(const Reply& reply);

}  // namespace quorumlock::redis::once
