#include "wire/words.hpp"

#include <algorithm>

namespace quorumlock::redis {

void Writer::number(std::int64_t number) {
  if (number >= 0 && number < 10) return word({&"0123456789"[number], 1});
  std::array<char, number_room> digits;
  const char* end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  word(std::string_view(digits.data(), end));
}

void Writer::grow(std::size_t size) {
  const auto written = static_cast<std::size_t>(at_ - out_.data());
  out_.resize(written + std::max(size + 2 * number_room, usual_room));
  at_ = out_.data() + written;
  end_ = out_.data() + out_.size();
}

void append_command(std::string& out, std::span<const std::string_view> words) {
  Writer writer(out);
  writer.count(words.size());
  for (const std::string_view word : words) writer.word(word);
  writer.finish();
}

void append_count(std::string& out, std::size_t words) {
  std::array<char, number_room> head;
  out.append(head.data(), put_number(head.data(), '*', words));
}

void append_word(std::string& out, std::string_view word) {
  std::array<char, number_room> head;
  out.append(head.data(), put_number(head.data(), '$', word.size()));
  out.append(word).append("\r\n");
}

void append_number(std::string& out, std::int64_t number) {
  std::array<char, number_room> digits;
  const char* end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  append_word(out, std::string_view(digits.data(), end));
}

}  // namespace quorumlock::redis
