#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "chaos/fault.hpp"
#include "chaos/history.hpp"
#include "flash_sale/interruption.hpp"

namespace quorumlock::chaos {

struct RunSettings {
  /// How long faults are made; healing takes additional time. A run that has to fail ends as soon
  /// as it has failed, and makes faults for this long at most.
  std::chrono::seconds faults_for{30};
  std::uint64_t seed = 1;
  int workers = 6;
  int nodes = 5;
  int spares = 2;  ///< servers that may replace nodes
  int resources = 3;
  /// If not zero, there are no faults: this many times the list grows by all spare servers and
  /// shrinks again, each time with a rolling deployment of all workers.
  int redeploys = 0;
  bool fencing_check = true;
  bool no_quarantine = false;  ///< see Nodes::give_records_back()
  bool alone = false;          ///< see WorkerSettings
  bool verbose = false;
};

/// One run: starts everything, breaks and heals, ends everything. Throws flash_sale::Interrupted if
/// a signal comes; nothing is left over then either.
History run(const RunSettings& settings, const Faults& faults,
            const flash_sale::Interruption& interruption);

}  // namespace quorumlock::chaos
