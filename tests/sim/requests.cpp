#include "sim/requests.hpp"

#include <charconv>
#include <optional>
#include <stdexcept>
#include <utility>

namespace quorumlock::sim {
namespace {

/// Takes a line "<mark><number>\r\n" off the front; nothing if it has not all arrived.
std::optional<std::size_t> take_number(std::string_view& bytes, char mark) {
  const std::size_t end = bytes.find("\r\n");
  if (end == bytes.npos) return std::nullopt;
  std::size_t number = 0;
  const char* const last = bytes.data() + end;
  if (bytes[0] != mark || std::from_chars(bytes.data() + 1, last, number).ptr != last) {
    throw std::runtime_error("a client sent what is no command: " + std::string(bytes));
  }
  bytes.remove_prefix(end + 2);
  return number;
}

}  // namespace

void Requests::feed(std::string_view bytes) {
  unread_ += bytes;
  std::string_view rest = unread_;
  while (take_one(rest)) {
  }
  unread_.erase(0, unread_.size() - rest.size());
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
