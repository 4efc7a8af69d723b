#include <signal.h>

#include <CLI/CLI.hpp>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <quorumlock/admin.hpp>
#include <quorumlock/duration.hpp>
#include "commands.hpp"
#include "globals.hpp"
#include "nodes_watch.hpp"
#include "output.hpp"
#include "ran_out.hpp"
#include "reports.hpp"
#include "status_watch.hpp"

namespace quorumlock::cli {
namespace {

struct LocksArguments {
  LocksQuery query;
  bool is_live = false;
};

std::string span_or_dash(std::optional<std::chrono::milliseconds> span) {
  return span ? roughly(*span) : "-";
}

std::string mode_of(const HeldLock& lock) {
  if (lock.permit != 0) return "permit " + std::to_string(lock.permit);
  if (lock.leads) return "leader";
  return lock.mode == LockMode::shared ? "shared" : "exclusive";
}

std::string holder_of(const HeldLock& lock) {
  if (lock.token_begin.empty()) return "another program";
  return (lock.label.empty() ? "" : lock.label + " ") + "(" + lock.token_begin + "...)";
}

Row row_of(const HeldLock& lock) {
  return {
      lock.resource,
      mode_of(lock),
      holder_of(lock),
      span_or_dash(lock.held_for),
      span_or_dash(lock.expires_in),
      std::to_string(lock.waiters) + (lock.next_waiter.empty() ? "" : ", next " + lock.next_waiter),
      lock.fencing_token == 0 ? "-" : std::to_string(lock.fencing_token),
      std::to_string(lock.nodes)};
}

std::string text_of(const LockList& list, const LocksQuery& query) {
  std::string text = locks_table(list.locks) + counts_of(list);
  if (!list.complete) {
    text += "; there are more than " + std::to_string(query.most) +
            ": give a PATTERN, or a greater --limit";
  }
  return text;
}

int locks(const Globals& globals, const LocksArguments& asked) {
  const Options options = globals.options();
  std::optional<Signals> signals;  // a signal may end a single look at any time
  if (asked.is_live) signals.emplace();
  Coordinator coordinator = coordinator_with(options);
  std::optional<NodesWatch> nodes;
  std::optional<StatusWatch> watch;
  if (asked.is_live) {
    nodes.emplace(globals, options, coordinator);
    watch.emplace(coordinator, *signals, &*nodes);
  }
  RanOut ran_out;
  do {
    const auto began = std::chrono::steady_clock::now();
    const Result<LockList> list = list_locks(coordinator, asked.query);
    ran_out.note(list, began);
    // A watch goes on: the nodes may come back.
    if (!list && !asked.is_live) throw Failure(list.error());
    if (globals.json) {
      Json document = list ? locks_json(*list) : error_json(Failure(list.error()));
      if (asked.is_live) document["ran_out"] = ran_out.document();
      print(document);
    } else {
      std::string text = list ? text_of(*list, asked.query) : list.error().what();
      if (const std::string ended = ran_out.text(); !ended.empty()) text += "\n" + ended;
      print(text + (asked.is_live ? "\n" : ""));
    }
  } while (watch && watch->pause(std::chrono::seconds(1)));
  const int signal = watch ? watch->asked_to_end() : 0;
  return signal == 0 || signal == SIGINT ? ExitCode::done : ExitCode::by_signal + signal;
}

}  // namespace

std::string locks_table(const std::vector<HeldLock>& locks) {
  std::vector<Row> rows = {{"RESOURCE", "MODE", "HOLDER", "HELD FOR", "EXPIRES IN", "WAITERS",
                            "FENCING TOKEN", "NODES"}};
  for (const HeldLock& lock : locks) rows.push_back(row_of(lock));
  return in_columns(rows);
}

std::string counts_of(const LockList& list) {
  return std::to_string(list.locks.size()) + " held, " + std::to_string(waiting_in(list)) +
         " waiting";
}

Json held_lock_json(const HeldLock& lock) {
  Json one = {{"resource", lock.resource},
              {"mode", lock.mode == LockMode::shared ? "shared" : "exclusive"}};
  if (lock.permit != 0) {
    one["mode"] = "permit";
    one["permit"] = lock.permit;
  }
  if (lock.leads) one["leads"] = true;
  if (!lock.group.empty()) one["group"] = lock.group;
  one["label"] = lock.label;
  one["token_begin"] = lock.token_begin;
  if (lock.held_for) one["held_for_ms"] = lock.held_for->count();
  if (lock.expires_in) one["expires_in_ms"] = lock.expires_in->count();
  one["waiters"] = lock.waiters;
  if (!lock.next_waiter.empty()) one["next_waiter"] = lock.next_waiter;
  if (lock.fencing_token != 0) one["fencing_token"] = lock.fencing_token;
  one["nodes"] = lock.nodes;
  return one;
}

int waiting_in(const LockList& list) {
  int waiting = 0;
  std::set<std::pair<std::string_view, bool>> counted;
  for (const HeldLock& lock : list.locks) {
    if (lock.waiters != 0 && counted.emplace(lock.resource, lock.permit != 0).second) {
      waiting += lock.waiters;
    }
  }
  return waiting;
}

Json locks_json(const LockList& list) {
  Json locks = Json::array();
  for (const HeldLock& lock : list.locks) locks.push_back(held_lock_json(lock));
  return {{"locks", std::move(locks)},
          {"complete", list.complete},
          {"votes", votes_json(list.outcome)}};
}

void add_locks(CLI::App& app, Globals& globals, Action& chosen) {
  auto asked = std::make_shared<LocksArguments>();
  CLI::App& command = *app.add_subcommand("locks", "list the locks and permits that are held");
  command
      .add_option("PATTERN", asked->query.pattern, "only these resources, such as 'orders:*' (all)")
      ->type_name("");
  command.add_option("--limit", asked->query.most, "list no more than about this many (10000)")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("N");
  command.add_flag(
      "--watch", asked->is_live,
      "again every second, until Ctrl-C, with what ran out meanwhile; SIGHUP reads the "
      "nodes in the file again");
  globals.add_flags_to(command);
  command.callback(
      [=, &globals, &chosen] { chosen = [=, &globals] { return locks(globals, *asked); }; });
}

}  // namespace quorumlock::cli
