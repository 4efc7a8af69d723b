#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Writes replies as a Redis server does, and reads those that the simulator has to look at.
namespace quorumlock::sim::resp {

inline constexpr std::string_view nil = "$-1\r\n";

/// Appends a line: the mark of a reply, and a number.
inline void append_line(std::string& out, char mark, std::int64_t number) {
  std::array<char, 24> line;
  line[0] = mark;
  char* end = std::to_chars(line.data() + 1, line.data() + 22, number).ptr;
  *end++ = '\r';
  *end++ = '\n';
  out.append(line.data(), static_cast<std::size_t>(end - line.data()));
}

inline std::string status(std::string_view text) {
  return std::string("+").append(text).append("\r\n");
}
/// Line breaks in the text become spaces, as in Redis: an error is one line.
inline std::string error(std::string_view text) {
  std::string reply = std::string("-").append(text);
  std::ranges::replace_if(
      reply, [](char each) { return each == '\r' || each == '\n'; }, ' ');
  return reply.append("\r\n");
}
inline std::string integer(std::int64_t number) {
  std::string reply;
  append_line(reply, ':', number);
  return reply;
}
inline void append_bulk(std::string& out, std::string_view text) {
  append_line(out, '$', static_cast<std::int64_t>(text.size()));
  out.append(text).append("\r\n");
}
inline std::string bulk(std::string_view text) {
  std::string reply;
  reply.reserve(text.size() + 12);
  append_bulk(reply, text);
  return reply;
}
inline void append_bulk_or_nil(std::string& out, const std::string* text) {
  if (text == nullptr) {
    out.append(nil);
  } else {
    append_bulk(out, *text);
  }
}
inline std::string bulk_or_nil(const std::string* text) {
  return text != nullptr ? bulk(*text) : std::string(nil);
}
/// An array whose elements are these replies.
template <class Replies>
std::string array_of(const Replies& elements) {
  std::size_t size = 12;
  for (const std::string_view element : elements) size += element.size();
  std::string reply;
  reply.reserve(size);
  append_line(reply, '*', static_cast<std::int64_t>(elements.size()));
  for (const std::string_view element : elements) reply.append(element);
  return reply;
}
inline std::string array(const std::vector<std::string>& elements) {
  return array_of(elements);
}
inline std::string array(std::initializer_list<std::string_view> elements) {
  return array_of(elements);
}

inline bool is_error(std::string_view reply) {
  return reply.starts_with('-');
}
/// The text of an integer, status or error: everything between the mark and the end of the line.
inline std::string_view line_of(std::string_view reply) {
  return reply.substr(1, reply.find("\r\n") - 1);
}

/// Takes a line off the front: the number after its mark.
inline std::int64_t take_number(std::string_view& reply) {
  std::int64_t number = 0;
  const char* const end = reply.data() + reply.size();
  const char* const last = std::from_chars(reply.data() + 1, end, number).ptr;
  reply.remove_prefix(static_cast<std::size_t>(last - reply.data()) + 2);
  return number;
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
