#include "sim/world/users.hpp"

#include <algorithm>
#include <utility>

#include "sim/world/world.hpp"

namespace quorumlock::sim {

using namespace std::chrono_literals;

void Users::begin() {
  for (Client& client : clients_) {
    if (draw_.careful) keep_one(client);
    const bool late = draw_.late_comer && &client == &clients_.back();
    after(draw_span(draw_.hold) + (late ? TrueTime(draw_.max_ttl) * 7 / 4 : TrueTime()),
          [this, number = client.number, life = client.life] { act(number, life); });
  }
}

/// Has the client hold a lock of its own to the end.
void Users::keep_one(const Client& client) {
  after(draw_span(draw_.delay), [this, number = client.number, life = client.life] {
    world_.processes.run(number, life, [this, number] {
      Operation one;
      one.key = "kept" + std::to_string(number + 1);
      one.kept = true;
      one.terms = {.ttl = draw_.ttl, .stop_margin = draw_.ttl / 10};
      request(clients_[number], std::move(one), draw_.until, false);
      world_.processes.turn(clients_[number]);
    });
  });
}

void Users::act(std::size_t number, std::size_t life) {
  if (scene_.healing || clients_[number].life != life) return;
  world_.processes.run(number, life, [this, number] {
    Client& client = clients_[number];
    if (scene_.healing || world_.traps.is_quiet(client)) return;
    // A client makes one request at a time, so that no votes split.
    const auto goes_on = [](const Operation& one) { return one.answers == 0 || one.held; };
    if (draw_.alone() && std::ranges::any_of(operations_, goes_on)) return;
    for (int more = draw_.at_once - 1; more > 0; --more) {
      ask(client, core::Duration(), false, true);
    }
    const core::Duration wait =
        random_.one_in(2) ? core::Duration() : core::Duration(draw_span(2 * draw_.ttl));
    Operation& one = acquire(client, wait, random_.between(1, 100) <= draw_.in_order);
    if (wait > 0s && random_.one_in(3)) {
      // Some users cancel before they begin to wait, in the middle of a round.
      after(draw_span(random_.one_in(2) ? wait / 2 : 2 * draw_.delay), [this, index = one.number] {
        Operation& tired = operations_[index];
        world_.processes.run(tired.client, tired.life, [this, index] {
          Operation& waiting = operations_[index];
          clients_[waiting.client].session->engine().cancel(clients_[waiting.client].local(now()),
                                                            waiting.waiter, Errc::cancelled);
        });
      });
    }
  });
  after(draw_span(draw_.every), [this, number, life] { act(number, life); });
}

void Users::all_ask() {
  if (!draw_.rivals_watch || scene_.healing) return;
  for (const Client& client : clients_) {
    after(draw_span(10 * draw_.delay), [this, number = client.number, life = client.life] {
      world_.processes.run(number, life, [this, number] {
        Client& asks = clients_[number];
        if (!scene_.healing && !world_.traps.is_quiet(asks)) acquire(asks, core::Duration(), false);
      });
    });
  }
}

Operation& Users::acquire(Client& client, core::Duration wait, bool ordered, bool of_any_key) {
  Operation& one = ask(client, wait, ordered, of_any_key);
  world_.processes.turn(client);
  world_.lists.follow(client.number);
  return one;
}

Operation& Users::ask(Client& client, core::Duration wait, bool ordered, bool of_any_key) {
  Operation one;
  const bool any = of_any_key && draw_.keys > 1 && !draw_.is_stranger(client.number);
  one.key = any && random_.one_in(2) ? "other" : scene_.lock;
  if (draw_.sets > 0) draw_keys(one);
  if (draw_.capacity != 0 && one.key == scene_.lock) {
    const bool another = draw_.capacities_differ && client.number % 2 == 1;
    one.capacity = draw_.capacity + (another ? 1 : 0);
  }
  one.terms.ttl = draw_.ttl;
  const bool longest = draw_.other_max_ttl > 0s && !scene_.healing && random_.one_in(2);
  if (longest) one.terms.ttl = draw_.max_ttl;
  one.terms.stop_margin = draw_.ttl / 10;
  one.terms.auto_extend = !random_.one_in(3);
  if (random_.one_in(5)) one.terms.max_hold = draw_.ttl * 2;
  if (random_.one_in(5)) one.terms.max_renewals = 2;
  if (keeps_) {
    one.kept = true;
    one.terms = {.ttl = draw_.ttl, .stop_margin = draw_.ttl / 10};
  }
  one.shared = draw_.to_read > 0 && random_.between(1, 100) <= draw_.to_read;
  one.terms.mode = draw_.mode(one.shared);
  return request(client, std::move(one), wait, ordered);
}

Operation& Users::request(Client& client, Operation one, core::Duration wait, bool ordered) {
  one.number = operations_.size();
  one.client = client.number;
  one.life = client.life;
  one.requested = client.local(now());
  one.wait = wait;
  one.asked = now();
  one.ordered = ordered && wait > 0s;
  if (one.ordered) waiters_[client.number].push_back(one.number);
  operations_.push_back(std::move(one));
  Operation& kept = operations_.back();
  trace("client ", client.number + 1, " asks for ", kept.key, kept.shared ? " to read" : "",
        ", operation ", kept.number);
  for (const std::string& other : kept.others) trace("    and for ", other);
  core::AcquireRequest asks{kept.key,
                            kept.terms,
                            core::later(kept.requested, wait),
                            wait > 0s,
                            static_cast<core::UserId>(kept.number),
                            kept.ordered,
                            kept.others};
  asks.capacity = kept.capacity;
  client.session->engine().acquire(kept.requested, asks, &kept.waiter);
  return kept;
}

/// Draws one, two or three of the keys, in any order.
void Users::draw_keys(Operation& one) {
  std::vector<std::string> keys = {"lock", "other", "third"};
  const auto count = static_cast<std::size_t>(draw_.keys);
  for (std::size_t i = count; i > 1; --i) std::swap(keys[i - 1], keys[random_.index(i)]);
  one.key = keys[0];
  if (random_.between(1, 100) > draw_.sets) return;
  // Sets of two are drawn more often than sets of three: each leaves one key to the other clients.
  const auto last = random_.one_in(4) ? count : std::min<std::size_t>(count, 2);
  one.others.assign(keys.begin() + 1, keys.begin() + static_cast<std::ptrdiff_t>(last));
}

void Users::name_waiters(const Client& client) {
  if (!draw_.order_holds()) return;
  core::Engine& engine = client.session->engine();
  std::vector<std::size_t>& waiters = waiters_[client.number];
  std::erase_if(waiters, [this](std::size_t number) {
    return operations_[number].answers > 0 || operations_[number].dead;
  });
  for (const std::size_t number : waiters) {
    Operation& one = operations_[number];
    const auto [place, ticket] = engine.place_of(one.waiter);
    if (place == 0) continue;
    one.in_line = std::min(one.in_line, now());
    if (ticket == 0) continue;
    checks_.order.named(
        one, (one.shared ? "r" : "w") + engine.process() + "." + std::to_string(place), ticket);
  }
}

void Users::use(std::size_t number) {
  Operation& one = operations_[number];
  if (one.dead || !one.held || one.kept) return;
  world_.processes.run(one.client, one.life, [this, number] {
    Operation& lease = operations_[number];
    if (!lease.held) return;
    Client& client = clients_[lease.client];
    core::Engine& engine = client.session->engine();
    const int what = random_.between(1, 20);
    if (what <= 13 || scene_.healing) {
      give_back(lease);
      if (draw_.at_once == 1) return;
      for (Operation& other : operations_) {
        if (other.held && !other.dead && !other.detached && other.client == client.number) {
          give_back(other);
        }
      }
    } else if (what <= 17) {
      lease.asked_again = now();
      engine.extend(client.local(now()), lease.claim,
                    random_.one_in(2) ? draw_.ttl : draw_.max_ttl);
      after(draw_span(draw_.hold), [this, number] { use(number); });
    } else if (what == 18 && !draw_.alone()) {  // otherwise it is unknown when its keys are gone
      lease.detached = true;
      engine.detach(client.local(now()), lease.claim);
    } else if (draw_.to_read > 0 && !lease.shared) {
      make_reader(lease);
      after(draw_span(draw_.hold), [this, number] { use(number); });
    } else {
      after(draw_span(draw_.hold), [this, number] { use(number); });
    }
  });
}

void Users::give_back(Operation& one) {
  Client& client = clients_[one.client];
  trace("client ", client.number + 1, " releases operation ", one.number);
  one.asked_again = now();
  client.session->engine().release(client.local(now()), one.claim, random_.one_in(2));
  one.held = core::planted(core::Mutant::believed_in_after_release);
  checks_.order.released(one, now());
}

void Users::make_reader(Operation& lease) {
  if (!lease.held || lease.shared || draw_.to_read == 0) return;
  trace("client ", lease.client + 1, " downgrades operation ", lease.number);
  Client& client = clients_[lease.client];
  lease.shared = client.session->engine().downgrade(client.local(now()), lease.claim);
}

}  // namespace quorumlock::sim
