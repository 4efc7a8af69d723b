#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <quorumlock/admin.hpp>
#include <quorumlock/detail/node_questions.hpp>

#include "admin/members_change.hpp"

// The meaning of a look at the nodes, in words for people.
namespace quorumlock::detail {

/// A report without clients and without the next step; `nodes` are those of the change.
MembersReport report_of(const redis::MembersChange& change, const std::vector<ListedNode>& nodes);
/// The command that comes next, and why.
std::string next_step_of(const MembersReport& report, const redis::MembersChange& change);

}  // namespace quorumlock::detail
