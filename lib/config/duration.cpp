#include <quorumlock/options.hpp>

#include <charconv>
#include <cstdint>
#include <limits>
#include <utility>

#include <quorumlock/clock.hpp>

#include "config/quoted.hpp"

namespace quorumlock {
namespace {

using Nanoseconds = std::chrono::nanoseconds;

constexpr std::pair<std::string_view, std::int64_t> units[] = {
    {"d", 86'400'000'000'000}, {"h", 3'600'000'000'000}, {"m", 60'000'000'000},
    {"s", 1'000'000'000},      {"ms", 1'000'000},        {"us", 1'000},
};

Error refused_duration(std::string_view name, std::string_view text, std::string_view right) {
  return {Errc::invalid_argument, std::string(name) + " is " + detail::quoted_unless_secret(text) +
                                      ": it must be " + std::string(right)};
}

constexpr std::string_view form =
    "a whole number with a unit (us, ms, s, m, h, d), such as \"10s\" or \"1500ms\"";

}  // namespace

Result<Nanoseconds> parse_duration(std::string_view name, std::string_view text) {
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc::invalid_argument) return refused_duration(name, text, form);
  const std::string_view unit = text.substr(static_cast<std::size_t>(stop - text.data()));
  for (const auto& [symbol, size] : units) {
    if (unit != symbol) continue;
    const std::int64_t most = std::numeric_limits<std::int64_t>::max() / size;
    if (error != std::errc() || number > static_cast<std::uint64_t>(most)) {
      return refused_duration(name, text, "at most " + std::to_string(most) + std::string(symbol));
    }
    return Nanoseconds(static_cast<std::int64_t>(number) * size);
  }
  return refused_duration(name, text, form);
}

Result<Nanoseconds> parse_wait(std::string_view name, std::string_view text) {
  if (text == "forever") return forever;
  Result<Nanoseconds> parsed = parse_duration(name, text);
  if (parsed) return parsed;
  return Error(Errc::invalid_argument, std::string(parsed.error().what()) + ", or \"forever\"");
}

std::string to_text(Nanoseconds duration) {
  if (duration == forever) return "forever";
  if (duration == Nanoseconds::zero()) return "0s";
  for (const auto& [symbol, size] : units) {
    if (duration.count() % size == 0) {
      return std::to_string(duration.count() / size) + std::string(symbol);
    }
  }
  return std::to_string(duration.count()) + "ns";
}

}  // namespace quorumlock
