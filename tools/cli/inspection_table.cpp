#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include <quorumlock/event.hpp>
#include <quorumlock/options.hpp>
#include "reports.hpp"

namespace quorumlock::cli {
namespace {

/// Describes all nodes together in one word.
std::string state_of(const Inspection& seen) {
  if (seen.mode()) return "held";
  if (seen.count(Vote::absent) >= seen.quorum) return "free";
  return answered(seen) >= seen.quorum ? "undecided" : "unknown";
}

const char* name_of(LockMode mode) {
  return mode == LockMode::shared ? "shared" : "exclusive";
}

/// Only our own tokens are random from the first digit on; one of another program stays whole.
void shorten(OwnerToken& token) {
  constexpr std::size_t digits = 40;
  constexpr std::size_t shown = 8;
  const std::string& text = token.text();
  const std::size_t end = text.find_first_not_of("0123456789abcdef");
  if (text.size() < digits || std::min(end, text.size()) != digits) return;
  if (end != text.npos && text[end] != '@') return;
  token = OwnerToken(text.substr(0, shown) + "..." + text.substr(digits));
}

std::string nodes_holding(const Inspection& seen) {
  const auto holding = std::ranges::count(seen.nodes, seen.holder, &NodeHolding::token);
  return std::to_string(holding) + " of " + std::to_string(seen.nodes.size()) + " nodes";
}

std::string lasting(std::optional<std::chrono::milliseconds> expires_in) {
  return expires_in ? "expires in " + roughly(*expires_in) : "without an expiry";
}

std::string held_by(const NodeHolding& node) {
  if (!node.readers.empty()) {
    std::string text = "shared by";
    for (const SharedHolding& one : node.readers) {
      text += (&one == &node.readers.front() ? " " : ", ") + printable(one.token.text()) + " (" +
              lasting(one.expires_in) + ")";
    }
    return text;
  }
  return "held by " + printable(node.token.empty() ? node.detail : node.token) + "  " +
         lasting(node.expires_in);
}

/// Describes the line that a quorum of nodes has. Processes are numbered in order of appearance.
std::string line(const std::vector<LineEntry>& waiters) {
  if (waiters.empty()) return "";
  std::string text = "\nin line on a quorum of nodes, the next one first:";
  std::vector<std::string> processes;
  int position = 0;
  for (const LineEntry& one : waiters) {
    auto process = std::ranges::find(processes, one.process);
    if (process == processes.end()) {
      processes.push_back(one.process);
      process = std::prev(processes.end());
    }
    text += "\n  " + std::to_string(++position) + ". " +
            printable(one.label.empty() ? one.name : one.label) + "  " + name_of(one.mode) +
            "  waits for about " + roughly(one.waiting_for) + "  process " +
            std::to_string(process - processes.begin() + 1) + "  entry " + lasting(one.expires_in);
  }
  return text;
}

std::string in_line(const std::vector<LineEntry>& waiters) {
  return waiters.empty() ? "" : "  " + std::to_string(waiters.size()) + " in line";
}

std::string permits_held(const SemaphoreHolding& semaphore) {
  return std::to_string(semaphore.permits.size()) + " of " + std::to_string(semaphore.capacity) +
         " permits held";
}

/// Returns a line for each node, beginning with its name.
template <class Say>
std::string by_node(const Inspection& seen, Say say) {
  std::size_t width = 0;
  for (const NodeHolding& node : seen.nodes) width = std::max(width, width_of(node.node));
  std::string text;
  for (const NodeHolding& node : seen.nodes) {
    text += "\n  " + padded(node.node, width + 2) + say(node);
  }
  return text;
}

std::string lock_of(const NodeHolding& node) {
  if (node.vote == Vote::held) return held_by(node) + in_line(node.waiters);
  return std::string(describe(node.vote)) +
         (node.detail.empty() ? "" : ": " + printable(node.detail)) + in_line(node.waiters);
}

std::string semaphore_of(const NodeHolding& node) {
  if (node.vote != Vote::held && node.vote != Vote::absent) return lock_of(node);
  const SemaphoreHolding& semaphore = node.semaphore;
  return (semaphore.capacity == 0 ? "knows of no permits" : permits_held(semaphore)) +
         in_line(semaphore.waiters);
}

/// Lists every permit on any node; permits without a quorum belong to no holder.
std::string permits(const Inspection& seen) {
  std::map<std::pair<int, std::string>, int> nodes;
  for (const NodeHolding& node : seen.nodes) {
    for (const PermitHolding& one : node.semaphore.permits) ++nodes[{one.slot, one.token}];
  }
  std::string text;
  for (const auto& [permit, count] : nodes) {
    const auto& [slot, token] = permit;
    const auto held =
        std::ranges::find_if(seen.semaphore.permits, [&its = permit](const PermitHolding& one) {
          return one.slot == its.first && one.token == its.second;
        });
    text += "\n  permit " + std::to_string(slot) + ": " +
            (token.empty() ? "another program's value" : printable(token)) + " on " +
            std::to_string(count) + " of " + std::to_string(seen.nodes.size()) + " nodes" +
            (held != seen.semaphore.permits.end() ? "  " + lasting(held->expires_in)
                                                  : ": too few to hold it");
  }
  return text;
}

std::string semaphore(const Inspection& seen) {
  if (std::ranges::none_of(seen.nodes, [](const auto& node) { return node.semaphore.known(); })) {
    return "";
  }
  return "\n" + printable(seen.resource) + " as a semaphore: " +
         (seen.semaphore.capacity == 0 ? "no quorum says how many permits it has"
                                       : permits_held(seen.semaphore)) +
         permits(seen) + by_node(seen, semaphore_of) + line(seen.semaphore.waiters);
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
                    {"label", one.label},
                    {"mode", name_of(one.mode)},
                    {"ticket", one.ticket},
                    {"waiting_for_ms", one.waiting_for.count()},
                    {"expires_in_ms", one.expires_in.count()}});
  }
  return line;
}

Json semaphore_json(const SemaphoreHolding& semaphore) {
  if (!semaphore.known()) return nullptr;
  Json permits = Json::array();
  for (const PermitHolding& one : semaphore.permits) {
    permits.push_back({{"permit", one.slot}, {"owner_token", one.token}});
    if (one.expires_in) permits.back()["expires_in_ms"] = one.expires_in->count();
  }
  return {{"capacity", semaphore.capacity},
          {"permits", std::move(permits)},
          {"waiters", waiters_json(semaphore.waiters)}};
}

}  // namespace

int answered(const Inspection& seen) {
  return seen.count(Vote::held) + seen.count(Vote::absent);
}

std::string verdict(const Inspection& seen) {
  const std::string quorum = "a quorum is " + std::to_string(seen.quorum) + " of " +
                             std::to_string(seen.nodes.size()) + " nodes";
  const std::string state = state_of(seen);
  if (!seen.holder.empty())
    return "held by " + printable(seen.holder.text()) + " on " + nodes_holding(seen) +
           (seen.held_for ? " for " + roughly(*seen.held_for) : "") + "; " + quorum;
  if (!seen.readers.empty())
    return "shared by " + std::to_string(seen.readers.size()) + "; " + quorum;
  if (state == "free") return "free; " + quorum;
  if (state == "undecided") {
    const auto foreign = std::ranges::count_if(seen.nodes, [](const NodeHolding& node) {
      return node.vote == Vote::held && !node.detail.empty();
    });
    return (foreign >= seen.quorum ? "held by another program" : "held by nobody") +
           std::string(", and not free on enough nodes; ") + quorum;
  }
  return "unknown: only " + std::to_string(answered(seen)) + " of " +
         std::to_string(seen.nodes.size()) + " nodes answered; " + quorum;
}

Inspection with_short_tokens(Inspection seen) {
  shorten(seen.holder);
  for (OwnerToken& reader : seen.readers) shorten(reader);
  const auto permits = [](SemaphoreHolding& semaphore) {
    for (PermitHolding& one : semaphore.permits) shorten(one.token);
  };
  permits(seen.semaphore);
  for (NodeHolding& node : seen.nodes) {
    shorten(node.token);
    for (SharedHolding& one : node.readers) shorten(one.token);
    permits(node.semaphore);
  }
  return seen;
}

std::string table(const Inspection& seen) {
  const std::string group = seen.group.empty() ? "" : "; group " + seen.group;
  return printable(seen.resource) + ": " + verdict(seen) + group + by_node(seen, lock_of) +
         line(seen.waiters) + semaphore(seen);
}

Json inspection_json(const Inspection& seen) {
  Json nodes = Json::array();
  for (const NodeHolding& node : seen.nodes) {
    Json one = {{"node", node.node}, {"vote", to_string(node.vote)}};
    if (!node.token.empty()) one["owner_token"] = node.token;
    if (node.expires_in) one["expires_in_ms"] = node.expires_in->count();
    if (!node.readers.empty()) one["readers"] = readers_json(node);
    if (!node.detail.empty()) one["detail"] = node.detail;
    one["waiters"] = waiters_json(node.waiters);
    one["semaphore"] = semaphore_json(node.semaphore);
    nodes.push_back(std::move(one));
  }
  Json document = {{"resource", seen.resource},
                   {"state", state_of(seen)},
                   {"mode", nullptr},
                   {"holder", nullptr},
                   {"readers", seen.readers},
                   {"waiters", waiters_json(seen.waiters)},
                   {"semaphore", semaphore_json(seen.semaphore)},
                   {"quorum", seen.quorum},
                   {"answered", answered(seen)},
                   {"nodes", std::move(nodes)}};
  if (!seen.group.empty()) document["group"] = seen.group;
  if (seen.mode()) document["mode"] = name_of(*seen.mode());
  if (!seen.holder.empty()) {
    document["holder"] = seen.holder;
    document["label"] = seen.label;
  }
  if (seen.held_for) document["held_for_ms"] = seen.held_for->count();
  return document;
}

}  // namespace quorumlock::cli
