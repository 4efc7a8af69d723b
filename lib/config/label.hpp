#pragma once

#include <quorumlock/options.hpp>

#include <string>

namespace quorumlock::detail {

/// The label of the owner tokens that a coordinator of this process makes with these options.
std::string label_of(const Options& options);

}  // namespace quorumlock::detail
