#include "sim/world/short_lives.hpp"

#include <algorithm>
#include <string>

#include "sim/world/records.hpp"
#include "sim/world/world.hpp"

namespace quorumlock::sim {

using namespace std::chrono_literals;

ShortLives::ShortLives(World& world)
    : Machine(world), wrong_(static_cast<std::size_t>(draw_.servers())) {}

void ShortLives::plan() {
  if (!draw_.short_lives) return;
  for (const Client& client : clients_) plan_end(client.number);
}

void ShortLives::plan_end(std::size_t client) {
  const TrueTime about = draw_.max_ttl / 3;
  const TrueTime span = only_short_ ? about * random_.between(50, 100) / 100 : draw_span(2 * about);
  after(span, [this, client, life = clients_[client].life] {
    if (scene_.healing && !only_short_) return;
    end_if_idle(client, life, now() + draw_.node_timeout);
  });
}

void ShortLives::end_if_idle(std::size_t client, std::size_t life, TrueTime by) {
  Client& ends = clients_[client];
  if (ends.life == life && ends.session->is_at_work() && now() < by) {
    return after(draw_.message_when_well(),
                 [this, client, life, by] { end_if_idle(client, life, by); });
  }
  if (ends.life == life && !ends.paused) {
    trace("client ", client + 1, " ends, and another one begins");
    world_.processes.die(ends);
    if (!scene_.healing) {
      after(draw_span(draw_.every),
            [this, client, next = ends.life] { world_.users.act(client, next); });
    }
  }
  plan_end(client);
}

void ShortLives::booted(int node) {
  if (!draw_.short_lives || wrong_[static_cast<std::size_t>(node)]) return;
  wrong_[static_cast<std::size_t>(node)] = true;
  trace("FAULT the clock of node ", node + 1, " is an hour behind");
  node_at(node).clock.step(-TrueTime(1h));
  const TrueTime span = std::min(draw_span(draw_.max_ttl / 20), TrueTime(draw_.max_ttl) * 8 / 10);
  after(span, [this, node] {
    trace("FAULT the clock of node ", node + 1, " is set right");
    node_at(node).clock.step(TrueTime(1h));
    wrong_[static_cast<std::size_t>(node)] = false;
  });
}

bool ShortLives::all_have_records() const {
  return std::ranges::all_of(
      nodes_, [this](const Server& server) { return membership_of(server, now()).has_value(); });
}

void ShortLives::demand() {
  if (!draw_.short_lives) return;
  run_until(now() + draw_.keys_live());
  trace("all nodes restart, and only clients that live shortly are left");
  only_short_ = true;
  for (const Client& client : clients_) plan_end(client.number);
  for (int node = 0; node < draw_.servers(); ++node) {
    node_at(node).crash();
    world_.network.lose_all(node);
  }
  run_until(now() + draw_.max_ttl / 10);
  for (int node = 0; node < draw_.servers(); ++node) world_.faults.restart(node);
  const TrueTime end = now() + TrueTime(draw_.max_ttl) * 24 / 10 + draw_.node_timeout + 3s;
  while (now() < end && violation().empty() && !all_have_records()) {
    run_until(now() + draw_.message_when_well());
  }
  for (int node = 0; node < draw_.servers() && violation().empty(); ++node) {
    if (membership_of(node_at(node), now())) continue;
    report("node " + std::to_string(node + 1) +
           " was not brought back by clients that live for less than max_ttl");
  }
  only_short_ = false;
}

}  // namespace quorumlock::sim
