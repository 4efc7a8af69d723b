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

/// The flags that every command has.
struct Globals {
  std::optional<std::string> config;
  std::optional<std::string> nodes;
  bool json = false;
  bool verbose = false;
  /// What stands behind the first `--` of a `run`: the command and its arguments.
  std::optional<std::vector<std::string>> behind_dashes;

  void add_flags_to(CLI::App& app);

  /// A flag beats the environment, the environment beats the file; with none of them the nodes of
  /// a local cluster. Throws Failure.
  [[nodiscard]] Options options() const;
  /// On standard error, where --verbose asks for it.
  void note(const std::string& sentence) const;
  /// On standard error, whatever was asked for.
  static void warn(const std::string& sentence);
};

/// An option whose value is a duration such as "10s". Throws Failure where it is not.
void add_duration(CLI::App& app, const std::string& name,
                  std::optional<std::chrono::nanoseconds>& into, const std::string& help);
/// As add_duration, or "forever".
void add_wait(CLI::App& app, const std::string& name, std::optional<std::chrono::nanoseconds>& into,
              const std::string& help);

/// Throws Failure.
Coordinator coordinator_with(Options options);

}  // namespace quorumlock::cli
