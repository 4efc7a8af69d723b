#include "headline.hpp"

#include <algorithm>

#include <quorumlock/event.hpp>

#include "status_table.hpp"

namespace quorumlock::cli {
namespace {

constexpr std::size_t most_names = 2;

std::vector<const NodeStatus*> without_vote(const ClusterStatus& status) {
  std::vector<const NodeStatus*> nodes;
  for (const NodeStatus& node : status.nodes) {
    if (!node.votes) nodes.push_back(&node);
  }
  return nodes;
}

std::string state_of(const ClusterStatus& status, bool no_spare) {
  const bool some = std::ranges::any_of(status.groups, &GroupStatus::has_quorum);
  std::string text = status.has_quorum() ? "Locks can be had"
                     : some              ? "Only some locks can be had"
                                         : "No lock can be had";
  if (status.has_quorum() && no_spare) text += ", and no vote is to spare";
  return text + ": " + verdict(status);
}

/// Names these nodes, and why they do not vote if that is the same for all.
std::string named(const std::vector<const NodeStatus*>& nodes) {
  std::string text = std::to_string(nodes.size()) +
                     (nodes.size() == 1 ? " node does not vote: " : " nodes do not vote: ");
  for (std::size_t i = 0; i < nodes.size() && i < most_names; ++i) {
    text += (i == 0 ? "" : ", ") + nodes[i]->node;
  }
  if (nodes.size() > most_names) {
    text += " and " + std::to_string(nodes.size() - most_names) + " more";
  }
  const bool same = std::ranges::all_of(nodes, [&](const NodeStatus* node) {
    return node->reason == nodes.front()->reason && node->state == nodes.front()->state;
  });
  return same ? text + " (" + std::string(reason_of(*nodes.front())) + ")" : text;
}

/// The first finding that explains why a node of this name does not vote.
const Finding* explains(const std::vector<Finding>& findings, const NodeStatus& node) {
  const auto found = std::ranges::find(findings, printable(node.node), &Finding::node);
  return found == findings.end() ? nullptr : &*found;
}

/// What is wrong, and what to do about it: first so that nodes vote again, and if all of them do,
/// about the gravest finding. The findings are ranked.
void explain(Headline& headline, const ClusterStatus& status,
             const std::vector<Finding>& findings) {
  const std::vector<const NodeStatus*> silent = without_vote(status);
  if (silent.empty()) {
    if (findings.empty() || findings.front().severity == Severity::hint) return;
    const Finding& first = findings.front();
    headline.wrong = first.node + (first.node.empty() ? "" : " ") + first.what;
    headline.to_do = first.remedy;
    return;
  }
  headline.wrong = named(silent);
  const Finding* const first = explains(findings, *silent.front());
  if (first == nullptr) return;
  const bool same = std::ranges::all_of(silent, [&](const NodeStatus* node) {
    const Finding* const its = explains(findings, *node);
    return its != nullptr && its->remedy == first->remedy;
  });
  headline.to_do = (silent.size() == 1 ? ""
                    : same             ? "for each of them, "
                                       : first->node + ": ") +
                   first->remedy;
}

}  // namespace

View Headline::above(const std::string& text) const {
  std::string below;
  if (!wrong.empty()) below += "  wrong: " + wrong + '\n';
  if (!to_do.empty()) below += "  to do: " + to_do + '\n';
  return {colour, state, below + text};
}

Json Headline::document() const {
  return {{"colour", to_string(colour)}, {"state", state}, {"wrong", wrong}, {"to_do", to_do}};
}

Headline headline_of(const ClusterStatus& status, const std::vector<Finding>& findings) {
  const auto has = [&](const char* code) {
    return std::ranges::find(findings, code, &Finding::code) != findings.end();
  };
  const bool endangered = std::ranges::any_of(
      findings, [](const Finding& one) { return one.severity != Severity::hint; });
  Headline headline{!status.has_quorum() ? Colour::red
                    : endangered         ? Colour::yellow
                                         : Colour::green,
                    state_of(status, has("no_spare_vote")),
                    {},
                    {}};
  explain(headline, status, findings);
  if (has("no_spare_vote") && !headline.to_do.empty()) {
    headline.to_do += "; restart no other node until one more votes";
  }
  for (std::string* const text : {&headline.state, &headline.wrong, &headline.to_do}) {
    *text = printable(*text);
  }
  return headline;
}

}  // namespace quorumlock::cli
