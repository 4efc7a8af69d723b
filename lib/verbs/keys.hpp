#pragma once

#include <string_view>

#include "lock/lock.hpp"

/// Our keys in addition to the key of the lock itself. An operator may give a user the keys that
/// begin with one of these prefixes and then with the user's prefix, and no other user's, so the
/// lock's key comes right behind the prefix; the few keys at the end of this list belong to the
/// node.
namespace quorumlock::redis {

/// All these keys and channels start with this prefix; a resource's key may not.
inline constexpr std::string_view own_prefix = "quorumlock:";
/// This prefix and a lock's key name the fencing counter of that resource on this node.
inline constexpr std::string_view counter_prefix = "quorumlock:fence:";
/// This prefix and a lock's key name the owner token that a renewal has set again after another
/// client may have held the lock. An extend by that token does not count this node.
inline constexpr std::string_view replanted_prefix = "quorumlock:replanted:";
/// This prefix and a lock's key name the readers of the lock. Its own key then holds a fixed text.
inline constexpr std::string_view readers_prefix = "quorumlock:readers:";
inline constexpr std::string_view read_mark = "quorumlock:readers";
/// These prefixes and a lock's key name the waiters in its line, the times at which their entries
/// expire, and the tokens by which waiters were granted the lock.
inline constexpr std::string_view queue_prefix = "quorumlock:queue:";
inline constexpr std::string_view waiting_prefix = "quorumlock:waiting:";
inline constexpr std::string_view granted_prefix = "quorumlock:granted:";
/// This prefix and a lock's key name the announcement of its holder as the leader (see Election).
inline constexpr std::string_view leader_prefix = "quorumlock:leader:";
/// This prefix and a lock's key name the last period of Coordinator::once() that was done. It is
/// kept on a quorum of nodes as a fencing counter is, and repaired with these.
inline constexpr std::string_view once_prefix = "quorumlock:once:";
/// Fits the keys with either of these two prefixes, and few others, for SCAN.
inline constexpr std::string_view counters_pattern = "quorumlock:*nce:*";
static_assert(counter_prefix.ends_with("nce:") && once_prefix.ends_with("nce:"));
/// This prefix and a semaphore's key name the number of its permits. The semaphore's counter and
/// line are named as if this key were a lock: quorumlock:fence:quorumlock:semaphore:<key>, and so
/// on.
inline constexpr std::string_view semaphore_prefix = "quorumlock:semaphore:";
/// This prefix, a semaphore's key, a colon and a number from 1 on name one of its permits, which is
/// held like a lock.
inline constexpr std::string_view permit_prefix = "quorumlock:permit:";
/// The locks of some kinds never meet others of the same name: one of these is before their keys.
inline constexpr std::string_view kind_prefixes[] = {semaphore_prefix};
/// The one of these for such a lock; empty for any other.
constexpr std::string_view kind_prefix(const core::LockSet& lock) {
  return lock.permit.capacity != 0 ? semaphore_prefix : std::string_view();
}
/// Whether a token is held under this key: it is that of a lock or of a permit.
constexpr bool is_held_key(std::string_view key) {
  return !key.starts_with(own_prefix) || key.starts_with(permit_prefix);
}
/// This prefix, a lock's key, a colon and an owner token name the note that the lock was released
/// by token, so the holder's renewals must not set it again.
inline constexpr std::string_view released_prefix = "quorumlock:released:";
/// This prefix and a process name its channel. A message is the number of its waiter at the head of
/// a line.
inline constexpr std::string_view wake_prefix = "quorumlock:wake:";
/// This prefix and a lock's key name a channel. A message means that the leader, or its
/// announcement, has changed.
inline constexpr std::string_view led_prefix = "quorumlock:led:";
/// The run of the server whose votes count, and the candidate for it: see Enrolment.
inline constexpr std::string_view enrolment_key = "quorumlock:enrolment";
inline constexpr std::string_view candidate_key = "quorumlock:candidate";
/// The list of nodes that this node votes for: see Membership.
inline constexpr std::string_view members_key = "quorumlock:members";
/// The mark of the client that repairs this node's counters; it lives for this many ms unless it is
/// refreshed.
inline constexpr std::string_view repairer_key = "quorumlock:repairer";
inline constexpr std::string_view repairer_ms = "10000";

}  // namespace quorumlock::redis
