#include "sim/world/client.hpp"

#include <algorithm>
#include <numeric>

#include "sim/world/records.hpp"

namespace quorumlock::sim {

using namespace std::chrono_literals;

Client::Client(const Draw& draw, std::size_t which, test::SeededRandom& world)
    : number(which),
      random(draw.seed * 1000 + which),
      clocks(draw, world),
      list(static_cast<std::size_t>(draw.nodes)) {
  std::iota(list.begin(), list.end(), 0);
  elsewhere = draw.other_databases && which % 2 == 1;
  begin_life(draw, TrueTime());
}

void Client::begin_life(const Draw& draw, TrueTime now) {
  ++life;
  lists.clear();
  detail::Session::Config config;
  config.engine = {.nodes = static_cast<int>(list.size()),
                   .retry_delay = draw.pause,
                   .retry_jitter = draw.pause,
                   .fencing = draw.fencing,
                   .max_ttl = draw.max_ttl,
                   .entry_life = draw.entry_life,
                   .window = draw.window,
                   .send_within = draw.node_timeout};
  config.links = links_to(list, draw);
  session = std::make_unique<detail::Session>(std::move(config), random, clocks);
  list_changed(now);
  // Epochs are not reset, so nothing that was meant for the previous process reaches this one.
  wires.resize(2 * static_cast<std::size_t>(core::max_nodes));
  for (Wire& wire : wires) {
    ++wire.epoch;
    wire.open = false;
    wire.connection = -1;
  }
  missed.clear();
  paused = false;
  stands_since.reset();
  waking = TrueTime::max();
}

std::vector<redis::Link::Config> Client::links_to(const std::vector<int>& servers,
                                                  const Draw& draw) const {
  std::vector<redis::Link::Config> links;
  for (const int server : servers) {
    redis::Link::Config link;
    link.endpoint.host = name_of(server);
    link.endpoint.db = elsewhere && server == 0 ? 1 : 0;
    link.node_timeout = draw.node_timeout;
    link.connect_timeout = draw.plan.empty() ? core::Duration(2s) : draw.node_timeout;
    link.enrolment.named = named_terms(draw);
    link.enrolment.node = link.endpoint.member_name(link.endpoint.host);
    links.push_back(link);
  }
  return links;
}

/// If terms change, a third of the clients follow the nodes, and the others name the terms of one
/// of the two lists.
redis::NamedTerms Client::named_terms(const Draw& draw) const {
  if (draw.other_max_ttl == core::Duration::zero()) {
    return {terms_of(draw, false).max_ttl_ms, {}};
  }
  if (follows || number % 3 == 0) return {};
  const redis::ListTerms terms = terms_of(draw, number % 3 == 1);
  return {terms.max_ttl_ms, terms.memory_s};
}

void Client::list_changed(TrueTime now) {
  redis::NodeNames names;
  for (const int node : session->nodes()) {
    servers_[static_cast<std::size_t>(node)] = server_named(session->link(node).endpoint().host);
    names.push_back(member_name(node));
  }
  std::ranges::sort(names);
  if (lists.empty() || names != lists.back().second) lists.emplace_back(now, std::move(names));
}

std::string Client::member_name(int wire) const {
  const int db = session->link(wire).endpoint().db;
  return name_of(server_of(wire)) + (db != 0 ? "/" + std::to_string(db) : "");
}

int Client::number_of(int server) const {
  const std::vector<int>& nodes = session->nodes();
  const auto found = std::ranges::find(nodes, server, [this](int node) { return server_of(node); });
  return found == nodes.end() ? -1 : *found;
}

}  // namespace quorumlock::sim
