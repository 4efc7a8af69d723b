#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Writes replies as a Redis server does, and reads back those that the simulator has to look into.
namespace quorumlock::sim::resp {

inline constexpr std::string_view nil = "$-1\r\n";

inline std::string status(std::string_view text) {
  return "+" + std::string(text) + "\r\n";
}
inline std::string error(std::string_view text) {
  return "-" + std::string(text) + "\r\n";
}
inline std::string integer(std::int64_t number) {
  return ":" + std::to_string(number) + "\r\n";
}
inline std::string bulk(std::string_view text) {
  return "$" + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
}
inline std::string bulk_or_nil(const std::string* text) {
  return text != nullptr ? bulk(*text) : std::string(nil);
}
inline std::string array(const std::vector<std::string>& elements) {
  std::string text = "*" + std::to_string(elements.size()) + "\r\n";
  for (const std::string& element : elements) text += element;
  return text;
}

inline bool is_error(std::string_view reply) {
  return reply.starts_with('-');
}
/// The text of an integer, status or error: everything between the mark and the end of the line.
inline std::string_view line_of(std::string_view reply) {
  return reply.substr(1, reply.find("\r\n") - 1);
}

/// Takes a bulk string, or nil, off the front.
inline std::optional<std::string> take_bulk(std::string_view& reply) {
  const int size = std::stoi(std::string(line_of(reply)));
  reply.remove_prefix(reply.find("\r\n") + 2);
  if (size < 0) return std::nullopt;
  std::string text(reply.substr(0, static_cast<std::size_t>(size)));
  reply.remove_prefix(text.size() + 2);
  return text;
}

}  // namespace quorumlock::sim::resp
