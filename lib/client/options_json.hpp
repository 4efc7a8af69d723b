#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <quorumlock/options.hpp>

namespace quorumlock::client {

/// Where a setting comes from, as an error is to call it ("QUORUMLOCK_NODES", "--nodes"), and what
/// it is set to.
struct Setting {
  std::string source;
  std::string value;
};

/// An environment variable, where it is set.
std::optional<Setting> setting_from(const char* variable);

/// The options as written, each of its type and in its place; together not yet validate()d.
Result<Options> parse_options(std::string_view json);

/// The checked options of a configuration file whose nodes a comma-separated list of URLs replaces.
/// Either may be missing; without a file everything but the nodes is as in Options().
Result<Options> load_options(const std::optional<Setting>& file,
                             const std::optional<Setting>& nodes);

}  // namespace quorumlock::client
