#include <algorithm>
#include <utility>

#include "sim/world/trace.hpp"

// What goes wrong, and when it is well again.
namespace quorumlock::sim {

using namespace std::chrono_literals;

void World::plan_faults() {
  if (draw_.faults.empty()) return;
  after(draw_span(draw_.between_faults), [this] {
    if (healing_) return;
    inject(draw_.faults[random_.index(draw_.faults.size())]);
    if (random_.one_in(3)) {
      for (std::size_t i = 0; i < nodes_.size(); ++i) copies_[i] = nodes_[i].data();
    }
    plan_faults();
  });
}

void World::inject(Fault fault) {
  ++figures_.faults;
  const int node = static_cast<int>(random_.index(nodes_.size()));
  Server& server = nodes_[static_cast<std::size_t>(node)];
  Client& client = clients_[random_.index(clients_.size())];
  const TrueTime span = draw_span(draw_.ttl * random_.between(1, 20) / 10);
  trace("FAULT ", sim::to_string(fault), ", node ", node + 1, ", client ", client.number + 1,
        ", for ", static_cast<double>(span.count()) / 1e9, " s");
  switch (fault) {
    case Fault::crash: return crash(node);
    case Fault::pause_node:
      server.pause();
      return after(span, [this, node] {
        nodes_[static_cast<std::size_t>(node)].resume();
        serve(node);
      });
    case Fault::pause_client:
      client.paused = true;
      return after(span, [this, number = client.number, life = client.life] {
        if (clients_[number].life == life) resume(clients_[number]);
      });
    case Fault::reset: return lose(client, node, random_.one_in(2));
    case Fault::partition: {
      const int ways = random_.between(1, 3);
      const bool all_clients = random_.one_in(3);
      const bool all_nodes = random_.one_in(3);
      for (std::size_t c = 0; c < clients_.size(); ++c) {
        for (std::size_t n = 0; n < nodes_.size(); ++n) {
          if ((c != client.number && !all_clients) ||
              (n != static_cast<std::size_t>(node) && !all_nodes)) {
            continue;
          }
          if ((ways & 1) != 0) paths_[c][n].blocked_to = now_ + span;
          if ((ways & 2) != 0) paths_[c][n].blocked_from = now_ + span;
        }
      }
      return;
    }
    case Fault::delay: {
      Path& path = paths_[client.number][static_cast<std::size_t>(node)];
      path.extra = random_.one_in(10) ? TrueTime(3h) : span;
      return after(draw_span(draw_.ttl), [&path] { path.extra = TrueTime(); });
    }
    case Fault::flush: server.flush_all(); return forgets(node);
    case Fault::refuse: {
      Server::Conditions refusing;
      switch (random_.between(1, 5)) {
        case 1: refusing.out_of_memory = true; break;
        case 2: refusing.replica = true; break;
        case 3: refusing.loading = true; break;
        case 4: refusing.busy = true; break;
        default: refusing.cannot_persist = true; break;
      }
      server.conditions = refusing;
      return after(span, [&server] { server.conditions = {}; });
    }
    case Fault::forget_scripts: return server.flush_scripts();
    case Fault::fail_over:
      if (!server.running()) return;
      server.fail_over(copies_[static_cast<std::size_t>(node)], now_);
      forgets(node);
      return lose_all(node);
    case Fault::client_crash: {
      for (Operation& one : operations_) {
        if (one.client == client.number && one.life == client.life) one.dead = true;
      }
      for (int each = 0; each < draw_.nodes; ++each) shut(client, each);
      client.begin_life(draw_);
      client.awake = client.local(now_);
      client.session->start(client.local(now_));
      turn(client);
      return after(draw_span(draw_.hold),
                   [this, number = client.number, life = client.life] { act(number, life); });
    }
    case Fault::clock_step: {
      server.reap(now_);  // what has expired is gone, and no clock brings it back
      const TrueTime step = draw_span(random_.one_in(3) ? TrueTime(60s) : TrueTime(draw_.ttl));
      return server.step_clock(random_.one_in(2) ? step : -step);
    }
    case Fault::clock_rate:
      server.set_rate(random_.one_in(2) ? 1.0 + random_.between(2, 100) / 100.0
                                        : 1.0 / (1.0 + random_.between(2, 100) / 100.0),
                      now_);
      return after(span, [this, &server] { server.set_rate(1, now_); });
    case Fault::drop_lock: return server.drop_key("lock");
    case Fault::evict: {
      server.evict(random_.index(1'000'000));
      return forgets(node);
    }
  }
}

/// The holder loses sight of a node that it stands on, and one that it does not stand on forgets.
void World::betray(Client& client, core::NodeSet granted) {
  if (healing_) return;
  const int hidden = static_cast<int>(random_.index(nodes_.size()));
  const int flushed = static_cast<int>(random_.index(nodes_.size()));
  if (!granted.contains(hidden) || granted.contains(flushed)) return;
  ++figures_.faults;
  trace("FAULT the holder, client ", client.number + 1, ", loses sight of node ", hidden + 1,
        "; FLUSHALL on node ", flushed + 1);
  Path& path = paths_[client.number][static_cast<std::size_t>(hidden)];
  path.lost = true;  // as good as that: what is under way comes when it likes
  path.blocked_to = path.blocked_from = now_ + TrueTime(draw_.ttl) * 3 / 2;
  nodes_[static_cast<std::size_t>(flushed)].flush_all();
  forgets(flushed);
}

void World::crash(int node) {
  Server& server = nodes_[static_cast<std::size_t>(node)];
  if (!server.running()) return;
  server.crash();
  lose_all(node);
  after(draw_span(draw_.ttl), [this, node] { restart(node); });
}

void World::restart(int node) {
  Server& server = nodes_[static_cast<std::size_t>(node)];
  if (server.running()) return;
  server.restart(now_);
  if (!draw_.durable) forgets(node);
}

void World::forgets(int node) {
  fencing_.forgot(node);
}

/// What came in while it was stopped comes in now, at one and the same moment.
void World::resume(Client& client) {
  client.paused = false;
  client.awake = client.local(now_);
  for (Action& action : std::exchange(client.missed, {})) action();
  turn(client);
}

}  // namespace quorumlock::sim
