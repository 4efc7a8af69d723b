#include <CLI/CLI.hpp>

#include <quorumlock/options.hpp>
#include "commands.hpp"
#include "globals.hpp"
#include "output.hpp"

namespace quorumlock::cli {
namespace {

using std::chrono::milliseconds;

struct ExtendArguments {
  std::string token;
  std::optional<std::chrono::nanoseconds> ttl;
  std::vector<std::string> resources;
};

int extend(const Globals& globals, const ExtendArguments& asked) {
  const Options options = globals.options();
  Coordinator coordinator = coordinator_with(options);
  const Result<Clock::time_point> until =
      coordinator.extend(asked.resources, OwnerToken(asked.token), asked.ttl.value_or(options.ttl));
  if (!until) throw Failure(until.error());
  const auto valid_for = std::chrono::floor<milliseconds>(*until - Clock::now());
  if (globals.json) {
    print(Json{{"resource", asked.resources.front()},
               {"resources", asked.resources},
               {"valid_for_ms", valid_for.count()}});
  } else {
    print("valid for " + to_text(valid_for));
  }
  return ExitCode::done;
}

}  // namespace

void add_extend(CLI::App& app, Globals& globals, Action& chosen) {
  auto asked = std::make_shared<ExtendArguments>();
  CLI::App& command =
      *app.add_subcommand("extend", "make a lock that is held last longer, by its owner token");
  command.add_option("--token", asked->token, "the owner token that acquire printed")
      ->required()
      ->type_name("TOKEN");
  add_duration(command, "--ttl", asked->ttl, "how long it lasts from now on");
  command
      .add_option("RESOURCE", asked->resources, "what is locked; several that were locked as one")
      ->required()
      ->type_name("");
  globals.add_flags_to(command);
  command.callback(
      [=, &globals, &chosen] { chosen = [=, &globals] { return extend(globals, *asked); }; });
}

}  // namespace quorumlock::cli
