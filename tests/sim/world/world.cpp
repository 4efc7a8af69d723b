#include "sim/world/world.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "sim/world/crowd.hpp"
#include "sim/world/last_operator.hpp"
#include "sim/world/permits.hpp"
#include "sim/world/records.hpp"
#include "sim/world/recovery.hpp"
#include "sim/world/succession.hpp"
#include "verbs/keys.hpp"

namespace quorumlock::sim {

using namespace std::chrono_literals;

namespace {

constexpr core::Duration clock_start = 1'700'000'000s;

}  // namespace

World::World(const Draw& draw, std::ostream* trace) : scene(draw, trace) {
  begin_nodes();
  begin_clients();
  lists.plan();
}

/// Begins the nodes of a new cluster, which have nothing to forget.
void World::begin_nodes() {
  const Draw& draw = scene.draw;
  test::SeededRandom& random = scene.random;
  const int drawn = draw.one_ahead ? random.between(0, draw.nodes - 1) : -1;
  const int far_ahead = draw.stale_source ? draw.nodes - 1 : drawn;
  const redis::NodeNames list = lists.first();
  // A counter counts only if it is above what an absent one begins with.
  const core::Duration absent = std::min(draw.memory, draw.other_memory) / 2;
  const std::int64_t low = (clock_start - absent + std::min<core::Duration>(absent, 2h)) / 1us;
  for (int node = 0; node < draw.servers(); ++node) {
    ServerSettings settings;
    settings.seed = draw.seed * 100 + static_cast<std::uint64_t>(node);
    settings.durable = draw.durable;
    const auto off = random.between(-20'000, 20'000) * 1ms;
    const double rate = rate_within_the_bound(draw, random);
    const WallClock clock(clock_start + (draw.nodes_agree ? 0ms : off),
                          draw.nodes_agree ? 1 : rate);
    Server& server = scene.nodes.emplace_back(settings, clock, scene.agenda.now());
    if (node >= draw.nodes) continue;
    Database& data = server.data[0];
    redis::EnrolmentRecord record;
    record.run_id = server.run().id();
    record.nonce.assign(1, '0');  // g++ 12 warns of an assignment of "0" (GCC bug 105651)
    const redis::ListTerms terms = terms_of(draw, draw.begins_other);
    redis::Membership members{1, 0, ListPhase::settled, name_of(node), {}, list, {}, terms};
    if (draw.begins_announced) {
      members.phase = ListPhase::announced;
      members.from = list;
      members.from_terms = terms;
      members.to = named(draw.plan.front());
    }
    record.members = members.mark();
    data.put(std::string(redis::members_key), {members.text(), std::nullopt});
    data.put(std::string(redis::enrolment_key), {record.to_string(), std::nullopt});
    for (const std::string& key : {scene.lock, std::string("other")}) {
      if (!draw.low_counters) break;
      const int ahead = node == far_ahead ? 1000 : 0;
      data.put(std::string(redis::counter_prefix) + key,
               {std::to_string(low + random.between(0, 3) + ahead), std::nullopt});
    }
    if (draw.low_counters && draw.keys > 2) {
      data.put(std::string(redis::counter_prefix) + "third",
               {std::to_string(low + random.between(0, 3)), std::nullopt});
    }
    if (draw.odd_counter && node == 0) {
      data.put(std::string(redis::counter_prefix) + "unused", {"no number", std::nullopt});
    }
  }
}

void World::begin_clients() {
  for (std::size_t i = 0; i < static_cast<std::size_t>(scene.draw.clients); ++i) {
    scene.clients.emplace_back(scene.draw, i, scene.random);
    paths.draw_speeds(i);
  }
}

std::string World::run() {
  for (Client& client : scene.clients) {
    client.session->start(client.local(scene.agenda.now()));
    processes.turn(client);
  }
  users.begin();
  faults.plan();
  tokens.plan();
  operators.plan();
  stale_source.plan();
  short_lives.plan();
  for (std::size_t i = 0; i < scene.clients.size() && scene.draw.blind_spots; ++i) faults.wander(i);
  scene.agenda.run_until(scene.draw.until);
  demand_promises();
  return scene.history.violation();
}

/// Ends all faults, and demands one promise after the other until one is broken.
void World::demand_promises() {
  const auto goes_on = [this] { return !scene.agenda.stopped(); };
  Recovery recovery(*this);
  if (goes_on()) recovery.heal();
  if (scene.draw.lists_change()) {
    if (goes_on()) LastOperator(*this).demand();
    return;
  }
  Succession succession(*this);
  if (goes_on()) recovery.demand_progress();
  if (goes_on()) succession.demand_order();
  if (goes_on()) succession.demand_succession();
  if (goes_on()) succession.demand_poll();
  if (goes_on()) Permits(*this).demand();
  if (goes_on()) Crowd(*this).demand();
  if (goes_on()) short_lives.demand();
  if (goes_on()) recovery.demand_trust();
  if (goes_on()) recovery.demand_tidiness();
}

}  // namespace quorumlock::sim
