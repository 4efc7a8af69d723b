#pragma once

#include <exception>
#include <string>

#include <quorumlock/result.hpp>

#include "exit_code.hpp"

namespace quorumlock::cli {

/// Thrown if a command cannot do its work: has the message and the exit code.
class Failure : public std::exception {
 public:
  Failure(int exit_code, std::string code, std::string sentence)
      : exit_code_(exit_code), code_(std::move(code)), sentence_(std::move(sentence)) {}
  /// Takes over an error of the library, with its votes.
  explicit Failure(const Error& error);

  static Failure usage(std::string sentence) {
    return {ExitCode::usage, "usage", std::move(sentence)};
  }
  /// Returns a failure of this machine.
  static Failure local(std::string sentence) {
    return {ExitCode::failed, "failed", std::move(sentence)};
  }
  /// Returns local() with the text of errno.
  static Failure system(const std::string& what);
  /// Returns usage() with the text of errno for a file that cannot be read, or local() if the file
  /// is not to blame.
  static Failure unreadable(const std::string& what);
  /// Returns the failure of a command that a signal ended before it began anything.
  static Failure interrupted(int signal, const std::string& meanwhile);

  [[nodiscard]] int exit_code() const noexcept { return exit_code_; }
  [[nodiscard]] bool by_signal() const noexcept { return code_ == "interrupted"; }
  /// Returns one word for programs, such as "timed_out".
  [[nodiscard]] const std::string& code() const noexcept { return code_; }
  [[nodiscard]] const char* what() const noexcept override { return sentence_.c_str(); }
  /// Returns each node's vote; no votes if no node was asked.
  [[nodiscard]] const Outcome& outcome() const noexcept { return outcome_; }

  /// Returns the same failure with these votes and this trace.
  [[nodiscard]] Failure with(const Outcome& outcome) const;
  /// Returns the same failure with another exit code.
  [[nodiscard]] Failure ending_with(int exit_code) const;

 private:
  int exit_code_;
  std::string code_;
  std::string sentence_;
  Outcome outcome_;
};

/// Returns "SIGINT" for 2.
std::string signal_name(int signal);

}  // namespace quorumlock::cli
