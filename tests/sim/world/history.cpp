#include "sim/world/history.hpp"

namespace quorumlock::sim {

void History::report(const std::string& sentence) {
  write("VIOLATION ", sentence);
  if (!sought.is(sentence)) return;
  if (violation_.empty()) {
    const double seconds = static_cast<double>(agenda_.now().count()) / 1e9;
    violation_ = sentence + ", at " + std::to_string(seconds) + " s";
  }
  agenda_.stop();
}

}  // namespace quorumlock::sim
