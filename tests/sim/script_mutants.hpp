#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lock/mutants.hpp"
#include "verbs/scripts.hpp"

namespace quorumlock::sim {

/// A mistake in a script: a text that occurs there once, and its replacement. A mistake may take
/// several replacements.
struct ScriptMistake {
  core::Mutant mutant;
  const redis::Script* script;
  std::string_view right, wrong;
};
const std::vector<ScriptMistake>& script_mistakes();

/// The script's source with this mistake planted, if it is a mistake in this script. Throws
/// std::logic_error if the text does not occur exactly once: the script has changed, and the
/// mistake has to follow.
std::string with_mistake(const redis::Script& script, core::Mutant mutant);

}  // namespace quorumlock::sim
