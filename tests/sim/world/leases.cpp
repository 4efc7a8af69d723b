#include <algorithm>
#include <utility>

#include "core/quorum.hpp"
#include "redis/keys.hpp"
#include "sim/world/world.hpp"
#include "support/scripts.hpp"

// Renewals that come too late, tokens that other processes extend, and clients whose clock stands
// still.
namespace quorumlock::sim {

using namespace std::chrono_literals;

namespace {

/// The users of extends by token have numbers from here on.
constexpr core::UserId extend_offset = 2'000'000;

}  // namespace

const redis::Script* World::script_of(const Words& words) {
  const bool by_sha = words[0] == "EVALSHA";
  if (!by_sha && words[0] != "EVAL") return nullptr;
  return by_sha ? test::script_by_sha1(words[1])
                : test::script_by(&redis::Script::source, words[1]);
}

/// The keys that a lease's own renewal is about, each with the owner's token.
std::vector<World::Renewed> World::renewals_of(const Words& words, const redis::Script* script) {
  std::vector<Renewed> all;
  if (script == nullptr) return all;
  const std::size_t keys = std::stoul(words[2]);
  const auto arg = [&](std::size_t number) -> const std::string& {
    return words[2 + keys + number];
  };
  if (script == &redis::renew_script) {
    const bool known = words[words.size() - 3] != "0";
    for (std::size_t i = 2; i <= keys; ++i) all.push_back({words[2 + i], arg(3 * i - 2), known});
  } else if (script == &redis::renew_all_script) {
    for (std::size_t i = 1; i <= keys / 2; ++i) {
      all.push_back({words[2 + i], arg(1), arg(7) != "0"});
    }
  } else if (script == &redis::renew_shared_script && arg(4) == "1") {
    all.push_back({words[3], arg(1), arg(6) != "0"});
  } else if (script == &redis::renew_permit_script) {
    all.push_back({words[3], arg(1), arg(7) != "0"});
  }
  return all;
}

/// How much longer this owner has the key at this node, as seen there; zero if it has not.
TrueTime World::time_of(int node, const Renewed& one) {
  const Server& server = nodes_[static_cast<std::size_t>(node)];
  if (!server.has_token(one.key, one.token, now())) return {};
  return server.time_left(one.key, now()).value_or(TrueTime::max());
}

/// Checks that a renewal sets and prolongs nothing once the lease that it was to renew is over.
void World::look_at_renewal(int node, const Renewed& one, TrueTime before) {
  const auto lease = std::find_if(operations_.rbegin(), operations_.rend(),
                                  [&](const Operation& each) { return each.token == one.token; });
  if (lease == operations_.rend() || now() < lease->valid_until) return;
  const TrueTime after = time_of(node, one);
  if (before == TrueTime() && after > TrueTime()) {
    report("operation " + std::to_string(lease->number) + " is over, and a renewal sets " +
           one.key + " again at node " + std::to_string(node + 1));
  } else if (one.end_known && after > before) {
    report("operation " + std::to_string(lease->number) + " is over, and a renewal prolongs " +
           one.key + " at node " + std::to_string(node + 1));
  }
}

/// Now and then another process extends the token of a lease, having read it somewhere.
void World::plan_extends() {
  if (draw_.by_token == 0) return;
  after(draw_span(draw_.every), [this] {
    if (healing_) return;
    if (random_.between(1, 100) <= draw_.by_token && !operations_.empty()) {
      // One of the last six operations.
      const std::size_t back = random_.index(std::min<std::size_t>(operations_.size(), 6));
      extend_by_token(operations_.size() - 1 - back);
    }
    plan_extends();
  });
}

void World::extend_by_token(std::size_t number) {
  const Operation& one = operations_[number];
  if (one.token.empty() || one.capacity != 0 || healing_) return;
  Client& client = clients_[random_.index(clients_.size())];
  const std::vector<std::string> keys = one.keys();
  const std::string key = keys[random_.index(keys.size())];
  const core::UserId user = extend_offset + extends_.size();
  extends_.push_back({number, key, now()});
  for_client(client.number, client.life, [this, at = client.number, key, number, user] {
    Client& other = clients_[at];
    trace("client ", at + 1, " extends the token of operation ", number, " on ", key);
    extends_[user - extend_offset].asked = now();
    other.session->engine().extend_token(other.local(now()), key, operations_[number].token,
                                         draw_.ttl, user);
  });
}

/// Checks that an extend succeeds only if nobody else has had the lock since the token was won.
void World::extended_by_token(const core::Extended& extended) {
  if (extended.why || !draw_.fencing || !draw_.counters_hold()) return;
  const Extend& extend = extends_[extended.user - extend_offset];
  const Operation& one = operations_[extend.operation];
  trace("operation ", one.number, " is extended by its token on ", extend.key);
  ++figures_.by_token;
  for (const Operation& other : operations_) {
    const bool after_it = !other.token.empty() && other.number != one.number &&
                          other.began > one.won && other.won <= extend.asked;
    if (!after_it || !other.wants(extend.key) || (other.terms.reads() && one.shared)) continue;
    report("operation " + std::to_string(one.number) + " is extended by its token although " +
           "operation " + std::to_string(other.number) + " has had " + extend.key + " since");
  }
}

/// The nodes drop what a lease has, others take it for a moment, and its holder hears nothing. Then
/// the holder renews, and somebody extends its token.
void World::usurp(std::size_t number) {
  const Operation& one = operations_[number];
  if (healing_ || !one.valid(now())) return;
  ++figures_.faults;
  trace("FAULT the nodes drop what operation ", number, " has, and its holder does not hear them");
  const bool all = random_.one_in(2);
  const std::size_t spared = random_.index(nodes_.size());
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    Path& path = paths_[one.client][node];
    path.blocked_from = now() + draw_.ttl;
    path.lost = true;
    if (!all && node == spared) continue;
    for (const std::string& key : one.keys()) nodes_[node].drop_key(key);
  }
  const std::size_t client = one.client;
  const std::size_t life = one.life;
  for (Client& other : clients_) {
    if (other.number == client) continue;
    for_client(other.number, other.life, [this, at = other.number] {
      ask(clients_[at], core::Duration(), false, true).brief = true;
    });
  }
  after(draw_.ttl * random_.between(35, 45) / 100, [this, number, client, life] {
    if (random_.one_in(2)) return;
    for_client(client, life, [this, number] { make_reader(operations_[number]); });
  });
  for (const int percent : {37, 50, 65}) {
    after(draw_.ttl * percent / 100, [this, number] { extend_by_token(number); });
  }
}

void World::make_reader(Operation& lease) {
  if (!lease.held || lease.shared || draw_.to_read == 0) return;
  trace("client ", lease.client + 1, " downgrades operation ", lease.number);
  Client& client = clients_[lease.client];
  lease.shared = client.session->engine().downgrade(client.local(now()), lease.claim);
}

/// Stops a client's machine, and its clock with it.
void World::stand_still(Client& client, TrueTime span) {
  if (client.paused) return;
  client.paused = true;
  client.stands_since = now();
  after(span, [this, number = client.number, begun = now()] {
    if (clients_[number].stands_since == begun) resume(clients_[number]);
  });
}

/// Lets the client go on; it does not know how long it stood still.
void World::end_stand_still(Client& client) {
  client.clocks.stood_still(*client.stands_since, now() - *client.stands_since);
  client.stands_since.reset();
  for (Operation& one : operations_) {
    const bool its_own = one.client == client.number && one.life == client.life && one.held;
    if (its_own) one.valid_until = client.when(one.deadline);
  }
}

/// Checks a client that has noticed that its clock stood still: it must keep no earlier lease.
void World::demand_no_leases(const Client& client) {
  for (const Operation& one : operations_) {
    if (one.client != client.number || one.life != client.life || !one.held) continue;
    report("client " + std::to_string(client.number + 1) + " keeps operation " +
           std::to_string(one.number) + " although its clock stood still");
  }
}

/// Checks that a client gets the lock as soon as it asks for it after its clock stood still: the
/// nodes' clocks are right, and the client knows that once a quorum has answered.
void World::demand_trust() {
  if (!draw_.has(Fault::stand_still) || !draw_.node_clocks_hold() || !draw_.fencing) return;
  const TrueTime message = std::min({draw_.delay, draw_.ttl / 100, draw_.node_timeout / 20});
  // Time for some attempts of a few messages each.
  const TrueTime bound = 120 * message + 8 * TrueTime(draw_.pause);
  for (Client& client : clients_) {
    if (!violation().empty()) return;
    const auto lock = [&](TrueTime span) {
      acquire(client, 1h, false, false);
      const std::size_t number = operations_.size() - 1;
      run_until(now() + span);
      if (operations_[number].held) give_back(operations_[number]);
      turn(client);
      run_until(now() + 20 * message);
      return number;
    };
    lock(bound + 8s);
    stand_still(client, draw_.max_ttl * random_.between(4, 12));
    run_until(now() + 13 * draw_.max_ttl);
    const std::size_t number = lock(bound);
    if (violation().empty() && operations_[number].token.empty()) {
      report("client " + std::to_string(client.number + 1) +
             " gets no lock since its clock stood still, although all is well");
    }
  }
}

}  // namespace quorumlock::sim
