#include <quorumlock/inspection.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include "api/look.hpp"
#include "lock/owner_token.hpp"

namespace quorumlock {
namespace {

using std::chrono::milliseconds;

/// The greatest duration that at least `quorum` of the lives reach. O(n log n).
milliseconds reached_by(std::size_t quorum, std::vector<milliseconds> lives) {
  std::ranges::sort(lives, std::greater());
  return lives[quorum - 1];
}

/// The waiters that are in this line on a quorum of nodes, in their order.
template <class LineOf>
std::vector<LineEntry> line_of(const Inspection& all, LineOf line_of_node) {
  const auto quorum = static_cast<std::size_t>(all.quorum);
  std::map<std::string, std::vector<const LineEntry*>> entries;
  for (const NodeHolding& node : all.nodes) {
    for (const LineEntry& entry : line_of_node(node)) entries[entry.name].push_back(&entry);
  }
  std::vector<LineEntry> line;
  for (const auto& [name, seen] : entries) {
    if (seen.size() < quorum) continue;
    LineEntry& one = line.emplace_back(*seen.front());
    std::vector<milliseconds> lives;
    for (const LineEntry* entry : seen) {
      one.ticket = std::max(one.ticket, entry->ticket);
      one.waiting_for = std::max(one.waiting_for, entry->waiting_for);
      lives.push_back(entry->expires_in);
    }
    one.expires_in = reached_by(quorum, std::move(lives));
  }
  std::ranges::sort(line, [](const LineEntry& one, const LineEntry& other) {
    return std::tie(one.ticket, one.name) < std::tie(other.ticket, other.name);
  });
  return line;
}

SemaphoreHolding semaphore_of(const Inspection& all) {
  const auto quorum = static_cast<std::size_t>(all.quorum);
  SemaphoreHolding semaphore;
  std::map<int, std::size_t> capacities;
  std::map<std::pair<int, std::string>, std::vector<milliseconds>> permits;
  for (const NodeHolding& node : all.nodes) {
    ++capacities[node.semaphore.capacity];
    for (const PermitHolding& permit : node.semaphore.permits) {
      permits[{permit.slot, permit.token}].push_back(
          permit.expires_in.value_or(milliseconds::max()));
    }
  }
  for (const auto& [capacity, count] : capacities) {
    if (count >= quorum) semaphore.capacity = capacity;
  }
  for (const auto& [permit, lives] : permits) {
    if (lives.size() < quorum) continue;
    const milliseconds life = reached_by(quorum, lives);
    semaphore.permits.push_back({permit.first, OwnerToken(permit.second), std::nullopt});
    if (life != milliseconds::max()) semaphore.permits.back().expires_in = life;
  }
  semaphore.waiters = line_of(
      all, [](const NodeHolding& node) -> auto& { return node.semaphore.waiters; });
  return semaphore;
}

}  // namespace

int Inspection::count(Vote vote) const noexcept {
  return static_cast<int>(
      std::ranges::count_if(nodes, [vote](const NodeHolding& node) { return node.vote == vote; }));
}

std::optional<LockMode> Inspection::mode() const noexcept {
  if (!holder.empty()) return LockMode::exclusive;
  if (!readers.empty()) return LockMode::shared;
  return std::nullopt;
}

void detail::conclude(Inspection& all) {
  std::map<std::string, int> alone;
  std::map<std::string, int> sharing;
  for (const NodeHolding& node : all.nodes) {
    if (!node.token.empty()) ++alone[node.token];
    for (const SharedHolding& reader : node.readers) ++sharing[reader.token];
  }
  for (const auto& [token, count] : alone) {
    if (count >= all.quorum) all.holder = OwnerToken(token);
  }
  all.label = std::string(all.holder.label());
  std::vector<milliseconds> spans;
  for (const NodeHolding& node : all.nodes) {
    if (!all.holder.empty() && node.token == all.holder && node.held_for) {
      spans.push_back(*node.held_for);
    }
  }
  const auto quorum = static_cast<std::size_t>(all.quorum);
  if (spans.size() >= quorum) all.held_for = reached_by(quorum, std::move(spans));
  for (const auto& [token, count] : sharing) {
    if (count >= all.quorum) all.readers.emplace_back(token);
  }
  all.waiters = quorumlock::line_of(
      all, [](const NodeHolding& node) -> auto& { return node.waiters; });
  all.semaphore = semaphore_of(all);
}

}  // namespace quorumlock
