#include <algorithm>
#include <utility>

#include "sim/world/world.hpp"

// The faults, and when they end.
namespace quorumlock::sim {

using namespace std::chrono_literals;

void World::plan_faults() {
  if (draw_.faults.empty()) return;
  after(draw_span(draw_.between_faults), [this] {
    if (healing_) return;
    if (draw_.all_forget && random_.one_in(2)) forget_all();
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
    case Fault::crash: return crash(node, draw_span(draw_.ttl));
    case Fault::pause_node:
      server.pause();
      return after(span, [this, node] {
        nodes_[static_cast<std::size_t>(node)].resume();
        serve(node);
      });
    case Fault::pause_client:
      if (client.stands_since) return;
      client.paused = true;
      return after(span, [this, number = client.number, life = client.life] {
        const Client& stopped = clients_[number];
        if (stopped.life == life && !stopped.stands_since) resume(clients_[number]);
      });
    case Fault::reset: {
      const bool runs_on = random_.one_in(2);
      return lose_node(client, node, random_.one_in(3), runs_on);
    }
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
          if ((ways & 1) != 0) paths_[c][n].blocked_to = now() + span;
          if ((ways & 2) != 0) paths_[c][n].blocked_from = now() + span;
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
      server.fail_over(copies_[static_cast<std::size_t>(node)], now());
      forgets(node);
      return lose_all(node);
    case Fault::client_crash: {
      die(client);
      return after(draw_span(draw_.every),
                   [this, number = client.number, life = client.life] { act(number, life); });
    }
    case Fault::clock_step: {
      server.reap(now());  // what has expired is gone, and no clock brings it back
      const TrueTime step = draw_span(random_.one_in(3) ? TrueTime(60s) : TrueTime(draw_.ttl));
      return server.step_clock(random_.one_in(2) ? step : -step);
    }
    case Fault::clock_rate:
      server.set_rate(random_.one_in(2) ? 1.0 + random_.between(2, 100) / 100.0
                                        : 1.0 / (1.0 + random_.between(2, 100) / 100.0),
                      now());
      return after(span, [this, &server] { server.set_rate(1, now()); });
    case Fault::drop_lock: return server.drop_key("lock");
    case Fault::stand_still: return stand_still(client, span);
    case Fault::stop_writing: return stop_writing(node);
    case Fault::copy_directory: return copy_directory(node);
    case Fault::promote_replica: return promote_replica(node);
    case Fault::follow_another: return follow_another(node);
    case Fault::fail_back: return fail_back(node);
    case Fault::evict: {
      server.evict(random_.index(1'000'000));
      return forgets(node);
    }
  }
}

/// The holder loses sight of a node that has granted its lease, and a node that has not forgets; or
/// the other way round, and then nothing that was under way arrives.
void World::betray(Client& client, core::NodeSet granted) {
  if (healing_) return;
  const int hidden = static_cast<int>(random_.index(nodes_.size()));
  const core::NodeSet others = core::NodeSet::first(draw_.nodes) - granted;
  const core::NodeSet may_forget = granted.contains(hidden) ? others : granted;
  if (may_forget.empty()) return;
  int flushed = 0;
  do {
    flushed = static_cast<int>(random_.index(nodes_.size()));
  } while (!may_forget.contains(flushed));
  ++figures_.faults;
  trace("FAULT the holder, client ", client.number + 1, ", loses sight of node ", hidden + 1,
        "; FLUSHALL on node ", flushed + 1);
  Path& path = paths_[client.number][static_cast<std::size_t>(hidden)];
  path.lost = true;  // as good as lost: what is under way arrives at any time
  path.blocked_to = path.blocked_from = now() + TrueTime(draw_.ttl) * 3 / 2;
  if (!granted.contains(hidden)) lose_node(client, hidden, false, false);
  nodes_[static_cast<std::size_t>(flushed)].flush_all();
  forgets(flushed);
}

/// A client does not see one of the nodes for a while, in one direction or both; then another. Now
/// and then no client sees it.
void World::wander(std::size_t client) {
  if (healing_ || !draw_.has(Fault::partition)) return;
  const std::size_t node = random_.index(nodes_.size());
  const TrueTime span = draw_span(draw_.ttl);
  const int ways = random_.between(1, 3);
  const bool all = random_.one_in(3);
  trace("FAULT client ", client + 1, all ? " and all others lose" : " loses", " sight of node ",
        node + 1, " for ", static_cast<double>(span.count()) / 1e9, " s");
  ++figures_.faults;
  for (std::size_t each = 0; each < clients_.size(); ++each) {
    if (each != client && !all) continue;
    Path& path = paths_[each][node];
    path.lost = true;  // as good as lost: what is under way arrives at any time
    if ((ways & 1) != 0) path.blocked_to = now() + span;
    if ((ways & 2) != 0) path.blocked_from = now() + span;
  }
  after(span + draw_span(draw_.delay), [this, client] { wander(client); });
}

/// Called when a node has granted or renewed something.
void World::has_voted(int node) {
  if (draw_.faults_follow_votes) may_forget(node, "its vote");
}

/// Called when it would do harm if the node forgot now. Then the node often forgets: one node at a
/// time, so that the others can go on.
void World::may_forget(int node, const char* after_what) {
  const bool flush = draw_.has(Fault::flush);
  if (healing_ || now() < next_relapse_) return;
  if ((!flush && !draw_.has(Fault::crash)) || !random_.one_in(3)) return;
  next_relapse_ = now() + draw_.max_ttl * 3 / 2;
  ++figures_.faults;
  trace("FAULT node ", node + 1, flush ? " will forget" : " will crash", " after ", after_what);
  const core::Duration in = std::max(2 * draw_.delay, draw_.forgets_in);
  after(draw_span(in), [this, node, flush] {
    Server& server = nodes_[static_cast<std::size_t>(node)];
    if (healing_ || !server.running()) return;
    if (!flush) return crash(node, draw_span(10 * draw_.delay));
    server.flush_all();
    forgets(node);
  });
}

/// All nodes forget, or almost all, each at a moment of its own.
void World::forget_all() {
  ++figures_.faults;
  trace("FAULT almost all nodes forget");
  if (!draw_.blind.empty()) {
    hide_nodes(now() + TrueTime(draw_.max_ttl) * random_.between(100, 110) / 100);
  }
  for (int node = 0; node < draw_.servers(); ++node) {
    const bool named = draw_.forgetters.find(name_of(node).substr(1)) != std::string::npos;
    if (draw_.forgetters.empty() ? random_.one_in(6) : !named) continue;
    after(draw_span(draw_.delay), [this, node] {
      if (healing_) return;
      nodes_[static_cast<std::size_t>(node)].flush_all();
      forgets(node);
    });
  }
}

/// From now on a node says nothing to this client, or hears nothing either, for a time that may
/// exceed its node_timeout. Afterwards it goes on as if nothing had happened, or with a broken
/// connection. These are always too few nodes to stop a quorum.
void World::fall_silent(std::size_t client, int node) {
  if (!draw_.silences || healing_ || !random_.one_in(8)) return;
  const auto is_silent = [this, client](int each) {
    const Path& path = paths_[client][static_cast<std::size_t>(each)];
    const bool up = clients_[client].session->link(each).state() == core::LinkState::up;
    return !up || now() < path.silent_until + 2 * promptly();
  };
  int silent = 0;
  for (int each = 0; each < draw_.nodes; ++each) silent += is_silent(each) ? 1 : 0;
  if (is_silent(node)) return;
  if (silent >= draw_.nodes - core::quorum_of(draw_.nodes)) return;
  ++figures_.faults;
  const TrueTime span = draw_span(draw_.node_timeout);
  trace("FAULT node ", node + 1, " is silent to client ", client + 1, " for ",
        static_cast<double>(span.count()) / 1e9, " s");
  Path& path = paths_[client][static_cast<std::size_t>(node)];
  path.lost = true;  // as good as lost: what is under way arrives at any time
  path.silent_until = path.blocked_from = now() + span;
  // A request that arrives after its keys' time and is forgotten leaves a key for another ttl.
  if (span > TrueTime(draw_.ttl)) path.silent_until += TrueTime(draw_.ttl);
  if (random_.one_in(2)) path.blocked_to = now() + span;
  if (random_.one_in(2)) return;
  after(span,
        [this, client, node] { lose_node(clients_[client], node, false, random_.one_in(2)); });
}

/// Five rounds (a missing script, commands that need the script after all, three raises) of two
/// messages that each take at most eight times the draw's delay, and a margin for lateness.
TrueTime World::promptly() const {
  return 5 * 2 * 8 * TrueTime(draw_.delay) + 10ms;
}

/// Checks a single client whose idle connections were forgotten: if it waits, it notices at its
/// node_timeout, connects again and has the lock.
void World::soon(const Operation& one) {
  if (!draw_.forgetful_paths || draw_.clients > 1 || healing_ || one.wait == 0s) return;
  const TrueTime most = TrueTime(draw_.node_timeout) * 101 / 100 + 2 * promptly();
  if (now() - one.asked <= most || one.wait < most) return;
  report("operation " + std::to_string(one.number) + " took " +
         std::to_string(static_cast<double>((now() - one.asked).count()) / 1e9) +
         " s although only idle connections were forgotten");
}

void World::prompt(const Operation& one, TrueTime asked, const char* what) {
  if (!draw_.silences || healing_ || now() - asked <= promptly()) return;
  report("operation " + std::to_string(one.number) + " took " +
         std::to_string(static_cast<double>((now() - asked).count()) / 1e9) + " s to be " + what +
         " although a quorum of nodes answers");
}

/// Lets a request for another client's lock arrive as the lock's key runs out, and hides the node
/// from the holder until then.
TrueTime World::outlast(Client& client, int node, TrueTime arrival) {
  if (!draw_.faults_follow_rivals || !draw_.has(Fault::partition) || healing_) return arrival;
  const Server& server = nodes_[static_cast<std::size_t>(node)];
  std::string key = lock_;
  for (const Operation& one : operations_) {
    // Of a semaphore, any permit that another client has will do.
    if (draw_.capacity == 0 || !one.valid(now()) || one.client == client.number) continue;
    key = one.held_keys().front();
  }
  const auto left = server.time_left(key, now());
  if (!left || !random_.one_in(6)) return arrival;
  const std::string owner = server.token_of(key, now()).value_or("");
  const auto holder = std::ranges::find_if(
      operations_, [&](const Operation& one) { return one.token == owner && one.valid(now()); });
  if (holder == operations_.end() || holder->client == client.number) return arrival;
  ++figures_.faults;
  trace("FAULT the holder, client ", holder->client + 1, ", loses sight of node ", node + 1,
        " until its key there has run out, and client ", client.number + 1, " asks just then");
  const TrueTime then = now() + *left + draw_span(draw_.delay);
  Path& path = paths_[holder->client][static_cast<std::size_t>(node)];
  path.blocked_to = std::max(path.blocked_to, then + 2 * TrueTime(draw_.delay));
  path.lost = paths_[client.number][static_cast<std::size_t>(node)].lost = true;
  return std::max(arrival, then);
}

/// Delays a raise that would arrive at `arrival`, or loses it.
TrueTime World::hinder(Client& client, int node, TrueTime arrival) {
  if (!draw_.faults_follow_raises || healing_ || random_.one_in(4)) return arrival;
  ++figures_.faults;
  paths_[client.number][static_cast<std::size_t>(node)].lost = true;
  if (draw_.has(Fault::delay)) arrival += draw_span(draw_.node_timeout);
  const bool never = draw_.has(Fault::reset) && random_.one_in(2);
  trace("FAULT a raise, client ", client.number + 1, ", node ", node + 1, ", takes ",
        static_cast<double>((arrival - now()).count()) / 1e9, " s",
        never ? ", and its connection breaks before" : "");
  if (never) {
    const auto part = (arrival - now()) * random_.between(1, 99) / 100;
    const int wire = client.number_of(node);
    const std::uint64_t epoch = client.wires[static_cast<std::size_t>(wire)].epoch;
    after(part, [this, number = client.number, wire, epoch] {
      Client& hit = clients_[number];
      if (hit.wires[static_cast<std::size_t>(wire)].epoch == epoch) lose(hit, wire, false);
    });
  }
  return arrival;
}

void World::crash(int node, TrueTime away) {
  Server& server = nodes_[static_cast<std::size_t>(node)];
  if (!server.running()) return;
  // If no client could see yet that it stopped writing or was promoted, a crash would go unnoticed.
  if (draw_.trust_disk && (!server.writes() || server.promoted())) return;
  server.crash();
  lose_all(node);
  after(away, [this, node] { restart(node); });
}

void World::restart(int node) {
  Server& server = nodes_[static_cast<std::size_t>(node)];
  if (server.running()) return;
  const bool from_an_old_file = draw_.durable && !server.writes();
  server.restart(now());
  if (!draw_.durable) forgets(node);
  if (from_an_old_file) has_other_data(node);
}

void World::forgets(int node) {
  fencing_.forgot(node);
  all_ask();
}

/// Everything that came in while the client was stopped comes in now, at a single moment.
void World::resume(Client& client) {
  if (client.stands_since) end_stand_still(client);
  client.paused = false;
  client.awake = client.local(now());
  for (Action& action : std::exchange(client.missed, {})) action();
  turn(client);
}

}  // namespace quorumlock::sim
