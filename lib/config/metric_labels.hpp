#pragma once

#include <optional>

#include <quorumlock/metrics.hpp>
#include <quorumlock/result.hpp>

namespace quorumlock::detail {

/// What is wrong with the names of a user's labels, if anything.
std::optional<Error> fault_of(const MetricLabels& labels);

}  // namespace quorumlock::detail
