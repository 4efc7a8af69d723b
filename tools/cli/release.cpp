#include <CLI/CLI.hpp>

#include "commands.hpp"
#include "globals.hpp"
#include "output.hpp"

namespace quorumlock::cli {
namespace {

struct ReleaseArguments {
  std::string token;
  std::string resource;
};

int release(const Globals& globals, const ReleaseArguments& asked) {
  Coordinator coordinator = coordinator_with(globals.options());
  const Result<void> released = coordinator.release(asked.resource, OwnerToken(asked.token));
  if (!released) throw Failure(released.error());
  if (globals.json) print(Json{{"resource", asked.resource}, {"released", true}});
  return ExitCode::done;
}

}  // namespace

void add_release(CLI::App& app, Globals& globals, Action& chosen) {
  auto asked = std::make_shared<ReleaseArguments>();
  CLI::App& command = *app.add_subcommand("release", "unlock a resource, by its owner token");
  command.add_option("--token", asked->token, "the owner token that acquire printed")
      ->required()
      ->type_name("TOKEN");
  command.add_option("RESOURCE", asked->resource, "what is locked")->required()->type_name("");
  globals.add_flags_to(command);
  command.callback(
      [=, &globals, &chosen] { chosen = [=, &globals] { return release(globals, *asked); }; });
}

}  // namespace quorumlock::cli
