#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace quorumlock::detail {

/// The text with a question mark in place of each control character.
inline std::string on_one_line(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return text;
}

/// The user's own text in quotes, for an error: on one line, and cut if it is long.
inline std::string quoted(std::string_view text) {
  constexpr std::size_t longest = 100;
  std::string_view front = text.substr(0, longest);
  if (front.size() < text.size()) {
    // Do not cut inside a UTF-8 sequence: its second and later bytes are 10xxxxxx.
    while (!front.empty() && (text[front.size()] & 0xC0) == 0x80) front.remove_suffix(1);
  }
  return '"' + on_one_line(std::string(front)) + (front.size() < text.size() ? "...\"" : "\"");
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
