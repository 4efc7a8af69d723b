#include "sim/world/tokens.hpp"

#include <algorithm>
#include <utility>

#include "sim/world/world.hpp"

namespace quorumlock::sim {

namespace {

/// The user ids of extends by token begin here.
constexpr core::UserId extend_offset = 2'000'000;

}  // namespace

void Tokens::plan() {
  if (draw_.by_token == 0) return;
  after(draw_span(draw_.every), [this] {
    if (scene_.healing) return;
    if (random_.between(1, 100) <= draw_.by_token && !operations_.empty()) {
      // This is one of the last six operations.
      const std::size_t back = random_.index(std::min<std::size_t>(operations_.size(), 6));
      extend(operations_.size() - 1 - back);
    }
    plan();
  });
}

void Tokens::extend(std::size_t number) {
  const Operation& one = operations_[number];
  if (one.token.empty() || one.capacity != 0 || scene_.healing) return;
  Client& client = clients_[random_.index(clients_.size())];
  std::vector<std::string> keys = one.keys();
  // All of a set, or one of it.
  const bool all = keys.size() > 1 && random_.one_in(2);
  if (!all) keys = {keys[random_.index(keys.size())]};
  const core::UserId user = extend_offset + extends_.size();
  extends_.push_back({number, keys, now()});
  world_.processes.run(client.number, client.life, [this, at = client.number, number, user] {
    Client& other = clients_[at];
    Extend& what = extends_[user - extend_offset];
    trace("client ", at + 1, " extends the token of operation ", number, " on ", what.keys.front(),
          what.keys.size() > 1 ? " and the others" : "");
    what.asked = now();
    what.client = at;
    core::OtherKeys others;
    if (what.keys.size() > 1) {
      others =
          std::make_shared<const std::vector<std::string>>(what.keys.begin() + 1, what.keys.end());
    }
    other.session->engine().extend_token(other.local(now()), what.keys.front(), std::move(others),
                                         operations_[number].token, draw_.ttl, user);
  });
}

void Tokens::extended(const core::Extended& extended) {
  if (extended.why || !draw_.fencing || !draw_.counters_hold()) return;
  const Extend& extend = extends_[extended.user - extend_offset];
  const Operation& one = operations_[extend.operation];
  trace("operation ", one.number, " is extended by its token on ", extend.keys.front());
  ++figures_.by_token;
  const Client& client = clients_[extend.client];
  redis::NodeNames list;
  for (const int node : client.session->nodes()) list.push_back(client.member_name(node));
  if (client.lists.back().first <= extend.asked)
    checks_.referee.extended(one.token, extend.asked, list);
  for (const Operation& other : operations_) {
    const bool after_it = other.fence > one.fence && other.won <= extend.asked;
    if (!after_it || (other.terms.reads() && one.shared)) continue;
    for (const std::string& key : extend.keys) {
      if (!other.wants(key)) continue;
      report("operation " + std::to_string(one.number) + " is extended by its token although " +
             "operation " + std::to_string(other.number) + " has had " + key + " since");
    }
  }
}

void Tokens::usurp(std::size_t number) {
  const Operation& one = operations_[number];
  if (scene_.healing || !one.valid(now())) return;
  ++figures_.faults;
  trace("FAULT the nodes drop what operation ", number, " has, and its holder does not hear them");
  const bool all = random_.one_in(2);
  const std::size_t spared = random_.index(nodes_.size());
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    Paths::Path& path = world_.paths.between(one.client, static_cast<int>(node));
    path.blocked_from = now() + draw_.ttl;
    path.lost = true;
    if (!all && node == spared) continue;
    for (const std::string& key : one.keys()) nodes_[node].data[0].drop(key);
  }
  const std::size_t client = one.client;
  const std::size_t life = one.life;
  for (Client& other : clients_) {
    if (other.number == client) continue;
    world_.processes.run(other.number, other.life, [this, at = other.number] {
      world_.users.ask(clients_[at], core::Duration(), false, true).brief = true;
    });
  }
  after(draw_.ttl * random_.between(35, 45) / 100, [this, number, client, life] {
    if (random_.one_in(2)) return;
    world_.processes.run(client, life,
                         [this, number] { world_.users.make_reader(operations_[number]); });
  });
  for (const int percent : {37, 50, 65}) {
    after(draw_.ttl * percent / 100, [this, number] { extend(number); });
  }
}

}  // namespace quorumlock::sim
