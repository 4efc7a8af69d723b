#pragma once

#include <string_view>

namespace quorumlock::sim {

/// Matches the Redis patterns that the library writes: *, ?, and \ before a literal character. Sets
/// in brackets are not supported.
inline bool glob_match(std::string_view pattern, std::string_view text) {
  while (!pattern.empty()) {
    char wanted = pattern.front();
    if (wanted == '*') {
      for (std::size_t skipped = 0; skipped <= text.size(); ++skipped) {
        if (glob_match(pattern.substr(1), text.substr(skipped))) return true;
      }
      return false;
    }
    const bool any = wanted == '?';
    if (wanted == '\\' && pattern.size() > 1) {
      pattern.remove_prefix(1);
      wanted = pattern.front();
    }
    if (text.empty() || (!any && text.front() != wanted)) return false;
    pattern.remove_prefix(1);
    text.remove_prefix(1);
  }
  return text.empty();
}

}  // namespace quorumlock::sim
