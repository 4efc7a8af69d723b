#include <CLI/CLI.hpp>
#include <algorithm>

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
  if (!seen.holder.empty()) return "held";
  if (seen.count(Vote::absent) >= seen.quorum) return "free";
  return answered(seen) >= seen.quorum ? "undecided" : "unknown";
}

std::string nodes_holding(const Inspection& seen) {
  const auto holding = std::ranges::count(seen.nodes, seen.holder, &NodeHolding::token);
  return std::to_string(holding) + " of " + std::to_string(seen.nodes.size()) + " nodes";
}

std::string verdict(const Inspection& seen) {
  const std::string quorum = "a quorum is " + std::to_string(seen.quorum) + " of " +
                             std::to_string(seen.nodes.size()) + " nodes";
  const std::string state = state_of(seen);
  if (state == "held")
    return "held by " + seen.holder + " on " + nodes_holding(seen) + "; " + quorum;
  if (state == "free") return "free; " + quorum;
  if (state == "undecided") return "held by nobody, and not free on enough nodes; " + quorum;
  return "unknown: only " + std::to_string(answered(seen)) + " of " +
         std::to_string(seen.nodes.size()) + " nodes answered; " + quorum;
}

std::string expiry(const NodeHolding& node) {
  if (node.vote != Vote::held) return "";
  return node.expires_in ? "for " + client::to_text(*node.expires_in) : "without an expiry";
}

std::string table(const Inspection& seen) {
  std::size_t width = 0;
  for (const NodeHolding& node : seen.nodes) width = std::max(width, node.node.size());
  std::string text = seen.resource + ": " + verdict(seen);
  for (const NodeHolding& node : seen.nodes) {
    text += "\n  " + node.node + std::string(width - node.node.size(), ' ');
    if (node.vote == Vote::held) {
      text += "  held by " + (node.token.empty() ? node.detail : node.token) + "  " + expiry(node);
    } else {
      text += "  " + std::string(to_string(node.vote));
      if (!node.detail.empty()) text += ": " + node.detail;
    }
  }
  return text;
}

Json document(const Inspection& seen) {
  Json nodes = Json::array();
  for (const NodeHolding& node : seen.nodes) {
    Json one = {{"node", node.node},
                {"vote", node.vote == Vote::held ? "held" : to_string(node.vote)}};
    if (!node.token.empty()) one["owner_token"] = node.token;
    if (node.expires_in) one["expires_in_ms"] = node.expires_in->count();
    if (!node.detail.empty()) one["detail"] = node.detail;
    nodes.push_back(std::move(one));
  }
  Json document = {{"resource", seen.resource},  {"state", state_of(seen)},
                   {"holder", nullptr},          {"quorum", seen.quorum},
                   {"answered", answered(seen)}, {"nodes", std::move(nodes)}};
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
    Json shown = document(*seen);
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
  CLI::App& command = *app.add_subcommand("inspect", "show who holds a resource, node by node");
  command.add_option("RESOURCE", *resource, "what to look at")->required()->type_name("");
  globals.add_flags_to(command);
  command.callback(
      [=, &globals, &chosen] { chosen = [=, &globals] { return inspect(globals, *resource); }; });
}

}  // namespace quorumlock::cli
