#include <signal.h>

#include <CLI/CLI.hpp>
#include <optional>
#include <thread>
#include <utility>

#include <quorumlock/admin.hpp>
#include <quorumlock/options.hpp>
#include "commands.hpp"
#include "globals.hpp"
#include "headline.hpp"
#include "nodes_watch.hpp"
#include "output.hpp"
#include "ran_out.hpp"
#include "reports.hpp"
#include "status_watch.hpp"
#include "waiting.hpp"

namespace quorumlock::cli {
namespace {

struct LocksArguments {
  LocksQuery query;
  bool is_live = false;
  bool wide = false;
};

/// How many of the leases that ran out a terminal shows.
constexpr std::size_t most_ran_out = 5;

std::string summary_of(const LockList& list, const LocksQuery& query) {
  if (list.complete) return counts_of(list);
  return "listed " + std::to_string(list.locks.size()) + " of more than " +
         std::to_string(query.most) + " locks: give a PATTERN, or a greater --limit";
}

/// Prints one look.
void show(const Result<LockList>& list, const RanOut& ran_out, const LocksArguments& asked) {
  const Screen screen = Screen::of_output(asked.wide);
  std::string text;
  if (list && !(screen.is_terminal && list->locks.empty())) {
    text = locks_table(list->locks, nodes_asked(*list), screen.width);
  }
  text += list ? summary_of(*list, asked.query) : list.error().what();
  const std::string ended = ran_out.text();
  if (!ended.empty()) text += "\n" + ended;
  print({.text = text + (asked.is_live ? "\n\n" : "")}, screen);
}

/// Shows the newest look in place of the one before. The list comes last, since a part of it may
/// not fit. Nodes that answer the list need not vote, so the status says whether locks can be had.
void redraw(const ClusterStatus& status, const Result<LockList>& list, const RanOut& ran_out,
            const LocksArguments& asked) {
  const Screen screen = Screen::of_output(asked.wide);
  const bool some = list && !list->locks.empty();
  std::string text = list ? summary_of(*list, asked.query) : list.error().what();
  if (some) text += most_wanted_first;
  const std::string ended = ran_out.text(screen.width, most_ran_out);
  if (!ended.empty()) text += "\n" + ended;
  if (some) {
    text += "\n" +
            locks_table(most_wanted(*list, list->locks.size()), nodes_asked(*list), screen.width);
  }
  View view = headline_of(status, findings_of(status)).above(text);
  if (!list && view.colour == Colour::green) view.colour = Colour::yellow;
  draw(view, screen);
}

int code_of(int signal) {
  return signal == 0 || signal == SIGINT ? ExitCode::done : ExitCode::by_signal + signal;
}

/// Lists the locks on a thread, so that signals are heard meanwhile: a list may take long. After a
/// signal the coordinator is closed, which ends the list.
Awaited<LockList> listed(Coordinator& coordinator, const LocksQuery& query, Signals& signals,
                         NodesWatch& nodes) {
  std::jthread thread;
  const auto start = [&](auto handler) {
    thread = std::jthread([&coordinator, &query, handler = std::move(handler)]() mutable {
      handler(list_locks(coordinator, query));
    });
  };
  Awaited<LockList> list = await<LockList>(signals, start, never_again, &nodes);
  if (list.asked != 0) coordinator.close();
  return list;
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
    const auto [list, signal] = asked.is_live
                                    ? listed(coordinator, asked.query, *signals, *nodes)
                                    : Awaited<LockList>{list_locks(coordinator, asked.query)};
    if (signal != 0) return code_of(signal);
    ran_out.note(list, began);
    // A watch goes on: the nodes may come back.
    if (!list && !asked.is_live) throw Failure(list.error());
    if (globals.json) {
      Json document = list ? locks_json(*list) : error_json(Failure(list.error()));
      if (asked.is_live) document["ran_out"] = ran_out.document();
      print(document);
    } else if (watch && Screen::of_output().is_terminal) {
      const std::optional<ClusterStatus> status = watch->look();
      if (!status) break;
      redraw(*status, list, ran_out, asked);
    } else {
      show(list, ran_out, asked);
    }
  } while (watch && watch->pause(std::chrono::seconds(1)));
  return code_of(watch ? watch->asked_to_end() : 0);
}

}  // namespace

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
  add_wide(command, asked->wide);
  globals.add_flags_to(command);
  command.callback(
      [=, &globals, &chosen] { chosen = [=, &globals] { return locks(globals, *asked); }; });
}

}  // namespace quorumlock::cli
