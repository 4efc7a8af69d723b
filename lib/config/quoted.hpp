#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <quorumlock/event.hpp>

namespace quorumlock::detail {

/// The user's own text in quotes, for an error: printable, and cut if it is long.
inline std::string quoted(std::string_view text) {
  constexpr std::size_t longest = 100;
  return '"' + printable(text, longest) + '"';
}

/// Joins the names of one or more resources. The caller's sentence adds the outer quotes.
inline std::string names_of(std::string_view first, const std::vector<std::string>& others,
                            std::string_view between = "\", \"") {
  std::string names(first);
  for (const std::string& other : others) names.append(between).append(other);
  return names;
}

/// The same as quoted(), but hidden if the text could be a URL with a password in the wrong place.
inline std::string quoted_unless_secret(std::string_view text) {
  const bool credentials = text.find('@') != text.npos && text.find(':') != text.npos;
  return credentials || text.find("://") != text.npos ? "\"***\"" : quoted(text);
}

}  // namespace quorumlock::detail
