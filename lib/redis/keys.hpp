#pragma once

#include <string_view>

/// The keys of ours beside the lock itself.
namespace quorumlock::redis {

/// No resource's key may start with this.
inline constexpr std::string_view own_prefix = "quorumlock:";
/// Followed by the lock's key: the fencing counter of that resource on this node.
inline constexpr std::string_view counter_prefix = "quorumlock:fence:";
/// Of which run of the server the votes count: see Enrolment.
inline constexpr std::string_view enrolment_key = "quorumlock:enrolment";
inline constexpr std::string_view candidate_key = "quorumlock:candidate";
/// Who is repairing this node's counters, for a few seconds at a time.
inline constexpr std::string_view repairer_key = "quorumlock:repairer";

}  // namespace quorumlock::redis
