#include "members/members.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "lock/counter_bound.hpp"
#include "lock/mutants.hpp"
#include "lock/quorum.hpp"
#include "loop/session.hpp"
#include "wire/words.hpp"

namespace quorumlock::detail {

using core::Time;

void Members::vouch(Time now) {
  electorate_.vouch();
  judge(now);
}

int Members::number_of(int place) const {
  return session_.nodes()[static_cast<std::size_t>(place)];
}

/// The same majority, by the nodes' numbers.
core::Majority Members::by_number(const core::Majority& of_places) const {
  core::NodeSet nodes;
  for (const int place : of_places.nodes()) nodes.add(number_of(place));
  return {nodes, of_places.votes()};
}

void Members::advance(Time now) {
  if (now >= look_due_) move_on(now);
  if (now >= doubt_due_) judge(now);
}

void Members::set_nodes(Time now, std::vector<redis::Link::Config> list) {
  const bool same = static_cast<int>(list.size()) == session_.size() &&
                    std::ranges::all_of(list, [this](const redis::Link::Config& link) {
                      return session_.number_of(link) >= 0;
                    });
  next_ = same ? std::vector<redis::Link::Config>() : std::move(list);
  noted_ = false;
  look_due_ = core::never;
  if (!next_.empty()) look(now);
}

/// Asks the nodes what they say now: move_on() follows when their answers are in, or later.
void Members::look(Time now) {
  constexpr core::Duration look_every = std::chrono::milliseconds(500);
  look_due_ = now + look_every;
  for (const int node : session_.nodes()) session_.doubt(now, node);
}

void Members::move_on(Time now) {
  if (!may_move_on() || !session_.take_list(now, next_)) {
    if (!is_reading() && !std::exchange(noted_, true)) {
      news_ = {EventKind::list_awaited,
               "to move to " + redis::names_in_words(names_of(next_)) +
                   ", this client waits until the nodes accept that list: quorumlock members "
                   "announce"};
    }
    return look(now);
  }
  for (const redis::Link::Config& link : next_) {
    const int node = session_.number_of(link);
    if (!session_.link(node).attempts().is_first()) continue;
    names_[static_cast<std::size_t>(node)].clear();
    max_ttls_[static_cast<std::size_t>(node)] = 0;
    told_[static_cast<std::size_t>(node)] = {};
  }
  news_ = {EventKind::list_changed,
           "the nodes are now " + redis::names_in_words(names_of(std::exchange(next_, {})))};
  look_due_ = core::never;
  const std::uint32_t generation = electorate_.generation();
  last_doubt_ = {};  // a node that got the announcement after it was read is read again at once
  judge(now);
  if (electorate_.generation() == generation) session_.engine().on_new_list();
}

bool Members::is_reading() const {
  return std::ranges::any_of(session_.nodes(), [this](int node) {
    return session_.link(node).attempts().is_first() ||
           session_.link(node).enrolment().is_reading_again();
  });
}

bool Members::may_move_on() const {
  if (is_reading()) return false;
  const redis::NodeNames names = names_of(next_);
  std::vector<redis::SharedMembership> accept;
  for (const redis::Link::Config& config : next_) {
    const int node = session_.number_of(config);
    if (node < 0 || session_.link(node).enrolment().barred()) continue;
    const redis::Enrolment& its = session_.link(node).enrolment();
    if (!its.is_enrolled()) continue;
    const redis::SharedMembership& as = its.membership();
    if (as->may_vote() && as->epoch_of(names)) accept.push_back(as);
  }
  const bool too_few = session_.size() - refusing_ < core::quorum_of(session_.size()) &&
                       !core::planted(core::Mutant::hopeless_list_kept);
  const bool hopeless = electorate_.voters().empty() || too_few;
  if (!accept.empty()) return redis::win(accept, names) || hopeless;
  return hopeless && !session_.engine().holds_leases();
}

redis::NodeNames Members::names_of(const std::vector<redis::Link::Config>& list) const {
  redis::NodeNames names;
  for (const redis::Link::Config& link : list) {
    const int node = session_.number_of(link);
    const bool known = node >= 0 && !names_[static_cast<std::size_t>(node)].empty();
    names.push_back(known ? names_[static_cast<std::size_t>(node)] : link.enrolment.node);
  }
  std::ranges::sort(names);
  return names;
}

const std::string& Members::name_of(int node) const {
  const std::string& name = names_[static_cast<std::size_t>(node)];
  return name.empty() ? session_.link(node).enrolment().config().node : name;
}

/// Decides which nodes vote for our list, and has each link follow what that means for its node.
void Members::judge(Time now) {
  std::vector<redis::NodeRecord> nodes;
  nodes.reserve(session_.nodes().size());
  for (const int number : session_.nodes()) {
    redis::NodeRecord& node = nodes.emplace_back(session_.link(number).record());
    if (node.membership) {
      names_[static_cast<std::size_t>(number)] = node.membership->name;
      max_ttls_[static_cast<std::size_t>(number)] = static_cast<std::uint64_t>(
          node.membership->longest_max_ttl() / std::chrono::microseconds(1));
      ever_enrolled_ = true;
    }
    node.unheard = node.unheard && names_[static_cast<std::size_t>(number)].empty();
    node.name = name_of(number);
  }
  const std::uint32_t generation = electorate_.generation();
  const std::vector<redis::Ruling>& judged = electorate_.judge(nodes);
  if (generation != 0 && electorate_.generation() != generation) {
    session_.engine().on_new_founding();
  }
  const bool confirmed = confirms_outdated(now, judged);
  refusing_ = 0;
  const core::Duration forgotten = electorate_.founds() ? forgotten_max_ttl() : core::Duration();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const int node = session_.nodes()[i];
    redis::Link& link = session_.link(node);
    redis::Ruling ruling = judged[i];
    ruling.ever = ever_enrolled_;
    ruling.forgotten = forgotten;
    ruling.outdated = ruling.outdated && confirmed;
    ruling.undecided = ruling.undecided && link.attempts().is_first();
    const bool waits = link.state() == core::LinkState::quarantined && !nodes[i].membership;
    const bool in_vain = waits && !ruling.admitted && !ruling.founds;
    if (!ruling.refusal.empty() || in_vain) ++refusing_;
    if (nodes[i].membership) {
      session_.engine().on_list(node, {by_number(ruling.asks), ruling.changes, ruling.longest_ttl});
    }
    link.follow(now, std::move(ruling));
    if (judged[i].to_look) link.look_again(now);
    session_.touched(node);
    tell_name(now, node, judged[i].founded->to);
  }
  take_terms(now, nodes);
  read_again(now, nodes, judged);
  if (!next_.empty() && may_move_on()) look_due_ = now;
}

/// The longest max_ttl that N - q + 1 of our nodes had in their last records.
core::Duration Members::forgotten_max_ttl() const {
  if (core::planted(core::Mutant::forgotten_max_ttl_ignored)) return {};
  std::vector<std::uint64_t> said;
  for (const int node : session_.nodes()) {
    said.push_back(max_ttls_[static_cast<std::size_t>(node)]);
  }
  const int least = session_.size() - core::quorum_of(session_.size()) + 1;
  return std::chrono::microseconds(core::shared_by(least, std::move(said)));
}

/// Tells the engine the terms of our list; of a change of them the greater ones.
void Members::take_terms(Time now, const std::vector<redis::NodeRecord>& nodes) {
  const redis::ListTerms& ours = electorate_.terms();
  std::pair<core::Duration, core::Duration> terms{ours.max_ttl(), ours.memory()};
  for (const int voter : electorate_.voters()) {
    const redis::Membership& its = *nodes[static_cast<std::size_t>(voter)].membership;
    terms.first = std::max(terms.first, its.longest_max_ttl());
    terms.second = std::max(terms.second, its.longest_memory());
  }
  if (terms == std::exchange(terms_, terms)) return;
  session_.engine().on_terms(now, terms.first, terms.second);
}

/// Whether the nodes that vote confirm that the record of another node is out of date: their own
/// records have been read again since that was first noticed.
bool Members::confirms_outdated(Time now, const std::vector<redis::Ruling>& judged) {
  const std::vector<int>& voters = electorate_.voters();
  if (std::ranges::none_of(judged, &redis::Ruling::outdated)) {
    return confirming_ = false;
  }
  if (!std::exchange(confirming_, true)) {
    for (const int voter : voters) session_.doubt(now, number_of(voter));
  }
  const bool reading = std::ranges::any_of(voters, [this](int voter) {
    return session_.link(number_of(voter)).enrolment().is_reading_again();
  });
  return !reading;
}

/// Names our connection to the node, for an operator: after our list, and after what we know and
/// may do.
void Members::tell_name(Time now, int node, const redis::NodeNames& list) {
  const redis::Link& link = session_.link(node);
  redis::ClientName& told = told_[static_cast<std::size_t>(node)];
  if (link.state() == core::LinkState::connecting || link.state() == core::LinkState::down) {
    told = {};
    return;
  }
  if (link.enrolment().config().only_looks) return;
  const redis::ClientName name{redis::list_mark(list, named_), ever_enrolled_,
                               link.enrolment().candidacy().may_enrol()};
  if (name == told) return;
  std::string bytes;
  redis::append_command(bytes, {"CLIENT", "SETNAME", name.to_string()});
  // The answer is ignored: if this user may not do this, operators do not see what this client
  // says, and nothing else is lost.
  session_.ask(now, node, {core::SlotId(), core::uncounted, core::CommandKind::repair}, bytes);
  told = name;
}

/// Reads again, at most once a second, the records that may have changed: those of nodes that
/// refuse our list; and also those of nodes that vote, if another node contradicts them or waits to
/// be vouched for, and they are too few or their list is being changed.
void Members::read_again(Time now, const std::vector<redis::NodeRecord>& nodes,
                         const std::vector<redis::Ruling>& judged) {
  const std::vector<int>& voters = electorate_.voters();
  std::vector<int> doubted;
  bool contradicted = false;
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    const bool refuses = nodes[node].membership && !judged[node].refusal.empty();
    if (refuses) doubted.push_back(static_cast<int>(node));
    contradicted = contradicted || refuses ||
                   (nodes[node].ripe && !nodes[node].membership && !judged[node].admitted);
  }
  if (contradicted && !voters.empty()) {
    const bool too_few = static_cast<int>(voters.size()) < core::quorum_of(session_.size());
    const bool changing = std::ranges::any_of(judged, &redis::Ruling::changes);
    if (too_few || changing) doubted.insert(doubted.end(), voters.begin(), voters.end());
  }
  doubt_due_ = core::never;
  if (doubted.empty()) return;
  doubt_due_ = std::max(now, last_doubt_ + std::chrono::seconds(1));
  if (now < doubt_due_) return;
  last_doubt_ = now;
  for (const int node : doubted) session_.doubt(now, number_of(node));
}

}  // namespace quorumlock::detail
