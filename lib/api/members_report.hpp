#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <quorumlock/members.hpp>

#include "redis/members_change.hpp"

// The meaning of a look at the nodes, in words for people.
namespace quorumlock::detail {

/// A report without clients and without the next step; `urls` are those of the nodes.
MembersReport report_of(const redis::MembersChange& change, std::span<const std::string> urls);
/// The command that comes next, and why.
std::string next_step_of(const MembersReport& report, const redis::MembersChange& change);

}  // namespace quorumlock::detail
