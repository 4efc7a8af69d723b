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
  released,   ///< it let go
  detached,   ///< it stopped renewing and let the keys run out
  over,       ///< the lease itself said so: it ran out or was lost
  unfinished  ///< the worker was killed, or the history ends here
};

/// One lease, as the worker that had it saw it; one of several resources is one for each of them.
struct Holding {
  std::string resource;
  std::string owner;
  int worker = 0;
  bool shared = false;  ///< a reader's: others may read at the same time
  int permits = 1;      ///< of a semaphore: so many may hold one at the same time
  std::uint64_t token = 0;
  Time asked{};     ///< before the call that acquired it
  Time begin{};     ///< after it
  Time believed{};  ///< the last look at which is_valid() was true
  Time until{};     ///< the greatest valid_until() that it was promised
  Ending ending = Ending::unfinished;
  Time noticed{};                    ///< the first look at which it was over, or the letting go
  std::optional<Time> told = {};     ///< stop_token() requested to stop
  Clock::duration longest_gap = {};  ///< between two looks: how long the machine kept it waiting

  /// When the belief ended: for one who was killed, when the promise did.
  [[nodiscard]] Time end() const;
};

/// One write, in the order in which the store decided.
struct Write {
  std::string resource;
  std::string owner;
  int worker = 0;
  std::uint64_t token = 0;
  Time at{};
  bool accepted = false;
  std::uint64_t greatest = 0;  ///< the greatest token that the store had seen before
};

/// Whether Redlock is to keep exclusion under this fault.
enum class Assumption { within, beyond };

/// One fault, from the moment before it was made to the moment after it was taken back.
struct FaultSpan {
  std::string name;
  Assumption assumption = Assumption::within;
  bool of_worker = false;  ///< else of a node
  int target = 0;
  Time begin{};
  std::optional<Time> end = {};
  bool stops_worker = false;  ///< SIGSTOP: nothing is told until it ends
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

  /// Since when no fault is made any more, and how long each worker may take from then on to hold
  /// a lock again.
  std::optional<Time> healed = {};
  Clock::duration healing_limit = {};
  std::map<int, Time> again = {};  ///< when each worker held a lock after that

  long long refusals = 0;  ///< acquisitions that ended without a lock
  std::vector<std::string> complaints =
      {};  ///< what should not have happened, such as a dead worker
};

}  // namespace quorumlock::chaos
