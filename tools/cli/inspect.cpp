#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>

#include "client/duration_text.hpp"
#include "commands.hpp"
#include "globals.hpp"
#include "output.hpp"

namespace quorumlock::cli {
namespace {

/// Nodes that said whether they hold the key.
int answered(const Inspection& seen) {
  return seen.count(Vote::held) + seen.count(Vote::absent);
}

/// The nodes together, in one word.
std::string state_of(const Inspection& seen) {
  if (seen.mode()) return "held";
  if (seen.count(Vote::absent) >= seen.quorum) return "free";
  return answered(seen) >= seen.quorum ? "undecided" : "unknown";
}

const char* name_of(LockMode mode) {
  return mode == LockMode::shared ? "shared" : "exclusive";
}

std::string nodes_holding(const Inspection& seen) {
  const auto holding = std::ranges::count(seen.nodes, seen.holder, &NodeHolding::token);
  return std::to_string(holding) + " of " + std::to_string(seen.nodes.size()) + " nodes";
}

std::string verdict(const Inspection& seen) {
  const std::string quorum = "a quorum is " + std::to_string(seen.quorum) + " of " +
                             std::to_string(seen.nodes.size()) + " nodes";
  const std::string state = state_of(seen);
  if (!seen.holder.empty())
    return "held by " + seen.holder + " on " + nodes_holding(seen) + "; " + quorum;
  if (!seen.readers.empty()) return "shared by " + std::to_string(seen.readers.size()) + "; " + quorum;
  if (state == "free") return "free; " + quorum;
  if (state == "undecided") return "held by nobody, and not free on enough nodes; " + quorum;
  return "unknown: only " + std::to_string(answered(seen)) + " of " +
         std::to_string(seen.nodes.size()) + " nodes answered; " + quorum;
}

std::string held_by(const NodeHolding& node) {
  if (!node.readers.empty()) {
    std::string text = "shared by";
    for (const SharedHolding& one : node.readers) {
      text += (&one == &node.readers.front() ? " " : ", ") + one.token + " for " +
              client::to_text(one.expires_in);
    }
    return text;
  }
  return "held by " + (node.token.empty() ? node.detail : node.token) + "  " +
         (node.expires_in ? "for " + client::to_text(*node.expires_in) : "without an expiry");
}

/// The line, as a quorum of nodes has it. Processes are numbered as they come.
std::string line(const Inspection& seen) {
  std::string text;
  std::vector<std::string> processes;
  int position = 0;
  for (const LineEntry& one : seen.waiters) {
    auto process = std::ranges::find(processes, one.process);
    if (process == processes.end()) {
      processes.push_back(one.process);
      process = std::prev(processes.end());
    }
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(one.waiting_for);
    const bool short_wait = one.waiting_for < std::chrono::seconds(10);
    text += "\n  " + std::to_string(++position) + ". " + one.name + "  " + name_of(one.mode) +
            "  waits for about " +
            (short_wait ? client::to_text(one.waiting_for) : client::to_text(seconds)) +
            "  process " + std::to_string(process - processes.begin() + 1) + "  entry lives for " +
            client::to_text(one.expires_in);
  }
  return text;
}

std::string table(const Inspection& seen) {
  std::size_t width = 0;
  for (const NodeHolding& node : seen.nodes) width = std::max(width, node.node.size());
  std::string text = seen.resource + ": " + verdict(seen);
  for (const NodeHolding& node : seen.nodes) {
    text += "\n  " + node.node + std::string(width - node.node.size(), ' ') + "  ";
    if (node.vote == Vote::held) {
      text += held_by(node);
    } else {
      text += std::string(to_string(node.vote));
      if (!node.detail.empty()) text += ": " + node.detail;
    }
    if (!node.waiters.empty()) text += "  " + std::to_string(node.waiters.size()) + " in line";
  }
  if (seen.waiters.empty()) return text;
  return text + "\nin line on a quorum of nodes, the next one first:" + line(seen);
}

Json readers_json(const NodeHolding& node) {
  Json readers = Json::array();
  for (const SharedHolding& one : node.readers) {
    readers.push_back({{"owner_token", one.token}, {"expires_in_ms", one.expires_in.count()}});
  }
  return readers;
}

Json waiters_json(const std::vector<LineEntry>& waiters) {
  Json line = Json::array();
  for (const LineEntry& one : waiters) {
    line.push_back({{"position", line.size() + 1},
                    {"waiter", one.name},
                    {"process", one.process},
                    {"mode", name_of(one.mode)},
                    {"ticket", one.ticket},
                    {"waiting_for_ms", one.waiting_for.count()},
                    {"expires_in_ms", one.expires_in.count()}});
  }
  return line;
}

Json inspection_json(const Inspection& seen) {
  Json nodes = Json::array();
  for (const NodeHolding& node : seen.nodes) {
    Json one = {{"node", node.node},
                {"vote", node.vote == Vote::held ? "held" : to_string(node.vote)}};
    if (!node.token.empty()) one["owner_token"] = node.token;
    if (node.expires_in) one["expires_in_ms"] = node.expires_in->count();
    if (!node.readers.empty()) one["readers"] = readers_json(node);
    if (!node.detail.empty()) one["detail"] = node.detail;
    one["waiters"] = waiters_json(node.waiters);
    nodes.push_back(std::move(one));
  }
  Json document = {{"resource", seen.resource},
                   {"state", state_of(seen)},
                   {"mode", nullptr},
                   {"holder", nullptr},
                   {"readers", seen.readers},
                   {"waiters", waiters_json(seen.waiters)},
                   {"quorum", seen.quorum},
                   {"answered", answered(seen)},
                   {"nodes", std::move(nodes)}};
  if (seen.mode()) document["mode"] = name_of(*seen.mode());
  if (!seen.holder.empty()) document["holder"] = seen.holder;
  return document;
}

int inspect(const Globals& globals, const std::string& resource) {
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
    print(table(*seen));
  }
  return enough ? ExitCode::done : ExitCode::no_quorum;
}

}  // namespace

void add_inspect(CLI::App& app, Globals& globals, Action& chosen) {
  auto resource = std::make_shared<std::string>();
  CLI::App& command = *app.add_subcommand("inspect", "show who holds a resource and who waits for it, node by node");
  command.add_option("RESOURCE", *resource, "what to look at")->required()->type_name("");
  globals.add_flags_to(command);
  command.callback(
      [=, &globals, &chosen] { chosen = [=, &globals] { return inspect(globals, *resource); }; });
}

}  // namespace quorumlock::cli
