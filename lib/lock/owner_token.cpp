#include "lock/owner_token.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>

namespace quorumlock::core {
namespace {

constexpr std::size_t digits_of_a_token = 40;

bool is_printable(char letter) {
  return letter > ' ' && letter <= '~';
}

}  // namespace

std::string label_from(std::string_view text) {
  std::string label(text.substr(0, most_label));
  std::ranges::replace_if(
      label, [](char letter) { return !is_printable(letter) || letter == '@'; }, '_');
  return label;
}

TokenMaker::TokenMaker(std::string_view label, Random& random)
    : random_(random), token_(digits_of_a_token, '0') {
  if (!label.empty()) token_.append("@").append(label);
}

// Makes eight digits at a time, with half a byte in each of the eight bytes of a word.
std::string_view TokenMaker::draw() {
  std::array<std::uint32_t, digits_of_a_token / 8> words;
  random_.fill(std::as_writable_bytes(std::span(words)));
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::uint64_t halves = words[i];
    halves = (halves | halves << 16U) & 0x0000ffff0000ffffU;
    halves = (halves | halves << 8U) & 0x00ff00ff00ff00ffU;
    halves = (halves | halves << 4U) & 0x0f0f0f0f0f0f0f0fU;
    const std::uint64_t letters = (halves + 0x0606060606060606U) >> 4U & 0x0101010101010101U;
    const std::uint64_t digits = halves + 0x3030303030303030U + letters * ('a' - '0' - 10);
    std::memcpy(token_.data() + 8 * i, &digits, sizeof digits);
  }
  return token_;
}

std::string draw_process(Random& random) {
  constexpr char digits[] = "0123456789abcdef";
  std::array<std::byte, 8> bytes;
  random.fill(bytes);
  std::string name;
  for (const std::byte byte : bytes) {
    name += digits[std::to_integer<unsigned>(byte) >> 4U];
    name += digits[std::to_integer<unsigned>(byte) & 15U];
  }
  return name;
}

TokenParts TokenParts::read(std::string_view token) {
  const std::string_view digits = token.substr(0, digits_of_a_token);
  const std::string_view rest = token.substr(digits.size());
  if (digits.size() < digits_of_a_token || (!rest.empty() && rest[0] != '@')) return {};
  if (digits.find_first_not_of("0123456789abcdef") != digits.npos) return {};
  return {digits, rest.empty() ? rest : rest.substr(1)};
}

std::string waiters_label(std::string_view name) {
  const auto at = name.find('@');
  return at == name.npos ? std::string() : label_from(name.substr(at + 1));
}

std::string describe_kind(std::string_view words) {
  const std::string_view kind = words.substr(0, words.find(' '));
  const std::string_view length = words.substr(std::min(kind.size() + 1, words.size()));
  const auto consists_of = [](std::string_view text, std::string_view letters) {
    return !text.empty() && text.size() <= 20 && text.find_first_not_of(letters) == text.npos;
  };
  if (!consists_of(kind, "abcdefghijklmnopqrstuvwxyz")) return {};
  std::string said = " (a " + std::string(kind);
  if (consists_of(length, "0123456789")) said.append(" of ").append(length).append(" bytes");
  return said + ')';
}

std::string describe_holder(std::string_view token) {
  const TokenParts owner = TokenParts::read(token);
  if (!owner.label.empty()) return label_from(owner.label);
  if (!owner.digits.empty()) return "the token " + std::string(owner.digits.substr(0, 8)) + "...";
  return "another program's value" + describe_kind(token);
}

}  // namespace quorumlock::core
