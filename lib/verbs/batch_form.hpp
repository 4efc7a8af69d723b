#pragma once

#include <cstddef>
#include <span>

#include "lock/answer.hpp"
#include "verbs/call.hpp"
#include "wire/reply.hpp"

namespace quorumlock::redis {

/// How commands of one verb go out together and are answered together (see Batch).
struct BatchForm {
  core::CommandKind kind;  ///< the kind of the batch as one command
  /// A longer batch gains nothing and makes other clients wait: this many take a node 0.2 ms.
  std::size_t most;
  Call common;   ///< the words that come once
  Call of_each;  ///< the words of each lock
  /// Whether this command, for one lock, can be part of a batch.
  bool (*takes)(const core::Send& send);
  /// Reads the part that all locks share: granted if the reply has a vote for each of them.
  core::Answer (*read)(const Reply& reply);
  /// Reads the answers for the locks; false if the reply is not for this number of locks.
  bool (*read_each)(const Reply& reply, std::span<core::Answer> answers);
};

}  // namespace quorumlock::redis
