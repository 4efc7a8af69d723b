#include "sim/world/processes.hpp"

#include <utility>

#include "sim/world/world.hpp"

namespace quorumlock::sim {

void Processes::turn(Client& client) {
  if (client.paused) return;
  const core::Time local = client.local(now());
  client.clocks.begin_turn(now());
  client.session->advance(local);
  while (const std::optional<detail::Session::Output> output = client.session->next(local)) {
    world_.results.carry_out(client, *output);
  }
  if (std::exchange(client.blames_itself, false)) demand_no_leases(client);
  world_.users.name_waiters(client);
  if (draw_.faults_follow_looks) world_.traps.look_at_candidates(client);
  const bool rest_is_late = draw_.in_pieces && draw_.focus == Focus::pieces && random_.one_in(4);
  client.session->each_wire_in_use(
      [&](int wire) { world_.network.write(client, wire, rest_is_late); });
  plan_turn(client);
}

void Processes::plan_turn(Client& client) {
  const TrueTime due = client.when(client.session->deadline());
  if (due == TrueTime::max() || due >= client.waking) return;
  client.waking = due;
  at(due, [this, number = client.number, life = client.life, due] {
    Client& woken = clients_[number];
    if (woken.life != life) return;
    if (woken.waking == due) woken.waking = TrueTime::max();
    turn(woken);
  });
}

void Processes::resume(Client& client) {
  if (client.stands_since) end_stand_still(client);
  client.paused = false;
  client.awake = client.local(now());
  for (Action& action : std::exchange(client.missed, {})) action();
  turn(client);
}

void Processes::stand_still(Client& client, TrueTime span) {
  if (client.paused) return;
  client.paused = true;
  client.stands_since = now();
  after(span, [this, number = client.number, begun = now()] {
    if (clients_[number].stands_since == begun) resume(clients_[number]);
  });
}

/// Lets the client go on; it does not know how long it stood still.
void Processes::end_stand_still(Client& client) {
  client.clocks.stood_still(*client.stands_since, now() - *client.stands_since);
  client.stands_since.reset();
  for (Operation& one : operations_) {
    const bool its_own = one.client == client.number && one.life == client.life && one.held;
    if (its_own) one.valid_until = client.when(one.deadline);
  }
}

void Processes::die(Client& client) {
  for (Operation& one : operations_) {
    if (one.client == client.number && one.life == client.life) one.dead = true;
  }
  client.session->each_wire_in_use([&](int wire) { world_.network.shut(client, wire); });
  client.begin_life(draw_, now());
  client.awake = client.local(now());
  client.session->start(client.local(now()));
  turn(client);
}

/// Checks a client that has noticed that its clock stood still: it must keep no earlier lease.
void Processes::demand_no_leases(const Client& client) {
  for (const Operation& one : operations_) {
    if (one.client != client.number || one.life != client.life || !one.held) continue;
    report("client " + std::to_string(client.number + 1) + " keeps operation " +
           std::to_string(one.number) + " although its clock stood still");
  }
}

}  // namespace quorumlock::sim
