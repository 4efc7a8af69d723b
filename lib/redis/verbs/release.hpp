#pragma once

#include <string>

#include "redis/verbs/batch_form.hpp"
#include "redis/verbs/kinds.hpp"

/// The verb "release": deletes what holds our owner token, and wakes the head of the line.
namespace quorumlock::redis::release {

/// Whether a release is of one key with one holder, and no waiter enters or leaves a line by it.
/// All that the script does in addition is to wake waiters; if none are ever woken, the server's
/// own command (Deletion) has the same effect.
inline bool only_deletes(const core::Send& send) {
  return send.tag.kind == core::CommandKind::release &&
         calls_of(send.lock.kind()).batched.release && send.place.number == 0 &&
         send.not_woken.number == 0;
}

/// Appends the server's own command for a release of which only_deletes() is true.
void append_deletion(std::string& out, const core::Send& send, Deletion by);
/// Reads 0 (nothing of ours there) or 1 (deleted), as the server's own commands reply, too; or, if
/// the line has waiters, {1, whether Send::not_woken is first in it, greatest ticket}.
core::Answer read(const Reply& reply);

/// Releases of which only_deletes() is true.
extern const BatchForm batch;

}  // namespace quorumlock::redis::release
