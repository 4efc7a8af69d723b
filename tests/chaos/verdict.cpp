#include "chaos/verdict.hpp"

#include <algorithm>
#include <cstdio>

namespace quorumlock::chaos {
namespace {

std::string counted(std::size_t number, const std::string& what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

double seconds(Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

std::string seconds_into(const History& history, Time time) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f s", seconds(time - history.begin));
  return text;
}

double demanded_seconds(const History& history) {
  Clock::duration left = history.end - history.begin;
  for (const Span& span : excused(history)) {
    left -= std::min(span.end, history.end) - std::min(span.begin, history.end);
  }
  return seconds(left);
}

std::string verdict(const History& history, const std::vector<Violation>& violations) {
  const auto refused =
      std::ranges::count_if(history.writes, [](const Write& write) { return !write.accepted; });
  const std::string run =
      counted(static_cast<std::size_t>(seconds(history.end - history.begin)), "second") + ", " +
      counted(history.faults.size(), "fault") + " on " +
      counted(static_cast<std::size_t>(history.nodes), "server") + " and " +
      counted(static_cast<std::size_t>(history.workers), "worker") + ", " +
      counted(history.holdings.size(), "lock") + " taken and " +
      counted(history.writes.size(), "write") + " made under them";
  if (violations.empty()) {
    return "HELD: " + run + ": no lock had two holders at a time while the faults were such as " +
           "Redlock must stand, and none of the " +
           counted(static_cast<std::size_t>(refused), "late write") + " got past the store.";
  }
  std::vector<std::string> broken;
  for (const Violation& each : violations) {
    const std::string name = "\"" + std::string(name_of(each.promise)) + "\"";
    if (std::ranges::find(broken, name) == broken.end()) broken.push_back(name);
  }
  std::string names;
  for (const std::string& name : broken) names += (names.empty() ? "" : ", ") + name;
  return "FAILED: " + counted(violations.size(), "violation") + " of " + names + " in " + run +
         (history.fencing_checked ? "."
                                  : "; the store did not check fencing tokens, as it was asked.");
}

}  // namespace quorumlock::chaos
