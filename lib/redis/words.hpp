#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>

// Builds the words of a command without an allocation.
namespace quorumlock::redis {

/// The most bytes that a number takes, with its mark and the end of its line.
constexpr std::size_t number_room = 24;

inline char* put_number(char* at, char mark, std::size_t number) {
  *at++ = mark;
  if (number < 10) {  // as nearly all are
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

/// A number as decimal digits.
class Number {
 public:
  explicit Number(std::int64_t value)
      : size_(static_cast<std::size_t>(
            std::to_chars(digits_.data(), digits_.data() + digits_.size(), value).ptr -
            digits_.data())) {}
  operator std::string_view() const { return {digits_.data(), size_}; }

 private:
  std::array<char, 24> digits_;
  std::size_t size_;
};

/// The name of one of our waiters in a line: the mode that it waits for (w: to write, r: to read),
/// the process (16 digits), a dot and its number there. Empty for none.
class WaiterName {
 public:
  WaiterName(bool reads, std::string_view process, std::uint64_t number) {
    if (number == 0) return;
    text_[0] = reads ? 'r' : 'w';
    char* at = std::ranges::copy(process.substr(0, 32), text_.data() + 1).out;
    *at++ = '.';
    at = std::to_chars(at, text_.data() + text_.size(), number).ptr;
    size_ = static_cast<std::size_t>(at - text_.data());
  }
  operator std::string_view() const { return {text_.data(), size_}; }

 private:
  std::array<char, 56> text_;
  std::size_t size_ = 0;
};

}  // namespace quorumlock::redis
