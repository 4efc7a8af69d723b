#pragma once

#include <vector>

#include "sim/world/machine.hpp"

namespace quorumlock::sim {

/// Checks the promises of a semaphore to its users when nothing goes wrong.
class Permits : Machine {
 public:
  using Machine::Machine;
  /// Checks that requests without a wait find each of the permits, and then none; and that as many
  /// waiters as there are permits all get one when all are given back at once.
  void demand();

 private:
  std::vector<std::size_t> ask(int count, core::Duration wait);
};

}  // namespace quorumlock::sim
