#include <signal.h>

#include <CLI/CLI.hpp>
#include <vector>

#include <quorumlock/admin.hpp>

#include "commands.hpp"
#include "globals.hpp"
#include "headline.hpp"
#include "lookout.hpp"
#include "reports.hpp"
#include "status_table.hpp"
#include "status_watch.hpp"

namespace quorumlock::cli {
namespace {

constexpr std::chrono::seconds between_looks{1};
constexpr std::size_t most_locks = 5;  ///< the most that a watch shows

/// The locks that a watch shows below the nodes. A thread of its own lists them, so that the state
/// of the nodes does not wait for a long list.
class LocksBelow {
 public:
  explicit LocksBelow(Coordinator& coordinator)
      : coordinator_(coordinator), lookout_(board_, 1, [&coordinator](const std::string&) {
          return list_locks(coordinator);
        }) {
    lookout_.watch("");
  }
  LocksBelow(const LocksBelow&) = delete;
  LocksBelow& operator=(const LocksBelow&) = delete;
  /// Closes the coordinator, which ends a listing that is under way.
  ~LocksBelow() {
    board_.end();
    coordinator_.close();
  }

  /// Empty before the first list.
  std::string text(std::size_t width) {
    const auto seen = last();
    if (seen == nullptr) return {};
    if (!seen->value) return std::string("\n\n") + seen->value.error().what();
    const LockList& list = *seen->value;
    std::string text = "\n\n" + counts_of(list);
    if (!list.locks.empty()) {
      text += most_wanted_first + std::string("\n") +
              locks_table(most_wanted(list, most_locks), nodes_asked(list), width);
    }
    if (text.back() == '\n') text.pop_back();
    return text;
  }
  /// Returns null before the first list.
  Json document() {
    const auto seen = last();
    if (seen == nullptr) return nullptr;
    if (!seen->value) return error_json(Failure(seen->value.error()));
    const LockList& list = *seen->value;
    Json first = Json::array();
    for (const HeldLock& lock : most_wanted(list, most_locks))
      first.push_back(held_lock_json(lock));
    return {{"held", list.locks.size()},
            {"waiting", waiting_in(list)},
            {"complete", list.complete},
            {"first", std::move(first)}};
  }

 private:
  Lookout<LockList>::SeenPtr last() {
    const std::lock_guard<std::mutex> lock(board_.guard);
    return lookout_.last("");
  }

  Coordinator& coordinator_;
  NewsBoard board_;
  Lookout<LockList> lookout_;
};

struct StatusArguments {
  bool is_live = false;
  bool wide = false;
};

/// On a terminal a headline says what a person has to know first. Elsewhere there is the verdict
/// alone, as a line for scripts.
View view_of(const ClusterStatus& status, const Screen& screen) {
  if (!screen.is_terminal) return {.text = verdict(status) + "\n" + table(status, screen.width)};
  return headline_of(status, findings_of(status)).above(table(status, screen.width));
}

int once(const Globals& globals, StatusWatch& watch, bool wide) {
  const std::optional<ClusterStatus> status = watch.look();
  if (!status) throw Failure::interrupted(watch.asked_to_end(), "while looking at the nodes");
  if (globals.json) {
    print(status_json(*status));
  } else {
    const Screen screen = Screen::of_output(wide);
    print(view_of(*status, screen), screen);
  }
  return status->has_quorum() ? ExitCode::done : ExitCode::no_quorum;
}

int live(const Globals& globals, StatusWatch& watch, Coordinator& coordinator, bool wide) {
  LocksBelow locks(coordinator);
  do {
    const std::optional<ClusterStatus> status = watch.look();
    if (!status) break;
    if (globals.json) {
      Json shown = document(*status);
      shown["locks"] = locks.document();
      print(shown);
    } else {
      const Screen screen = Screen::of_output(wide);
      View view = view_of(*status, screen);
      view.text += locks.text(screen.width);
      if (screen.is_terminal) {
        draw(view, screen);
      } else {
        print(view.text + "\n");
      }
    }
  } while (watch.pause(between_looks));
  const int signal = watch.asked_to_end();
  return signal == SIGINT ? ExitCode::done : ExitCode::by_signal + signal;
}

}  // namespace

void add_status(CLI::App& app, Globals& globals, Action& chosen) {
  auto asked = std::make_shared<StatusArguments>();
  CLI::App& command = *app.add_subcommand("status", "show how each node fares as a voter");
  command.add_flag("--watch", asked->is_live,
                   "again every second, with the locks that are most waited for, until Ctrl-C; "
                   "SIGHUP reads the nodes in the file again");
  add_wide(command, asked->wide);
  globals.add_flags_to(command);
  command.callback([=, &globals, &chosen] {
    chosen = [=, &globals] {
      const Options options = globals.options();
      Signals signals;
      Coordinator coordinator = coordinator_with(options);
      NodesWatch nodes(globals, options, coordinator);
      StatusWatch watch(coordinator, signals, &nodes);
      return asked->is_live ? live(globals, watch, coordinator, asked->wide)
                            : once(globals, watch, asked->wide);
    };
  });
}

}  // namespace quorumlock::cli
