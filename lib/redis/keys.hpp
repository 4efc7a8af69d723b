#pragma once

#include <string_view>

/// Our keys in addition to the lock's own. An operator gives a user of few rights the keys
/// quorumlock:*:<its prefix>*, so every key that belongs to a lock ends with the lock's key; the
/// few keys at the end of this list belong to the node.
namespace quorumlock::redis {

/// No resource's key may start with this.
inline constexpr std::string_view own_prefix = "quorumlock:";
/// Followed by the lock's key: the fencing counter of that resource on this node.
inline constexpr std::string_view counter_prefix = "quorumlock:fence:";
/// Followed by the lock's key: the owner token that a renewal has set again after another client
/// may have held the lock. An extend by that token does not count this node.
inline constexpr std::string_view replanted_prefix = "quorumlock:replanted:";
/// Followed by the lock's key: the waiters in its line, and until when their entries live.
inline constexpr std::string_view queue_prefix = "quorumlock:queue:";
inline constexpr std::string_view waiting_prefix = "quorumlock:waiting:";
/// Followed by a lock's key: what its holder announces as the leader (see Election).
inline constexpr std::string_view leader_prefix = "quorumlock:leader:";
/// Followed by a semaphore's key: how many permits it has. This key, as if it were a lock's, also
/// names its counter and its line: quorumlock:fence:quorumlock:semaphore:<key>, and so on.
inline constexpr std::string_view semaphore_prefix = "quorumlock:semaphore:";
/// Followed by a number from 1 on, a colon and the semaphore's key: one of its permits, held like a
/// lock.
inline constexpr std::string_view permit_prefix = "quorumlock:permit:";
/// Followed by an owner token, a colon and a lock's key: the lock was released by token, so the
/// holder's renewals must not set it again.
inline constexpr std::string_view released_prefix = "quorumlock:released:";
/// A channel. Followed by a process: a message is the number of its waiter at the head of a line.
inline constexpr std::string_view wake_prefix = "quorumlock:wake:";
/// A channel. Followed by a lock's key: the lock has been released, and its line is empty.
inline constexpr std::string_view free_prefix = "quorumlock:free:";
/// A channel. Followed by a lock's key: the leader, or its announcement, has changed.
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
/// Followed by a node's name: the run of that node that was seen not durable (see detail::Notes).
inline constexpr std::string_view node_prefix = "quorumlock:node:";

}  // namespace quorumlock::redis
