#include "sim/world/faults.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "lock/quorum.hpp"
#include "sim/world/records.hpp"
#include "sim/world/world.hpp"
#include "verbs/keys.hpp"

namespace quorumlock::sim {

using namespace std::chrono_literals;

void Faults::plan() {
  if (draw_.faults.empty()) return;
  after(draw_span(draw_.between_faults), [this] {
    if (scene_.healing) return;
    if (draw_.all_forget && random_.one_in(2)) forget_all();
    inject(draw_.faults[random_.index(draw_.faults.size())]);
    if (random_.one_in(3)) world_.disks.copy_all();
    plan();
  });
}

void Faults::inject(Fault fault) {
  ++figures_.faults;
  const int node = static_cast<int>(random_.index(nodes_.size()));
  Server& server = node_at(node);
  Client& client = clients_[random_.index(clients_.size())];
  const TrueTime span = draw_span(draw_.ttl * random_.between(1, 20) / 10);
  trace("FAULT ", sim::to_string(fault), ", node ", node + 1, ", client ", client.number + 1,
        ", for ", static_cast<double>(span.count()) / 1e9, " s");
  switch (fault) {
    case Fault::crash: return crash(node, draw_span(draw_.ttl));
    case Fault::pause_node:
      server.pause();
      return after(span, [this, node] {
        node_at(node).resume();
        world_.network.serve(node);
      });
    case Fault::pause_client:
      if (client.stands_since) return;
      client.paused = true;
      return after(span, [this, number = client.number, life = client.life] {
        const Client& stopped = clients_[number];
        if (stopped.life == life && !stopped.stands_since)
          world_.processes.resume(clients_[number]);
      });
    case Fault::reset: {
      const bool runs_on = random_.one_in(2);
      return world_.network.lose_node(client, node, random_.one_in(3), runs_on);
    }
    case Fault::partition: {
      const int ways = random_.between(1, 3);
      const bool all_clients = random_.one_in(3);
      const bool all_nodes = random_.one_in(3);
      for (std::size_t c = 0; c < clients_.size(); ++c) {
        for (int n = 0; n < draw_.servers(); ++n) {
          if ((c != client.number && !all_clients) || (n != node && !all_nodes)) continue;
          if ((ways & 1) != 0) world_.paths.between(c, n).blocked_to = now() + span;
          if ((ways & 2) != 0) world_.paths.between(c, n).blocked_from = now() + span;
        }
      }
      return;
    }
    case Fault::delay: {
      Paths::Path& path = world_.paths.between(client.number, node);
      path.extra = random_.one_in(10) ? TrueTime(3h) : span;
      return after(draw_span(draw_.ttl), [&path] { path.extra = TrueTime(); });
    }
    case Fault::flush: server.data.clear(); return forgets(node);
    case Fault::refuse: {
      Conditions refusing;
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
    case Fault::forget_scripts: return server.scripts.flush();
    case Fault::fail_over:
      if (!server.running()) return;
      return world_.disks.fail_over(node);
    case Fault::client_crash: {
      world_.processes.die(client);
      return after(draw_span(draw_.every), [this, number = client.number, life = client.life] {
        world_.users.act(number, life);
      });
    }
    case Fault::clock_step: {
      server.reap(now());  // expired keys are gone, and no clock brings them back
      const TrueTime step = draw_span(random_.one_in(3) ? TrueTime(60s) : TrueTime(draw_.ttl));
      return server.clock.step(random_.one_in(2) ? step : -step);
    }
    case Fault::clock_rate:
      server.clock.set_rate(random_.one_in(2) ? 1.0 + random_.between(2, 100) / 100.0
                                              : 1.0 / (1.0 + random_.between(2, 100) / 100.0),
                            now());
      return after(span, [this, &server] { server.clock.set_rate(1, now()); });
    case Fault::drop_lock: return server.data[0].drop("lock");
    case Fault::stand_still: return world_.processes.stand_still(client, span);
    case Fault::stop_writing: return world_.disks.stop_writing(node);
    case Fault::copy_directory: return world_.disks.copy_directory(node);
    case Fault::promote_replica: return world_.disks.promote_replica(node);
    case Fault::follow_another: return world_.disks.follow_another(node);
    case Fault::fail_back: return world_.disks.fail_back(node);
    case Fault::operators_away:
      for (std::size_t c = 0; c < clients_.size(); ++c) {
        for (int n = 0; n < draw_.servers() && !draw_.is_stranger(c); ++n) {
          world_.paths.between(c, n).blocked_to = world_.paths.between(c, n).blocked_from =
              now() + span;
        }
      }
      return;
    case Fault::forge: return forge(draw_.nodes - 1);
    case Fault::make_up: return make_up(draw_.nodes - 1);
    case Fault::evict: {
      server.data[0].evict(random_.index(1'000'000));
      return forgets(node);
    }
  }
}

void Faults::forge(int node) {
  Server& server = node_at(node);
  std::optional<redis::EnrolmentRecord> record = enrolment_of(server, now());
  std::optional<redis::Membership> its = membership_of(server, now());
  if (!its) return;
  const redis::NodeNames any[] = {
      world_.lists.first(), {name_of(node)}, {name_of(0), name_of(node)}};
  if (draw_.begins_announced) {
    *its = {its->founding, 1, ListPhase::settled, its->name, {}, named(draw_.plan.front()), {},
            its->to_terms};
  } else {
    its->phase = std::array{ListPhase::settled, ListPhase::announced,
                            ListPhase::unsettled}[random_.index(3)];
    its->epoch = static_cast<std::uint32_t>(random_.between(0, 5));
    its->to = any[random_.index(std::size(any))];
    its->from = any[random_.index(std::size(any))];
    its->from_terms = its->to_terms;
    if (its->phase == ListPhase::settled) its->from.clear();
  }
  record->members = its->mark();
  trace("FAULT somebody writes on node ", node + 1, ": ", its->text(), " in epoch ", its->epoch);
  server.data[0].put(std::string(redis::enrolment_key), {record->to_string(), std::nullopt});
  server.data[0].put(std::string(redis::members_key), {its->text(), std::nullopt});
}

void Faults::make_up(int node) {
  Server& server = node_at(node);
  constexpr std::uint64_t greatest = (std::uint64_t{1} << 53U) - 1;
  const std::uint64_t limit = counts_up_to(now());
  // The last of these is a number that counts.
  const std::uint64_t any[] = {greatest - random_.index(2000), limit + 1'000'000'000, limit * 2,
                               limit - 3'600'000'000};
  const std::uint64_t number = any[random_.index(std::size(any))];
  std::optional<redis::EnrolmentRecord> record = enrolment_of(server, now());
  const bool floor = random_.one_in(3);
  trace("FAULT somebody writes ", number, floor ? " as a floor" : " as a counter", " on node ",
        node + 1);
  if (!floor) {
    const std::string key = std::string(redis::counter_prefix) + scene_.lock;
    const std::string known = text_of(server, key, now());
    if (!known.empty() && std::stoull(known) >= number) return;
    server.data[0].put(key, {std::to_string(number), std::nullopt});
  } else if (record) {
    record->floor = std::max(record->floor, number);
    server.data[0].put(std::string(redis::enrolment_key), {record->to_string(), std::nullopt});
  }
}

void Faults::betray(Client& client, core::NodeSet granted) {
  if (scene_.healing) return;
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
  world_.paths.hide(client.number, hidden, now() + TrueTime(draw_.ttl) * 3 / 2);
  if (!granted.contains(hidden)) world_.network.lose_node(client, hidden, false, false);
  node_at(flushed).data.clear();
  forgets(flushed);
}

void Faults::wander(std::size_t client) {
  if (scene_.healing || !draw_.has(Fault::partition)) return;
  const int node = static_cast<int>(random_.index(nodes_.size()));
  const TrueTime span = draw_span(draw_.ttl);
  const int ways = random_.between(1, 3);
  const bool all = random_.one_in(3);
  trace("FAULT client ", client + 1, all ? " and all others lose" : " loses", " sight of node ",
        node + 1, " for ", static_cast<double>(span.count()) / 1e9, " s");
  ++figures_.faults;
  for (std::size_t each = 0; each < clients_.size(); ++each) {
    if (each != client && !all) continue;
    Paths::Path& path = world_.paths.between(each, node);
    path.lost = true;  // as good as lost: what is under way arrives at any time
    if ((ways & 1) != 0) path.blocked_to = now() + span;
    if ((ways & 2) != 0) path.blocked_from = now() + span;
  }
  after(span + draw_span(draw_.delay), [this, client] { wander(client); });
}

void Faults::has_voted(int node) {
  if (draw_.faults_follow_votes) may_forget(node, "its vote");
}

void Faults::may_forget(int node, const char* after_what) {
  const bool flush = draw_.has(Fault::flush);
  if (scene_.healing || now() < next_relapse_) return;
  if ((!flush && !draw_.has(Fault::crash)) || !random_.one_in(3)) return;
  next_relapse_ = now() + draw_.max_ttl * 3 / 2;
  ++figures_.faults;
  trace("FAULT node ", node + 1, flush ? " will forget" : " will crash", " after ", after_what);
  const core::Duration in = std::max(2 * draw_.delay, draw_.forgets_in);
  after(draw_span(in), [this, node, flush] {
    Server& server = node_at(node);
    if (scene_.healing || !server.running()) return;
    if (!flush) return crash(node, draw_span(10 * draw_.delay));
    server.data.clear();
    forgets(node);
  });
}

/// Makes all nodes forget, or almost all, each at a moment of its own.
void Faults::forget_all() {
  // A client that names a smaller max_ttl than a list was founded with founds it anew too soon if
  // all nodes forget that list before the client has read it. So they do that once.
  if (draw_.other_max_ttl > 0s && std::exchange(next_relapse_, draw_.until) > TrueTime()) return;
  ++figures_.faults;
  trace("FAULT almost all nodes forget");
  if (!draw_.blind.empty()) {
    world_.lists.hide_nodes(now() + TrueTime(draw_.max_ttl) * random_.between(100, 110) / 100);
  }
  for (int node = 0; node < draw_.servers(); ++node) {
    const bool named = draw_.forgetters.find(name_of(node).substr(1)) != std::string::npos;
    if (draw_.forgetters.empty() ? random_.one_in(6) : !named) continue;
    after(draw_span(draw_.delay), [this, node] {
      if (scene_.healing) return;
      node_at(node).data.clear();
      forgets(node);
    });
  }
}

void Faults::fall_silent(std::size_t client, int node) {
  if (!draw_.silences || scene_.healing || !random_.one_in(8)) return;
  const auto is_silent = [this, client](int each) {
    const Paths::Path& path = world_.paths.between(client, each);
    const bool up = clients_[client].session->link(each).state() == core::LinkState::up;
    return !up || now() < path.silent_until + 2 * draw_.promptly();
  };
  int silent = 0;
  for (int each = 0; each < draw_.nodes; ++each) silent += is_silent(each) ? 1 : 0;
  if (is_silent(node)) return;
  if (silent >= draw_.nodes - core::quorum_of(draw_.nodes)) return;
  ++figures_.faults;
  const TrueTime span = draw_span(draw_.node_timeout);
  trace("FAULT node ", node + 1, " is silent to client ", client + 1, " for ",
        static_cast<double>(span.count()) / 1e9, " s");
  Paths::Path& path = world_.paths.between(client, node);
  path.lost = true;  // as good as lost: what is under way arrives at any time
  path.silent_until = path.blocked_from = now() + span;
  // A request that arrives after its keys' time and is forgotten leaves a key for another ttl.
  if (span > TrueTime(draw_.ttl)) path.silent_until += TrueTime(draw_.ttl);
  if (random_.one_in(2)) path.blocked_to = now() + span;
  if (random_.one_in(2)) return;
  after(span, [this, client, node] {
    world_.network.lose_node(clients_[client], node, false, random_.one_in(2));
  });
}

TrueTime Faults::outlast(Client& client, int node, TrueTime arrival) {
  if (!draw_.faults_follow_rivals || !draw_.has(Fault::partition) || scene_.healing) return arrival;
  const DatabaseView seen = node_at(node).at(now());
  std::string key = scene_.lock;
  for (const Operation& one : operations_) {
    // For a semaphore, any permit that another client has will do.
    if (draw_.capacity == 0 || !one.valid(now()) || one.client == client.number) continue;
    key = one.held_keys().front();
  }
  const auto left = seen.time_left(key);
  if (!left || !random_.one_in(6)) return arrival;
  const std::string owner = seen.token_of(key).value_or("");
  const auto holder = std::ranges::find_if(
      operations_, [&](const Operation& one) { return one.token == owner && one.valid(now()); });
  if (holder == operations_.end() || holder->client == client.number) return arrival;
  ++figures_.faults;
  trace("FAULT the holder, client ", holder->client + 1, ", loses sight of node ", node + 1,
        " until its key there has run out, and client ", client.number + 1, " asks just then");
  const TrueTime then = now() + *left + draw_span(draw_.delay);
  Paths::Path& path = world_.paths.between(holder->client, node);
  path.blocked_to = std::max(path.blocked_to, then + 2 * TrueTime(draw_.delay));
  path.lost = world_.paths.between(client.number, node).lost = true;
  return std::max(arrival, then);
}

TrueTime Faults::hinder(Client& client, int node, TrueTime arrival) {
  if (!draw_.faults_follow_raises || scene_.healing || random_.one_in(4)) return arrival;
  ++figures_.faults;
  world_.paths.between(client.number, node).lost = true;
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
      if (hit.wires[static_cast<std::size_t>(wire)].epoch == epoch)
        world_.network.lose(hit, wire, false);
    });
  }
  return arrival;
}

void Faults::crash(int node, TrueTime away) {
  Server& server = node_at(node);
  if (!server.running()) return;
  server.crash();
  world_.network.lose_all(node);
  after(away, [this, node] { restart(node); });
}

void Faults::restart(int node) {
  Server& server = node_at(node);
  if (server.running()) return;
  const bool from_an_old_file = draw_.durable && !server.writes();
  server.restart(now());
  if (!scene_.healing) world_.short_lives.booted(node);
  if (!draw_.durable) forgets(node);
  if (from_an_old_file) world_.disks.has_other_data(node);
}

void Faults::forgets(int node) {
  checks_.fencing.forgot(node);
  world_.users.all_ask();
  if (!draw_.periods || !draw_.blind_spots || !draw_.has(Fault::partition)) return;
  // All clients lose sight of one that vouches for it, just when they are to repair it.
  after(TrueTime(draw_.max_ttl) * random_.between(90, 110) / 100, [this, node] {
    const int other = static_cast<int>(random_.index(nodes_.size()));
    if (scene_.healing || other == node) return;
    trace("FAULT all clients lose sight of node ", other + 1);
    for (std::size_t client = 0; client < clients_.size(); ++client) {
      world_.paths.hide(client, other, now() + 2 * TrueTime(draw_.node_timeout));
    }
  });
}

}  // namespace quorumlock::sim
