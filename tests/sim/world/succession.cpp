#include "sim/world/succession.hpp"

#include <algorithm>
#include <utility>

#include "sim/world/world.hpp"

namespace quorumlock::sim {

using namespace std::chrono_literals;

void Succession::demand_order() {
  if (draw_.in_order == 0 || !draw_.timing_holds() || draw_.capacities_differ) return;
  const TrueTime begun = now();
  std::vector<std::size_t> crowd;
  for (Client& client : clients_) {
    for (int i = random_.between(1, 3); i > 0; --i) {
      Operation& one = world_.users.acquire(client, 1h, true);
      one.in_crowd = true;
      crowd.push_back(one.number);
    }
  }
  const TrueTime message = draw_.message_when_well();
  const auto count = static_cast<int>(crowd.size());
  run_until(now() + 1s + 2 * draw_.entry_life + count * 60 * message);
  for (const std::size_t number : crowd) {
    const Operation& one = operations_[number];
    if (!violation().empty()) return;
    if (one.token.empty()) {
      report("operation " + std::to_string(number) + " waits in a line of " +
             std::to_string(count) + " for " +
             std::to_string(static_cast<double>((now() - begun).count()) / 1e9) +
             " s although all is well");
    }
  }
}

/// Runs until the operation is answered, but to `end` at the latest; returns whether it has the
/// lock.
bool Succession::has_lock_by(std::size_t number, TrueTime end, TrueTime step) {
  while (now() < end && violation().empty() && operations_[number].answers == 0) {
    run_until(std::min(end, now() + step));
  }
  return operations_[number].held;
}

void Succession::demand_succession() {
  const bool plain = draw_.sets == 0 && draw_.to_read == 0 && draw_.capacity == 0;
  if (draw_.in_order == 0 || !plain || !draw_.timing_holds() || clients_.size() < 2) return;
  run_until(now() + draw_.keys_live());
  const TrueTime message = draw_.message_when_well();
  const TrueTime rounds = 80 * message;
  const TrueTime look = draw_.entry_life / 3;
  world_.users.keep(true);
  std::array<std::size_t, 3> line{};  // the holder, the queue head, and the next waiter
  for (std::size_t i = 0; i < line.size(); ++i) {
    line[i] = world_.users.acquire(clients_[i % clients_.size()], 1h, true, false).number;
    if (i == 0 && !has_lock_by(line[0], now() + look + rounds, message)) {
      return report("operation " + std::to_string(line[0]) + " gets no lock although all is well");
    }
    // A client that has been idle may have to connect again before its waiter is in the line.
    const Operation& one = operations_[line[i]];
    core::Engine& engine = clients_[one.client].session->engine();
    const TrueTime end = now() + look + rounds;
    while (i > 0 && now() < end && violation().empty() && engine.place_of(one.waiter).second == 0) {
      run_until(now() + message);
    }
    run_until(now() + rounds / 4);
  }
  world_.users.give_back(operations_[line[0]]);
  world_.processes.turn(clients_[0]);
  const TrueTime ended_by = now() + look + rounds;
  if (!has_lock_by(line[1], ended_by, message)) {
    return report("operation " + std::to_string(line[1]) + " gets no lock although it is next");
  }
  Operation& holder = operations_[line[1]];
  // The holder may have refreshed its entry just before it won. A refresh that arrives after the
  // lease has ended enters the line again, for the entry's life.
  const core::Engine& engine = clients_[holder.client].session->engine();
  while (violation().empty() && engine.unanswered() > 0 && now() < ended_by)
    run_until(now() + message);
  const TrueTime ended = now();
  TrueTime limit = rounds;
  if (random_.one_in(2)) {
    trace("operation ", holder.number, " is released by its token");
    Client& other = clients_[0];
    other.session->engine().release_token(other.local(now()), holder.key, nullptr, holder.token, 0);
    holder.held = false;
    world_.processes.turn(other);
  } else {
    trace("client ", holder.client + 1, " dies and holds operation ", holder.number);
    world_.processes.die(clients_[holder.client]);
    limit += TrueTime(draw_.ttl) * 102 / 100 + look;
  }
  if (!has_lock_by(line[2], ended + limit, message)) {
    report("operation " + std::to_string(line[2]) + " is next and has no lock " +
           std::to_string(static_cast<double>(limit.count()) / 1e9) +
           " s after the lease before it has ended without a release of its holder's");
  }
  if (operations_[line[2]].held) world_.users.give_back(operations_[line[2]]);
  for (Client& client : clients_) world_.processes.turn(client);
  world_.users.keep(false);
  run_until(now() + 1s);
}

void Succession::demand_poll() {
  const bool plain = draw_.sets == 0 && draw_.to_read == 0 && draw_.capacity == 0;
  if (draw_.in_order == 0 || !plain || !draw_.order_holds() || draw_.clients < 2) return;
  if (draw_.seed % 8 != 0) return;  // this check takes long
  run_until(now() + draw_.keys_live());
  const TrueTime message = draw_.message_when_well();
  const TrueTime busy_until = now() + 200 * message;
  const TrueTime pauses = 2 * TrueTime(draw_.pause) + 80 * message;
  std::vector<std::size_t> line;
  const std::size_t alone = world_.users.acquire(clients_[0], 1h, false, false).number;
  operations_[alone].brief = true;  // the line must be served by the end
  TrueTime served = now();          // when the line was last seen with a waiter or a holder
  while (now() < served + pauses && violation().empty() && operations_[alone].answers == 0) {
    std::erase_if(line, [this](std::size_t number) {
      return operations_[number].answers > 0 && !operations_[number].held;
    });
    if (!line.empty()) served = now();
    while (line.size() < 3 && now() < busy_until) {
      Client& client = clients_[1 + random_.index(clients_.size() - 1)];
      Operation& one = world_.users.acquire(client, 1h, true, false);
      one.in_crowd = true;
      line.push_back(one.number);
    }
    run_until(now() + message);
  }
  if (operations_[alone].answers == 0) {
    report("operation " + std::to_string(alone) +
           " waits in no order and has no lock although nobody is in the line");
  }
  run_until(now() + 1s + 2 * draw_.entry_life + 400 * message);
}

}  // namespace quorumlock::sim
