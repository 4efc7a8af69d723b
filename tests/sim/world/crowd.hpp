#pragma once

#include <string>

#include "sim/world/machine.hpp"

namespace quorumlock::sim {

/// Checks that every lock that is free and wanted is had within a bound: many wait for locks that
/// one client gives back all at once, and the nodes are so slow that what all of them want takes
/// many times node_timeout.
class Crowd : Machine {
 public:
  using Machine::Machine;
  void demand();

 private:
  std::size_t ask(Client& client, const std::string& key, core::Duration ttl, core::Duration wait);
  [[nodiscard]] TrueTime bound() const;
};

}  // namespace quorumlock::sim
