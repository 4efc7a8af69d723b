#pragma once

#include <string>
#include <vector>

#include <quorumlock/options.hpp>

namespace quorumlock::local {

/// Enrolls servers that were just started on empty directories, so that their votes count at once.
/// Throws std::runtime_error with a sentence.
void enroll_new(Options options);
/// Enrols them with the usual options.
void enroll_new(const std::vector<std::string>& urls);

}  // namespace quorumlock::local
