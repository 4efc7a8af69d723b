#pragma once

#include <string>

#include <quorumlock/status.hpp>

#include "output.hpp"

namespace quorumlock::cli {

/// "4 of 5 nodes may vote; a quorum is 3"
std::string verdict(const ClusterStatus& status);
/// For people: a line for each node, and one more for each that does not vote.
std::string table(const ClusterStatus& status);
/// For programs. What is not known is null.
Json document(const ClusterStatus& status);

}  // namespace quorumlock::cli
