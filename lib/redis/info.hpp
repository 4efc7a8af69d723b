#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace quorumlock::redis {

/// The value after "name:" at the start of a line of an INFO reply; empty if there is none.
inline std::string_view info_field(std::string_view info, std::string_view name) {
  while (!info.empty()) {
    const std::size_t end = std::min(info.find('\n'), info.size());
    std::string_view line = info.substr(0, end);
    info.remove_prefix(std::min(end + 1, info.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.starts_with(name) && line.substr(name.size()).starts_with(':')) {
      return line.substr(name.size() + 1);
    }
  }
  return {};
}

/// The version in an INFO reply: "7.0.15", or "valkey 8.0.1", since Valkey's redis_version only
/// names the Redis that it is compatible with. Empty if there is none.
inline std::string version_of(std::string_view info) {
  const std::string_view valkey = info_field(info, "valkey_version");
  if (!valkey.empty()) return "valkey " + std::string(valkey);
  return std::string(info_field(info, "redis_version"));
}

}  // namespace quorumlock::redis
