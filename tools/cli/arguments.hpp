#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quorumlock::cli {

/// The part of the command line that has to be understood before it is parsed.
struct Arguments {
  Arguments(int argc, char** argv);

  /// The first word that is neither a flag nor a flag's value; empty if there is none.
  std::string command;
  /// Whether errors are printed as JSON, including those about the command line itself.
  bool json = false;
  /// Whether standard error is one JSON object a line.
  bool json_log = false;
  /// The words to be parsed.
  std::vector<std::string> own;
  /// The words of a `run` or `leader` after the first `--`: the command, which we do not parse.
  std::optional<std::vector<std::string>> behind_dashes;

  /// Whether the command runs a command of the user's, to which standard output belongs.
  [[nodiscard]] bool runs_a_command() const { return command == "run" || command == "leader"; }
  /// Returns a complaint about the command line without the parts that may have a password.
  [[nodiscard]] std::string without_secrets(std::string sentence) const;
};

/// Returns a list of URLs without the users and passwords in it.
std::string without_logins(std::string urls);

}  // namespace quorumlock::cli
