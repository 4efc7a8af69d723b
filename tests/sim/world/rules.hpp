#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/world/draw.hpp"
#include "sim/world/mutants.hpp"

namespace quorumlock::sim {

/// How a rule of a model is broken in the code: a line of proof/planted.txt.
struct BrokenRule {
  std::string model, rule;
  const KnownMutant* mistake = nullptr;
  std::optional<Fault> fault;  ///< that breaks the rule, if that is about the world
  std::string reason;          ///< why there is neither of them
  std::optional<Focus> focus;  ///< of the seeds in which it is looked for
  std::string step;            ///< the rule that the referee finds broken; empty: it checks none
  /// What the model's history ends in: words of a violation. Empty: that is not looked for, for the
  /// reason that the line gives.
  std::string harm;
};

/// The mistake, or the focus, of this name.
const KnownMutant* mistake_named(std::string_view name);
std::optional<Focus> focus_named(std::string_view name);
/// Reads the file. Throws std::runtime_error if a line cannot be read.
std::vector<BrokenRule> broken_rules(const std::string& path);

}  // namespace quorumlock::sim
