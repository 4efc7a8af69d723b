#include "turns.hpp"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <sstream>
#include <stdexcept>

#include "waiters.hpp"

namespace quorumlock::bench {
namespace {

Turn turn_of(const std::string& line) {
  std::istringstream words(line);
  std::string kind;
  Turn turn;
  std::int64_t start = 0;
  std::int64_t end = 0;
  words >> kind >> turn.resource >> turn.first >> turn.waiters >> start >> end;
  if (!words || turn.waiters < 1 || (kind != "shared" && kind != "own")) {
    throw std::runtime_error("not a turn: " + line);
  }
  turn.shared = kind == "shared";
  turn.start = Steady::time_point(std::chrono::nanoseconds(start));
  turn.end = Steady::time_point(std::chrono::nanoseconds(end));
  return turn;
}

/// Prints three points in time for each grant of each waiter, in nanoseconds since the turn's
/// start.
void print(const Turn& turn, const Played& played) {
  std::string text = "{\"grants\":[";
  for (const std::vector<Grant>& own : played.grants) {
    text += '[';
    for (const Grant& grant : own) {
      for (const auto time : {grant.called, grant.acquired, grant.releasing}) {
        text += std::to_string((time - turn.start).count());
        text += ',';
      }
    }
    if (text.back() == ',') text.pop_back();
    text += "],";
  }
  text.back() = ']';
  std::printf("%s,\"failed\":%d}\n", text.c_str(), played.failed);
  std::fflush(stdout);
  if (!played.trouble.empty()) std::fprintf(stderr, "%s\n", played.trouble.c_str());
}

}  // namespace

void play_turns(std::vector<std::string> nodes, bool fencing) {
  Waiters waiters(std::move(nodes), fencing);
  for (std::string line; waiters.turn_until_readable(0), std::getline(std::cin, line);) {
    const Turn turn = turn_of(line);
    print(turn, waiters.run(turn));
  }
}

}  // namespace quorumlock::bench
