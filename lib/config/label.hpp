#pragma once

#include <quorumlock/options.hpp>

#include <string>

namespace quorumlock::detail {

/// The label of the owner tokens of a coordinator with these options, which this process makes.
std::string label_of(const Options& options);

}  // namespace quorumlock::detail
