#pragma once

#include <string_view>

/// The keys of ours beside the lock itself.
namespace quorumlock::redis {

/// No resource's key may start with this.
inline constexpr std::string_view own_prefix = "quorumlock:";
/// Followed by the lock's key: the fencing counter of that resource on this node.
inline constexpr std::string_view counter_prefix = "quorumlock:fence:";
/// Followed by the lock's key: who waits for it in the line, and until when their entries live.
inline constexpr std::string_view queue_prefix = "quorumlock:queue:";
inline constexpr std::string_view waiting_prefix = "quorumlock:waiting:";
/// Followed by a lock's key: what its holder says of itself, where it leads (see Election).
inline constexpr std::string_view leader_prefix = "quorumlock:leader:";
/// Followed by a semaphore's key: how many permits it has. All of this is also the name of its
/// counter and of its line: quorumlock:fence:quorumlock:semaphore:<key>, and so on.
inline constexpr std::string_view semaphore_prefix = "quorumlock:semaphore:";
/// Followed by a number from 1 on, a colon and the semaphore's key: one of its permits, which is
/// held as a lock is.
inline constexpr std::string_view permit_prefix = "quorumlock:permit:";
/// Channels. Followed by a process: a message is the number of its waiter that is first in a line.
inline constexpr std::string_view wake_prefix = "quorumlock:wake:";
/// Followed by a lock's key: it has been released, and nobody waits in the line.
inline constexpr std::string_view free_prefix = "quorumlock:free:";
/// Followed by a lock's key: who leads, or what it says of itself, has changed.
inline constexpr std::string_view led_prefix = "quorumlock:led:";
/// Of which run of the server the votes count: see Enrolment.
inline constexpr std::string_view enrolment_key = "quorumlock:enrolment";
inline constexpr std::string_view candidate_key = "quorumlock:candidate";
/// Who is repairing this node's counters, for a few seconds at a time.
inline constexpr std::string_view repairer_key = "quorumlock:repairer";
/// Nobody's: what is tried on it finds nothing.
inline constexpr std::string_view nobodys_key = "quorumlock:nobody";

}  // namespace quorumlock::redis
