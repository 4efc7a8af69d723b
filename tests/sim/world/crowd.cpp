#include "sim/world/crowd.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/world/world.hpp"

namespace quorumlock::sim {

using namespace std::chrono_literals;

std::size_t Crowd::ask(Client& client, const std::string& key, core::Duration ttl,
                       core::Duration wait) {
  Operation one;
  one.key = key;
  one.terms = {.ttl = ttl, .stop_margin = ttl / 10};
  one.in_crowd = wait > 0s;
  one.kept = !one.in_crowd;
  return world_.users.request(client, std::move(one), wait, draw_.in_order > 0).number;
}

/// An acquisition takes at most 12 commands to a node, with its entry, its refreshes and its
/// release. The acquisitions of one lock follow one another, and each also waits for messages.
TrueTime Crowd::bound() const {
  const TrueTime service = draw_.service;
  const int in_a_row = (draw_.crowd + draw_.crowd_keys - 1) / draw_.crowd_keys;
  return 2s + 12 * draw_.crowd * service +
         in_a_row * (16 * service + 40 * draw_.message_when_well());
}

void Crowd::demand() {
  if (draw_.crowd == 0 || clients_.size() < 2) return;
  run_until(now() + 1s);
  Client& holder = clients_[0];
  Client& waiter = clients_[1];
  std::vector<std::size_t> held;
  for (int i = 0; i < draw_.crowd_keys; ++i) {
    held.push_back(ask(holder, "crowd/" + std::to_string(i), draw_.max_ttl, 0s));
  }
  world_.processes.turn(holder);
  held.push_back(ask(waiter, "kept", draw_.ttl, 0s));
  world_.processes.turn(waiter);
  run_until(now() + 1s + 100 * draw_.message_when_well());

  world_.network.slow_down(draw_.service);
  std::vector<std::size_t> crowd;
  for (int i = 0; i < draw_.crowd; ++i) {
    crowd.push_back(ask(waiter, "crowd/" + std::to_string(i % draw_.crowd_keys), draw_.ttl, 1h));
  }
  world_.processes.turn(waiter);
  run_until(now() + 2s + 4 * draw_.crowd * TrueTime(draw_.service));
  const auto demand_held = [this](std::size_t number) {
    if (operations_[number].held || !violation().empty()) return;
    report("operation " + std::to_string(number) + " is not held any more although all is well");
  };
  for (const std::size_t number : held) demand_held(number);
  for (std::size_t i = 0; i + 1 < held.size() && goes_on(); ++i) {
    if (operations_[held[i]].held) world_.users.give_back(operations_[held[i]]);
  }
  world_.processes.turn(holder);
  const TrueTime begun = now();
  const auto is_served = [this](std::size_t number) { return !operations_[number].token.empty(); };
  while (goes_on() && now() < begun + bound() && !std::ranges::all_of(crowd, is_served)) {
    run_until(now() + 100ms);
  }
  if (const auto served = std::ranges::count_if(crowd, is_served);
      violation().empty() && served < draw_.crowd) {
    report(std::to_string(served) + " of " + std::to_string(draw_.crowd) +
           " waiters had the locks that were given back " +
           std::to_string(static_cast<double>((now() - begun).count()) / 1e9) + " s before");
  }
  demand_held(held.back());
  world_.network.slow_down(0s);
  if (operations_[held.back()].held) world_.users.give_back(operations_[held.back()]);
  world_.processes.turn(waiter);
  run_until(now() + 2s);
}

}  // namespace quorumlock::sim
