#include <CLI/CLI.hpp>

#include "commands.hpp"
#include "globals.hpp"
#include "lock.hpp"
#include "nodes_watch.hpp"
#include "output.hpp"
#include "wait_report.hpp"

namespace quorumlock::cli {
namespace {

using std::chrono::nanoseconds;

struct AcquireArguments {
  std::optional<nanoseconds> ttl;
  std::optional<nanoseconds> wait;
  bool explain = false;
  std::string resource;
};

Json described(const Lease& lease) {
  const Outcome outcome = lease.outcome();
  const auto valid_for = std::chrono::floor<std::chrono::milliseconds>(lease.remaining());
  Json document = {{"resource", lease.resource()},
                   {"owner_token", lease.owner_token()},
                   {"fencing_token", lease.fencing_token()},
                   {"valid_for_ms", valid_for.count()},
                   {"quorum", outcome.quorum},
                   {"votes", votes_json(outcome)}};
  if (!outcome.trace.empty()) document["trace"] = trace_json(outcome);
  return document;
}

int acquire(const Globals& globals, const AcquireArguments& asked) {
  const Options options = globals.options();
  Signals signals;
  Coordinator coordinator = coordinator_with(options);
  const NodesWatch nodes(globals, options, coordinator);  // while it waits
  WaitReport report(coordinator, {asked.resource}, false, "the lock on " + asked.resource);
  Lease lease = take_lock(
      coordinator, {asked.resource},
      {.ttl = asked.ttl, .wait = asked.wait, .auto_extend = false, .trace = asked.explain}, signals,
      [&] { return globals.json ? -1 : report.advance(); });
  report.end();
  // If the token cannot be printed this function's end destroys, and so releases, the lease.
  if (globals.json) {
    print(described(lease));
  } else {
    print(lease.owner_token().text());
    print_timeline(lease.outcome());
  }
  lease.detach();
  return ExitCode::done;
}

}  // namespace

void add_acquire(CLI::App& app, Globals& globals, Action& chosen) {
  auto asked = std::make_shared<AcquireArguments>();
  CLI::App& command = *app.add_subcommand(
      "acquire", "lock a resource and print the owner token; the lock runs out by itself");
  add_duration(command, "--ttl", asked->ttl, "how long the lock lasts");
  add_wait(command, "--wait", asked->wait, "how long to wait for it, or forever");
  add_explain(command, asked->explain);
  command.add_option("RESOURCE", asked->resource, "what to lock")->required()->type_name("");
  globals.add_flags_to(command);
  command.callback(
      [=, &globals, &chosen] { chosen = [=, &globals] { return acquire(globals, *asked); }; });
}

}  // namespace quorumlock::cli
