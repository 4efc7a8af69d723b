#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "lock/lock.hpp"
#include "lock/owner_token.hpp"

// Builds the words of a command as RESP without an allocation.
namespace quorumlock::redis {

/// The most bytes that a number takes, with its mark and the end of its line.
inline constexpr std::size_t number_room = 24;
/// The most bytes that the name of a waiter takes.
inline constexpr std::size_t waiter_room = 56 + 1 + core::most_label;

inline char* put_number(char* at, char mark, std::size_t number) {
  *at++ = mark;
  if (number < 10) {  // the usual case
    *at++ = static_cast<char>('0' + number);
  } else if (number < 100) {
    *at++ = static_cast<char>('0' + number / 10);
    *at++ = static_cast<char>('0' + number % 10);
  } else {
    at = std::to_chars(at, at + number_room - 3, number).ptr;
  }
  *at++ = '\r';
  *at++ = '\n';
  return at;
}

/// Puts the name of a waiter in a line: the mode that it waits for (w: to write, r: to read), the
/// process (16 digits), a dot and its number there, and then '@' and the label if there is one.
/// Puts nothing for number 0.
inline char* put_waiter(char* at, const core::LinePlace& place) {
  if (place.number == 0) return at;
  *at++ = place.reads ? 'r' : 'w';
  at += place.process.copy(at, 32);
  *at++ = '.';
  at = std::to_chars(at, at + 20, place.number).ptr;
  if (place.label.empty()) return at;
  *at++ = '@';
  return at + place.label.copy(at, core::most_label);
}

/// Writes a command at the end of a string. Makes room in steps; finish() gives back the rest.
class Writer {
 public:
  static constexpr std::size_t usual_room = 512;

  explicit Writer(std::string& out, std::size_t room = usual_room) : out_(out) {
    const std::size_t before = out.size();
    out.resize(before + room);
    at_ = out.data() + before;
    end_ = at_ + room;
  }
  /// Writes the head of a command of `words` words.
  void count(std::size_t words) { at_ = put_number(at_, '*', words); }
  void word(std::string_view text) {
    begin(text.size());
    put(text);
    end();
  }
  /// Writes one word in two parts.
  void word(std::string_view prefix, std::string_view text) {
    begin(prefix.size() + text.size());
    put(prefix);
    put(text);
    end();
  }
  void number(std::int64_t number);
  /// Appends words that are already in RESP.
  void written(std::string_view words) {
    if (static_cast<std::size_t>(end_ - at_) < words.size()) grow(words.size());
    at_ += words.copy(at_, words.size());
  }
  void finish() { out_.resize(static_cast<std::size_t>(at_ - out_.data())); }

 private:
  void begin(std::size_t size) {
    if (static_cast<std::size_t>(end_ - at_) < size + 2 * number_room) grow(size);
    at_ = put_number(at_, '$', size);
  }
  void put(std::string_view text) {
    if (!text.empty()) std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }
  void end() {
    std::memcpy(at_, "\r\n", 2);
    at_ += 2;
  }
  void grow(std::size_t size);

  std::string& out_;
  char* at_;
  char* end_;
};

/// Appends one command: the bytes of redisFormatCommandArgv, without its allocation.
void append_command(std::string& out, std::span<const std::string_view> words);
inline void append_command(std::string& out, std::initializer_list<std::string_view> words) {
  append_command(out, std::span(words.begin(), words.size()));
}
/// Appends the head of a command of `words` words.
void append_count(std::string& out, std::size_t words);
/// Appends one word of a command.
void append_word(std::string& out, std::string_view word);
void append_number(std::string& out, std::int64_t number);

}  // namespace quorumlock::redis
