#pragma once

#include <optional>
#include <string>

#include <quorumlock/export.hpp>
#include <quorumlock/options.hpp>
#include <quorumlock/result.hpp>

namespace quorumlock {

/// A value that the user has set, and the name of the place as an error shows it
/// ("QUORUMLOCK_NODES", "--nodes").
struct Setting {
  std::string source;  ///< the place
  std::string value;   ///< its text
};

/// The value of an environment variable; std::nullopt if it is not set.
QUORUMLOCK_EXPORT std::optional<Setting> setting_from(const char* variable);

/// Reads the options of a configuration file, replaces its nodes by a comma-separated list of URLs,
/// and validates the result. Either may be missing; without a file all options but the nodes are as
/// in Options().
QUORUMLOCK_EXPORT Result<Options> load_options(const std::optional<Setting>& file,
                                               const std::optional<Setting>& nodes);

}  // namespace quorumlock
