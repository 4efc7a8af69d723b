#include "sim/world/paths.hpp"

#include <algorithm>

namespace quorumlock::sim {

using namespace std::chrono_literals;

Paths::Paths(World& world)
    : Machine(world),
      paths_(static_cast<std::size_t>(draw_.clients),
             std::vector<Path>(static_cast<std::size_t>(draw_.servers()))) {}

void Paths::draw_speeds(std::size_t client) {
  if (!draw_.uneven_paths) return;
  constexpr int speeds[] = {5, 20, 100, 100, 300};
  for (Path& path : paths_[client]) path.percent = speeds[random_.index(std::size(speeds))];
}

TrueTime Paths::arrival(std::size_t client, int node, bool to_node, TrueTime& last) {
  const Path& path = between(client, node);
  const TrueTime blocked = to_node ? path.blocked_to : path.blocked_from;
  const TrueTime about =
      scene_.healing ? draw_.message_when_well() : draw_.delay * path.percent / 100;
  TrueTime when = now() + 1us + draw_span(about) + path.extra;
  if (when < blocked) when = blocked + draw_span(draw_.delay);
  return last = std::max(when, last + 1ns);
}

void Paths::hide(std::size_t client, int node, TrueTime until) {
  Path& path = between(client, node);
  path.blocked_to = path.blocked_from = until;
  path.lost = true;
}

void Paths::count_as_lost(int node) {
  for (auto& of_client : paths_) of_client[static_cast<std::size_t>(node)].lost = true;
}

void Paths::heal() {
  for (auto& of_client : paths_) {
    for (Path& path : of_client) path.blocked_to = path.blocked_from = path.extra = TrueTime();
  }
}

bool Paths::any_lost() const {
  return std::ranges::any_of(
      paths_, [](const auto& of_client) { return std::ranges::any_of(of_client, &Path::lost); });
}

}  // namespace quorumlock::sim
