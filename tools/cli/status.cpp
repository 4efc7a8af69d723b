#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "commands.hpp"
#include "globals.hpp"
#include "status_table.hpp"
#include "status_watch.hpp"

namespace quorumlock::cli {
namespace {

constexpr std::chrono::seconds between_looks{1};

int once(const Globals& globals, StatusWatch& watch) {
  const std::optional<ClusterStatus> status = watch.look();
  if (!status) throw Failure::interrupted(watch.asked_to_end(), "while looking at the nodes");
  if (globals.json) {
    print(status_json(*status));
  } else {
    print(table(*status));
  }
  return status->has_quorum() ? ExitCode::done : ExitCode::no_quorum;
}

int live(const Globals& globals, StatusWatch& watch) {
  const bool redraw = !globals.json && ::isatty(STDOUT_FILENO) == 1;
  do {
    const std::optional<ClusterStatus> status = watch.look();
    if (!status) break;
    if (globals.json) {
      print(document(*status));
    } else {
      if (redraw) {
        print_over_the_last(table(*status));
      } else {
        print(table(*status) + "\n");
      }
    }
  } while (watch.pause(between_looks));
  const int signal = watch.asked_to_end();
  return signal == SIGINT ? ExitCode::done : ExitCode::by_signal + signal;
}

}  // namespace

void add_status(CLI::App& app, Globals& globals, Action& chosen) {
  auto is_live = std::make_shared<bool>(false);
  CLI::App& command = *app.add_subcommand("status", "show how each node fares as a voter");
  command.add_flag("--watch", *is_live,
                   "again every second, until Ctrl-C; SIGHUP reads the nodes in the file again");
  globals.add_flags_to(command);
  command.callback([=, &globals, &chosen] {
    chosen = [=, &globals] {
      Signals signals;
      const Options options = globals.options();
      Coordinator coordinator = coordinator_with(options);
      NodesWatch nodes(globals, options, coordinator);
      StatusWatch watch(coordinator, signals, &nodes);
      return *is_live ? live(globals, watch) : once(globals, watch);
    };
  });
}

}  // namespace quorumlock::cli
