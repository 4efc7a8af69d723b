#include <quorumlock/inspection.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>

#include "client/look.hpp"

namespace quorumlock {

int Inspection::count(Vote vote) const noexcept {
  return static_cast<int>(
      std::ranges::count_if(nodes, [vote](const NodeHolding& node) { return node.vote == vote; }));
}

std::optional<LockMode> Inspection::mode() const noexcept {
  if (!holder.empty()) return LockMode::exclusive;
  if (!readers.empty()) return LockMode::shared;
  return std::nullopt;
}

void client::conclude(Inspection& all) {
  std::map<std::string, int> alone;
  std::map<std::string, int> sharing;
  std::map<std::string, std::vector<const LineEntry*>> entries;
  for (const NodeHolding& node : all.nodes) {
    if (!node.token.empty()) ++alone[node.token];
    for (const SharedHolding& reader : node.readers) ++sharing[reader.token];
    for (const LineEntry& entry : node.waiters) entries[entry.name].push_back(&entry);
  }
  for (const auto& [token, count] : alone) {
    if (count >= all.quorum) all.holder = token;
  }
  for (const auto& [token, count] : sharing) {
    if (count >= all.quorum) all.readers.push_back(token);
  }
  for (const auto& [name, seen] : entries) {
    if (static_cast<int>(seen.size()) < all.quorum) continue;
    LineEntry& one = all.waiters.emplace_back(*seen.front());
    std::vector<std::chrono::milliseconds> lives;
    for (const LineEntry* entry : seen) {
      one.ticket = std::max(one.ticket, entry->ticket);
      one.waiting_for = std::max(one.waiting_for, entry->waiting_for);
      lives.push_back(entry->expires_in);
    }
    std::ranges::sort(lives, std::greater());
    one.expires_in = lives[static_cast<std::size_t>(all.quorum - 1)];
  }
  std::ranges::sort(all.waiters, [](const LineEntry& one, const LineEntry& other) {
    return std::tie(one.ticket, one.name) < std::tie(other.ticket, other.name);
  });
}

}  // namespace quorumlock
