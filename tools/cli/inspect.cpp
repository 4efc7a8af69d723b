#include <CLI/CLI.hpp>

#include "commands.hpp"
#include "globals.hpp"
#include "output.hpp"
#include "reports.hpp"

namespace quorumlock::cli {
namespace {

int inspect(const Globals& globals, const std::string& resource, bool wide) {
  Coordinator coordinator = coordinator_with(globals.options());
  const Result<Inspection> seen = coordinator.inspect(resource);
  if (!seen) throw Failure(seen.error());
  const bool enough = answered(*seen) >= seen->quorum;
  const Failure too_few(ExitCode::no_quorum, "no_quorum", resource + ": " + verdict(*seen));
  if (globals.json) {
    Json shown = inspection_json(*seen);
    if (!enough) shown.update(error_json(too_few));
    print(shown);
  } else {
    const Screen screen = Screen::of_output(wide);
    const bool narrow = screen.width != unlimited;
    print({.text = table(narrow ? with_short_tokens(*seen) : *seen)}, screen);
  }
  return enough ? ExitCode::done : ExitCode::no_quorum;
}

}  // namespace

void add_inspect(CLI::App& app, Globals& globals, Action& chosen) {
  auto resource = std::make_shared<std::string>();
  auto wide = std::make_shared<bool>(false);
  CLI::App& command = *app.add_subcommand(
      "inspect", "show who holds a resource or its permits and who waits, node by node");
  command.add_option("RESOURCE", *resource, "what to look at")->required()->type_name("");
  command.add_flag("--wide", *wide, "whole owner tokens, although this is a terminal");
  globals.add_flags_to(command);
  command.callback([=, &globals, &chosen] {
    chosen = [=, &globals] { return inspect(globals, *resource, *wide); };
  });
}

}  // namespace quorumlock::cli
