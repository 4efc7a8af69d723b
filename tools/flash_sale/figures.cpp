#include "figures.hpp"

#include <algorithm>
#include <chrono>
#include <iomanip>
#include <sstream>

namespace flash_sale {

Figures::Figures(std::vector<Duration> durations) : sorted_(std::move(durations)) {
  std::sort(sorted_.begin(), sorted_.end());
}

Duration Figures::percentile(int percent) const {
  if (sorted_.empty()) return Duration::zero();
  const std::size_t rank = (sorted_.size() * static_cast<std::size_t>(percent) + 99) / 100;
  return sorted_[std::max<std::size_t>(rank, 1) - 1];
}

std::string Figures::spread() const {
  return "min " + to_text(percentile(0)) + ", median " + to_text(percentile(50)) + ", max " +
         to_text(percentile(100));
}

std::string Figures::tail() const {
  return "p50 " + to_text(percentile(50)) + ", p99 " + to_text(percentile(99));
}

std::string to_text(Duration duration) {
  const double ms = std::chrono::duration<double, std::milli>(duration).count();
  std::ostringstream out;
  out << std::fixed;
  if (ms >= 1000) {
    out << std::setprecision(2) << ms / 1000 << " s";
  } else {
    out << std::setprecision(ms >= 10 ? 0 : 2) << ms << " ms";
  }
  return out.str();
}

std::string counted(int count, const std::string& thing) {
  return std::to_string(count) + ' ' + thing + (count == 1 ? "" : "s");
}

}  // namespace flash_sale
