#pragma once

#include <exception>
#include <string>

#include <quorumlock/error.hpp>

#include "exit_code.hpp"

namespace quorumlock::cli {

/// Thrown where a command cannot do what was asked: what to say and what to end with.
class Failure : public std::exception {
 public:
  Failure(int exit_code, std::string code, std::string sentence)
      : exit_code_(exit_code), code_(std::move(code)), sentence_(std::move(sentence)) {}
  /// The library's refusal, with its votes.
  explicit Failure(const Error& error);

  static Failure usage(std::string sentence) {
    return {ExitCode::usage, "usage", std::move(sentence)};
  }
  /// Something on this machine went wrong.
  static Failure local(std::string sentence) {
    return {ExitCode::failed, "failed", std::move(sentence)};
  }
  /// As local(), with what errno says.
  static Failure system(const std::string& what);
  /// Ended by a signal before anything was begun.
  static Failure interrupted(int signal, const std::string& meanwhile);

  [[nodiscard]] int exit_code() const noexcept { return exit_code_; }
  [[nodiscard]] bool by_signal() const noexcept { return code_ == "interrupted"; }
  /// One word for programs, such as "timed_out".
  [[nodiscard]] const std::string& code() const noexcept { return code_; }
  [[nodiscard]] const char* what() const noexcept override { return sentence_.c_str(); }
  /// Who voted what; no votes where no node was asked.
  [[nodiscard]] const Outcome& outcome() const noexcept { return outcome_; }

  /// The same with another exit code.
  [[nodiscard]] Failure ending_with(int exit_code) const;

 private:
  int exit_code_;
  std::string code_;
  std::string sentence_;
  Outcome outcome_;
};

/// "SIGINT" for 2.
std::string signal_name(int signal);

}  // namespace quorumlock::cli
