#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

// Numbers in texts, such as those that servers send.
namespace quorumlock::redis {

/// The number that is all of this text; unset if the text is anything else.
template <class Number>
std::optional<Number> whole_number(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

/// A score of a sorted set, which is written like a double, rounded down; zero if it is not a
/// positive number below 2^53.
inline std::int64_t score_in(std::string_view text) {
  const double score = whole_number<double>(text).value_or(0);
  return score > 0 && score < 0x1p53 ? static_cast<std::int64_t>(score) : 0;
}

/// How far a fencing counter may be ahead of a node's clock: see acquire.lua.
inline constexpr std::uint64_t counter_ahead_us = 60'000'000;

/// A fencing counter; unset if the text is not a whole number below 2^53, so that no script of ours
/// can have written it: see part/counter.lua.
inline std::optional<std::uint64_t> counter_in(std::string_view text) {
  const auto number = whole_number<std::uint64_t>(text);
  return number && *number < std::uint64_t{1} << 53U ? number : std::nullopt;
}

/// A server's time in us since 1970, by the two numbers of its reply to TIME; unset if they are not
/// a time, or if its seconds are not below 2^52 us.
inline std::optional<std::int64_t> time_in(std::string_view seconds, std::string_view us) {
  constexpr std::uint64_t most = (std::uint64_t{1} << 52U) / 1'000'000;
  const auto whole = whole_number<std::uint64_t>(seconds);
  const auto rest = whole_number<std::uint64_t>(us);
  if (!whole || !rest || *whole >= most || *rest > 999'999) return std::nullopt;
  return static_cast<std::int64_t>(*whole * 1'000'000 + *rest);
}

}  // namespace quorumlock::redis
