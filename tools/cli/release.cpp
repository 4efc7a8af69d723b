#include <CLI/CLI.hpp>

#include "commands.hpp"
#include "globals.hpp"
#include "output.hpp"

namespace quorumlock::cli {
namespace {

struct ReleaseArguments {
  std::string token;
  std::vector<std::string> resources;
};

int release(const Globals& globals, const ReleaseArguments& asked) {
  Coordinator coordinator = coordinator_with(globals.options());
  const Result<void> released = coordinator.release(asked.resources, OwnerToken(asked.token));
  if (!released) throw Failure(released.error());
  if (globals.json) {
    print(Json{
        {"resource", asked.resources.front()}, {"resources", asked.resources}, {"released", true}});
  }
  return ExitCode::done;
}

}  // namespace

void add_release(CLI::App& app, Globals& globals, Action& chosen) {
  auto asked = std::make_shared<ReleaseArguments>();
  CLI::App& command = *app.add_subcommand("release", "unlock a resource, by its owner token");
  command.add_option("--token", asked->token, "the owner token that acquire printed")
      ->required()
      ->type_name("TOKEN");
  command
      .add_option("RESOURCE", asked->resources, "what is locked; several that were locked as one")
      ->required()
      ->type_name("");
  globals.add_flags_to(command);
  command.callback(
      [=, &globals, &chosen] { chosen = [=, &globals] { return release(globals, *asked); }; });
}

}  // namespace quorumlock::cli
