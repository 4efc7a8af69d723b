#include "api/group_of_nodes.hpp"

#include <algorithm>
#include <utility>

#include "api/members_report.hpp"
#include "loop/blocking.hpp"
#include "redis/keys.hpp"
#include "redis/numbers.hpp"
#include "redis/scripts.hpp"
#include "redis/verbs/vote.hpp"

namespace quorumlock::detail {
namespace {

using std::chrono::nanoseconds;
using Change = redis::MembersChange;
using Stage = Change::Stage;

constexpr int most_looks_at_late_nodes = 3;

/// The URL of a node of which only the name is known. If any of the other nodes speaks TLS, this
/// one is asked by TLS too: a list rarely mixes the two, and a guess must not be the less safe one.
std::string url_of_name(const std::string& name, const Nodes& others) {
  if (name.starts_with('/')) return "unix://" + name;
  const bool tls = std::ranges::any_of(
      others, [](const NodeOptions& node) { return node.url.starts_with("rediss"); });
  return (tls ? "rediss://" : "redis://") + name;
}

std::optional<std::string> text_of(const KeptReply& reply) {
  if (reply.type != redis::Reply::Type::string) return std::nullopt;
  return reply.text;
}

}  // namespace

GroupOfNodes::GroupOfNodes(std::string name, Options options, Nodes leaving)
    : name_(std::move(name)),
      options_(std::move(options)),
      leaving_(std::move(leaving)),
      next_count_(options_.nodes.size()),
      wait_(options_.drift_factor) {}

GroupOfNodes::~GroupOfNodes() {
  if (router_ != nullptr) router_->abandon();
}

Result<void> GroupOfNodes::connect() {
  Result<std::shared_ptr<Router>> router =
      Router::with_threads(options_, Cluster::Purpose::to_look);
  if (!router) return router.error();
  if (router_ != nullptr) router_->abandon();
  router_ = *std::move(router);
  Change change = look_once();
  const redis::NodeNames missing = change.not_configured();
  if (missing.empty()) return {};
  for (const std::string& name : missing) {
    std::string url = url_of_name(name, options_.nodes);
    for (const NodeOptions& one : leaving_) {
      const Result<redis::Endpoint> endpoint = redis::Endpoint::parse(one.url);
      if (!endpoint) return endpoint.error();
      if (endpoint->member_name(one.name) == name) url = one.url;
    }
    if (!redis::Endpoint::parse(url)) {
      // A node that has not said its name may be this one.
      const bool all_named = std::ranges::all_of(
          change.nodes(), [](const Change::Node& node) { return node.membership.has_value(); });
      return Error(all_named ? Errc::misconfigured : Errc::no_quorum,
                   "the node " + name +
                       (all_named ? " is to leave, and its name is no address"
                                  : " is to leave, or is one that does not say its name now") +
                       ": give its URL with --from" + (all_named ? "" : ", or bring it back"));
    }
    options_.nodes.emplace_back(url, name);
  }
  router = Router::with_threads(options_, Cluster::Purpose::to_look);
  if (!router) return router.error();
  router_->abandon();
  router_ = *std::move(router);
  return {};
}

/// Asks all nodes which clients are connected, and passes them to visit(node, clients), for each
/// node that tells.
template <class Visit>
void GroupOfNodes::each_client_list(const Change& change, Visit&& visit) {
  std::vector<Questions::Question> questions;
  for (std::size_t i = 0; i < change.nodes().size(); ++i) {
    questions.push_back({static_cast<int>(i), {"CLIENT", "LIST"}});
  }
  const std::vector<Questions::Answer> answers = ask(std::move(questions));
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const auto listed = answers[i].reply ? text_of(*answers[i].reply) : std::nullopt;
    if (listed) visit(static_cast<int>(i), redis::connected_clients(*listed));
  }
}

MembersReport GroupOfNodes::report() {
  const Change change = look_once();
  MembersReport report = report_of(change, cluster().names);
  report.group = name_;
  const std::string next = redis::list_mark(change.next());
  each_client_list(change, [&](int node, const std::vector<redis::ConnectedClient>& clients) {
    Member& member = report.members[static_cast<std::size_t>(node)];
    auto& addresses = member.old_clients.emplace();
    int& enrollers = member.enrollers.emplace(0);
    for (const redis::ConnectedClient& client : clients) {
      if (client.name.list != next) addresses.push_back(client.address);
      if (client.name.list == next && client.name.enrols) ++enrollers;
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
  if (Result<void> made = make(change.announcing(), change, "announced"); !made) return made;
  return look_once().is_announced();
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
  if (change.stage() == Stage::announced) {
    // Nodes that were away when the change was announced get it now.
    if (const std::vector<Change::Step> late = change.announcing(); !late.empty()) {
      if (Result<void> told = make(late, change, "announced"); !told) return told;
      change = look_once();
    }
  }
  if (Result<void> may = change.may_commit(); !may) return may;
  if (!force && change.stage() == Stage::announced) {
    if (std::optional<Error> refused = refused_by_clients(change)) return *std::move(refused);
  }
  wait_.start_again();
  return make(change.committing(), change, "committed");
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
                 "cannot commit the change: clients with other nodes than {" +
                     redis::names_in_words(change.next()) + "} are connected, at " + some +
                     ", and would be refused: give them the new nodes first, or use --force");
  }
  for (const Member& member : now.members) {
    if (member.old_clients || member.state == "unreachable") continue;
    return Error(Errc::misconfigured,
                 "cannot commit the change: " + member.name +
                     " does not tell which clients are connected (CLIENT LIST): let this user "
                     "call that, or make sure that all clients have the new nodes, and use "
                     "--force");
  }
  return std::nullopt;
}

/// Ends the connections of clients with other nodes than those that are decided. On the next one
/// they are refused; a client without fencing would not have noticed, since a plain SET compares no
/// record.
void GroupOfNodes::end_old_connections() {
  const Change change = look_once();
  if (change.stage() != Stage::committed) return;
  const std::string next = redis::list_mark(change.next());
  each_client_list(change, [&](int node, const std::vector<redis::ConnectedClient>& clients) {
    std::vector<Questions::Question> kills;
    for (const redis::ConnectedClient& client : clients) {
      if (client.name.list == next) continue;
      kills.push_back({node, {"CLIENT", "KILL", "ID", client.id}});
    }
    if (!kills.empty()) ask(std::move(kills));
  });
}

Result<nanoseconds> GroupOfNodes::settle() {
  if (!wait_.has_begun()) end_old_connections();
  const core::Time begun = Clock::now();
  const Change change = look_once();
  const core::Time looked = Clock::now();
  if (Result<void> may = change.may_settle(); !may) return may.error();
  if (change.stage() == Stage::agreed) {
    const int settled = change.settled_node();
    if (settled < 0) return end_settling(change, {});
    const redis::EnrolmentRecord& its =
        *change.nodes()[static_cast<std::size_t>(settled)].enrolment;
    return end_settling(change, {its.floor, its.since});
  }
  const nanoseconds left = wait_.after_look(begun, looked, change.max_ttl());
  if (left > nanoseconds::zero()) return left;
  Result<Floor> floor = read_floor(change);
  if (!floor) {
    // A node's record has changed if another operator has settled the change meanwhile.
    if (look_once().stage() != Stage::agreed) return floor.error();
    return settle();
  }
  return end_settling(change, *floor);
}

/// Settles the nodes. One that a client lets in meanwhile, as the others stood until now, is found
/// by another look.
Result<nanoseconds> GroupOfNodes::end_settling(Change change, const Floor& floor) {
  for (int looks = 0; looks < most_looks_at_late_nodes; ++looks) {
    const std::vector<Change::Step> steps = change.settling(floor.number, floor.since);
    if (steps.empty() && looks > 0) break;
    if (Result<void> made = make(steps, change, "settled"); !made && looks == 0) {
      return made.error();
    }
    change = look_once();
  }
  if (Result<void> settled = change.is_settled(); !settled) return settled.error();
  return nanoseconds::zero();
}

Result<void> GroupOfNodes::withdraw() {
  const Change change = look_once();
  if (Result<void> may = change.may_withdraw(); !may) return may;
  if (Result<void> made = make(change.withdrawing(), change, "withdrawn"); !made) return made;
  return look_once().is_withdrawn();
}

std::vector<Questions::Answer> GroupOfNodes::ask(std::vector<Questions::Question> questions) {
  return wait_for<std::vector<Questions::Answer>>([&](auto handler) {
    auto asked = std::make_unique<Questions>();
    asked->questions = std::move(questions);
    asked->handler = std::move(handler);
    router_->groups().front()->post(asked.release());
  });
}

Change GroupOfNodes::look_once() {
  std::vector<Questions::Question> questions;
  std::vector<Change::Node> nodes;
  for (int i = 0; i < cluster().size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    questions.push_back(
        {i, {"MGET", std::string(redis::enrolment_key), std::string(redis::members_key)}});
    nodes.push_back({cluster().members[at], at < next_count_});
  }
  const std::vector<Questions::Answer> answers = ask(std::move(questions));
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (!answers[i].reply || answers[i].reply->elements.size() != 2) continue;
    nodes[i].carries(answers[i].run, text_of(answers[i].reply->elements[0]),
                     text_of(answers[i].reply->elements[1]).value_or(""));
  }
  return Change(std::move(nodes));
}

/// Makes each node's part of a step. A node whose record has changed meanwhile is not an error:
/// somebody else has made that step, or another one, which the next look shows.
Result<void> GroupOfNodes::make(const std::vector<Change::Step>& steps, const Change& change,
                                const char* what) {
  if (steps.empty()) return {};
  std::vector<Questions::Question> questions;
  for (const Change::Step& step : steps) questions.push_back({step.node, change.command(step)});
  const std::vector<Questions::Answer> answers = ask(std::move(questions));
  std::string refused;
  bool any = false;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const Questions::Answer& answer = answers[i];
    if (answer.reply && !answer.reply->is_error()) {
      any = true;
      continue;
    }
    refused += "; " + cluster().names[static_cast<std::size_t>(steps[i].node)] + ": " +
               (answer.reply ? answer.reply->text : answer.trouble);
  }
  if (any) return {};
  return Error(Errc::no_quorum, std::string("the change was ") + what + " on no node" + refused);
}

/// A number that is at least every fencing token that was granted before the commit.
Result<GroupOfNodes::Floor> GroupOfNodes::read_floor(const Change& change) {
  Floor floor;
  bool by_clock = false;
  const std::vector<int> sources = change.to_read();
  for (const int node : sources) {
    const redis::EnrolmentRecord& its = *change.nodes()[static_cast<std::size_t>(node)].enrolment;
    floor.number = std::max(floor.number, its.floor);
    floor.since = std::max(floor.since, its.since);
    if (!read_counters(node, floor.number)) by_clock = true;
  }
  std::vector<Questions::Question> questions;
  for (const int node : sources) {
    questions.push_back({node, {"TIME"}});
    questions.push_back({node, {"GET", std::string(redis::enrolment_key)}});
  }
  const std::vector<Questions::Answer> answers = ask(std::move(questions));
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const auto& source = change.nodes()[static_cast<std::size_t>(sources[i / 2])];
    const Questions::Answer& answer = answers[i];
    const bool good = answer.reply && !answer.reply->is_error();
    if (!good || (i % 2 == 1 && answer.reply->text != source.record)) {
      wait_.start_again();
      return Error(Errc::no_quorum,
                   "cannot settle the change: " + source.called() +
                       " was lost or has changed while its fencing counters were read: run "
                       "quorumlock members commit again");
    }
    if (i % 2 == 1 || !by_clock) continue;
    const std::vector<KeptReply>& parts = answer.reply->elements;
    const auto clock =
        parts.size() == 2 ? redis::time_in(parts[0].text, parts[1].text) : std::nullopt;
    if (!clock) {
      return Error(Errc::no_quorum,
                   "cannot settle the change: the fencing counters of a node cannot be read, and " +
                       source.called() + " does not tell the time that would take their place");
    }
    floor.number =
        std::max(floor.number, static_cast<std::uint64_t>(*clock) + redis::counter_ahead_us);
    floor.since = std::max(floor.since, *clock);
  }
  return floor;
}

/// Raises `greatest` to the greatest fencing counter of this node. Returns false if some counters
/// cannot be read, or are no numbers.
bool GroupOfNodes::read_counters(int node, std::uint64_t& greatest) {
  std::string cursor = "0";
  std::vector<std::string> keys;
  bool more = true, good = true;
  while (more || !keys.empty()) {
    std::vector<Questions::Question> questions;
    const bool reads = !keys.empty();
    if (reads) {
      std::vector<std::string> words{"MGET"};
      words.insert(words.end(), keys.begin(), keys.end());
      questions.push_back({node, std::move(words)});
      keys.clear();
    }
    if (more) {
      questions.push_back(
          {node,
           {"SCAN", cursor, "MATCH", std::string(redis::counter_prefix) + "*", "COUNT", "500"}});
    }
    const std::vector<Questions::Answer> answers = ask(std::move(questions));
    for (const Questions::Answer& answer : answers) {
      if (!answer.reply || answer.reply->is_error()) return false;
    }
    if (answers.empty()) return false;
    if (reads) {
      for (const KeptReply& value : answers.front().reply->elements) {
        if (value.type != redis::Reply::Type::string) continue;  // expired meanwhile
        const std::optional<std::uint64_t> number = redis::counter_in(value.text);
        if (!number) good = false;
        greatest = std::max(greatest, number.value_or(0));
      }
    }
    if (!more) continue;
    const KeptReply& found = *answers.back().reply;
    if (found.elements.size() != 2) return false;
    cursor = found.elements[0].text;
    more = cursor != "0";
    for (const KeptReply& key : found.elements[1].elements) keys.push_back(key.text);
  }
  return good;
}

}  // namespace quorumlock::detail
