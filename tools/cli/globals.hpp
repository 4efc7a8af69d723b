#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <quorumlock/coordinator.hpp>
#include <quorumlock/options.hpp>

namespace CLI {
class App;
}

namespace quorumlock::cli {

/// The flags of every command.
struct Globals {
  std::optional<std::string> config;
  std::optional<std::string> nodes;
  bool json = false;
  bool verbose = false;
  /// The words of a `run` or `leader` after the first `--`: the command and its arguments.
  std::optional<std::vector<std::string>> behind_dashes;

  void add_flags_to(CLI::App& app);

  /// Returns the options: a flag beats the environment, and the environment the file; if none of
  /// them is given, the nodes are those of a local cluster. Throws Failure.
  [[nodiscard]] Options options() const;
  /// The file that the nodes are read from; none if a flag or the environment names the nodes.
  [[nodiscard]] std::optional<std::string> file_of_nodes() const;
  /// Writes to standard error if --verbose is set.
  void note(const std::string& sentence) const;
  /// Writes to standard error.
  static void warn(const std::string& sentence);
};

/// Hides the environment variables with passwords of these nodes from other processes of this user,
/// such as the command of `run`: their text in /proc is overwritten. This program can still read
/// the variables.
void hide_passwords(const Options& options);

/// Adds an option for a duration such as "10s". Throws Failure if the value is not one.
void add_duration(CLI::App& app, const std::string& name,
                  std::optional<std::chrono::nanoseconds>& into, const std::string& help);
/// Adds an option for a duration or "forever".
void add_wait(CLI::App& app, const std::string& name, std::optional<std::chrono::nanoseconds>& into,
              const std::string& help);

/// Adds --wide, which is about tables.
void add_wide(CLI::App& app, bool& into);
/// Adds --explain.
void add_explain(CLI::App& app, bool& into);

/// Creates a coordinator. Throws Failure.
Coordinator coordinator_with(Options options);

}  // namespace quorumlock::cli
