#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <quorumlock/status.hpp>

#include "output.hpp"

namespace quorumlock::cli {

/// Returns "4 of 5 nodes may vote; a quorum is 3".
std::string verdict(const ClusterStatus& status);
/// Why a node does not vote, in a few words.
std::string_view reason_of(const NodeStatus& node);
/// Returns a table for people: a line for each node, and one more for each that does not vote.
std::string table(const ClusterStatus& status, std::size_t width);
/// Returns JSON for programs. Unknown values are null.
Json document(const ClusterStatus& status);
/// Returns the same, and an error if too few nodes may vote: the document of `status --json`.
Json status_json(const ClusterStatus& status);

}  // namespace quorumlock::cli
