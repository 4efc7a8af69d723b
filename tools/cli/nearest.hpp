#pragma once

#include <string>

namespace CLI {
class App;
}

namespace quorumlock::cli {

/// The option, or the command below this one, that was probably meant by a word that is neither:
/// the one with the fewest letters to be changed, if these are few. Empty if there is none.
std::string nearest(const std::string& word, const CLI::App& command);
/// ": did you mean --wait?", or nothing.
std::string did_you_mean(const std::string& word, const CLI::App& command);

}  // namespace quorumlock::cli
