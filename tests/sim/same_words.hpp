#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sim/resp.hpp"
#include "support/redis.hpp"

// Compares replies that servers other than Redis 7.0 word differently.
namespace quorumlock::sim {

/// Whether both are errors with the same code. Servers other than Redis 7.0 have other words after
/// the code, which are for people only, and a server that refuses to write for two reasons may name
/// either.
inline bool same_code(std::string_view one, std::string_view other) {
  const auto code = [](std::string_view text) {
    const std::string_view first = text.substr(0, text.find(' '));
    return first == "-OOM" || first == "-READONLY" ? "-MISCONF" : first;
  };
  return one.starts_with('-') && code(one) == code(other);
}

/// Whether both are texts of the same long number. Valkey 9 writes a score of 2^63 and more as a
/// whole number of fewer digits, and other servers write it with an exponent.
inline bool same_score(const test::Reply& one, std::string_view other) {
  const std::optional<std::string> text = resp::take_bulk(other);
  const auto is_number = [](std::string_view digits) {
    return digits.size() > 15 && digits.find_first_not_of("0123456789.e+") == digits.npos;
  };
  return one.type == test::Reply::Type::string && text && is_number(one.text) && is_number(*text) &&
         std::stod(one.text) == std::stod(*text);
}

}  // namespace quorumlock::sim
