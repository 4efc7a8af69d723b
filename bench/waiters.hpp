#pragma once

#include <quorumlock/quorumlock.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "contender.hpp"

namespace quorumlock::bench {

using Steady = std::chrono::steady_clock;  // CLOCK_MONOTONIC, which all processes share

/// One lock that one waiter had.
struct Grant {
  Steady::time_point called;     ///< when it asked
  Steady::time_point acquired;   ///< when it was told
  Steady::time_point releasing;  ///< when it gave it back, before the first byte of that
};

/// So many waiters between two points in time: each acquires, does nothing, releases, and again.
struct Turn {
  std::string resource;
  bool shared = true;  ///< all of them that resource; else each one of its own, named after it
  int first = 0;       ///< the number of the first waiter, which names its own resource
  int waiters = 1;
  Steady::time_point start;
  Steady::time_point end;
};

/// What came of a turn.
struct Played {
  std::vector<std::vector<Grant>> grants;  ///< of each waiter, in their order
  int failed = 0;                          ///< waits and releases that ended in an error
  std::string trouble;                     ///< the last of these, as a sentence
};

/// Waiters that share one coordinator, attached to a loop that turns in the calling thread.
class Waiters {
 public:
  Waiters(std::vector<std::string> nodes, bool fencing);
  ~Waiters();
  Waiters(const Waiters&) = delete;
  Waiters& operator=(const Waiters&) = delete;

  /// Waits that are not over at the end are cancelled.
  Played run(const Turn& turn);
  /// Turns the loop until there is something to read there, or its end.
  void turn_until_readable(int descriptor);

 private:
  void begin(std::size_t waiter);
  void granted(std::size_t waiter, Result<Lease> lease);
  void failed(const Error& error);
  /// Turns the loop until then.
  void turn_until(Steady::time_point then);

  Loop loop_;
  Coordinator coordinator_;
  uv_timer_t timer_{};
  // Of the turn that runs.
  std::vector<std::string> resources_;
  std::vector<Lease> leases_;
  Played played_;
  std::stop_source stop_;
  int busy_ = 0;
};

}  // namespace quorumlock::bench
