#pragma once

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include <quorumlock/event.hpp>

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

/// "standalone" or "cluster" in an INFO reply; empty if there is neither. Valkey 8 has another name
/// for it than Redis.
inline std::string_view mode_of(std::string_view info) {
  const std::string_view valkey = info_field(info, "server_mode");
  return valkey.empty() ? info_field(info, "redis_mode") : valkey;
}

/// Whether this version, a result of version_of(), is older than Redis 7.0 or Valkey 7.2: the
/// library's scripts and users are not tested on older servers. Returns false if the text is not a
/// version.
inline bool is_too_old(std::string_view version) {
  const bool valkey = version.starts_with("valkey ");
  if (valkey) version.remove_prefix(version.find(' ') + 1);
  int major = 0, minor = 0;
  const char* const end = version.data() + version.size();
  const auto [dot, error] = std::from_chars(version.data(), end, major);
  if (error != std::errc() || dot == end || *dot != '.') return false;
  if (std::from_chars(dot + 1, end, minor).ec != std::errc()) return false;
  return major < 7 || (valkey && major == 7 && minor < 2);
}

/// Returns a clause about a server whose version is too old.
inline std::string too_old(std::string_view version) {
  return "is " + std::string(version.starts_with("valkey") ? "" : "Redis ") +
         printable(version, 64) +
         ", which is too old: Redis 7.0 and Valkey 7.2 are the oldest that may vote";
}

}  // namespace quorumlock::redis
