#pragma once

#include <algorithm>
#include <string_view>

namespace quorumlock::redis {

/// The value behind "name:" on a line of its own in an INFO reply; empty if there is none.
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

}  // namespace quorumlock::redis
