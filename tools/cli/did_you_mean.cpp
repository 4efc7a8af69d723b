#include "did_you_mean.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

namespace quorumlock::cli {
namespace {

/// How many letters have to be inserted, left out, replaced or swapped with the next one.
std::size_t distance(std::string_view from, std::string_view to) {
  std::vector<std::vector<std::size_t>> steps(from.size() + 1,
                                              std::vector<std::size_t>(to.size() + 1));
  for (std::size_t i = 0; i <= from.size(); ++i) {
    for (std::size_t j = 0; j <= to.size(); ++j) {
      if (i == 0 || j == 0) {
        steps[i][j] = i + j;
        continue;
      }
      const std::size_t replaced = from[i - 1] == to[j - 1] ? 0 : 1;
      steps[i][j] =
          std::min({steps[i - 1][j] + 1, steps[i][j - 1] + 1, steps[i - 1][j - 1] + replaced});
      const bool swapped = i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1];
      if (swapped) steps[i][j] = std::min(steps[i][j], steps[i - 2][j - 2] + 1);
    }
  }
  return steps[from.size()][to.size()];
}

std::vector<std::string> options_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* one : command.get_options()) {
    for (const std::string& name : one->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::vector<std::string> commands_below(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* one : command.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(one->get_name());
  }
  return names;
}

}  // namespace

std::string did_you_mean(const std::string& word, const CLI::App& command) {
  const std::vector<std::string> names =
      word.starts_with('-') ? options_of(command) : commands_below(command);
  std::string best;
  std::size_t fewest = std::max<std::size_t>(1, std::min<std::size_t>(word.size(), 9) / 3) + 1;
  for (const std::string& name : names) {
    const bool begins = std::min(word.size(), name.size()) >= 3 &&
                        (name.starts_with(word) || word.starts_with(name));
    const std::size_t changes = begins ? 1 : distance(std::string_view(word).substr(0, 64), name);
    if (changes >= fewest) continue;
    fewest = changes;
    best = name;
  }
  return best.empty() ? "" : ": did you mean " + best + "?";
}

}  // namespace quorumlock::cli
