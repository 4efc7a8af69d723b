#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <quorumlock/status.hpp>

namespace quorumlock::client {

/// error: a lock could be lost, or this node can never vote. hint: all is well for now.
enum class Severity { error, hint };
std::string_view to_string(Severity severity) noexcept;

/// One thing that endangers locks.
struct Finding {
  Severity severity;
  std::string node;  ///< empty: the nodes together
  std::string code;  ///< one word for programs, such as "no_fsync"
  std::string what;
  std::string remedy;
};

/// All of them, those of the nodes together first.
std::vector<Finding> findings_of(const ClusterStatus& status);

}  // namespace quorumlock::client
