#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string_view>
#include <unordered_map>

#include "verbs/scripts.hpp"

namespace quorumlock::test {

/// The library's script with this name or source, as in script_by(&Script::name, "acquire"); null
/// if there is none.
inline const redis::Script* script_by(std::string_view redis::Script::*what,
                                      std::string_view text) {
  const auto* const found = std::ranges::find_if(
      redis::all_scripts, [&](const redis::Script* each) { return each->*what == text; });
  return found != std::end(redis::all_scripts) ? *found : nullptr;
}

/// Hashes a SHA-1 by taking a part of it.
struct FirstDigits {
  std::size_t operator()(std::string_view sha1) const {
    std::size_t digits = 0;
    std::memcpy(&digits, sha1.data(), std::min(sizeof digits, sha1.size()));
    return digits;
  }
};

/// Returns the library's script with this hash, or null. The simulator looks it up for each
/// command.
inline const redis::Script* script_by_sha1(std::string_view sha1) {
  static const auto scripts = [] {
    std::unordered_map<std::string_view, const redis::Script*, FirstDigits> all;
    for (const redis::Script* each : redis::all_scripts) all.emplace(each->sha1, each);
    return all;
  }();
  const auto found = scripts.find(sha1);
  return found != scripts.end() ? found->second : nullptr;
}

/// The name of the script with this source; the source itself if it is not a script of the library.
inline std::string_view script_name(std::string_view source) {
  const redis::Script* const script = script_by(&redis::Script::source, source);
  return script == nullptr ? source : script->name;
}

}  // namespace quorumlock::test
