#include "sim/requests.hpp"

#include <optional>
#include <stdexcept>
#include <utility>

namespace quorumlock::sim {
namespace {

constexpr std::size_t most_digits = 18;

/// Takes a line "<mark><number>\r\n" off the front. Returns nothing if the line has not arrived
/// completely.
std::optional<std::size_t> take_number(std::string_view& bytes, char mark) {
  std::size_t number = 0;
  std::size_t end = 1;
  for (; end < bytes.size() && bytes[end] >= '0' && bytes[end] <= '9'; ++end) {
    number = number * 10 + static_cast<std::size_t>(bytes[end] - '0');
  }
  const bool is_number = end > 1 && end <= most_digits && bytes[0] == mark;
  const bool ends = end + 1 < bytes.size() && bytes[end] == '\r' && bytes[end + 1] == '\n';
  if (!is_number || !ends) {
    const std::size_t line = bytes.find('\r');
    if (line == bytes.npos || line + 1 == bytes.size()) return std::nullopt;
    throw std::runtime_error("a client sent what is no command: " + std::string(bytes));
  }
  bytes.remove_prefix(end + 2);
  return number;
}

}  // namespace

void Requests::feed(std::string_view bytes) {
  const bool begins = unread_.empty();
  if (!begins) unread_ += bytes;
  std::string_view rest = begins ? bytes : unread_;
  while (take_one(rest)) {
  }
  if (begins) {
    unread_ = rest;
  } else {
    unread_.erase(0, unread_.size() - rest.size());
  }
}

bool Requests::take_one(std::string_view& bytes) {
  std::string_view rest = bytes;
  const auto count = take_number(rest, '*');
  if (!count) return false;
  Words words;
  words.reserve(*count);
  while (words.size() < *count) {
    const auto size = take_number(rest, '$');
    if (!size || rest.size() < *size + 2) return false;
    words.emplace_back(rest.substr(0, *size));
    rest.remove_prefix(*size + 2);
  }
  bytes = rest;
  if (!words.empty()) whole_.push_back(std::move(words));
  return true;
}

Words Requests::take() {
  Words words = std::move(whole_.front());
  whole_.pop_front();
  return words;
}

}  // namespace quorumlock::sim
