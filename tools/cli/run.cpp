#include <CLI/CLI.hpp>
#include <charconv>
#include <string_view>
#include <system_error>

#include <quorumlock/options.hpp>
#include <quorumlock/semaphore.hpp>
#include "commands.hpp"
#include "did_you_mean.hpp"
#include "globals.hpp"
#include "held_command.hpp"
#include "lock.hpp"
#include "nodes_watch.hpp"
#include "notifier.hpp"
#include "output.hpp"
#include "wait_report.hpp"
#include "waiting.hpp"

namespace quorumlock::cli {
namespace {

using quorumlock::to_text;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

struct RunArguments : CommandArguments {
  std::optional<nanoseconds> wait;
  std::optional<int> permits;
  std::optional<std::uint64_t> period;
  bool shared = false;
  bool explain = false;
  std::vector<std::string> resources;
};

/// Describes what it took to acquire the lock.
std::string summary_of(const Stats& stats) {
  return std::to_string(stats.attempts) + " attempts, waited " +
         to_text(std::chrono::floor<milliseconds>(stats.waits.total)) + "; " +
         std::to_string(stats.renewals) + " renewals, " +
         std::to_string(stats.near_misses.renewed_late) + " of them late, and " +
         std::to_string(stats.failed_renewals) + " that failed";
}

/// Reports how the command ended and returns the exit code.
int conclude(const Globals& globals, const Lease& lease, const CommandEnd& end, bool once,
             const std::optional<Error>& trouble) {
  if (trouble && !globals.json) globals.warn(trouble->what());
  if (!globals.json) return end.exit_code();
  Json document = {{"resources", lease.resources()},
                   {"owner_token", lease.owner_token()},
                   {"fencing_token", lease.fencing_token()},
                   {"held_ms", std::chrono::floor<milliseconds>(end.held).count()}};
  end.add_to(document);
  if (once) document["once"] = end.exit_code() == 0 ? "ran" : "not_done";
  if (const Outcome outcome = lease.outcome(); !outcome.trace.empty()) {
    document["trace"] = trace_json(outcome);
  }
  if (trouble) document["warning"] = trouble->what();
  try {
    print(document, stderr);
  } catch (const Failure&) {
    // The output has no reader; the command's code still counts.
  }
  return end.exit_code();
}

std::string all(const std::vector<std::string>& resources) {
  std::string names;
  for (const std::string& one : resources) names += (names.empty() ? "" : ", ") + one;
  return names;
}

void check(const RunArguments& asked) {
  if (asked.permits && asked.shared) {
    throw Failure::usage("--permits and --shared exclude each other: a permit is no lock to read");
  }
  if (asked.period && (asked.shared || asked.permits)) {
    throw Failure::usage(
        "--once excludes --shared and --permits: one runs what is to be done once");
  }
  const std::string count = std::to_string(asked.resources.size());
  if (asked.permits && asked.resources.size() > 1) {
    throw Failure::usage("--permits takes a permit of one resource, and " + count + " are named");
  }
  if (asked.period && asked.resources.size() > 1) {
    throw Failure::usage("--once is about one name, and " + count + " are named");
  }
}

/// Ends without a command: the period is done.
int done_before(const Globals& globals, const RunArguments& asked, Coordinator& coordinator,
                Lease& lease) {
  (void)give_up_and_close(coordinator,
                          [&](auto handler) { lease.async_release(std::move(handler)); });
  globals.note("period " + std::to_string(*asked.period) + " of " + asked.resources.front() +
               " was done before");
  if (globals.json) {
    print({{"resources", asked.resources}, {"once", "done_before"}, {"exit_code", 0}}, stderr);
  }
  return 0;
}

Lease lease_for(const RunArguments& asked, const Options& options, Coordinator& coordinator,
                Signals& signals, const Meanwhile& meanwhile) {
  LockOptions how{
      .ttl = asked.ttl, .wait = asked.wait, .auto_extend = true, .trace = asked.explain};
  if (asked.period) {
    Result<void> fine = detail::check_once(coordinator, *asked.period, {});
    if (!fine) throw Failure::usage(fine.error().what());
  }
  if (asked.permits) {
    if (!how.wait) how.wait = options.wait;  // a Semaphore by itself waits without limit
    return take_permit(coordinator, asked.resources.front(), *asked.permits, how, signals,
                       meanwhile);
  }
  how.mode = asked.shared ? LockMode::shared : LockMode::exclusive;
  return take_lock(coordinator, asked.resources, how, signals, meanwhile);
}

int run(const Globals& globals, const RunArguments& asked) {
  Options options = globals.options();
  options.label = label_with(options, asked.words.front());
  const HeldCommand command(options, asked);
  Signals signals;
  const Terminal terminal;
  Coordinator coordinator = coordinator_with(options);
  NodesWatch watch(globals, options, coordinator);
  const std::string what = (asked.permits ? "a permit of " : "the lock on ") + all(asked.resources);
  Notifier manager;
  manager.status("waiting for " + what);
  WaitReport report(coordinator, asked.resources, asked.permits.has_value(), what);
  Lease lease = lease_for(asked, options, coordinator, signals, [&] {
    return sooner(manager.keep_alive(), globals.json ? -1 : report.advance());
  });
  report.end();
  if (asked.period) {
    const Result<bool> done = detail::is_done(coordinator, lease, *asked.period, {});
    if (!done) throw Failure(done.error());
    if (*done) return done_before(globals, asked, coordinator, lease);
  }
  globals.note("holding " + all(asked.resources) + ": " + lease.outcome().to_string());
  if (!globals.json) print_timeline(lease.outcome());
  manager.ready("holding " + what + ", fencing token " + std::to_string(lease.fencing_token()));
  CommandEnd end = command.run(lease, signals, terminal, manager, [&] {
    manager.stopping("losing " + what + ": the command has been asked to end");
  });
  manager.stopping("the command has ended: releasing " + what);
  const bool counts = asked.period && !end.lost && end.exit_code() == 0;
  const Result<void> noted =
      counts ? detail::note_done(coordinator, lease, *asked.period, {}) : Result<void>();
  const Result<void> released = give_up_and_close(
      coordinator, [&](auto handler) { lease.async_release(std::move(handler)); });
  globals.note(summary_of(coordinator.stats()));
  std::optional<Error> trouble;
  if (!released) {
    trouble = released.error();
    end.lost = end.lost || trouble->code() == Errc::lost || trouble->code() == Errc::expired;
  }
  if (end.lost) {
    throw Failure(ExitCode::lease_lost, "lost",
                  what + " was lost after " + to_text(std::chrono::floor<milliseconds>(end.held)) +
                      ", while the command ran" +
                      (trouble ? std::string("; ") + trouble->what() : ""));
  }
  if (!noted) throw Failure(ExitCode::lease_lost, "lost", noted.error().what());
  return conclude(globals, lease, end, asked.period.has_value(), trouble);
}

}  // namespace

void add_run(CLI::App& app, Globals& globals, Action& chosen) {
  auto asked = std::make_shared<RunArguments>();
  CLI::App& command = *app.add_subcommand(
      "run", "run a command while holding a lock: quorumlock run RESOURCE... -- CMD ARG...");
  command.footer(
      "With --permits K the lock is one of K permits. All users of the resource must give the\n"
      "same K. Permits are independent of locks of the same name.\n\n"
      "With --once PERIOD the command runs once for each period of RESOURCE, on all machines\n"
      "together: a period is done when the command has ended with 0 while the lock was held. If "
      "it\n"
      "was done before, the command does not run, and the exit code is 0.\n\n"
      "The command gets QUORUMLOCK_RESOURCE, QUORUMLOCK_TOKEN and QUORUMLOCK_FENCING_TOKEN, runs\n"
      "in a process group of its own, and signals are passed on to that. When the lock is being\n"
      "lost it gets SIGTERM, and SIGKILL when the lock has ended. What it leaves running in that\n"
      "group is ended before the lock is released. What leaves the group, such as a daemon or\n"
      "the child of setsid, is not ended, and goes on without the lock.\n\n"
      "When the nodes in the configuration file change, the lock moves to the new ones as soon as\n"
      "they accept that list (quorumlock members).\n\n"
      "A service manager that sets NOTIFY_SOCKET (systemd's Type=notify) hears READY=1 once the\n"
      "lock is held, and STOPPING=1 when it ends. With WATCHDOG_USEC it hears WATCHDOG=1 twice in\n"
      "that time, while the lock is awaited and held. The command does not inherit these\n"
      "variables. Sockets of LISTEN_FDS are passed on to it.\n\n"
      "Ends with the command's own exit code, or with 128 + N if signal N ended it.");
  add_duration(command, "--ttl", asked->ttl, "how long the lock outlives a crash; it is renewed");
  add_wait(command, "--wait", asked->wait, "how long to wait for the lock, or forever");
  command.add_flag("--shared", asked->shared, "lock for reading, together with other readers");
  command
      .add_option_function<int>(
          "--permits", [asked](int permits) { asked->permits = permits; },
          "take one of the K permits of RESOURCE instead of its lock: at most K commands run at "
          "once")
      ->check(CLI::Range(1, static_cast<int>(Semaphore::max_capacity)))
      ->type_name("K");
  command
      .add_option_function<std::string>(
          "--once",
          [asked](const std::string& text) {
            std::uint64_t period = 0;
            const char* const end = text.data() + text.size();
            const auto [parsed, error] = std::from_chars(text.data(), end, period);
            if (parsed != end || error != std::errc()) {
              throw Failure::usage("--once is \"" + text +
                                   "\": it must be a whole number below 2^53, such as 20261201");
            }
            asked->period = period;
          },
          "run CMD only if this period of RESOURCE, or a later one, has not been done: a number "
          "that grows, such as $(date +%Y%m%d)")
      ->type_name("PERIOD");
  add_explain(command, asked->explain);
  asked->add_flags_to(command);
  // The option is not a list: CLI11 would split "[a,b]" in two.
  auto first = std::make_shared<std::string>();
  command.add_option("RESOURCE", *first, "what to lock")->required()->type_name("...");
  command.allow_extras();
  globals.add_flags_to(command);
  command.callback([=, &command, &globals, &chosen] {
    asked->resources = {*first};
    for (const std::string& more : command.remaining()) {
      if (more.starts_with('-')) {
        const std::string name = more.substr(0, more.find('='));
        throw Failure::usage("run has no option " + name + did_you_mean(name, command));
      }
      asked->resources.push_back(more);
    }
    check(*asked);
    asked->take_words(globals, "run RESOURCE -- CMD ARG...");
    chosen = [=, &globals] {
      return failing_as_asked(*asked, [&] { return run(globals, *asked); });
    };
  });
}

}  // namespace quorumlock::cli
