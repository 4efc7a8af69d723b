#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <quorumlock/admin.hpp>
#include "output.hpp"

namespace quorumlock::cli {

/// Returns a table of all nodes, and the next step.
std::string members_text(const std::vector<MembersReport>& groups, std::size_t width);
Json members_json(const std::vector<MembersReport>& groups);
/// Returns the steps of a change that has not begun, and which nodes have to be up meanwhile.
std::string plan_text(const MembersReport& report);

}  // namespace quorumlock::cli
