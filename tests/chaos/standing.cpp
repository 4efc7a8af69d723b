#include "chaos/standing.hpp"

#include <charconv>

namespace quorumlock::chaos {

std::optional<long long> steps_made(std::string_view record, std::string_view run_id) {
  if (run_id.empty() || !record.starts_with(run_id)) return std::nullopt;
  const std::string_view rest = record.substr(run_id.size());
  if (!rest.starts_with(':') && !rest.starts_with('+')) return std::nullopt;
  // The record is run:terms#founding.epoch, a letter for the phase, and what does not matter here.
  const std::size_t mark = record.find('#');
  const std::size_t dot = record.find('.', mark == record.npos ? record.size() : mark);
  if (dot == record.npos) return std::nullopt;
  long long epoch = 0;
  const char* const end = record.data() + record.size();
  const auto [phase, error] = std::from_chars(record.data() + dot + 1, end, epoch);
  if (error != std::errc() || phase == end) return std::nullopt;
  // The commit raises the epoch, and the list of that epoch is settled and left after it.
  const std::size_t step = std::string_view("usa").find(*phase);
  if (step == std::string_view::npos) return std::nullopt;
  return 3 * epoch + static_cast<long long>(step);
}

std::string field_of(std::string_view info, std::string_view name) {
  const std::string begin = std::string(name) + ':';
  const std::size_t found = info.find(begin);
  if (found == info.npos) return "";
  const std::size_t at = found + begin.size();
  return std::string(info.substr(at, info.find_first_of("\r\n", at) - at));
}

}  // namespace quorumlock::chaos
