#pragma once

#include "redis/verbs/call.hpp"

// The kinds of lock and their calls: one table for all verbs.
namespace quorumlock::redis {

/// The calls for one kind of lock, each with the words that its script takes. Every kind states all
/// of them.
struct KindCalls {
  Call acquire;
  Call acquire_in_line;  ///< the call of a waiter with an entry in the line
  Call raise;
  Call renew;
  Call release;
  Call release_in_line;  ///< the call if a waiter leaves the line, or need not be woken
  /// Verbs whose commands for this kind may go out together with those for others (BatchForm).
  struct {
    bool acquire = false;  ///< outside of lines
    bool renew = false;    ///< also a single one, since it has no other form
    /// The lock is one key whose value is the token: release.lua deletes it as it deletes a lock of
    /// kind one.
    bool release = false;
  } batched = {};
};

/// The calls for locks of this kind.
const KindCalls& calls_of(core::LockKind kind);

}  // namespace quorumlock::redis
