#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <quorumlock/lease.hpp>
#include <quorumlock/options.hpp>

#include "failure.hpp"
#include "globals.hpp"
#include "output.hpp"
#include "signals.hpp"
#include "supervisor.hpp"
#include "terminal.hpp"

namespace quorumlock::cli {

/// The command that runs under a lease, from the command line: the words after `--`, and the flags
/// that `run` and `leader` share.
struct CommandArguments {
  std::optional<std::chrono::nanoseconds> ttl;
  std::optional<std::chrono::nanoseconds> kill_after;
  std::optional<int> failure_exit_code;
  std::vector<std::string> words;

  void add_flags_to(CLI::App& app);
  /// Takes the words after `--`. Throws Failure if there are none; `usage` is the right form.
  void take_words(const Globals& globals, const std::string& usage);
};

/// Calls `act`; a Failure of it ends with the code of --failure-exit-code, if that is given.
template <class Act>
int failing_as_asked(const CommandArguments& asked, Act act) {
  try {
    return act();
  } catch (const Failure& failure) {
    if (!asked.failure_exit_code || failure.by_signal()) throw;
    throw failure.ending_with(*asked.failure_exit_code);
  }
}

/// Returns when the command is asked to end and killed. Throws Failure if there would be no time
/// for it.
Deadlines deadlines_for(const Options& options, const CommandArguments& asked);

/// Returns the label of the options with ":" and the command's name, so that people see what holds
/// the lock. An empty label stays empty.
std::string label_with(const Options& options, const std::string& command);

/// How a command under a lease ended.
struct CommandEnd {
  int status = 0;     ///< the status that waitpid() reported
  bool lost = false;  ///< the lease ended while the command ran, and the command was ended for that
  int asked = 0;      ///< the last SIGINT, SIGTERM or SIGQUIT that was passed on to it, or 0
  std::chrono::nanoseconds held{};  ///< the time from the command's start to its end

  /// Returns the exit code that a shell would report.
  [[nodiscard]] int exit_code() const;
  /// Adds `exit_code`, and `signal` if one ended the command.
  void add_to(Json& document) const;
};

/// Runs commands, each while a lease is held.
class HeldCommand {
 public:
  /// Throws Failure if there is no such command.
  HeldCommand(const Options& options, const CommandArguments& asked);

  /// Runs the command until it ends by itself, or until the lease ends; ends what it leaves running
  /// in its process group. Passes signals on to it. Throws Failure if it cannot be started, with
  /// the code "lost" if the lease is over already. `on_ending` is called when the command has been
  /// asked to end because of the lease's end.
  CommandEnd run(const Lease& lease, Signals& signals, const Terminal& terminal, Notifier& manager,
                 const std::function<void()>& on_ending) const;

 private:
  const Options& options_;
  const Deadlines deadlines_;
  const std::string path_;
  const std::vector<std::string> words_;
};

}  // namespace quorumlock::cli
