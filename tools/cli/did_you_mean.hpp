#pragma once

#include <string>

namespace CLI {
class App;
}

namespace quorumlock::cli {

/// The end of a sentence about a word that is neither an option of this command nor a command below
/// it, such as ": did you mean --wait?": the name with the fewest letters to be changed, if these
/// are few. Empty if there is none.
std::string did_you_mean(const std::string& word, const CLI::App& command);

}  // namespace quorumlock::cli
