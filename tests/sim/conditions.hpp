#pragma once

#include <string_view>

#include "sim/commands.hpp"
#include "sim/script_run.hpp"

namespace quorumlock::sim {

/// The reasons for which a server refuses commands, each as long as its flag is set.
struct Conditions {
  bool out_of_memory = false;
  bool replica = false;  ///< a replica whose master is away
  bool loading = false;
  bool busy = false;            ///< another client's endless script runs
  bool cannot_persist = false;  ///< the last RDB snapshot failed

  /// The error that this command gets before it is even looked at; empty: none.
  [[nodiscard]] std::string_view refusal(const Command& command) const;
  /// The error that a script gets before it runs if its first line says that it may write.
  [[nodiscard]] std::string_view refusal_of_script() const;
  /// The refusals of commands that a script calls.
  [[nodiscard]] Refusals in_script() const;
};

}  // namespace quorumlock::sim
