#include <poll.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <set>
#include <thread>

#include <quorumlock/admin.hpp>
#include <quorumlock/options.hpp>
#include "commands.hpp"
#include "event.hpp"
#include "globals.hpp"
#include "log.hpp"
#include "members_report.hpp"
#include "signals.hpp"

// Changes the list of nodes while clients lock.
namespace quorumlock::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr milliseconds between_looks_of_members{500};

struct MembersArguments {
  std::string verb;
  std::optional<std::string> from;
  std::optional<nanoseconds> wait;
  bool force = false;
  bool wide = false;
};

/// The nodes in a configuration file.
Nodes nodes_of(const std::string& file) {
  const Result<Options> old = load_options(Setting{"--from", file}, std::nullopt);
  if (!old) throw Failure(old.error());
  hide_passwords(*old);
  Nodes nodes = old->nodes;
  for (const auto& [name, more] : old->groups) nodes.insert(nodes.end(), more.begin(), more.end());
  return nodes;
}

/// Ends the program once a signal asks for that. Steps block, and any of them may be interrupted;
/// so the signals are heard on a thread, and nothing is waited for.
class Interrupts {
 public:
  explicit Interrupts(bool json) : json_(json), thread_([this] { hear(); }) {}
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;
  ~Interrupts() {
    over_.set();
    thread_.join();
  }

 private:
  void hear() {
    pollfd ready[] = {{signals_.fd(), POLLIN, 0}, {over_.fd(), POLLIN, 0}};
    try {
      for (;;) {
        await_ready(ready, -1);
        if ((ready[1].revents & POLLIN) != 0) return;
        if (const int signal = signals_.asked_to_end(); signal != 0) {
          throw Failure::interrupted(signal,
                                     "during a change of the nodes. What was done stays; run the "
                                     "same command again to go on");
        }
      }
    } catch (const Failure& failure) {
      end(failure);
    }
  }
  [[noreturn]] void end(const Failure& failure) const {
    try {
      if (json_) print(error_json(failure));
      if (!json_) log_sentence(EventLevel::error, failure.code(), failure.what());
    } catch (const Failure&) {
      // The output has no reader; the exit code still reports the failure.
    }
    std::_Exit(failure.exit_code());
  }

  const bool json_;
  Signals signals_;
  Event over_;
  std::thread thread_;  ///< the last member: it uses the others
};

/// One run of a verb: the change, the time that it may take, and what has been said of it.
class Work {
 public:
  Work(const Globals& globals, const MembersArguments& asked)
      : globals_(globals),
        asked_(asked),
        options_(globals.options()),
        leaving_(asked.from ? nodes_of(*asked.from) : Nodes()),
        interrupts_(changes() ? std::make_unique<Interrupts>(globals.json) : nullptr),
        change_(opened()) {
    if (asked.wait && *asked.wait < forever) ends_ = Clock::now() + *asked.wait;
  }

  int run() {
    if (asked_.verb == "plan") return plan();
    if (asked_.verb == "announce") check(change_.announce());
    if (asked_.verb == "withdraw") check(change_.withdraw());
    if (asked_.verb == "commit") {
      check(change_.commit(asked_.force));
      settle();
    }
    if (asked_.verb == "apply") apply();
    const std::vector<MembersReport> reports = look();
    show(reports);
    if (!asked_.verb.empty()) return ExitCode::done;
    const auto unknown = [](const MembersReport& one) {
      return one.stage == MembersStage::unknown;
    };
    if (std::ranges::any_of(reports, unknown)) return ExitCode::no_quorum;
    const bool agree = std::ranges::all_of(reports, &MembersReport::done);
    return agree ? ExitCode::done : ExitCode::failed;
  }

 private:
  [[nodiscard]] bool changes() const { return !asked_.verb.empty() && asked_.verb != "plan"; }

  MembersChange opened() {
    Result<MembersChange> change = MembersChange::open(options_, leaving_);
    if (!change) throw Failure(change.error());
    return *std::move(change);
  }

  static void check(const Result<void>& done) {
    if (!done) throw Failure(done.error());
  }

  std::vector<MembersReport> look() {
    Result<std::vector<MembersReport>> reports = change_.look();
    if (!reports) throw Failure(reports.error());
    return *std::move(reports);
  }

  void show(const std::vector<MembersReport>& reports) const {
    if (globals_.json) {
      print(members_json(reports));
    } else {
      const Screen screen = Screen::of_output(asked_.wide);
      print({.text = members_text(reports, screen.width)}, screen);
    }
  }

  void say(const std::string& sentence) {
    if (sentence == told_) return;
    told_ = sentence;
    if (!globals_.json) Globals::warn(sentence);
  }

  /// Waits, at most until the end of --wait.
  void pause(nanoseconds length, const std::string& meanwhile) {
    const Clock::time_point end = std::min(Clock::now() + length, ends_);
    if (Clock::now() >= ends_) {
      throw Failure(ExitCode::not_to_be_had, "timed_out",
                    "waited " + to_text(*asked_.wait) + " in vain: " + meanwhile +
                        ". What was done stays; run the same command again to go on");
    }
    std::this_thread::sleep_until(end);
  }

  int plan() {
    const std::vector<MembersReport> reports = look();
    check(change_.check());
    show(reports);
    if (globals_.json) return ExitCode::done;
    for (const MembersReport& report : reports) {
      if (report.stage == MembersStage::differs) print(plan_text(report));
    }
    return ExitCode::done;
  }

  /// Settles a change that is decided, once older leases have ended.
  void settle() {
    for (;;) {
      const Result<nanoseconds> left = change_.settle();
      if (!left) throw Failure(left.error());
      if (*left <= nanoseconds::zero()) return;
      const auto seconds = std::chrono::ceil<std::chrono::seconds>(*left);
      say("the change is decided; it is settled once every lease of before has ended, in " +
          std::to_string(seconds.count()) + " s");
      pause(*left, "leases of before the change have not ended yet");
    }
  }

  /// Makes a step as soon as it can be made.
  template <class Step>
  void until_done(Step&& step) {
    for (;;) {
      const Result<void> done = step();
      if (done) return;
      if (done.error().code() != Errc::timed_out) check(done);
      say(done.error().what());
      pause(between_looks_of_members, done.error().what());
    }
  }

  static bool is_before_commit(const MembersReport& report) {
    return report.stage == MembersStage::announced || report.stage == MembersStage::differs;
  }

  void wait_for_clients() {
    for (;;) {
      std::vector<std::string> old;
      for (const MembersReport& report : look()) {
        if (!is_before_commit(report)) continue;
        const std::vector<std::string> more = report.old_clients();
        old.insert(old.end(), more.begin(), more.end());
      }
      if (old.empty() || asked_.force) return;
      const std::string waits =
          "connections of clients with other nodes or terms: " + std::to_string(old.size()) +
          ", the first at " + old.front();
      say("the change is announced; give these clients the new list: " + waits);
      pause(between_looks_of_members, waits);
    }
  }

  /// The nodes that the change brings in, by their URLs. Once the change is settled it is no longer
  /// known which these were: then all nodes of the list, each of which has to answer.
  std::set<std::string> new_nodes() {
    std::set<std::string> nodes;
    for (const MembersReport& report : look()) {
      const bool settled = report.stage == MembersStage::agreed;
      for (const Member& member : report.members) {
        if (settled && member.in_new_list && member.state == MemberState::unreachable) {
          throw Failure(ExitCode::no_quorum, "no_quorum",
                        "the nodes vote for this list already, and " + member.name +
                            " does not answer: " + report.next_step);
        }
        if (member.in_new_list && (settled || !member.in_list)) nodes.insert(member.node);
      }
    }
    return nodes;
  }

  /// Once the change is settled, brings nodes that have missed it up to it. Returns those that
  /// answer and are still behind, and why. As long as a node is behind it lets nobody else in.
  std::string take_along() {
    const Result<nanoseconds> taken = change_.settle();
    std::string behind;
    for (const MembersReport& report : look()) {
      for (const Member& member : report.members) {
        const bool is_behind = member.state == MemberState::behind ||
                               member.state == MemberState::unsettled ||
                               member.state == MemberState::announced;
        if (!member.in_new_list || !is_behind) continue;
        behind += (behind.empty() ? "" : "; ") + member.node + " has missed a step of the change";
      }
    }
    return taken ? behind : behind + "; " + std::string(taken.error().what());
  }

  /// Waits until these nodes vote, and each one that answers has made every step. A new node needs
  /// a client that enrols it, which is this program. A node of the former list that is down is not
  /// waited for.
  void wait_for(const std::set<std::string>& nodes, Coordinator& coordinator) {
    for (;;) {
      const std::string behind = take_along();
      const Result<ClusterStatus> status = coordinator.status();
      if (!status) throw Failure(status.error());
      std::string waiting;
      for (const NodeStatus& node : status->nodes) {
        if (node.votes || !nodes.contains(node.node)) continue;
        waiting += (waiting.empty() ? "" : "; ") + node.node + " " +
                   (node.trouble.empty() ? std::string(describe(node.reason)) : node.trouble);
      }
      if (waiting.empty() && behind.empty()) return;
      waiting += (waiting.empty() || behind.empty() ? "" : "; ") + behind;
      say("the change is settled, but not on all nodes: " + waiting);
      pause(between_looks_of_members, waiting);
    }
  }

  bool is_settled() {
    return std::ranges::all_of(
        look(), [](const MembersReport& one) { return one.stage == MembersStage::agreed; });
  }

  void apply() {
    const std::set<std::string> joining = new_nodes();
    until_done([this] { return change_.announce(); });
    // New nodes begin their wait while clients get the new list.
    Coordinator coordinator = coordinator_with(options_);
    wait_for_clients();
    until_done([this] { return change_.commit(asked_.force); });
    if (!is_settled()) settle();
    wait_for(joining, coordinator);
  }

  const Globals& globals_;
  const MembersArguments& asked_;
  const Options options_;
  const Nodes leaving_;
  /// Null for a mere look, which a signal may end at any time. It is made before any thread.
  const std::unique_ptr<Interrupts> interrupts_;
  MembersChange change_;
  Clock::time_point ends_ = Clock::time_point::max();
  std::string told_;
};

}  // namespace

void add_members(CLI::App& app, Globals& globals, Action& chosen) {
  auto asked = std::make_shared<MembersArguments>();
  CLI::App& command = *app.add_subcommand(
      "members",
      "show the list that the nodes vote for; change it, or its max_ttl and fencing_memory");
  const auto add = [&](CLI::App& to) {
    to.add_option_function<std::string>(
          "--from", [asked](const std::string& file) { asked->from = file; },
          "JSON file with the URLs of nodes that leave")
        ->type_name("FILE");
    globals.add_flags_to(to);
  };
  const auto run = [=, &globals, &chosen](const std::string& verb) {
    asked->verb = verb;
    chosen = [=, &globals] { return Work(globals, *asked).run(); };
  };
  add(command);
  add_wide(command, asked->wide);
  command.require_subcommand(0, 1);
  CLI::App* verb = nullptr;
  const auto add_verb = [&](const char* name, const char* help) {
    verb = command.add_subcommand(name, help);
    add(*verb);
    verb->final_callback([run, name] { run(name); });
  };
  add_verb("plan", "say what the change would do, and change nothing");
  add_verb("announce", "from now on nodes serve clients with either list");
  add_verb("commit", "decide the new list, wait until older leases have ended, and settle it");
  verb->add_flag("--force", asked->force, "although clients with other nodes are connected");
  add_verb("withdraw", "take back what was announced");
  add_verb("apply", "make all steps, and wait until every new node votes");
  verb->add_flag("--force", asked->force, "although clients with other nodes are connected");
  add_wait(*verb, "--wait", asked->wait, "how long to wait for clients and nodes; default forever");
  command.callback([run, &command] {
    if (command.get_subcommands().empty()) run("");
  });
}

}  // namespace quorumlock::cli
