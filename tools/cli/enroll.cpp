#include "enroll.hpp"

#include <signal.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>

#include <quorumlock/admin.hpp>
#include "commands.hpp"
#include "globals.hpp"
#include "nodes_watch.hpp"
#include "notifier.hpp"
#include "output.hpp"
#include "status_table.hpp"
#include "status_watch.hpp"

namespace quorumlock::cli {
namespace {

constexpr std::chrono::milliseconds between_looks{200};
/// The least time between two messages about progress.
constexpr std::chrono::milliseconds between_words{900};
constexpr std::chrono::seconds between_watching_looks{1};

struct EnrollArguments {
  bool as_new = false;
  bool force = false;
  bool is_live = false;
};

/// Refuses a user that may not enrol a node which waits for that.
void demand_rights(const ClusterStatus& status) {
  for (const NodeStatus& node : status.nodes) {
    if (!node.enrolment.awaits_operator) continue;
    throw Failure(ExitCode::usage, "misconfigured",
                  "this user may not enrol " + node.node +
                      ": connect as one with an operator's rights (docs/security.md); it " +
                      node.enrolment.why);
  }
}

/// Returns whether the node may vote after more waiting.
bool may_vote_one_day(const NodeStatus& node) {
  return node.votes || (node.reason != Vote::not_standalone && node.reason != Vote::same_server &&
                        node.reason != Vote::unauthorized && node.reason != Vote::max_ttl_differs &&
                        node.reason != Vote::groups_differ && node.reason != Vote::terms_differ &&
                        node.reason != Vote::nodes_differ);
}

/// Returns "1 of 3 nodes may vote; a quorum is 2; redis://...: has no enrolment; at most 12 s left"
std::string progress(const ClusterStatus& status) {
  std::string text = verdict(status);
  for (const NodeStatus& node : status.nodes) {
    if (node.votes) continue;
    text += "; " + node.node + ": ";
    if (node.reason == Vote::refuses_writes) text += "refuses writes: ";
    text += node.trouble.empty() ? std::string(describe(node.reason)) : node.trouble;
  }
  return text;
}

int enrolled(const Globals& globals, const ClusterStatus& status) {
  if (globals.json) {
    print(document(status));
  } else {
    print(verdict(status));
  }
  return ExitCode::done;
}

int wait_for_all(const Globals& globals) {
  const Options options = globals.options();
  Signals signals;
  return enrolled(globals, wait_for_votes(globals, options, signals));
}

/// Enrols nodes as they come, and reports each that it has enrolled.
class EnrollWatch {
 public:
  explicit EnrollWatch(const Globals& globals)
      : globals_(globals),
        options_(globals.options()),
        coordinator_(coordinator_with(options_)),
        nodes_(globals, options_, coordinator_) {}

  /// Goes on until a signal ends it.
  int run() {
    StatusWatch watch(coordinator_, signals_, &nodes_, [this] { return manager_.keep_alive(); });
    do {
      const std::optional<ClusterStatus> status = watch.look();
      if (!status) break;
      demand_rights(*status);
      for (const NodeStatus& node : status->nodes) report(node, *status);
      tell_manager(verdict(*status));
    } while (watch.pause(between_watching_looks));
    const int signal = watch.asked_to_end();
    manager_.stopping("asked to end");
    return signal == SIGINT || signal == SIGTERM ? ExitCode::done : ExitCode::by_signal + signal;
  }

 private:
  void report(const NodeStatus& node, const ClusterStatus& status) {
    std::uint64_t& before = enrolments_[node.node];
    const bool more = node.enrolment.enrolments > before;
    before = node.enrolment.enrolments;
    if (!more) return;
    if (globals_.json) {
      print(Json({{"event", "enrolled"},
                  {"node", node.node},
                  {"voters", status.voters()},
                  {"nodes", status.nodes.size()}}));
    } else {
      print(node.node + " is enrolled: " + verdict(status));
    }
  }
  void tell_manager(const std::string& sentence) {
    if (sentence == told_) return;
    if (told_.empty()) {
      manager_.ready(sentence);
    } else {
      manager_.status(sentence);
    }
    told_ = sentence;
  }

  const Globals& globals_;
  const Options options_;
  Signals signals_;  // before any thread
  Coordinator coordinator_;
  NodesWatch nodes_;
  Notifier manager_;
  std::map<std::string, std::uint64_t> enrolments_;  ///< by node: those that were reported
  std::string told_;                                 ///< what the service manager was told last
};

int enroll_new(const Globals& globals, const EnrollArguments& asked) {
  Coordinator coordinator = coordinator_with(globals.options());
  if (const Result<void> done = quorumlock::enroll_new(coordinator, asked.force); !done)
    throw Failure(done.error());
  const Result<ClusterStatus> status = coordinator.status();
  if (!status) throw Failure(status.error());
  return enrolled(globals, *status);
}

}  // namespace

ClusterStatus wait_for_votes(const Globals& globals, Options options, Signals& signals) {
  Result<Coordinator> coordinator = create_enrolling(std::move(options));
  if (!coordinator) throw Failure(coordinator.error());
  StatusWatch watch(*coordinator, signals);
  std::string told;
  Clock::time_point tell_again{};
  do {
    const std::optional<ClusterStatus> status = watch.look();
    if (!status) break;
    if (std::ranges::all_of(status->nodes, &NodeStatus::votes)) return *status;
    demand_rights(*status);
    const std::string now = progress(*status);
    if (!std::ranges::all_of(status->nodes, may_vote_one_day)) {
      throw Failure(
          ExitCode::usage, "misconfigured",
          "not every node can be enrolled: " + now + ". quorumlock doctor says what to do first");
    }
    // Too early is not too late: the next look says what is missing.
    if (const Result<void> vouched = vouch_for_nodes(*coordinator);
        !vouched && vouched.error().code() != Errc::timed_out) {
      throw Failure(vouched.error());
    }
    // The remaining time changes, and so does the number of repaired counters.
    if (!globals.json && now != told && Clock::now() >= tell_again) {
      Globals::warn(now);
      told = now;
      tell_again = Clock::now() + between_words;
    }
  } while (watch.pause(between_looks));
  throw Failure::interrupted(watch.asked_to_end(), "while waiting for nodes to be enrolled");
}

void add_enroll(CLI::App& app, Globals& globals, Action& chosen) {
  auto asked = std::make_shared<EnrollArguments>();
  CLI::App& command =
      *app.add_subcommand("enroll", "wait until every node may vote; changes no list and no terms");
  CLI::Option* as_new = command.add_flag(
      "--new", asked->as_new, "at once: your word that no client can hold a lock on them yet");
  command.add_flag("--force", asked->force, "also nodes that were enrolled or have keys of ours")
      ->needs(as_new);
  command
      .add_flag("--watch", asked->is_live,
                "until SIGTERM or Ctrl-C, each node that comes back; SIGHUP reads the nodes in the "
                "file again")
      ->excludes(as_new);
  command.footer(
      "With --watch it goes on until SIGINT or SIGTERM ends it, with exit code 0. It prints a "
      "line\n"
      "for each node that it has enrolled, or with --json a document. Its user needs an "
      "operator's\n"
      "rights. It gives no operator's word: nodes for which too few others vouch wait for enroll\n"
      "without --watch. A service manager that sets NOTIFY_SOCKET hears READY=1 after the first\n"
      "look, and WATCHDOG=1 if it sets WATCHDOG_USEC.");
  command
      .add_flag_callback(
          "--trust-disk",
          [] {
            throw Failure::usage(
                "--trust-disk is gone: leave it out. There is one policy: a node that was "
                "restarted, failed over or lost its record casts no vote until max_ttl and the "
                "drift margin have passed");
          })
      ->group("");  // not shown in the help
  globals.add_flags_to(command);
  command.callback([=, &globals, &chosen] {
    chosen = [=, &globals] {
      if (asked->is_live) return EnrollWatch(globals).run();
      return asked->as_new ? enroll_new(globals, *asked) : wait_for_all(globals);
    };
  });
}

}  // namespace quorumlock::cli
