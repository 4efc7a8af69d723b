#include "api/status_inquiry.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <quorumlock/event.hpp>

#include "api/exposure.hpp"
#include "lock/counter_bound.hpp"
#include "lock/quorum.hpp"
#include "loop/driver.hpp"
#include "verbs/keys.hpp"
#include "verbs/scripts.hpp"
#include "wire/info.hpp"
#include "wire/numbers.hpp"

namespace quorumlock::detail {

using redis::info_field;
using redis::Reply;

namespace {

constexpr std::string_view keys_in_a_sample = "500";
/// The memory of a fencing counter without its name, as measured by bench/counters.
constexpr std::uint64_t bytes_of_a_counter = 112;
/// Of several looks at a clock, the one with the shortest round trip is used.
constexpr int looks_at_the_clock = 3;

std::optional<bool> yes_or_no(std::string_view text, std::string_view yes, std::string_view no) {
  if (text == yes) return true;
  if (text == no) return false;
  return std::nullopt;
}

/// A word from a server as it is shown.
std::string word(std::string_view text) {
  constexpr std::size_t longest = 64;
  return printable(text, longest);
}

std::string role_of(std::string_view role) {
  return role == "slave" ? "replica" : word(role);
}

NodeState state_of(core::LinkState state) {
  switch (state) {
    case core::LinkState::connecting: return NodeState::connecting;
    case core::LinkState::up: return NodeState::up;
    case core::LinkState::stalled: return NodeState::stalled;
    case core::LinkState::quarantined: return NodeState::quarantined;
    case core::LinkState::down: return NodeState::down;
  }
  return NodeState::down;
}

void note_membership(NodeStatus& status, const redis::MembersMark& mark, std::string_view text) {
  const std::optional<redis::Membership> found = redis::Membership::parse(text, mark);
  if (!found) return;
  const bool settled = found->phase == ListPhase::settled;
  NodeMembership& its = status.membership;
  const auto shown = [](redis::NodeNames names) {
    for (std::string& name : names) name = printable(name);
    return names;
  };
  its.name = printable(found->name);
  its.epoch = found->epoch;
  its.phase = found->phase;
  its.nodes = shown(settled ? found->to : found->from);
  if (!settled) its.next = shown(found->to);
  const redis::ListTerms& terms =
      found->phase == ListPhase::announced ? found->from_terms : found->to_terms;
  status.enrolment.max_ttl = std::chrono::milliseconds(terms.max_ttl_ms);
  status.enrolment.fencing_memory = std::chrono::seconds(terms.memory_s);
}

void find_same_servers(std::vector<NodeStatus>& nodes) {
  for (NodeStatus& one : nodes) {
    one.same_server_as.clear();
    for (const NodeStatus& other : nodes) {
      const bool same = &one != &other && !one.run_id.empty() && one.run_id == other.run_id;
      if (same) one.same_server_as.push_back(other.node);
    }
  }
}

}  // namespace

void StatusInquiry::dismiss() {
  auto then = std::move(handler);
  delete this;
  then(Error(Errc::closed, "could not look at the nodes: the coordinator is closed"));
}

void StatusInquiry::start(Driver& driver) {
  const Cluster& cluster = driver.cluster();
  list_ = driver.nodes();
  status_.quorum = list_.quorum();
  status_.max_ttl = cluster.options.max_ttl.value_or(driver.terms().max_ttl());
  status_.drift_factor = cluster.options.drift_factor;
  probes_ = redis::probes(cluster.options.key_prefix);
  to_come_ = list_.size();
  nodes_.resize(static_cast<std::size_t>(list_.size()));
  for (const NodeList::Node& node : list_) status_.nodes.emplace_back().node = node.name;
  driver.ask_facts();  // whether they take writes; the answers come before those to the questions
  // The probing script writes to this key and deletes it.
  const std::string key = redis::nobodys_key(cluster.options.key_prefix);
  for (const NodeList::Node& node : list_) {
    Node& its = of(node.number);
    its.times_to_ask = looks_at_the_clock;
    const auto ask = [&](Question question, std::initializer_list<std::string_view> words) {
      ++its.to_come;
      driver.inquiries().ask(*this, node.number, question, words);
    };
    ask(info, {"INFO"});
    for (const std::string_view setting :
         {"append*", "no-appendfsync-on-rewrite", "bind", "port", "protected-mode"}) {
      ask(config, {"CONFIG", "GET", setting});
    }
    ask(record, {"MGET", redis::enrolment_key, redis::members_key});
    ask(size, {"DBSIZE"});
    // One call is enough: which keys come first in the table is a matter of chance.
    ask(sample, {"SCAN", "0", "COUNT", keys_in_a_sample});
    ask(script, {"EVAL", redis::rights_script.source, "1", key, "quorumlock:wake:-"});
    for (std::size_t i = 0; i < probes_.size(); ++i) {
      ++its.to_come;
      const std::vector<std::string_view> words(probes_[i].words.begin(), probes_[i].words.end());
      driver.inquiries().ask(*this, node.number, static_cast<std::uint16_t>(probe + i), words);
    }
  }
}

void StatusInquiry::answered(Driver& driver, const Session::Answered& answer) {
  Node& its = of(answer.node);
  if (its.to_come == 0) return;  // the node was given up
  if (answer.reply == nullptr) {
    its.to_come = 0;
  } else {
    note(driver, answer.node, static_cast<Question>(answer.tag.round), *answer.reply);
    if (--its.to_come > 0) return;
    // The node has no other command of ours now, so the round trip is the network's alone.
    if (its.times_to_ask-- > 0) return ask_time(driver, answer.node);
  }
  if (--to_come_ == 0) finish(driver);
}

void StatusInquiry::ask_time(Driver& driver, int node) {
  Node& its = of(node);
  its.to_come = 1;
  its.asked = Clock::now();
  its.wall_asked = SystemWallClock().now_us();
  driver.inquiries().ask(*this, node, time, {"TIME"});
}

void StatusInquiry::note(Driver& driver, int node, Question question, const Reply& reply) {
  using Type = Reply::Type;
  NodeStatus& status = status_of(node);
  if (question >= probe) {
    return note_right(node, probes_[static_cast<std::size_t>(question - probe)].right, reply);
  }
  switch (question) {
    case probe: return;
    case script:
      for (const Reply& name : reply.elements) {
        status.access.missing_rights.push_back(word(name.text));
      }
      return;
    case info: {
      note_right(node, "info", reply);
      if (reply.type != Type::string) return;
      const auto field = [&](std::string_view name) { return info_field(reply.text, name); };
      status.role = role_of(field("role"));
      status.version = word(redis::version_of(reply.text));
      status.run_id = word(field("run_id"));
      if (const auto up = redis::whole_number<std::int64_t>(field("uptime_in_seconds"))) {
        status.uptime = std::chrono::seconds(*up);
      }
      if (const auto mode = redis::mode_of(reply.text); !mode.empty()) {
        status.cluster_mode = mode == "cluster";
      }
      status.persistence.append_only = yes_or_no(field("aof_enabled"), "1", "0");
      if (const auto ok = field("aof_last_write_status"); !ok.empty()) {
        status.persistence.last_write_ok = ok == "ok";
      }
      status.memory.limit = redis::whole_number<std::uint64_t>(field("maxmemory"));
      status.memory.eviction_policy = word(field("maxmemory_policy"));
      status.memory.machine = redis::whole_number<std::uint64_t>(field("total_system_memory"));
      return;
    }
    case config:
      note_right(node, "config|get", reply);
      if (reply.type != Type::array) return;
      for (std::size_t i = 0; i + 1 < reply.elements.size(); i += 2) {
        note_setting(node, reply.elements[i].text, reply.elements[i + 1].text);
      }
      return;
    case record: {
      note_right(node, "mget", reply);
      const redis::RecordTexts texts = redis::texts_of(reply);
      // A client that asks for no lock would not notice that a node has forgotten.
      const redis::Enrolment& its = driver.link(node).enrolment();
      if (reply.type == Type::array && its.is_enrolled() && texts.record != its.record()) {
        driver.doubt(node);
      }
      const auto found = redis::EnrolmentRecord::parse(texts.record.value_or(""));
      if (!found) return;
      note_membership(status, found->members, texts.members.value_or(""));
      of(node).floor = found->floor;
      if (found->since != 0) {  // a settled change leaves a floor that rests on counters
        status.enrolment.clocks_order_fences_since =
            std::chrono::system_clock::time_point(std::chrono::microseconds(found->since));
      }
      return;
    }
    case size:
      if (reply.type == Type::integer) of(node).keys = reply.integer;
      return;
    case sample: return note_sample(node, reply);
    case time: return note_time(driver, node, reply);
  }
}

void StatusInquiry::note_right(int node, std::string_view right, const Reply& reply) {
  if (redis::is_forbidden(right, reply)) status_of(node).access.missing_rights.emplace_back(right);
}

/// Estimates the number of fencing counters from their part of a sample of the keys.
void StatusInquiry::note_sample(int node, const Reply& reply) {
  const std::int64_t keys = of(node).keys;
  if (keys < 0 || reply.type != Reply::Type::array || reply.elements.size() != 2) return;
  double counters = 0, bytes = 0;
  for (const Reply& key : reply.elements[1].elements) {
    if (!key.text.starts_with(redis::counter_prefix)) continue;
    ++counters;
    bytes += static_cast<double>(key.text.size() + bytes_of_a_counter);
  }
  const bool all = reply.elements[0].text == "0";
  const auto looked_at = static_cast<double>(reply.elements[1].elements.size());
  const double times = all || looked_at == 0 ? 1 : static_cast<double>(keys) / looked_at;
  NodeMemory& memory = status_of(node).memory;
  memory.counters = static_cast<std::uint64_t>(counters * times);
  memory.counters_bytes = static_cast<std::uint64_t>(bytes * times);
}

void StatusInquiry::note_setting(int node, std::string_view name, std::string_view value) {
  NodePersistence& persistence = status_of(node).persistence;
  Node& its = of(node);
  if (name == "appendonly") persistence.append_only = yes_or_no(value, "yes", "no");
  if (name == "appendfsync") persistence.append_fsync = word(value);
  if (name == "no-appendfsync-on-rewrite") {
    persistence.no_fsync_on_rewrite = yes_or_no(value, "yes", "no");
  }
  if (name == "bind") its.bind = value;
  if (name == "port") its.port = value;
  if (name == "protected-mode") its.protected_mode = value;
}

void StatusInquiry::note_time(Driver& driver, int node, const Reply& reply) {
  const std::optional<std::int64_t> its = redis::time_of(reply);
  if (!its) return;
  Node& asked = of(node);
  asked.time = *its;
  const core::Time now = Clock::now();
  driver.saw_clock(node, asked.asked, now, *its);
  NodeStatus& status = status_of(node);
  const core::Duration round_trip = now - asked.asked;
  if (status.round_trip && *status.round_trip <= round_trip) return;
  status.round_trip = round_trip;
  status.clock.uncertainty = round_trip / 2;
  status.clock.offset = std::chrono::microseconds(*its - asked.wall_asked) - round_trip / 2;
}

/// Adds what our own link knows about this node, and draws the conclusions from everything.
void StatusInquiry::conclude(const Driver& driver, int node) {
  NodeStatus& status = status_of(node);
  const Node& its = of(node);
  const redis::Link& link = driver.link(node);
  const core::Time now = Clock::now();
  status.state = state_of(link.state());
  if (status.role.empty()) status.role = role_of(link.greeting().role());
  if (!status.cluster_mode && !link.greeting().mode().empty())
    status.cluster_mode = link.greeting().mode() == "cluster";

  status.connections = link.attempts().connections();
  const redis::Enrolment& enrolment = link.enrolment();
  status.membership.configured_name = enrolment.config().node;
  if (status.state != NodeState::down && status.state != NodeState::connecting) {
    status.enrolment.standing = enrolment.standing();
  }
  if (status.enrolment.standing == NodeEnrolment::Standing::quarantined) {
    status.enrolment.quarantined_for =
        std::max(core::Duration::zero(), enrolment.wait().until() - now);
  }
  status.enrolment.was_enrolled = enrolment.was_enrolled();
  status.enrolment.awaits_operator = enrolment.candidacy().awaits_operator();
  status.enrolment.nobody_enrols = enrolment.candidacy().nobody_enrols();
  status.enrolment.enrolments = enrolment.candidacy().enrolments();
  if (status.enrolment.standing != NodeEnrolment::Standing::unknown) {
    const auto& refused = link.greeting().writes_refused();
    status.access.scripts = !refused || refused->vote != Vote::unauthorized || refused->in_script;
  }
  if (status.enrolment.standing == NodeEnrolment::Standing::quarantined ||
      status.enrolment.standing == NodeEnrolment::Standing::refused) {
    status.enrolment.why = printable(enrolment.candidacy().why());
  }

  const core::ClockJumped& jump = driver.jump(node);
  if (jump.size != core::Duration::zero()) {
    status.clock.jump = jump.size;
    status.clock.mistrusted_for = std::max(core::Duration::zero(), jump.until - now);
  }
  // A rate that is known less exactly than drift_factor is noise.
  const auto drift = driver.clock_drift(node);
  if (drift && drift->uncertainty < status_.drift_factor) {
    status.clock.drift = drift->rate;
    status.clock.drift_uncertainty = drift->uncertainty;
  }

  NodePersistence& persistence = status.persistence;
  persistence.durable = persistence.append_only == true && persistence.append_fsync == "always" &&
                        persistence.no_fsync_on_rewrite == false;
  const redis::Login& login = link.greeting().login();
  if (!its.protected_mode.empty()) {
    const bool guarded = its.protected_mode == "yes" || its.port == "0" ||
                         !listens_beyond_loopback(its.bind) ||
                         (login.user.empty() && !login.password.empty());
    // If we log in as a named user, we cannot see whether others get in without a password.
    if (guarded || login.user.empty()) status.access.open_to_all = !guarded;
  }

  std::vector<std::string>& missing = status.access.missing_rights;
  std::ranges::sort(missing);  // several questions may need the same right
  missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  const redis::Endpoint& endpoint = link.endpoint();
  status.access.plain_text =
      !endpoint.tls && leaves_the_machine(endpoint, driver.sockets().primary(node));

  const bool mistrusted = status.clock.mistrusted_for > core::Duration::zero();
  const bool wrong_clock = status.state == NodeState::up && mistrusted;
  status.reason = wrong_clock ? Vote::clock_jumped : link.reason();
  status.votes = status.state == NodeState::up && status.reason == Vote::pending;
  if (!status.votes) status.trouble = trouble_of(driver, node);
}

std::string StatusInquiry::trouble_of(const Driver& driver, int node) {
  const NodeStatus& status = status_of(node);
  if (status.reason == Vote::clock_jumped) return "has a wrong clock";
  if (status.reason == Vote::same_server && !status.same_server_as.empty()) {
    return "is the same server as " + status.same_server_as.front();
  }
  return driver.trouble(node);
}

/// A node with a floor that no clock explains casts no vote for a lock with a fencing token.
void StatusInquiry::judge_floors(const Driver& driver) {
  const Options& options = driver.cluster().options;
  if (!options.fencing) return;
  std::vector<std::int64_t> times;
  std::vector<std::uint64_t> floors;
  for (const Node& node : nodes_) {
    times.push_back(node.time);
    floors.push_back(node.floor);
  }
  const int least = list_.size() - list_.quorum() + 1;
  const std::uint64_t most =
      std::max(core::counts_up_to(SystemWallClock().now_us(), std::move(times), least,
                                  driver.terms().memory()),
               core::shared_by(least, std::move(floors)));
  for (const NodeList::Node& node : list_) {
    NodeStatus& status = status_of(node.number);
    if (of(node.number).floor <= most || !status.votes) continue;
    status.votes = false;
    status.reason = Vote::bad_counter;
    status.trouble =
        "has a floor for fencing counters that no clock explains: quorumlock doctor says what to "
        "do";
  }
}

void StatusInquiry::finish(Driver& driver) {
  find_same_servers(status_.nodes);
  for (const NodeList::Node& node : list_) conclude(driver, node.number);
  judge_floors(driver);
  if (const std::string& name = driver.cluster().group; !name.empty()) {
    status_.groups.push_back({name, list_.size(), status_.quorum, status_.voters()});
    for (NodeStatus& node : status_.nodes) node.group = name;
  }
  driver.inquiries().end(*this);
  auto then = std::move(handler);
  ClusterStatus status = std::move(status_);
  delete this;
  then(std::move(status));
}

void StatusOfGroups::note(std::size_t group, Result<ClusterStatus> status) {
  {
    const std::lock_guard<std::mutex> lock(guard_);
    all_[group] = std::move(status);
    if (--to_come_ > 0) return;
  }
  for (const auto& one : all_) {
    if (!*one) return handler_(one->error());
  }
  ClusterStatus sum = *std::move(*all_.front());
  sum.quorum = 0;
  for (std::size_t i = 1; i < all_.size(); ++i) {
    ClusterStatus& one = **all_[i];
    sum.groups.insert(sum.groups.end(), one.groups.begin(), one.groups.end());
    std::ranges::move(one.nodes, std::back_inserter(sum.nodes));
  }
  find_same_servers(sum.nodes);  // a server may be in two groups
  handler_(std::move(sum));
}

}  // namespace quorumlock::detail
