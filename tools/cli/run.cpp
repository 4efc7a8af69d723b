#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <string_view>

#include <quorumlock/duration.hpp>
#include "command_path.hpp"
#include "commands.hpp"
#include "globals.hpp"
#include "lock.hpp"
#include "nodes_watch.hpp"
#include "output.hpp"
#include "process_group.hpp"
#include "supervisor.hpp"

namespace quorumlock::cli {
namespace {

using quorumlock::to_text;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// Background processes of the command may take this long to end: others wait for the lock.
constexpr milliseconds leftovers_patience{500};

struct RunArguments {
  std::optional<nanoseconds> ttl;
  std::optional<nanoseconds> wait;
  std::optional<nanoseconds> kill_after;
  std::optional<int> failure_exit_code;
  bool shared = false;
  std::vector<std::string> resources;
  std::vector<std::string> words;
};

Deadlines deadlines_for(const Options& options, const RunArguments& asked) {
  const nanoseconds ttl = asked.ttl.value_or(options.ttl);
  const nanoseconds margin =
      options.stop_margin.value_or(std::max<nanoseconds>(milliseconds(100), ttl / 10));
  const auto drift = std::chrono::duration<double, std::nano>(ttl) * options.drift_factor;
  const nanoseconds valid_for = ttl - std::chrono::ceil<nanoseconds>(drift) - milliseconds(2);
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

std::string names_of(const Lease& lease, const char* between) {
  std::string names;
  for (const std::string& resource : lease.resources()) {
    names += (names.empty() ? "" : between) + resource;
  }
  return names;
}

/// Whether this variable has a node's password.
bool is_password(const Options& options, std::string_view variable) {
  const std::string_view name = variable.substr(0, variable.find('='));
  const auto names_it = [name](const NodeOptions& node) { return node.password_env == name; };
  return std::ranges::any_of(options.nodes, names_it) ||
         std::ranges::any_of(options.groups, [&](const auto& group) {
           return std::ranges::any_of(group.second, names_it);
         });
}

std::vector<std::string> environment_with(const Lease& lease, const Options& options) {
  std::vector<std::string> environment = {
      "QUORUMLOCK_RESOURCE=" + names_of(lease, "\n"), "QUORUMLOCK_TOKEN=" + lease.owner_token(),
      "QUORUMLOCK_FENCING_TOKEN=" + std::to_string(lease.fencing_token())};
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view one = *variable;
    // These may be of an outer quorumlock.
    if (one.starts_with("QUORUMLOCK_RESOURCE=") || one.starts_with("QUORUMLOCK_TOKEN=") ||
        one.starts_with("QUORUMLOCK_FENCING_TOKEN=")) {
      continue;
    }
    if (is_password(options, one)) continue;
    environment.emplace_back(one);
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
void check_born(Child& child, const std::string& path) {
  switch (child.stillborn()) {
    case Child::Stillborn::no: return;
    case Child::Stillborn::too_late:
      throw Failure(ExitCode::not_to_be_had, "lost",
                    "the lock was lost before the command was started: it was not started");
    case Child::Stillborn::exec_failed: break;
  }
  const bool missing = child.exec_error() == ENOENT;
  throw Failure(missing ? ExitCode::not_found : ExitCode::not_executable,
                missing ? "not_found" : "not_executable",
                "the command " + path +
                    " cannot be executed: " + std::generic_category().message(child.exec_error()));
}

/// Describes what it took to acquire the lock.
std::string summary_of(const Stats& stats) {
  return std::to_string(stats.attempts) + " attempts, waited " +
         to_text(std::chrono::floor<milliseconds>(stats.waits.total)) + "; " +
         std::to_string(stats.renewals) + " renewals, " +
         std::to_string(stats.near_misses.renewed_late) + " of them late, and " +
         std::to_string(stats.failed_renewals) + " that failed";
}

/// Reports how the command ended and returns the exit code.
int conclude(const Globals& globals, const Lease& lease, int status, nanoseconds held,
             const std::optional<Error>& trouble) {
  const int code =
      WIFSIGNALED(status) ? ExitCode::by_signal + WTERMSIG(status) : WEXITSTATUS(status);
  if (trouble && !globals.json) globals.warn(trouble->what());
  if (!globals.json) return code;
  Json document = {{"resources", lease.resources()},
                   {"owner_token", lease.owner_token()},
                   {"fencing_token", lease.fencing_token()},
                   {"held_ms", std::chrono::floor<milliseconds>(held).count()},
                   {"exit_code", code}};
  if (WIFSIGNALED(status)) document["signal"] = signal_name(WTERMSIG(status));
  if (trouble) document["warning"] = trouble->what();
  try {
    print(document, stderr);
  } catch (const Failure&) {
    // The output has no reader; the command's code still counts.
  }
  return code;
}

/// The label with ":" and the command's name, so that people see what holds the lock. An empty
/// label stays empty.
std::string label_with(const Options& options, const std::string& command) {
  const std::string label = options.label.value_or(default_label());
  return label.empty() ? label : label + ":" + command.substr(command.rfind('/') + 1);
}

int run(const Globals& globals, const RunArguments& asked) {
  Options options = globals.options();
  options.label = label_with(options, asked.words.front());
  const Deadlines deadlines = deadlines_for(options, asked);
  const std::string path = command_path(asked.words.front());
  Signals signals;
  const Terminal terminal;
  Coordinator coordinator = coordinator_with(options);
  NodesWatch watch(globals, options, coordinator);
  Lease lease = lock(coordinator, asked.resources,
                     {.ttl = asked.ttl,
                      .wait = asked.wait,
                      .auto_extend = true,
                      .mode = asked.shared ? LockMode::shared : LockMode::exclusive},
                     signals);
  globals.note("holding " + names_of(lease, ", ") + ": " + lease.outcome().to_string());
  const Clock::time_point begin = Clock::now();
  Child child({path, asked.words, environment_with(lease, options)}, signals);
  Guard guard(child.pid(), deadlines.kill_at(lease.valid_until()), terminal);
  Supervisor supervisor(lease, deadlines, child, guard, terminal, signals);
  const int status = supervisor.run();

  // The guard's clock, instead of ours, may also have ended the command.
  bool lost = supervisor.ended_it() || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL &&
                                        Clock::now() >= guard.kills_at());
  end_leftovers(child, guard);
  terminal.take_back_from(child.pid());
  if (WIFSIGNALED(status)) terminal.restore_modes();
  check_born(child, path);
  const nanoseconds held = Clock::now() - begin;
  const Result<void> released = lease.release();
  globals.note(summary_of(coordinator.stats()));
  std::optional<Error> trouble;
  if (!released) {
    trouble = released.error();
    lost = lost || trouble->code() == Errc::lost || trouble->code() == Errc::expired;
  }
  if (lost) {
    throw Failure(ExitCode::lease_lost, "lost",
                  "the lock on " + names_of(lease, ", ") + " was lost after " +
                      to_text(std::chrono::floor<milliseconds>(held)) + ", while the command ran" +
                      (trouble ? std::string("; ") + trouble->what() : ""));
  }
  return conclude(globals, lease, status, held, trouble);
}

int run_or_fail_as_asked(const Globals& globals, const RunArguments& asked) {
  try {
    return run(globals, asked);
  } catch (const Failure& failure) {
    if (!asked.failure_exit_code || failure.by_signal()) throw;
    throw failure.ending_with(*asked.failure_exit_code);
  }
}

}  // namespace

void add_run(CLI::App& app, Globals& globals, Action& chosen) {
  auto asked = std::make_shared<RunArguments>();
  CLI::App& command = *app.add_subcommand(
      "run", "run a command while holding a lock: quorumlock run RESOURCE... -- CMD ARG...");
  command.footer(
      "The command gets QUORUMLOCK_RESOURCE, QUORUMLOCK_TOKEN and QUORUMLOCK_FENCING_TOKEN, runs\n"
      "in a process group of its own, and signals are passed on to that. When the lock is being\n"
      "lost it gets SIGTERM, and SIGKILL when the lock has ended. What it leaves running in that\n"
      "group is ended before the lock is released. What leaves the group, such as a daemon or\n"
      "the child of setsid, is not ended, and goes on without the lock.\n\n"
      "When the nodes in the configuration file change, the lock moves to the new ones as soon as\n"
      "they accept that list (quorumlock members).\n\n"
      "Ends with the command's own exit code, or with 128 + N if signal N ended it.");
  add_duration(command, "--ttl", asked->ttl, "how long the lock outlives a crash; it is renewed");
  add_wait(command, "--wait", asked->wait, "how long to wait for the lock, or forever");
  command.add_flag("--shared", asked->shared, "lock for reading, together with other readers");
  add_duration(command, "--kill-after", asked->kill_after,
               "from SIGTERM to SIGKILL when the lock is being lost; the time after the end of "
               "the lock is unprotected");
  command
      .add_option_function<int>(
          "--failure-exit-code", [asked](int code) { asked->failure_exit_code = code; },
          "what to end with in place of our own codes 1, 64, 69, 75, 76, 126 and 127")
      ->check(CLI::Range(0, 255))
      ->type_name("N");
  // The option is not a list: CLI11 would split "[a,b]" in two.
  auto first = std::make_shared<std::string>();
  command.add_option("RESOURCE", *first, "what to lock")->required()->type_name("...");
  command.allow_extras();
  globals.add_flags_to(command);
  command.callback([=, &command, &globals, &chosen] {
    asked->resources = {*first};
    for (const std::string& more : command.remaining()) {
      if (more.starts_with('-')) throw Failure::usage("run has no flag " + more);
      asked->resources.push_back(more);
    }
    if (!globals.behind_dashes || globals.behind_dashes->empty()) {
      throw Failure::usage(
          "run needs a command after --, such as: quorumlock run RESOURCE -- CMD ARG...");
    }
    asked->words = *globals.behind_dashes;
    chosen = [=, &globals] { return run_or_fail_as_asked(globals, *asked); };
  });
}

}  // namespace quorumlock::cli
