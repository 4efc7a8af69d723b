#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <quorumlock/clock.hpp>

namespace quorumlock::chaos {

using Time = Clock::time_point;

/// How a holder's belief in its lease ended.
enum class Ending {
  released,   ///< the worker let the lease go
  detached,   ///< the worker stopped renewing and let the keys expire
  over,       ///< the lease itself reported it: it expired or was lost
  unfinished  ///< the worker was killed, or the history ends here
};

/// One lease as its worker saw it; a lease of several resources is one Holding for each of them.
struct Holding {
  std::string resource;
  std::string owner;
  int worker = 0;
  bool shared = false;  ///< a reader's: others may read at the same time
  int permits = 1;      ///< the number of permits if this is a semaphore
  std::uint64_t token = 0;
  Time asked{};     ///< the time before the call that acquired the lease
  Time begin{};     ///< the time after that call
  Time believed{};  ///< the last look at which is_valid() was true
  Time until{};     ///< the greatest valid_until() that was promised
  Ending ending = Ending::unfinished;
  Time noticed{};                    ///< the first look at which it was over, or when it was let go
  std::optional<Time> told = {};     ///< when stop_token() requested a stop
  Clock::duration longest_gap = {};  ///< between two looks: how long the machine stalled the worker

  /// When the belief ended; for a killed worker, when the promise ended.
  [[nodiscard]] Time end() const;
};

/// One write, in the order of the store's decisions.
struct Write {
  std::string resource;
  std::string owner;
  int worker = 0;
  std::uint64_t token = 0;
  Time at{};
  bool accepted = false;
  std::uint64_t greatest = 0;  ///< the greatest token that the store had seen before
};

/// Whether Redlock has to keep exclusion under this fault.
enum class Assumption { within, beyond };

/// One fault, from the moment before it was made to the moment after it was taken back.
struct FaultSpan {
  std::string name;
  Assumption assumption = Assumption::within;
  bool of_worker = false;  ///< otherwise of a node
  int target = 0;
  Time begin{};
  std::optional<Time> end = {};
  bool stops_worker = false;  ///< SIGSTOP: the worker reports nothing until it ends
  std::string detail = {};
};

/// A key that should have been gone after the run.
struct Orphan {
  int node = 0;
  std::string key;
  long long pttl = 0;
};

/// All that was seen in a run.
struct History {
  std::uint64_t seed = 0;
  int workers = 0;
  int nodes = 0;
  bool fencing_checked = true;
  Time begin{};
  Time end{};
  Clock::duration ttl = {};
  Clock::duration max_ttl = {};
  std::vector<std::string> resources;
  std::vector<Holding> holdings;
  std::vector<Write> writes;
  std::vector<FaultSpan> faults;
  std::vector<Orphan> orphans;

  /// The time from which no more faults are made, and how long each worker may take from then on to
  /// hold a lock again.
  std::optional<Time> healed = {};
  Clock::duration healing_limit = {};
  std::map<int, Time> again = {};  ///< when each worker held a lock after `healed`

  long long refusals = 0;  ///< acquisitions that ended without a lock
  std::vector<std::string> complaints =
      {};  ///< what should not have happened, such as a dead worker
};

}  // namespace quorumlock::chaos
