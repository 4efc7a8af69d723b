#include "sim/world/observer.hpp"

#include <algorithm>

#include "sim/world/records.hpp"
#include "sim/world/world.hpp"
#include "support/scripts.hpp"
#include "verbs/keys.hpp"

namespace quorumlock::sim {

using namespace std::chrono_literals;

namespace {

using Owner = Observer::Owner;
using Renewed = Observer::Renewed;

/// The script that these words call; null if they call none.
const redis::Script* script_of(const Words& words) {
  if (!words[0].starts_with("EVAL")) return nullptr;
  const bool by_sha = words[0] == "EVALSHA";
  return by_sha ? test::script_by_sha1(words[1])
                : test::script_by(&redis::Script::source, words[1]);
}

/// The key of a permit, by that of its semaphore.
std::string permit_key(const std::string& semaphore, const std::string& slot) {
  return std::string(redis::permit_prefix) + semaphore.substr(redis::semaphore_prefix.size()) +
         ":" + slot;
}

/// The owners that a vote or a release is for, each with its keys.
std::vector<Owner> owners_of(const Words& words, const redis::Script* script) {
  std::vector<Owner> owners;
  const auto add = [&owners](std::span<const std::string> keys, const std::string& token,
                             bool releases) {
    owners.push_back({{keys.begin(), keys.end()}, token, releases});
  };
  // A command that takes back a counter is not about a lock.
  if (words.size() > 3 && words[3].starts_with(redis::counter_prefix)) return owners;
  const auto word = [&words](std::size_t place) { return std::span(words).subspan(place, 1); };
  if (script == nullptr) {
    if (words.size() == 6 && words[0] == "SET") add(word(1), words[2], false);
    return owners;
  }
  if (words[0] != "EVALSHA") return owners;
  const std::size_t keys = std::stoul(words[2]);
  const std::span<const std::string> args = std::span(words).subspan(3 + keys);
  /// The keys that hold the token: the locks, or the slot of a permit.
  const auto add_all = [&](std::size_t locks, const std::string& slot, bool releases) {
    if (slot == "0") return add(std::span(words).subspan(3, locks), args[0], releases);
    const std::string key = permit_key(words[3], slot);
    add(std::span(&key, 1), args[0], releases);
  };
  if (script == &redis::release_script) {
    for (std::size_t i = 0; i < args.size(); i += 2) add(args.subspan(i, 1), args[i + 1], true);
  } else if (script == &redis::acquire_script) {
    for (std::size_t i = 4; i + 6 < args.size(); i += 3) {
      add(args.subspan(i, 1), args[i + 1], false);
    }
  } else if (script == &redis::renew_script) {
    for (std::size_t i = 1; i <= keys; ++i) add(word(2 + i), args[3 * i - 1], false);
  } else if (script == &redis::acquire_all_script) {
    add_all(keys / 2, args[9], false);
  } else if (script == &redis::renew_all_script) {
    add_all(keys / 2, args[5], false);
  } else if (script == &redis::release_all_script && args[4] == "0") {
    add_all(keys, args[3], true);
  } else if (script == &redis::raise_script) {
    add_all(keys / 2, "0", false);
  }
  return owners;
}

/// The keys that a lease's own renewal is about, each with the owner's token.
std::vector<Renewed> renewals_of(const Words& words, const redis::Script* script) {
  std::vector<Renewed> all;
  if (script == nullptr) return all;
  const std::size_t keys = std::stoul(words[2]);
  const auto arg = [&](std::size_t number) -> const std::string& {
    return words[2 + keys + number];
  };
  if (script == &redis::renew_script) {
    const bool known = words[words.size() - 5] != "0";
    for (std::size_t i = 1; i <= keys; ++i) all.push_back({words[2 + i], arg(3 * i), known});
  } else if (script == &redis::renew_all_script && arg(6) != "0") {
    all.push_back({permit_key(words[3], arg(6)), arg(1), arg(8) != "0"});
  } else if (script == &redis::renew_all_script && arg(5) != "t") {
    for (std::size_t i = 1; i <= keys / 2; ++i) {
      all.push_back({words[2 + i], arg(1), arg(8) != "0"});
    }
  }
  return all;
}

}  // namespace

Observer::Observer(World& world)
    : Machine(world), records_(static_cast<std::size_t>(draw_.servers())) {
  for (const std::string& key : {scene_.lock, std::string("other"), std::string("third")}) {
    if (key == "third" && draw_.keys <= 2) continue;
    counters_.emplace_back(key, std::string(redis::counter_prefix) + key);
  }
}

Observer::Expected Observer::before_command(int node, const Words& words) const {
  const redis::Script* const script = script_of(words);
  Expected expected{owners_of(words, script), renewals_of(words, script)};
  for (Renewed& each : expected.renewals) each.before = time_of(node, each);
  const DatabaseView seen = node_at(node).at(now());
  for (std::size_t lock = 0; lock < counters_.size() && draw_.other_max_ttl > 0s; ++lock) {
    if (seen.text_of(counters_[lock].second) == nullptr) checks_.fencing.expired(node, lock);
  }
  return expected;
}

void Observer::after_command(int node, std::size_t client, const Expected& expected,
                             const std::string& said) {
  look_at(node);
  for (const Renewed& each : expected.renewals) {
    if (draw_.node_clocks_hold()) look_at_renewal(node, each);
  }
  const bool refused = said.find('-') != said.npos;
  for (const Owner& owner : expected.owners) {
    if (!owner.releases || !refused) look_at_owner(node, client, owner);
  }
}

void Observer::show(int node, int connection, int client, std::size_t life) const {
  const Server& server = node_at(node);
  const Journal& journal = server.journal();
  const redis::Script* const script = script_of(journal.words());
  const bool may_vote = script == &redis::renew_script || script == &redis::renew_all_script;
  const bool looks = script == &redis::candidate_script || script == &redis::once_script ||
                     Referee::reads_record(journal.words());
  if (journal.written().empty() && !looks && !may_vote) return;
  const auto data = server.data.find(journal.database());
  if (data == server.data.end()) return;
  Referee::Executed step{
      node, server.run().name(), server.wall_us(now()), script, journal, data->second, now()};
  step.connection = connection;
  step.said = server.connections.output(connection);
  step.has_name = server.connections.has_name(connection);
  if (client >= 0) {
    const Client& its = clients_[static_cast<std::size_t>(client)];
    step.client = client;
    step.life = life;
    step.local = its.local(now());
  }
  checks_.referee.executed(step);
}

/// How much longer this owner has the key at this node, as seen there; zero if the owner does not
/// have it.
TrueTime Observer::time_of(int node, const Renewed& one) const {
  const DatabaseView seen = node_at(node).at(now());
  if (!seen.has_token(one.key, one.token)) return {};
  return seen.time_left(one.key).value_or(TrueTime::max());
}

/// Checks that a renewal sets and prolongs nothing once the lease that it was to renew is over.
void Observer::look_at_renewal(int node, const Renewed& one) {
  const auto lease = std::find_if(operations_.rbegin(), operations_.rend(),
                                  [&](const Operation& each) { return each.token == one.token; });
  if (lease == operations_.rend() || now() < lease->valid_until) return;
  const TrueTime after = time_of(node, one);
  if (one.before == TrueTime() && after > TrueTime()) {
    report("operation " + std::to_string(lease->number) + " is over, and a renewal sets " +
           one.key + " again at node " + std::to_string(node + 1));
  } else if (one.end_known && after > one.before) {
    report("operation " + std::to_string(lease->number) + " is over, and a renewal prolongs " +
           one.key + " at node " + std::to_string(node + 1));
  }
}

/// Looks at the keys of a command's owner: after a release none may be there.
void Observer::look_at_owner(int node, std::size_t client, const Owner& owner) {
  if (owner.token.empty()) return;
  if (owner.releases) checks_.tidiness.released(node, owner.token);
  const DatabaseView seen = node_at(node).at(now());
  const auto has = std::ranges::count_if(
      owner.keys, [&](const std::string& key) { return seen.has_token(key, owner.token); });
  if (draw_.timing_holds()) {
    checks_.tidiness.has_keys(node, owner.token, static_cast<std::size_t>(has), owner.keys.size());
  }
  if (has == 0) return;
  world_.faults.has_voted(node);
  if (!world_.paths.between(client, node).lost) checks_.tidiness.has_key(node, owner.token);
}

/// Checks that a number that somebody has made up on the last node has not reached another one.
void Observer::look_at_number(int node, const std::string& what, std::uint64_t number) {
  // Clocks may differ by this much, and each grant adds one.
  constexpr std::uint64_t slack = 100'000'000;
  if (node == draw_.nodes - 1 || number <= counts_up_to(now()) + slack) return;
  report("the " + what + " at node " + std::to_string(node + 1) +
         " is beyond all clocks: " + std::to_string(number));
}

void Observer::look_at(int node) {
  static const std::string enrolment(redis::enrolment_key);
  const DatabaseView seen = node_at(node).at(now());
  for (std::size_t lock = 0; lock < counters_.size(); ++lock) {
    const auto& [key, counter] = counters_[lock];
    checks_.order.look(node, key, seen, now(), draw_.nodes);
    const std::string* const text = seen.text_of(counter);
    if (text == nullptr) continue;
    checks_.fencing.counter(node, lock, key, *text);
    if (draw_.has(Fault::make_up)) look_at_number(node, "counter of " + key, std::stoull(*text));
  }
  const std::string* const record = seen.text_of(enrolment);
  std::string& known = records_[static_cast<std::size_t>(node)];
  if (record == nullptr) return world_.foundings.has_no_record(node);
  if (*record == known) return;
  if (!known.empty()) world_.users.all_ask();
  known = *record;
  if (draw_.lists_change()) world_.foundings.look_at(node);
  // If too few nodes remembered, the order of tokens rests on the nodes' clocks.
  const auto read = redis::EnrolmentRecord::parse(known);
  if (draw_.has(Fault::make_up) && read) look_at_number(node, "floor", read->floor);
  if (!read || read->since == 0) return;
  // Such a floor is a minute beyond the clocks, so counters must not expire within that time.
  const bool expire = std::min(draw_.memory, draw_.other_memory) < 4min;
  if (!draw_.nodes_agree || expire) checks_.fencing.rests_on_clocks();
  world_.periods.forgotten();
}

}  // namespace quorumlock::sim
