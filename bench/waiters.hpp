#pragma once

#include <quorumlock/quorumlock.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "contender.hpp"

namespace quorumlock::bench {

using Steady = std::chrono::steady_clock;  // CLOCK_MONOTONIC, which all processes share

/// One acquisition of one waiter.
struct Grant {
  Steady::time_point called;     ///< time of the call
  Steady::time_point acquired;   ///< time of the result
  Steady::time_point releasing;  ///< time of the release, before its first byte
};

/// Waiters between two points in time: each acquires and releases at once, again and again.
struct Turn {
  std::string resource;
  bool shared = true;  ///< all want that resource; else each its own, named after it
  int first = 0;       ///< the number of the first waiter, which names its own resource
  int waiters = 1;
  Steady::time_point start;
  Steady::time_point end;
};

/// The results of a turn.
struct Played {
  std::vector<std::vector<Grant>> grants;  ///< each waiter's, in order
  int failed = 0;                          ///< waits and releases that failed
  std::string trouble;                     ///< the last failure, as a sentence
};

/// Waiters that share one coordinator, attached to a loop that runs in the calling thread.
class Waiters {
 public:
  Waiters(std::vector<std::string> nodes, bool fencing);
  ~Waiters();
  Waiters(const Waiters&) = delete;
  Waiters& operator=(const Waiters&) = delete;

  /// Plays a turn. Waits that are not over at its end are cancelled.
  Played run(const Turn& turn);
  /// Turns the loop until the descriptor is readable or at its end.
  void turn_until_readable(int descriptor);

 private:
  void begin(std::size_t waiter);
  void granted(std::size_t waiter, Result<Lease> lease);
  void failed(const Error& error);
  /// Turns the loop until this time.
  void turn_until(Steady::time_point then);

  Loop loop_;
  Coordinator coordinator_;
  uv_timer_t timer_{};
  // The following belong to the current turn.
  std::vector<std::string> resources_;
  std::vector<Lease> leases_;
  Played played_;
  std::stop_source stop_;
  int busy_ = 0;
};

}  // namespace quorumlock::bench
