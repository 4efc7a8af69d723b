// All states of a small world in which the list of a lock's nodes changes, breadth first, every
// interleaving.
//
//     g++ -O2 -std=c++20 members.cpp -o members && ./members SCENARIO [name=number | mutant=name
//     ...]
//
// Time goes in ticks. A lease that began at tick s is believed in while now < s + V, a key dies V
// ticks after it was last set, and a wait lasts for V ticks, too. All may be delayed without bound,
// so these earliest times stand for all. A command that comes late is one that is executed late: a
// script compares the record when it runs. Any command of an operator may be executed on any node
// at any time or never, which covers crashes, repeated runs and two operators. Of what an operator
// has to see first, only what safety needs is kept: the look, the wait, and the scan of the
// counters.
//
// A change is an exclusion violated (two holders) or a fencing token that is not greater than all
// before.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace {

using Byte = std::uint8_t;
using Nodes = unsigned;  // a set of nodes: a bit each

constexpr int max_nodes = 6, max_clients = 2, max_changes = 2;
constexpr Byte blank = 15, none = 15, unscanned = 7;

// --- The world, from the command line
// ---------------------------------------------------------------

struct Change {
  int from, to;
};

int n = 4;                    // nodes
std::vector<Nodes> lists;     // the first governs at the beginning
std::vector<int> epochs;      // of each list
std::vector<Change> changes;  // that operators may make
std::vector<int> foundable;   // lists that clients may found anew
std::map<std::string, int> numbers{{"V", 1},     {"forgets", 0}, {"renew", 0},   {"native", 0},
                                   {"fence", 0}, {"fmax", 3},    {"clients", 2}, {"withdraw", 1},
                                   {"apart", 0}, {"live", 0},    {"dead", 0},    {"careful", 0},
                                   {"quiet", 0}};
int V, FORGETS, RENEW, NATIVE, FENCE, FMAX, CLIENTS, WITHDRAW, APART, DEAD, CAREFUL;

const std::set<std::string> known_mutants{"no-wait",
                                          "commit-on-too-few",
                                          "commit-on-N-q+1",
                                          "seen-once",
                                          "two-steps-merged",
                                          "one-wait-for-two-steps",
                                          "old-list-accepted-after-commit",
                                          "record-not-compared",
                                          "record-read-before-set",
                                          "own-list-not-counted",
                                          "asked-lists-not-counted",
                                          "one-voucher-is-enough",
                                          "blank-nodes-vouch",
                                          "all-nodes-there",
                                          "counters-not-repaired",
                                          "no-scan",
                                          "scan-of-too-few"};
std::string mutant;

/// Whether this mistake is planted; resolved once, since it is asked for in each state.
bool planted(const char* name) {
  if (!known_mutants.contains(name)) std::abort();
  return mutant == name;
}
#define PLANTED(name)                        \
  [] {                                       \
    static const bool value = planted(name); \
    return value;                            \
  }()

bool has(Nodes set, int node) {
  return set >> node & 1U;
}
int size(Nodes set) {
  return std::popcount(set);
}
int quorum(int list) {
  return size(lists[list]) / 2 + 1;
}
int vouchers(int list) {
  return size(lists[list]) - quorum(list) + 1;
}
bool holds(Nodes set, int list) {
  return size(set & lists[list]) >= quorum(list);
}
bool covers(Nodes set, int list) {
  return size(set & lists[list]) >= vouchers(list);
}

/// What a node's record may say.
enum Phase { settled, announced, unsettled };
struct Record {
  Phase phase;
  int from, to, rank;
};
std::vector<Record> records;

int settled_at(int list) {
  return list;
}
int announced_in(int change) {
  return static_cast<int>(lists.size()) + 2 * change;
}
int unsettled_in(int change) {
  return announced_in(change) + 1;
}

void make_records() {
  epochs.assign(lists.size(), 0);
  for (const Change& change : changes) epochs[change.to] = epochs[change.from] + 1;
  for (int list = 0; list < static_cast<int>(lists.size()); ++list)
    records.push_back({settled, list, list, 3 * epochs[list]});
  for (const Change& change : changes) {
    records.push_back({announced, change.from, change.to, 3 * epochs[change.from] + 1});
    records.push_back({unsettled, change.from, change.to, 3 * epochs[change.from] + 2});
  }
}

/// Whether a node with this record votes for clients of this list.
bool accepts(Byte record, int list) {
  if (record == blank) return false;
  const Record& its = records[record];
  const bool old = its.phase == announced ||
                   (its.phase == unsettled && PLANTED("old-list-accepted-after-commit"));
  return its.to == list || (old && its.from == list);
}

/// The list of which a vote with this record asks for a majority.
int asked_by(Byte record) {
  return records[record].phase == settled ? records[record].to : records[record].from;
}

// --- States
// -------------------------------------------------------------------------------------------

struct Node {
  Byte record, waited, pending, owner, key_age, counter, pending_counter;
};
enum Stage : Byte { idle, acquiring, holding, renewing };
struct Client {
  Byte stage, list, age, renewal_age, votes, sent, agreed, number, token;
  std::array<Byte, max_nodes> asked;  // by each vote
};
struct Operator {
  Byte timer;    // 0: the look is not done; else the ticks since then, and 1
  Byte scan;     // the greatest counter, or unscanned
  Byte seen;     // nodes seen committed, if they are not seen at once
  Byte careful;  // what was seen that a careful operator waits for
};
/// The bytes are compared, so there is no padding.
struct State {
  std::array<Node, max_nodes> node;
  std::array<Client, max_clients> client;
  std::array<Operator, max_changes> op;
  Byte forgets, greatest;
  bool operator==(const State& other) const { return std::memcmp(this, &other, sizeof *this) == 0; }
};

std::vector<State> states;
std::vector<std::uint32_t> parents, events, table;

std::uint64_t hash(const State& state) {
  std::uint64_t value = 0x9e3779b97f4a7c15;
  const char* bytes = reinterpret_cast<const char*>(&state);
  for (std::size_t at = 0; at < sizeof state; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + at, std::min<std::size_t>(8, sizeof state - at));
    value = (value ^ word) * 0xff51afd7ed558ccd;
    value ^= value >> 32;
  }
  return value;
}

/// The place of a state in the table: that of an equal one, or a free one.
std::uint32_t& place(const State& state) {
  const std::uint64_t mask = table.size() - 1;
  std::uint64_t at = hash(state) & mask;
  while (table[at] != 0 && !(states[table[at] - 1] == state)) at = (at + 1) & mask;
  return table[at];
}

void add(const State& state, std::uint32_t parent, std::uint32_t event) {
  if (states.size() * 2 > table.size()) {
    table.assign(table.size() * 2, 0);
    for (std::uint32_t i = 0; i < states.size(); ++i) place(states[i]) = i + 1;
  }
  std::uint32_t& found = place(state);
  if (found != 0) return;
  states.push_back(state), parents.push_back(parent), events.push_back(event);
  found = static_cast<std::uint32_t>(states.size());
}

// --- What happens, in words
// ---------------------------------------------------------------------------

enum Event {
  starts,
  granted,
  sets,
  compared,
  raised,
  won,
  given_up,
  released,
  renews,
  renewed_at,
  renewed,
  tick,
  announces,
  withdraws,
  commits,
  looked,
  sees,
  scans,
  settles,
  reads,
  enrols,
  loses_record,
  forgets,
  founds,
  all_found
};
constexpr const char* event_names[] = {"starts with",
                                       "is granted",
                                       "SET",
                                       "GET record",
                                       "raises",
                                       "HOLDS",
                                       "gives up",
                                       "releases",
                                       "begins to renew with",
                                       "renews at",
                                       "has renewed",
                                       "--- tick",
                                       "announced at",
                                       "withdrawn at",
                                       "committed at",
                                       "an operator has seen enough nodes committed",
                                       "an operator has seen committed",
                                       "an operator has scanned the counters",
                                       "settled at",
                                       "vouchers read for",
                                       "enrolled",
                                       "behind, loses its record",
                                       "forgets",
                                       "a founding's candidate on",
                                       "all seen to have it, for"};

std::uint32_t make_event(Event what, int a = 0, int b = 0) {
  return static_cast<std::uint32_t>(what | a << 8 | b << 14);
}
std::string list_name(int list) {
  std::string text = "{";
  for (int k = 0; k < n; ++k)
    if (has(lists[list], k)) text += static_cast<char>('A' + k);
  return text + "}@" + std::to_string(epochs[list]);
}
std::string record_name(Byte record) {
  if (record == blank) return "blank";
  const Record& its = records[record];
  if (its.phase == settled) return list_name(its.to);
  return its.phase == announced ? list_name(its.from) + "+" + list_name(its.to)
                                : list_name(its.to) + "-unsettled";
}
std::string words(std::uint32_t event) {
  const int what = static_cast<int>(event & 255), a = static_cast<int>(event >> 8 & 63),
            b = static_cast<int>(event >> 14);
  const std::string name = event_names[what], node(1, static_cast<char>('A' + b));
  if (what == starts || what == renews)
    return "client " + std::to_string(a + 1) + " " + name + " " + list_name(b);
  if (what == won || what == given_up || what == released || what == renewed)
    return "client " + std::to_string(a + 1) + " " + name;
  if (what < tick) return "client " + std::to_string(a + 1) + " " + name + " " + node;
  return what == tick || what == looked || what == scans ? name : name + " " + node;
}
void print(const State& state) {
  std::printf("      ");
  for (int k = 0; k < n; ++k) {
    const Node& node = state.node[k];
    std::printf(" %c:%s", 'A' + k, record_name(node.record).c_str());
    if (node.owner) std::printf("(key %d)", node.owner);
    if (FENCE) std::printf("[%d]", node.counter);
  }
  std::printf("\n");
}
void print_history(std::uint32_t last) {
  std::vector<std::uint32_t> way;
  for (std::uint32_t at = last; at != 0; at = parents[at]) way.push_back(at);
  std::reverse(way.begin(), way.end());
  for (std::size_t step = 0; step < way.size(); ++step) {
    std::printf("  %2zu. %s\n", step + 1, words(events[way[step]]).c_str());
    if (!numbers["quiet"] || step + 1 == way.size()) print(states[way[step]]);
  }
}

// --- Successors
// -----------------------------------------------------------------------------------------

std::uint32_t current;
std::string violation;
bool collecting = false;
std::vector<State> collected;

void reach(const State& state, std::uint32_t event) {
  if (!violation.empty()) return;
  if (collecting) {
    collected.push_back(state);
  } else {
    add(state, current, event);
  }
}
void violate(const State& state, std::uint32_t event, const char* what) {
  if (!violation.empty()) return;
  violation = what;
  states.push_back(state), parents.push_back(current), events.push_back(event);
}

void end_claim(State& state, int client) {
  state.client[client] = {};
  for (int k = 0; k < n; ++k)
    if (state.node[k].owner == client + 1) state.node[k].owner = state.node[k].key_age = 0;
}

/// The largest set of these votes that stand together, if they hold a majority of the client's
/// list; or none.
Nodes winners(const Client& client, Nodes votes) {
  for (Nodes before = ~0U; before != votes && !PLANTED("asked-lists-not-counted");) {
    before = votes;
    for (int k = 0; k < n; ++k)
      if (has(votes, k) && !holds(before, client.asked[k])) votes &= ~(1U << k);
  }
  return PLANTED("own-list-not-counted") || holds(votes, client.list) ? votes : 0;
}

void count_number(Client& client, int node, int number) {
  if (number > client.number) client.agreed = 0;
  if (number >= client.number)
    client.number = static_cast<Byte>(number), client.agreed |= 1U << node;
}

void acquire(const State& s, int i) {
  const Client& client = s.client[i];
  State gone = s;
  end_claim(gone, i);
  reach(gone, make_event(given_up, i));
  for (int k = 0; k < n; ++k) {
    const Node& node = s.node[k];
    if (!has(lists[client.list], k)) continue;
    const bool old_terms = PLANTED("record-not-compared") && node.record != blank &&
                           epochs[client.list] == 0 && has(lists[0], k);
    const bool good = accepts(node.record, client.list) || old_terms;
    State t = s;
    Node& its = t.node[k];
    Client& my = t.client[i];
    const auto vote = [&] {
      my.votes |= 1U << k;
      my.asked[k] = static_cast<Byte>(old_terms ? client.list : asked_by(node.record));
    };
    const auto set = [&] { its.owner = static_cast<Byte>(i + 1), its.key_age = 0; };
    if (has(client.votes, k)) {
      if (!FENCE || has(client.agreed, k) || node.owner != i + 1 || !good ||
          node.counter >= client.number)
        continue;
      its.counter = client.number;
      my.agreed |= 1U << k;
      vote();
      reach(t, make_event(raised, i, k));
    } else if (!(NATIVE >> i & 1)) {
      if (!good || node.owner != 0) continue;
      vote(), set();
      if (FENCE) {
        if (node.counter + 1 > FMAX) continue;
        its.counter++;
        count_number(my, k, its.counter);
      }
      reach(t, make_event(granted, i, k));
    } else if (PLANTED("record-read-before-set")) {
      if (!has(client.sent, k)) {
        if (!good) continue;
        my.sent |= 1U << k;
        my.asked[k] = static_cast<Byte>(asked_by(node.record));
        reach(t, make_event(compared, i, k));
      } else if (node.owner == 0) {
        my.votes |= 1U << k;
        set();
        reach(t, make_event(sets, i, k));
      }
    } else if (!has(client.sent, k)) {
      if (node.owner != 0) continue;
      set();
      my.sent |= 1U << k;
      reach(t, make_event(sets, i, k));
    } else if (good) {
      vote();
      reach(t, make_event(compared, i, k));
    }
  }
  if (winners(client, FENCE ? client.agreed : client.votes) == 0) return;
  State t = s;
  t.client[i] = {};
  t.client[i].stage = holding, t.client[i].list = client.list, t.client[i].age = client.age,
  t.client[i].token = client.number;
  for (int j = 0; j < CLIENTS; ++j)
    if (j != i && s.client[j].stage >= holding)
      violate(t, make_event(won, i), "EXCLUSION: two holders");
  if (FENCE && client.number <= s.greatest)
    violate(t, make_event(won, i), "FENCE: a token that is not greater");
  if (FENCE) t.greatest = client.number;
  if (FENCE && t.greatest >= FMAX) return;
  reach(t, make_event(won, i));
}

void renew(const State& s, int i) {
  const Client& client = s.client[i];
  for (int k = 0; k < n; ++k) {
    const Node& node = s.node[k];
    if (has(client.votes, k) || !has(lists[client.list], k) || !accepts(node.record, client.list))
      continue;
    if (node.owner != 0 && node.owner != i + 1) continue;
    State t = s;
    if (FENCE && node.owner == 0) t.node[k].counter = std::max(node.counter, client.token);
    t.node[k].owner = static_cast<Byte>(i + 1), t.node[k].key_age = 0;
    t.client[i].votes |= 1U << k;
    t.client[i].asked[k] = static_cast<Byte>(asked_by(node.record));
    reach(t, make_event(renewed_at, i, k));
  }
  if (winners(client, client.votes) == 0) return;
  State t = s;
  t.client[i] = {};
  t.client[i].stage = holding, t.client[i].list = client.list, t.client[i].age = client.renewal_age,
  t.client[i].token = client.token;
  reach(t, make_event(renewed, i));
}

void act(const State& s, int i) {
  const Client& client = s.client[i];
  const auto with = [&](Event event, Stage stage, int first) {
    for (int list = first; list < static_cast<int>(lists.size()); ++list) {
      State t = s;
      t.client[i].stage = stage, t.client[i].list = static_cast<Byte>(list);
      reach(t, make_event(event, i, list));
    }
  };
  if (client.stage == idle) with(starts, acquiring, 0);
  if (client.stage == acquiring) acquire(s, i);
  if (client.stage == renewing) renew(s, i);
  if (client.stage != holding) return;
  State t = s;
  end_claim(t, i);
  reach(t, make_event(released, i));
  if (RENEW >> i & 1) with(renews, renewing, client.list);
}

void operate(const State& s, int x) {
  const Change& change = changes[x];
  const Nodes from = lists[change.from];
  const Operator& op = s.op[x];
  const int enough = PLANTED("commit-on-too-few") ? quorum(change.from) - 1
                     : PLANTED("commit-on-N-q+1") ? vouchers(change.from)
                                                  : quorum(change.from);
  const auto is_at = [&](int k) {
    const Byte record = s.node[k].record;
    return record != blank && (record == unsettled_in(x) || record == settled_at(change.to) ||
                               records[record].rank > 3 * epochs[change.to]);
  };
  Nodes committed = 0;
  for (int k = 0; k < n; ++k)
    if (has(from, k) && is_at(k)) committed |= 1U << k;
  // A careful operator announces (1) and commits (2) only if enough nodes are there. Only progress
  // needs that.
  unsigned may = 3;
  if (CAREFUL) {
    bool all = true;
    Nodes ready = 0;
    for (int k = 0; k < n; ++k) {
      const Byte record = s.node[k].record;
      if (has(from, k) && !has(DEAD, k)) all &= record == settled_at(change.from);
      if (record == announced_in(x) || record == unsettled_in(x)) ready |= 1U << k;
    }
    may = op.careful;
    State t = s;
    t.op[x].careful |=
        (all ? 1U : 0U) | (holds(ready, change.from) && holds(ready, change.to) ? 2U : 0U);
    if (t.op[x].careful != may) reach(t, make_event(looked));
  }
  const bool waited =
      op.timer > (PLANTED("no-wait") ? 0 : V) ||
      (PLANTED("one-wait-for-two-steps") && x != 0 && op.timer != 0 && s.op[0].timer > V);
  for (int k = 0; k < n; ++k) {
    const Byte record = s.node[k].record;
    const auto become = [&](int next, Event event, Byte counter = 0) {
      State t = s;
      t.node[k].record = static_cast<Byte>(next);
      t.node[k].counter = std::max(t.node[k].counter, counter);
      reach(t, make_event(event, 0, k));
    };
    const bool merged = PLANTED("two-steps-merged") && record != blank &&
                        records[record].phase == unsettled && records[record].to == change.from;
    if (has(from, k) && (record == settled_at(change.from) || merged) && (may & 1))
      become(announced_in(x), announces);
    if (record == announced_in(x) && (may & 2)) become(unsettled_in(x), commits);
    if (record == announced_in(x) && WITHDRAW) become(settled_at(change.from), withdraws);
    if (record == unsettled_in(x) && waited && (!FENCE || op.scan != unscanned))
      become(settled_at(change.to), settles, FENCE && !PLANTED("no-scan") ? op.scan : 0);
  }
  if (op.timer == 0 && !APART && !PLANTED("seen-once") && size(committed) >= enough) {
    State t = s;
    t.op[x].timer = 1;
    reach(t, make_event(looked));
  }
  if (op.timer == 0 && (APART || PLANTED("seen-once")))
    for (int k = 0; k < n; ++k) {
      if (!has(committed, k) || has(op.seen, k)) continue;
      State t = s;
      t.op[x].seen |= 1U << k;
      if (size(t.op[x].seen) >= enough) t.op[x].timer = 1, t.op[x].seen = 0;
      reach(t, make_event(sees, 0, k));
    }
  if (!FENCE || op.scan != unscanned || !waited) return;
  for (Nodes some = committed; some != 0; some = (some - 1) & committed) {
    if (size(some) != quorum(change.from) - (PLANTED("scan-of-too-few") ? 1 : 0)) continue;
    State t = s;
    t.op[x].scan = 0;
    for (int k = 0; k < n; ++k)
      if (has(some, k)) t.op[x].scan = std::max(t.op[x].scan, s.node[k].counter);
    reach(t, make_event(scans));
  }
}

/// Whether these nodes vouch for a node that is let in with this record, for a client of this list.
bool vouch(const State& s, Nodes nodes, const Record& as, int list) {
  if (PLANTED("one-voucher-is-enough")) return true;
  Nodes counted = nodes;
  bool all = true;
  for (int k = 0; k < n; ++k) {
    const bool waits = has(lists[list], k) && s.node[k].record == blank;
    if (waits && PLANTED("blank-nodes-vouch")) counted |= 1U << k;
    all = all && (!has(lists[list], k) || accepts(s.node[k].record, list) ||
                  (waits && s.node[k].waited >= V));
  }
  if (PLANTED("all-nodes-there") && all) return true;
  return (as.phase == announced || covers(counted, as.to)) &&
         (as.phase == settled || covers(counted, as.from));
}

void let_in(const State& s, int k) {
  const Node& node = s.node[k];
  if (node.waited >= V)
    for (int list = 0; list < static_cast<int>(lists.size()); ++list) {
      if (!has(lists[list], k)) continue;
      Nodes may = 0;
      for (int j = 0; j < n; ++j)
        if (j != k && has(lists[list], j) && accepts(s.node[j].record, list)) {
          may |= 1U << j;
        }
      for (Nodes some = may; some != 0; some = (some - 1) & may) {
        int as = -1;
        Byte counter = 0;
        for (int j = 0; j < n; ++j) {
          if (!has(some, j)) continue;
          const Byte its = s.node[j].record;
          counter = std::max(counter, s.node[j].counter);
          const bool further = as < 0 || records[its].rank > records[as].rank;
          if (further) as = its;
        }
        if (!vouch(s, some, records[as], list)) continue;
        State t = s;
        t.node[k].pending = static_cast<Byte>(as);
        t.node[k].pending_counter = PLANTED("counters-not-repaired") ? 0 : counter;
        reach(t, make_event(reads, 0, k));
      }
    }
  // A list is founded anew if all of its nodes have a candidate of the same founding for the whole
  // wait, or its record.
  for (std::size_t f = 0; f < foundable.size(); ++f) {
    const int list = foundable[f];
    const Byte candidate = static_cast<Byte>(8 + f), seen_by_all = static_cast<Byte>(10 + f);
    if (!has(lists[list], k)) continue;
    State t = s;
    if (node.pending == none) {
      t.node[k].pending = candidate, t.node[k].waited = 0;
      reach(t, make_event(founds, 0, k));
    }
    if (node.pending != candidate || node.waited < V) continue;
    bool all = true;
    for (int j = 0; j < n; ++j) {
      const Node& other = s.node[j];
      if (j == k || !has(lists[list], j)) continue;
      const bool waits = other.record == blank &&
                         (other.pending == candidate || other.pending == seen_by_all) &&
                         other.waited >= V;
      all = all && (waits || other.record == settled_at(list));
    }
    if (!all) continue;
    t.node[k].pending = seen_by_all;
    reach(t, make_event(all_found, 0, k));
  }
  if (node.pending < 8 || (node.pending >= 10 && node.pending < 12)) {
    State t = s;
    t.node[k].record = node.pending < 8
                           ? node.pending
                           : static_cast<Byte>(settled_at(foundable[node.pending - 10]));
    t.node[k].counter = std::max(node.counter, node.pending_counter);
    t.node[k].pending = none, t.node[k].waited = t.node[k].pending_counter = 0;
    reach(t, make_event(enrols, 0, k));
  }
}

/// A record that no step of a change brings up to date is removed, once enough others are settled.
void lose_record(const State& s, int k) {
  const Byte record = s.node[k].record;
  for (int list = 0; list < static_cast<int>(lists.size()); ++list) {
    if (!has(lists[list], k) || records[record].rank >= records[settled_at(list)].rank) continue;
    bool along = false;
    for (std::size_t x = 0; x < changes.size(); ++x) {
      const bool in_it = record == settled_at(changes[x].from) ||
                         record == announced_in(static_cast<int>(x)) ||
                         record == unsettled_in(static_cast<int>(x));
      along = along || (changes[x].to == list && has(lists[changes[x].from], k) && in_it);
    }
    Nodes there = 0;
    for (int j = 0; j < n; ++j)
      if (j != k && s.node[j].record == settled_at(list)) there |= 1U << j;
    if (along || !covers(there, list)) continue;
    State t = s;
    t.node[k].record = blank, t.node[k].waited = 0, t.node[k].pending = none;
    return reach(t, make_event(loses_record, 0, k));
  }
}

void let_time_pass(const State& s) {
  State t = s;
  bool moved = false;
  for (int k = 0; k < n; ++k) {
    Node& node = t.node[k];
    if (node.owner != 0) {
      moved = true;
      if (++node.key_age >= V) node.owner = node.key_age = 0;
    }
    if (node.record == blank && node.waited < V) ++node.waited, moved = true;
  }
  for (int i = 0; i < CLIENTS; ++i) {
    Client& client = t.client[i];
    if (client.stage == idle) continue;
    moved = true;
    if (client.stage == renewing && client.renewal_age + 1 < V) ++client.renewal_age;
    if (++client.age >= V) end_claim(t, i);
  }
  for (std::size_t x = 0; x < changes.size(); ++x) {
    Operator& op = t.op[x];
    if (op.timer != 0 && op.timer <= V) ++op.timer, moved = true;
    // A look is shorter than a wait.
    if (op.seen != 0 && !PLANTED("seen-once")) op.seen = 0, moved = true;
  }
  if (moved) reach(t, make_event(tick));
}

void successors(const State& s) {
  for (int i = 0; i < CLIENTS; ++i) act(s, i);
  for (int x = 0; x < static_cast<int>(changes.size()); ++x) operate(s, x);
  for (int k = 0; k < n; ++k) {
    const Node& node = s.node[k];
    if (node.record == blank) {
      let_in(s, k);
    } else {
      lose_record(s, k);
    }
    if (s.forgets == 0 || (node.record == blank && node.owner == 0) || has(DEAD, k)) continue;
    State t = s;
    t.node[k] = {blank, 0, none, 0, 0, 0, 0};
    --t.forgets;
    reach(t, make_event(forgets, 0, k));
  }
  let_time_pass(s);
}

// --- The runs
// ---------------------------------------------------------------------------------------------

constexpr Nodes A = 1, B = 2, C = 4, D = 8, E = 16, F = 32;

bool choose(const std::string& scenario) {
  struct Scenario {
    int nodes;
    std::vector<Nodes> lists;
    std::vector<Change> changes;
    std::vector<int> foundable = {};
  };
  const std::map<std::string, Scenario> all{
      {"replace33", {4, {A | B | C, A | B | D}, {{0, 1}}}},
      {"replace44", {5, {A | B | C | D, A | B | C | E}, {{0, 1}}}},
      {"replace55", {6, {A | B | C | D | E, A | B | C | D | F}, {{0, 1}}}},
      {"grow12", {2, {A, A | B}, {{0, 1}}}},
      {"grow23", {3, {A | B, A | B | C}, {{0, 1}}}},
      {"grow34", {4, {A | B | C, A | B | C | D}, {{0, 1}}}},
      {"grow35", {5, {A | B | C, A | B | C | D | E}, {{0, 1}}}},
      {"shrink32", {3, {A | B | C, A | B}, {{0, 1}}}},
      {"shrink43", {4, {A | B | C | D, A | B | C}, {{0, 1}}}},
      {"shrink53", {5, {A | B | C | D | E, A | B | C}, {{0, 1}}}},
      {"shrink54", {5, {A | B | C | D | E, A | B | C | D}, {{0, 1}}}},
      {"back", {4, {A | B | C, A | B | D, A | B | C}, {{0, 1}, {1, 2}}}},
      {"twice", {5, {A | B | C, A | B | D, A | D | E}, {{0, 1}, {1, 2}}}},
      {"shrink321", {3, {A | B | C, A | B, A}, {{0, 1}, {1, 2}}}},
      {"fork43", {4, {A | B | C | D, A | B | C, B | C | D}, {{0, 1}, {0, 2}}}},
      {"fork33", {5, {A | B | C, A | B | D, A | C | E}, {{0, 1}, {0, 2}}}},
      {"unagreed", {4, {A | B | C, A | B | D}, {}}},
      {"found", {4, {A | B | C, A | B | D, A | B | C, A | B | D}, {{0, 1}}, {2, 3}}}};
  const auto found = all.find(scenario);
  if (found == all.end()) {
    for (const auto& one : all) std::printf("%s ", one.first.c_str());
    std::printf("\n");
    return false;
  }
  n = found->second.nodes, lists = found->second.lists;
  changes = found->second.changes, foundable = found->second.foundable;
  return true;
}

bool is_finished(const State& s, int last) {
  for (int k = 0; k < n; ++k)
    if (has(lists[last], k) && !has(DEAD, k) && s.node[k].record != settled_at(last)) return false;
  return true;
}

/// From how many states a change can be finished.
std::size_t count_that_finish() {
  const int last = static_cast<int>(lists.size()) - 1;
  const bool fork = changes.size() == 2 && changes[0].from == changes[1].from;
  std::vector<char> good(states.size(), 0);
  std::size_t count = 0;
  for (std::size_t i = 0; i < states.size(); ++i)
    if (is_finished(states[i], last) || (fork && is_finished(states[i], 1))) good[i] = 1, ++count;
  collecting = true;
  for (bool again = true; again;) {
    again = false;
    for (std::size_t i = states.size(); i-- > 0;) {
      if (good[i]) continue;
      collected.clear();
      successors(states[i]);
      for (const State& next : collected) {
        const std::uint32_t found = place(next);
        if (found == 0 || !good[found - 1]) continue;
        good[i] = 1, again = true, ++count;
        break;
      }
    }
  }
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || !choose(argv[1])) return 2;
  std::string arguments;
  for (int i = 2; i < argc; ++i) {
    const std::string argument = argv[i];
    const std::size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals), value = argument.substr(equals + 1);
    if (name == "mutant" && known_mutants.contains(value)) {
      mutant = value;
    } else if (equals != std::string::npos && numbers.contains(name)) {
      numbers[name] = std::atoi(value.c_str());
    } else {
      std::fprintf(stderr, "unknown: %s\n", argument.c_str());
      return 2;
    }
    if (name != "quiet") arguments += " " + argument;
  }
  V = numbers["V"], FORGETS = numbers["forgets"], RENEW = numbers["renew"],
  NATIVE = numbers["native"];
  FENCE = numbers["fence"], FMAX = numbers["fmax"], CLIENTS = numbers["clients"],
  WITHDRAW = numbers["withdraw"];
  APART = numbers["apart"], DEAD = numbers["dead"], CAREFUL = numbers["careful"];
  make_records();
  State first{};
  for (int k = 0; k < max_nodes; ++k) {
    const bool member = k < n && has(lists[0], k);
    first.node[k] = {member ? static_cast<Byte>(settled_at(0)) : blank,
                     static_cast<Byte>(member ? 0 : V),
                     none,
                     0,
                     0,
                     0,
                     0};
  }
  for (Operator& op : first.op) op.scan = unscanned;
  first.forgets = static_cast<Byte>(FORGETS);
  table.assign(1 << 20, 0);
  add(first, 0, 0);
  for (current = 0; current < states.size() && violation.empty(); ++current)
    successors(State(states[current]));
  std::printf("%s%s: ", argv[1], arguments.c_str());
  if (!violation.empty()) {
    std::printf("%s, after %zu states\n", violation.c_str(), states.size());
    print_history(static_cast<std::uint32_t>(states.size() - 1));
    return 1;
  }
  if (!numbers["live"]) return std::printf("SAFE, %zu states\n", states.size()), 0;
  const std::size_t finish = count_that_finish();
  std::printf("SAFE, %zu states; %s: from %zu the change can be finished\n", states.size(),
              finish == states.size() ? "LIVE" : "STUCK", finish);
  return 0;
}
