#pragma once

#include <optional>

#include <quorumlock/error.hpp>
#include <quorumlock/metrics.hpp>

namespace quorumlock::detail {

/// What is wrong with the names of a user's labels, if anything.
std::optional<Error> fault_of(const MetricLabels& labels);

}  // namespace quorumlock::detail
