#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "lock/engine.hpp"
#include "sim/wall_clock.hpp"
#include "verbs/keys.hpp"

namespace quorumlock::sim {

/// One acquisition by a client of the simulation, and its lease.
struct Operation {
  std::size_t number = 0;
  std::size_t client = 0;
  std::size_t life = 0;  ///< the client's life: each crash begins another
  std::string key;
  std::vector<std::string> others;  ///< the other keys of a request for several
  core::Terms terms;
  core::Time requested{};
  core::Duration wait{};
  core::WaiterId waiter;
  core::ClaimId claim;
  std::string token;
  std::uint64_t fence = 0;
  core::Time acquired{};   ///< on the client's clock
  core::Time deadline{};   ///< on the client's clock
  TrueTime valid_until{};  ///< `deadline` in true time
  TrueTime began{};        ///< when the attempt that won the lease began
  TrueTime won{};
  int answers = 0;
  bool held = false;
  bool told = false;
  bool detached = false;
  bool dead = false;       ///< its client has crashed
  bool shared = false;     ///< for reading, from the beginning or downgraded
  bool ordered = false;    ///< waits in the line
  bool kept = false;       ///< its holder keeps it until the simulation ends it
  bool brief = false;      ///< its holder needs it only for a moment
  bool in_crowd = false;   ///< one of many at the end: see Succession::demand_order
  TrueTime asked{};        ///< when it was requested
  TrueTime asked_again{};  ///< when its extend or release was requested
  std::string place;       ///< its name in the line
  double ticket = 0;       ///< its ticket in the line
  std::map<std::string, core::NodeSet> on;  ///< for each key, the nodes that have its entry
  TrueTime everywhere = TrueTime::max();    ///< when all nodes first had its entry
  TrueTime in_line = TrueTime::max();       ///< when its client first sent its entry
  int capacity = 0;  ///< its client's capacity for the semaphore; zero: a lock
  int slot = 0;      ///< the permit that it holds

  [[nodiscard]] std::vector<std::string> keys() const {
    std::vector<std::string> all = others;
    all.push_back(key);
    return all;
  }
  /// The keys under which the nodes have its token.
  [[nodiscard]] std::vector<std::string> held_keys() const {
    if (capacity == 0) return keys();
    return {std::string(redis::permit_prefix) + key.substr(redis::semaphore_prefix.size()) + ":" +
            std::to_string(slot)};
  }
  [[nodiscard]] bool wants(const std::string& one) const {
    return one == key || std::ranges::find(others, one) != others.end();
  }
  [[nodiscard]] bool shares_a_key_with(const Operation& other) const {
    return other.wants(key) || std::ranges::any_of(others, [&other](const std::string& one) {
             return other.wants(one);
           });
  }
  [[nodiscard]] bool valid(TrueTime now) const { return held && !dead && now < valid_until; }
};

}  // namespace quorumlock::sim
