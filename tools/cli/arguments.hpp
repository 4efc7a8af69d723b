#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quorumlock::cli {

/// The command line, as far as it has to be understood before it is parsed.
struct Arguments {
  Arguments(int argc, char** argv);

  /// The first word that is no flag and no flag's value; empty where there is none.
  std::string command;
  /// Whether errors are to be JSON, those of the command line itself included.
  bool json = false;
  /// What is to be parsed.
  std::vector<std::string> own;
  /// Of a `run`: what stands behind the first `--`, which is none of our business.
  std::optional<std::vector<std::string>> behind_dashes;

  /// A complaint about the command line, with what could have a password in it taken out.
  [[nodiscard]] std::string without_secrets(std::string sentence) const;
};

}  // namespace quorumlock::cli
