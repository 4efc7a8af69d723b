#include "held_command.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>

#include <quorumlock/options.hpp>

#include "arguments.hpp"
#include "command_path.hpp"
#include "process_group.hpp"

namespace quorumlock::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// Background processes of the command may take this long to end: others wait for the lock.
constexpr milliseconds leftovers_patience{500};

/// Variables that the command does not inherit. The first three may be those of an outer
/// quorumlock; the others are ours: the command's READY=1, MAINPID= or WATCHDOG=1 would be taken
/// for the service's.
constexpr std::string_view not_inherited[] = {
    "QUORUMLOCK_RESOURCE", "QUORUMLOCK_TOKEN", "QUORUMLOCK_FENCING_TOKEN",
    "NOTIFY_SOCKET",       "WATCHDOG_USEC",    "WATCHDOG_PID"};

/// The command inherits this variable without the logins in its URLs.
constexpr std::string_view with_urls = "QUORUMLOCK_NODES";

/// Whether this variable has a node's password.
bool is_password(const Options& options, std::string_view variable) {
  const auto names_it = [=](const NodeOptions& node) { return node.password_env == variable; };
  return std::ranges::any_of(options.nodes, names_it) ||
         std::ranges::any_of(options.groups, [&](const auto& group) {
           return std::ranges::any_of(group.second, names_it);
         });
}

std::string lines_of(const std::vector<std::string>& names) {
  std::string lines;
  for (const std::string& name : names) lines += (lines.empty() ? "" : "\n") + name;
  return lines;
}

std::vector<std::string> environment_with(const Lease& lease, const Options& options) {
  std::vector<std::string> environment = {
      "QUORUMLOCK_RESOURCE=" + lines_of(lease.resources()),
      "QUORUMLOCK_TOKEN=" + lease.owner_token().text(),
      "QUORUMLOCK_FENCING_TOKEN=" + std::to_string(lease.fencing_token())};
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view one = *variable;
    const std::string_view name = one.substr(0, one.find('='));
    if (std::ranges::find(not_inherited, name) != std::end(not_inherited)) continue;
    if (is_password(options, name)) continue;
    environment.push_back(name == with_urls ? without_logins(std::string(one)) : std::string(one));
  }
  return environment;
}

/// Ends the command's background processes, which would go on without the lock.
void end_leftovers(const Child& child, Guard& guard) {
  const pid_t group = child.pid();
  if (!wait_until_alone(group, guard.pid(), milliseconds(0))) {
    child.signal(SIGTERM);
    child.signal(SIGCONT);
    wait_until_alone(group, guard.pid(), leftovers_patience);
  }
  guard.strike();
  wait_until_alone(group, 0, milliseconds(1000));
}

/// Throws Failure if the child never became the command.
void check_started(Child& child, const std::string& path) {
  switch (child.start_failure()) {
    case Child::StartFailure::none: return;
    case Child::StartFailure::too_late:
      throw Failure(ExitCode::not_to_be_had, "lost",
                    "the lock was lost before the command was started: it was not started");
    case Child::StartFailure::exec_failed: break;
  }
  const bool missing = child.exec_error() == ENOENT;
  throw Failure(missing ? ExitCode::not_found : ExitCode::not_executable,
                missing ? "not_found" : "not_executable",
                "the command " + path +
                    " cannot be executed: " + std::generic_category().message(child.exec_error()));
}

}  // namespace

void CommandArguments::add_flags_to(CLI::App& app) {
  add_duration(app, "--kill-after", kill_after,
               "from SIGTERM to SIGKILL when the lock is being lost; the time after the end of "
               "the lock is unprotected");
  app.add_option_function<int>(
         "--failure-exit-code", [this](int code) { failure_exit_code = code; },
         "what to end with in place of our own codes 1, 64, 69, 75, 76, 126 and 127")
      ->check(CLI::Range(0, 255))
      ->type_name("N");
}

void CommandArguments::take_words(const Globals& globals, const std::string& usage) {
  if (!globals.behind_dashes || globals.behind_dashes->empty()) {
    const std::string command = usage.substr(0, usage.find(' '));
    throw Failure::usage(command + " needs a command after --, such as: quorumlock " + usage);
  }
  words = *globals.behind_dashes;
}

Deadlines deadlines_for(const Options& options, const CommandArguments& asked) {
  const nanoseconds ttl = asked.ttl.value_or(options.ttl);
  // As in the library: a margin that does not fit into the ttl is not meant for it.
  const bool fits = options.stop_margin && *options.stop_margin < ttl;
  const nanoseconds margin =
      fits ? *options.stop_margin : std::max<nanoseconds>(milliseconds(100), ttl / 10);
  const nanoseconds valid_for = options.validity(ttl);
  const bool by_hold = options.max_hold && *options.max_hold < valid_for;
  if ((by_hold ? *options.max_hold : valid_for) <= margin) {
    throw Failure::usage(
        (by_hold ? "max_hold is " + to_text(*options.max_hold) : "ttl is " + to_text(ttl)) +
        ", and the command would be stopped " + to_text(margin) +
        " (stop_margin) before the end of that: there would be no time for it; " +
        (by_hold ? "raise max_hold, or lower --ttl or stop_margin" : "give a longer --ttl"));
  }
  if (asked.kill_after > std::chrono::hours(24 * 365)) {
    throw Failure::usage("--kill-after is " + to_text(*asked.kill_after) +
                         ": it must be at most a year, 8760h");
  }
  return {margin, asked.kill_after};
}

std::string label_with(const Options& options, const std::string& command) {
  const std::string label = options.label.value_or(default_label());
  return label.empty() ? label : label + ":" + command.substr(command.rfind('/') + 1);
}

int CommandEnd::exit_code() const {
  return WIFSIGNALED(status) ? ExitCode::by_signal + WTERMSIG(status) : WEXITSTATUS(status);
}

void CommandEnd::add_to(Json& document) const {
  document["exit_code"] = exit_code();
  if (WIFSIGNALED(status)) document["signal"] = signal_name(WTERMSIG(status));
}

HeldCommand::HeldCommand(const Options& options, const CommandArguments& asked)
    : options_(options),
      deadlines_(deadlines_for(options, asked)),
      path_(command_path(asked.words.front())),
      words_(asked.words) {}

CommandEnd HeldCommand::run(const Lease& lease, Signals& signals, const Terminal& terminal,
                            Notifier& manager, const std::function<void()>& on_ending) const {
  const Clock::time_point begin = Clock::now();
  Child child({path_, words_, environment_with(lease, options_)}, signals);
  Guard guard(child.pid(), deadlines_.kill_at(lease.valid_until()), terminal);
  Supervisor supervisor(lease, deadlines_, child, guard, terminal, signals, manager, on_ending);
  supervisor.start();
  CommandEnd end;
  try {
    end.status = supervisor.run();
  } catch (const Failure&) {
    end_leftovers(child, guard);
    terminal.take_back_from(child.pid());
    throw;
  }
  end.asked = supervisor.asked_to_end();
  // The guard's clock, instead of ours, may also have ended the command.
  end.lost = supervisor.ended_it() || (WIFSIGNALED(end.status) && WTERMSIG(end.status) == SIGKILL &&
                                       Clock::now() >= guard.kills_at());
  end_leftovers(child, guard);
  terminal.take_back_from(child.pid());
  if (WIFSIGNALED(end.status)) terminal.restore_modes();
  check_started(child, path_);
  end.held = Clock::now() - begin;
  return end;
}

}  // namespace quorumlock::cli
