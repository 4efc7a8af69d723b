#pragma once

#include <string>

#include "redis/verbs/batch_form.hpp"

/// The verb "release": deletes what holds our owner token, and wakes the head of the line.
namespace quorumlock::redis::release {

/// Whether a release is of one key with one holder, and no waiter enters or leaves a line by it.
/// All that the script does in addition is to wake waiters; if none are ever woken, the server's
/// own command (Deletion) has the same effect.
inline bool only_deletes(const core::Send& send) {
  return send.tag.kind == core::CommandKind::release && send.lock.kind() == core::LockKind::one &&
         send.place.number == 0 && send.not_woken.number == 0;
}

void append(std::string& out, const core::Send& send, const Surroundings& around);
core::Answer read(const Reply& reply);

/// Releases that only_deletes().
extern const BatchForm batch;

}  // namespace quorumlock::redis::release
