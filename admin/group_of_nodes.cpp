#include "admin/group_of_nodes.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "admin/members_report.hpp"
#include "lock/counter_bound.hpp"
#include "lock/quorum.hpp"
#include "verbs/keys.hpp"
#include "verbs/scripts.hpp"
#include "verbs/vote.hpp"
#include "wire/client_name.hpp"
#include "wire/numbers.hpp"

namespace quorumlock::detail {
namespace {

using std::chrono::nanoseconds;
using Change = redis::MembersChange;
using Stage = Change::Stage;

constexpr const char* looking = "look at the list of nodes";
constexpr int most_looks_at_late_nodes = 3;

/// The URL of a node of which only the name is known. If any of the other nodes speaks TLS, this
/// one is asked by TLS too: a list rarely mixes the two, and a guess must not be the less safe one.
std::string url_of_name(const std::string& name, const Nodes& others) {
  if (name.starts_with('/')) return "unix://" + name;
  const bool tls = std::ranges::any_of(
      others, [](const NodeOptions& node) { return node.url.starts_with("rediss"); });
  return (tls ? "rediss://" : "redis://") + name;
}

std::optional<std::string> text_of(const NodeReply& reply) {
  if (reply.type != NodeReply::Type::string) return std::nullopt;
  return reply.text;
}

/// Our own wall clock, in us since 1970.
std::int64_t now_us() {
  return std::chrono::system_clock::now().time_since_epoch() / std::chrono::microseconds(1);
}

redis::NamedTerms terms_named_by(const Options& options) {
  redis::NamedTerms named;
  if (options.max_ttl) named.max_ttl_ms = *options.max_ttl / std::chrono::milliseconds(1);
  if (options.fencing_memory) named.memory_s = *options.fencing_memory / std::chrono::seconds(1);
  return named;
}

constexpr std::size_t most_keys_in_a_remedy = 8;

/// How redis-cli is told which node it is to ask.
std::string address_for_redis_cli(const std::string& url) {
  constexpr std::string_view socket = "unix://";
  if (!url.starts_with(socket)) return "-u " + url;
  const std::string path = url.substr(socket.size());
  const std::size_t database = path.find("?db=");
  if (database == path.npos) return "-s " + path;
  return "-s " + path.substr(0, database) + " -n " + path.substr(database + 4);
}

/// A word for a shell.
std::string in_quotes(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

/// Whether a node has done what it was asked, or says that this user may not ask it.
bool is_done_or_forbidden(const NodeAnswer& answer) {
  if (answer.good()) return true;
  if (!answer.reply) return false;
  const std::string& why = answer.reply->text;
  return answer.vote == Vote::unauthorized || redis::is_unknown_command(why) ||
         why.find("nknown subcommand") != why.npos;
}

std::optional<std::int64_t> time_of(const NodeReply& reply) {
  const std::vector<NodeReply>& parts = reply.elements;
  return parts.size() == 2 ? redis::time_in(parts[0].text, parts[1].text) : std::nullopt;
}

}  // namespace

void GroupOfNodes::Floor::add(const Floor& other) {
  number = std::max(number, other.number);
  since = std::max(since, other.since);
  for (const auto& [key, period] : other.periods) {
    Period& known = periods[key];
    known.number = std::max(known.number, period.number);
    known.life_ms = std::max(known.life_ms, period.life_ms);
  }
}

GroupOfNodes::GroupOfNodes(std::string name, Options options, Nodes leaving)
    : name_(std::move(name)),
      options_(std::move(options)),
      leaving_(std::move(leaving)),
      next_count_(options_.nodes.size()),
      wait_(options_.drift_factor) {}

Result<void> GroupOfNodes::connect() {
  if (Result<void> made = look_with(options_); !made) return made;
  Change change = look_once();
  const redis::NodeNames missing = change.not_configured();
  if (missing.empty()) return {};
  for (const std::string& name : missing) {
    std::string url = url_of_name(name, options_.nodes);
    for (const NodeOptions& one : leaving_) {
      const Result<std::string> its = listed_name(one);
      if (!its) return its.error();
      if (*its == name) url = one.url;
    }
    if (!listed_name(url)) {
      // A node that has not said its name may be this one.
      const bool all_named = std::ranges::all_of(
          change.nodes(), [](const Change::Node& node) { return node.membership.has_value(); });
      return Error(all_named ? Errc::misconfigured : Errc::no_quorum,
                   "the node " + name +
                       (all_named ? " is to leave, and its name is no full address"
                                  : " is to leave, or is one that does not say its name now") +
                       ": give its URL with --from" + (all_named ? "" : ", or bring it back"));
    }
    options_.nodes.emplace_back(url, name);
  }
  return look_with(options_);
}

/// Connects to the nodes of these options.
Result<void> GroupOfNodes::look_with(const Options& options) {
  Result<Coordinator> coordinator = create_to_look(options);
  if (!coordinator) return coordinator.error();
  coordinator_ = *std::move(coordinator);
  const Result<std::vector<ListedGroup>> groups = listed_groups(*coordinator_, looking, false);
  if (!groups) return groups.error();
  nodes_ = groups->front().nodes;
  return {};
}

/// Asks all nodes which clients are connected, and passes them to visit(node, clients), for each
/// node that tells.
template <class Visit>
void GroupOfNodes::each_client_list(const Change& change, Visit&& visit) {
  std::vector<NodeQuestion> questions;
  for (std::size_t i = 0; i < change.nodes().size(); ++i) {
    questions.push_back({static_cast<int>(i), {"CLIENT", "LIST"}});
  }
  const std::vector<NodeAnswer> answers = ask(std::move(questions));
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const auto listed = answers[i].reply ? text_of(*answers[i].reply) : std::nullopt;
    if (listed) visit(static_cast<int>(i), redis::connected_clients(*listed));
  }
}

MembersReport GroupOfNodes::report() {
  const Change change = look_once();
  MembersReport report = report_of(change, nodes_);
  report.group = name_;
  const auto is_next = [&change](const redis::ConnectedClient& client) {
    return redis::is_mark_of(client.name.list, change.next(), change.next_terms());
  };
  each_client_list(change, [&](int node, const std::vector<redis::ConnectedClient>& clients) {
    Member& member = report.members[static_cast<std::size_t>(node)];
    auto& addresses = member.old_clients.emplace();
    int& enrollers = member.enrollers.emplace(0);
    for (const redis::ConnectedClient& client : clients) {
      if (client.name.list.empty()) continue;  // it is about to say which list it has
      if (!is_next(client)) addresses.push_back(client.address);
      if (is_next(client) && client.name.enrols) ++enrollers;
    }
  });
  report.next_step = next_step_of(report, change);
  return report;
}

Result<void> GroupOfNodes::check() {
  const Change change = look_once();
  if (change.stage() == Stage::agreed || change.stage() == Stage::committed) return {};
  if (Result<void> may = change.may_announce(); !may) return may;
  return change.serves_next();
}

Result<void> GroupOfNodes::announce() {
  const Change change = look_once();
  if (change.stage() == Stage::agreed || change.stage() == Stage::committed) return {};
  if (Result<void> may = change.may_announce(); !may) return may;
  const Result<void> made = make(change.announcing(), change, "announced");
  const Result<void> enough = look_once().is_announced();
  return enough || made ? enough : made;
}

Result<void> GroupOfNodes::commit(bool force) {
  Change change = look_once();
  if (const std::vector<Change::Step> apart = change.forgetting(); !apart.empty()) {
    if (Result<void> made = make(apart, change, "forgotten"); !made) return made;
    change = look_once();
    if (const std::vector<Change::Step> still = change.forgetting(); !still.empty()) {
      return Error(
          Errc::no_quorum,
          "could not make " + still.front().as.name +
              " forget what no other node says: see what writes quorumlock:enrolment there, "
              "and run quorumlock members commit again");
    }
  }
  if (change.stage() == Stage::agreed) return {};
  Result<void> told;
  if (change.stage() == Stage::announced) {
    // Nodes that were away when the change was announced get it now. If they refuse it, the next
    // look shows whether the others are enough.
    if (const std::vector<Change::Step> late = change.announcing(); !late.empty()) {
      told = make(late, change, "announced");
      change = look_once();
    }
  }
  if (Result<void> may = change.may_commit(); !may) return told ? may : told;
  if (!force && change.stage() == Stage::announced) {
    if (std::optional<Error> refused = refused_by_clients(change)) return *std::move(refused);
  }
  wait_.start_again();
  Result<void> made = make(change.committing(), change, "committed");
  // Of a change that is decided these are the nodes that were away.
  return change.stage() == Stage::committed ? Result<void>() : made;
}

/// The error if the change must not be committed yet: clients with other nodes are connected, or
/// may be.
std::optional<Error> GroupOfNodes::refused_by_clients(const Change& change) {
  const MembersReport now = report();
  const std::vector<std::string> old = now.old_clients();
  if (!old.empty()) {
    std::string some;
    for (std::size_t i = 0; i < old.size() && i < 3; ++i) some += (i > 0 ? ", " : "") + old[i];
    if (old.size() > 3) some += " and " + std::to_string(old.size() - 3) + " more";
    return Error(Errc::misconfigured,
                 "cannot commit the change: clients with other nodes or terms than " +
                     change.next_in_words() + " are connected, at " + some +
                     ", and would be refused: give them the new ones first, or use --force");
  }
  for (const Member& member : now.members) {
    if (member.old_clients || member.state == MemberState::unreachable) continue;
    return Error(Errc::misconfigured,
                 "cannot commit the change: " + member.name +
                     " does not tell which clients are connected (CLIENT LIST): let this user "
                     "call that, or make sure that all clients have the new nodes, and use "
                     "--force");
  }
  return std::nullopt;
}

/// Ends the connections of clients with other nodes than those that are decided, or with a longer
/// max_ttl, on each committed node on which they were not ended before. On the next one they are
/// refused, or read the new one; a client without fencing would not have noticed, since a plain SET
/// compares no record. An operator without the rights to do so has to stop such clients first.
/// Returns whether a node was asked.
bool GroupOfNodes::end_old_connections(const Change& change) {
  std::vector<int> nodes;
  std::vector<NodeQuestion> lists, kills;
  for (const int node : change.committed()) {
    if (!change.nodes()[static_cast<std::size_t>(node)].old_connections) continue;
    nodes.push_back(node);
    lists.push_back({node, {"CLIENT", "LIST"}});
  }
  if (nodes.empty()) return false;
  std::vector<NodeAnswer> answers = ask(std::move(lists));
  answers.resize(nodes.size(), {.vote = Vote::failed});
  std::vector<int> unsure;  // the nodes that have not answered a question
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!is_done_or_forbidden(answers[i])) unsure.push_back(nodes[i]);
    const auto listed = answers[i].reply ? text_of(*answers[i].reply) : std::nullopt;
    for (const redis::ConnectedClient& client : redis::connected_clients(listed.value_or(""))) {
      if (change.may_stay_connected(client.name.list)) continue;
      kills.push_back({nodes[i], {"CLIENT", "KILL", "ID", client.id}});
    }
  }
  if (!kills.empty()) {
    answers = ask(kills);
    answers.resize(kills.size(), {.vote = Vote::failed});
    for (std::size_t i = 0; i < kills.size(); ++i) {
      if (!is_done_or_forbidden(answers[i])) unsure.push_back(kills[i].node);
    }
  }
  for (const int node : nodes) {
    if (std::ranges::find(unsure, node) != unsure.end()) continue;
    wait_.connections_ended(change.nodes()[static_cast<std::size_t>(node)].record);
  }
  return true;
}

Result<nanoseconds> GroupOfNodes::settle() {
  core::Time begun = Clock::now();
  Change change = look_once();
  if (change.stage() == Stage::committed) {
    if (!wait_.is_for(*change.state())) wait_.begin(*change.state());
    if (end_old_connections(change)) {
      begun = Clock::now();
      change = look_once();
    }
  }
  const core::Time looked = Clock::now();
  if (Result<void> may = change.may_settle(); !may) return may.error();
  if (change.stage() == Stage::agreed) {
    const int settled = change.settled_node();
    if (settled < 0) return end_settling(change, {});
    // Each of the settled nodes has a number that is enough.
    std::vector<int> sources{settled};
    for (int i = 0; i < static_cast<int>(nodes_.size()); ++i) {
      const Change::Node& node = change.nodes()[static_cast<std::size_t>(i)];
      if (i == settled || !node.membership || node.bad_floor) continue;
      if (*node.membership == change.state()->for_node(node.called())) sources.push_back(i);
    }
    Result<Floor> floor = read_floor(change, sources, 1);
    if (!floor) return floor.error();
    return end_settling(change, *floor);
  }
  const core::Duration max_ttl = change.terms().max_ttl();
  // If the change is another one already, the next call begins its wait.
  const bool same = wait_.is_for(*change.state());
  const nanoseconds left = same ? wait_.after_look(begun, looked, max_ttl) : max_ttl;
  if (left > nanoseconds::zero()) return left;
  Result<Floor> floor = read_floor(change, change.to_read(), change.sources_needed());
  if (!floor) {
    // A node's record has changed if another operator has settled the change meanwhile.
    if (look_once().stage() != Stage::agreed) return floor.error();
    return settle();
  }
  return end_settling(change, *floor);
}

/// Settles the nodes, which are told before that what is done. One that a client lets in meanwhile,
/// as the others stood until now, is found by another look, and so is one that had to be committed
/// first. Reading takes time, in which somebody may have made another change: that has a wait of
/// its own.
Result<nanoseconds> GroupOfNodes::end_settling(Change change, Floor floor) {
  const redis::Membership state = *change.state();
  Result<void> all_read;
  for (int looks = 0; looks < most_looks_at_late_nodes && change.is_still(state); ++looks) {
    std::vector<int> read;
    all_read = {};
    for (const int node : change.read_first()) {
      const Result<Floor> own = read_floor(change, {node}, 1, floor.number);
      if (own) {
        floor.number = std::max({floor.number, own->number, change.floor_of_expired(clock_, node)});
        floor.since = std::max(floor.since, own->since);
        read.push_back(node);
      } else {
        all_read = own.error();
      }
    }
    const std::vector<Change::Step> steps = change.settling(floor.number, floor.since, read);
    if (steps.empty() && looks > 0) break;
    for (const Change::Step& step : steps) {
      if (step.as.phase != ListPhase::settled) continue;
      if (std::optional<Error> refused = note_periods(floor, step.node)) return *std::move(refused);
    }
    if (Result<void> made = make(steps, change, "settled"); !made && looks == 0) {
      return made.error();
    }
    change = look_once();
  }
  if (!all_read && !change.read_first().empty()) return all_read.error();
  if (Result<void> settled = change.is_settled(); !settled) return settled.error();
  return nanoseconds::zero();
}

/// Notes on this node which periods are done.
std::optional<Error> GroupOfNodes::note_periods(const Floor& floor, int node) {
  constexpr std::size_t at_once = 250;
  static const std::string mark = "settling";
  for (auto next = floor.periods.begin(); next != floor.periods.end();) {
    std::vector<std::string> keys, values;
    std::int64_t life = 0;
    for (; next != floor.periods.end() && keys.size() < at_once; ++next) {
      keys.push_back(next->first);
      values.push_back(std::to_string(next->second.number));
      life = std::max(life, next->second.life_ms);
    }
    std::vector<std::string> words{"EVAL", std::string(redis::repair_script.source),
                                   std::to_string(keys.size() + 1),
                                   std::string(redis::repairer_key)};
    words.insert(words.end(), keys.begin(), keys.end());
    words.insert(words.end(), {mark, "1000", std::to_string(life)});
    words.insert(words.end(), values.begin(), values.end());
    const std::vector<NodeAnswer> answers = ask({{node, std::move(words)}});
    const bool noted = !answers.empty() && answers.front().reply &&
                       answers.front().reply->type == NodeReply::Type::integer &&
                       answers.front().reply->integer >= 0;
    if (noted) continue;
    return Error(Errc::no_quorum,
                 "cannot settle the change: " + nodes_[static_cast<std::size_t>(node)].node +
                     " does not take note of what is done once, or another client repairs it: run "
                     "quorumlock members commit again");
  }
  return std::nullopt;
}

Result<void> GroupOfNodes::withdraw() {
  const Change change = look_once();
  if (Result<void> may = change.may_withdraw(); !may) return may;
  if (Result<void> made = make(change.withdrawing(), change, "withdrawn"); !made) return made;
  return look_once().is_withdrawn();
}

/// Asks nodes by their places in nodes_. There are no answers in a forked child.
std::vector<NodeAnswer> GroupOfNodes::ask(std::vector<NodeQuestion> questions) {
  for (NodeQuestion& one : questions) {
    one.node = nodes_[static_cast<std::size_t>(one.node)].number;
  }
  return ask_nodes(*coordinator_, looking, 0, std::move(questions))
      .value_or(std::vector<NodeAnswer>());
}

Change GroupOfNodes::look_once() {
  std::vector<NodeQuestion> questions;
  std::vector<Change::Node> nodes;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    questions.push_back(
        {static_cast<int>(i),
         {"MGET", std::string(redis::enrolment_key), std::string(redis::members_key)}});
    questions.push_back({static_cast<int>(i), {"TIME"}});
    nodes.push_back({nodes_[i].name, i < next_count_});
  }
  const std::vector<NodeAnswer> answers = ask(std::move(questions));
  std::vector<std::int64_t> times;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const NodeAnswer& answer = answers[i];
    if (!answer.reply || answer.reply->elements.size() != 2) continue;
    if (i % 2 == 1) {
      times.push_back(time_of(*answer.reply).value_or(0));
    } else {
      Change::Node& node = nodes[i / 2];
      node.carries(answer.run, text_of(answer.reply->elements[0]),
                   text_of(answer.reply->elements[1]).value_or(""));
      node.old_connections = !wait_.are_connections_ended(node.record);
    }
  }
  core::Duration memory = terms_named_by(options_).over({}).memory();
  for (const Change::Node& node : nodes) {
    if (node.membership) memory = std::max(memory, node.membership->longest_memory());
  }
  const int all = static_cast<int>(nodes_.size());
  const int least = all - core::quorum_of(all) + 1;
  clock_ = core::latest_clock(0, times, least);
  counts_ = core::counts_up_to(now_us(), std::move(times), least, memory);
  return Change(std::move(nodes), counts_, terms_named_by(options_));
}

/// Makes each node's part of a step. A node whose record has changed meanwhile is not an error:
/// somebody else has made that step, or another one, which the next look shows.
Result<void> GroupOfNodes::make(const std::vector<Change::Step>& steps, const Change& change,
                                const char* what) {
  if (steps.empty()) return {};
  std::vector<NodeQuestion> questions;
  for (const Change::Step& step : steps) questions.push_back({step.node, change.command(step)});
  const std::vector<NodeAnswer> answers = ask(std::move(questions));
  std::string refused;
  bool any = false;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const NodeAnswer& answer = answers[i];
    if (answer.good()) {
      any = true;
      continue;
    }
    refused += "; " + nodes_[static_cast<std::size_t>(steps[i].node)].node + ": " + answer.trouble;
  }
  if (any) return {};
  return Error(Errc::no_quorum, std::string("the change was ") + what + " on no node" + refused);
}

/// Finds the nodes with fencing counters, or a floor, that do not count.
std::vector<Finding> GroupOfNodes::bad_counters() {
  const Change change = look_once();
  std::vector<Floor> read(nodes_.size());
  std::map<std::string, std::vector<std::uint64_t>> numbers;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (!change.nodes()[i].reached) continue;
    read_counters(static_cast<int>(i), read[i]);
    for (const auto& [key, number] : read[i].beyond) numbers[key].push_back(number);
  }
  const int all = static_cast<int>(nodes_.size());
  std::vector<Finding> found;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Change::Node& node = change.nodes()[i];
    std::vector<std::string> bad;
    for (const auto& [key, number] : read[i].beyond) {
      if (number > core::shared_by(all - core::quorum_of(all) + 1, numbers[key]))
        bad.push_back(key);
    }
    if (bad.empty() && !node.bad_floor) continue;
    std::string what = node.bad_floor ? "has a floor of " + std::to_string(node.enrolment->floor) +
                                            " in its record, and casts no vote for any lock"
                                      : "casts no vote for a lock: " + printable(bad.front()) +
                                            " is " + std::to_string(read[i].beyond[bad.front()]);
    if (!node.bad_floor && bad.size() > 1) {
      what += ", and " + std::to_string(bad.size() - 1) + " more such";
    }
    what += ": no clock explains that number, and too few other nodes have one as great";
    std::string remedy = "make it forget what was made up: redis-cli " +
                         address_for_redis_cli(nodes_[i].node) + " DEL quorumlock:enrolment";
    for (std::size_t n = 0; n < std::min(bad.size(), most_keys_in_a_remedy); ++n) {
      remedy += ' ' + in_quotes(printable(bad[n]));
    }
    remedy += "; it votes again after max_ttl, with the counters of the others";
    if (bad.size() > most_keys_in_a_remedy) remedy += "; then run quorumlock doctor again";
    found.push_back(
        {Severity::error, nodes_[i].node, "bad_counter", std::move(what), std::move(remedy)});
  }
  return found;
}

/// A number that is at least every fencing token that was granted before the commit, and all
/// periods that were noted as done on a quorum until then, as `needed` of these nodes know them.
/// The others are read only if one of the first has a number that does not count: see
/// MembersChange. Numbers up to `known` do, since enough nodes are known to have one as great.
Result<GroupOfNodes::Floor> GroupOfNodes::read_floor(const Change& change, std::vector<int> sources,
                                                     int needed, std::uint64_t known) {
  std::vector<Floor> read;
  const std::vector<int> all = sources;
  sources.resize(std::min(all.size(), static_cast<std::size_t>(needed)));
  for (;;) {
    while (read.size() < sources.size()) {
      const int node = sources[read.size()];
      const redis::EnrolmentRecord& its = *change.nodes()[static_cast<std::size_t>(node)].enrolment;
      Floor& floor = read.emplace_back(Floor{.number = its.floor, .since = its.since});
      floor.by_clock = !read_counters(node, floor);
    }
    Result<std::vector<std::int64_t>> clocks = check_sources(change, sources);
    if (!clocks) return clocks.error();
    std::vector<std::uint64_t> numbers;
    for (const Floor& one : read) numbers.push_back(one.number);
    const std::uint64_t most = std::max(known, change.counts_up_to(std::move(numbers)));
    const auto counts = [most](std::uint64_t number) { return number <= most; };
    if (std::ranges::count_if(read, [&](const Floor& one) { return counts(one.number); }) >=
        needed) {
      Floor sum;
      const bool by_clock = std::ranges::any_of(read, &Floor::by_clock);
      for (std::size_t i = 0; i < read.size(); ++i) {
        if (counts(read[i].number)) sum.add(read[i]);
        const std::uint64_t now =
            static_cast<std::uint64_t>((*clocks)[i]) + redis::counter_ahead_us;
        if (by_clock && counts(now)) sum.add({.number = now, .since = (*clocks)[i]});
      }
      // Counters that were not there any more when they were to be read have expired by now.
      const int least = static_cast<int>(change.list().size()) - change.sources_needed() + 1;
      sum.add({.number = change.floor_of_expired(core::latest_clock(0, *clocks, least))});
      return sum;
    }
    if (read.size() == all.size()) {
      std::string bad;
      for (const Change::Node& node : change.nodes()) {
        if (node.bad_floor) bad = node.called();
      }
      for (std::size_t i = 0; i < read.size(); ++i) {
        if (!counts(read[i].number)) {
          bad = change.nodes()[static_cast<std::size_t>(sources[i])].called();
        }
      }
      return Error(
          Errc::no_quorum,
          "cannot settle the change: " + bad +
              " has a fencing counter or a floor that no clock explains: quorumlock doctor "
              "says what to do; then run quorumlock members commit again");
    }
    sources = all;
  }
}

/// The sources' clocks, if no source has changed since the look at the nodes.
Result<std::vector<std::int64_t>> GroupOfNodes::check_sources(const Change& change,
                                                              const std::vector<int>& sources) {
  std::vector<NodeQuestion> questions;
  for (const int node : sources) {
    questions.push_back({node, {"TIME"}});
    questions.push_back({node, {"GET", std::string(redis::enrolment_key)}});
  }
  std::vector<std::int64_t> clocks;
  const std::vector<NodeAnswer> answers = ask(std::move(questions));
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const auto& source = change.nodes()[static_cast<std::size_t>(sources[i / 2])];
    const NodeAnswer& answer = answers[i];
    if (!answer.good() || (i % 2 == 1 && answer.reply->text != source.record)) {
      wait_.start_again();
      return Error(Errc::no_quorum,
                   "cannot settle the change: " + source.called() +
                       " was lost or has changed while its fencing counters were read: run "
                       "quorumlock members commit again");
    }
    if (i % 2 == 1) continue;
    const auto clock = time_of(*answer.reply);
    if (!clock) {
      return Error(Errc::no_quorum, "cannot settle the change: " + source.called() +
                                        " does not tell the time (TIME)");
    }
    clocks.push_back(*clock);
  }
  return clocks;
}

/// Adds what this node has. Returns false if some fencing counters cannot be read, or are no
/// numbers.
bool GroupOfNodes::read_counters(int node, Floor& floor) {
  std::string cursor = "0";
  bool good = true;
  do {
    const std::vector<NodeAnswer> scanned = ask(
        {{node, {"SCAN", cursor, "MATCH", std::string(redis::counters_pattern), "COUNT", "500"}}});
    if (scanned.empty() || !scanned.front().good()) return false;
    const NodeReply& found = *scanned.front().reply;
    if (found.elements.size() != 2) return false;
    cursor = found.elements[0].text;
    std::vector<std::string> counters, periods;
    for (const NodeReply& key : found.elements[1].elements) {
      if (key.text.starts_with(redis::counter_prefix)) counters.push_back(key.text);
      if (key.text.starts_with(redis::once_prefix)) periods.push_back(key.text);
    }
    std::vector<NodeQuestion> questions;
    if (!counters.empty()) {
      std::vector<std::string> words{"MGET"};
      words.insert(words.end(), counters.begin(), counters.end());
      questions.push_back({node, std::move(words)});
    }
    if (!periods.empty()) {
      std::vector<std::string> words{"EVAL", std::string(redis::periods_script.source),
                                     std::to_string(periods.size())};
      words.insert(words.end(), periods.begin(), periods.end());
      questions.push_back({node, std::move(words)});
    }
    const std::size_t asked = questions.size();
    const std::vector<NodeAnswer> answers =
        asked > 0 ? ask(std::move(questions)) : std::vector<NodeAnswer>();
    if (answers.size() != asked) return false;
    for (const NodeAnswer& answer : answers) {
      if (!answer.good()) return false;
    }
    if (!counters.empty()) {
      for (const NodeReply& value : answers.front().reply->elements) {
        if (value.type != NodeReply::Type::string) continue;  // expired meanwhile
        const std::optional<std::uint64_t> number = redis::counter_in(value.text);
        if (!number) good = false;
        const auto at = static_cast<std::size_t>(&value - answers.front().reply->elements.data());
        if (number.value_or(0) > counts_) floor.beyond[counters[at]] = *number;
        floor.number = std::max(floor.number, number.value_or(0));
      }
    }
    if (periods.empty()) continue;
    const std::vector<NodeReply>& said = answers.back().reply->elements;
    for (std::size_t i = 0; i < periods.size() && 2 * i + 1 < said.size(); ++i) {
      const std::optional<std::uint64_t> number = redis::counter_in(said[2 * i].text);
      if (!number || said[2 * i + 1].integer <= 0) continue;
      Floor::Period& known = floor.periods[periods[i]];
      known.number = std::max(known.number, *number);
      known.life_ms = std::max(known.life_ms, said[2 * i + 1].integer);
    }
  } while (cursor != "0");
  return good;
}

}  // namespace quorumlock::detail
