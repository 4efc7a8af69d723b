#include <signal.h>

#include <CLI/CLI.hpp>
#include <deque>
#include <mutex>

#include <quorumlock/election.hpp>
#include <quorumlock/event.hpp>
#include "commands.hpp"
#include "globals.hpp"
#include "nodes_watch.hpp"
#include "output.hpp"
#include "waiting.hpp"

namespace quorumlock::cli {
namespace {

using Seen = std::optional<Leader>;

/// How many digits of an owner token are shown: with the whole token anybody could release it.
constexpr std::size_t token_digits = 8;

/// The news that the loop's thread has seen and the main thread has not printed yet.
class Sightings {
 public:
  void add(Seen leader) {
    const std::lock_guard<std::mutex> lock(guard_);
    seen_.push_back(std::move(leader));
    some_.set();
  }
  std::deque<Seen> take() {
    const std::lock_guard<std::mutex> lock(guard_);
    some_.clear();
    return std::exchange(seen_, {});
  }
  [[nodiscard]] int fd() const { return some_.fd(); }

 private:
  std::mutex guard_;
  std::deque<Seen> seen_;
  Event some_;
};

std::string label_of(const Leader& leader) {
  return std::string(leader.owner_token.label());
}

std::string sentence_on(const Seen& leader) {
  if (!leader) return "nobody leads";
  std::string who = leader->value.empty() ? label_of(*leader) : leader->value;
  if (who.empty()) {
    who = "the holder of token " + leader->owner_token.text().substr(0, token_digits) + "...";
  }
  return printable(who) + " leads" +
         (leader->fencing_token == 0 ? ""
                                     : ", fencing token " + std::to_string(leader->fencing_token));
}

Json document_on(const std::string& resource, const Seen& leader) {
  Json document = {{"resource", resource}, {"leader", nullptr}};
  if (!leader) return document;
  Json one = {{"value", leader->value},
              {"label", label_of(*leader)},
              {"token_begin", leader->owner_token.text().substr(0, token_digits)}};
  if (leader->fencing_token != 0) one["fencing_token"] = leader->fencing_token;
  document["leader"] = std::move(one);
  return document;
}

void print_leader(const Globals& globals, const std::string& resource, const Seen& leader) {
  if (globals.json) return print(document_on(resource, leader));
  print(sentence_on(leader));
}

int observe(const Globals& globals, const std::string& resource, bool is_once) {
  const Options options = globals.options();
  Signals signals;
  Coordinator coordinator = coordinator_with(options);
  NodesWatch nodes(globals, options, coordinator);
  Election election(coordinator, resource);
  const Awaited<Seen> now = await<Seen>(
      signals, [&](auto handler) { election.async_leader(std::move(handler)); }, never_again,
      &nodes);
  int asked = now.asked;
  if (!now.result && asked == 0) {
    if (is_once || now.result.error().code() != Errc::no_quorum) throw Failure(now.result.error());
    globals.warn(std::string(now.result.error().what()) + "; still looking");
  }
  if (is_once && now.result) {
    print_leader(globals, resource, *now.result);
    return *now.result ? ExitCode::done : ExitCode::not_to_be_had;
  }
  const auto sightings = std::make_shared<Sightings>();
  std::stop_source enough;
  const Result<void> begun = election.observe(
      enough.get_token(), [sightings](Seen leader) { sightings->add(std::move(leader)); });
  if (!begun) throw Failure(begun.error());
  while (asked == 0) {
    pollfd ready[] = {{signals.fd(), POLLIN, 0}, {sightings->fd(), POLLIN, 0}};
    await_ready(ready, -1);
    for (const Seen& leader : sightings->take()) print_leader(globals, resource, leader);
    asked = signals.asked_to_end();
    if (asked == SIGHUP && nodes.look_now()) asked = 0;
  }
  enough.request_stop();
  return asked == SIGINT ? ExitCode::done : ExitCode::by_signal + asked;
}

}  // namespace

void add_observe(CLI::App& app, Globals& globals, Action& chosen) {
  auto resource = std::make_shared<std::string>();
  auto is_once = std::make_shared<bool>(false);
  CLI::App& command = *app.add_subcommand("observe", "print the leader, and each change of it");
  command.footer(
      "Prints a line for the leader now and one for each change, until SIGINT or SIGTERM. Nodes\n"
      "announce changes; a leader that died is noticed within a second after its ttl. While fewer\n"
      "than a quorum of nodes answer, nothing is printed: the last line may be out of date.\n\n"
      "--once ends with 75 if nobody leads, and with 69 if no quorum of nodes answers.");
  command.add_flag("--once", *is_once, "print the leader now, and end");
  command.add_option("RESOURCE", *resource, "the election's name")->required()->type_name("");
  globals.add_flags_to(command);
  command.callback([=, &globals, &chosen] {
    chosen = [=, &globals] { return observe(globals, *resource, *is_once); };
  });
}

}  // namespace quorumlock::cli
