#include "members/electorate.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "lock/mutants.hpp"

namespace quorumlock::redis {

using core::Mutant;
using core::planted;

namespace {

constexpr std::string_view nobody_vouches =
    "is not enrolled for these groups, nor is another node of its group that we reach: run "
    "quorumlock enroll with them";

const std::string& name_of(const NodeRecord& node) {
  return node.membership ? node.membership->name : node.name;
}

bool has_record(const NodeRecord& node) {
  return node.membership != nullptr;
}

std::uint64_t draw(core::Random& random) {
  std::uint64_t number = planted(Mutant::founding_without_id) ? 1 : 0;
  while (number == 0) random.fill(std::as_writable_bytes(std::span(&number, 1)));
  return number;
}

/// The reason why the record of a node's own run keeps the node from voting for our list; empty if
/// there is none.
std::string refusal_of(const Membership& its, const NodeNames& list, bool twice) {
  if (twice) return "is called " + its.name + ", as another of our nodes is: name each server once";
  return redis::refusal_of(its, list);
}

}  // namespace

Electorate::Electorate(core::Random& random, NamedTerms named)
    : random_(random), named_(named), terms_(named.over({})), own_(draw(random)) {}

/// Keeps the founding as long as a node votes for it, unless a quorum votes for another one: a node
/// may have been enrolled in a new list while others remembered the old one after all. Otherwise
/// takes the founding that most nodes vote for.
void Electorate::choose_founding(std::span<const NodeRecord> nodes) {
  std::map<std::uint64_t, std::vector<SharedMembership>> votes;
  for (const NodeRecord& node : nodes) {
    if (!node.membership || !node.membership->may_vote() || !node.membership->epoch_of(list_) ||
        terms_difference(*node.membership, list_, named_).first != Vote::pending) {
      continue;
    }
    votes[node.membership->founding].push_back(node.membership);
  }
  if (votes.empty()) return;
  const auto most =
      std::ranges::max_element(votes, {}, [](const auto& one) { return one.second.size(); });
  const bool quorum = win(most->second, list_);
  if (most->first == founding_ || (votes.contains(founding_) && !quorum)) return;
  founding_ = most->first;
  ++generation_;
}

/// Takes the nodes' names, which make our list.
void Electorate::take_names(std::span<const NodeRecord> nodes) {
  NodeNames list;
  for (const NodeRecord& node : nodes) list.push_back(name_of(node));
  std::ranges::sort(list);
  if (list == list_) return;
  if (!list_.empty() && !planted(Mutant::founding_of_two_lists)) own_ = draw(random_);
  waited_.clear();
  list_ = std::move(list);
}

/// Chooses the terms of our list among those that nodes serve and that we may have: such that
/// enough nodes for a lock serve them, for the longest ttl, and of a change the later ones. If none
/// are, those that most nodes serve: an operator may vouch for them.
void Electorate::choose_terms(std::span<const NodeRecord> nodes) {
  std::vector<ListTerms> served;
  const auto voices = [&](auto&& take) {
    for (const NodeRecord& node : nodes) {
      const SharedMembership& its = node.membership;
      if (!its || !its->may_vote() || its->founding != founding_) continue;
      for (const ListTerms& terms : its->terms_of(list_)) take(its, terms);
    }
  };
  voices([&](const SharedMembership&, const ListTerms& terms) {
    const bool is_new = std::ranges::find(served, terms) == served.end();
    if (is_new && named_.allow(terms)) served.push_back(terms);
  });
  if (served.empty()) return remember_terms(nodes);
  const auto worth = [&](const ListTerms& one) {
    std::vector<SharedMembership> votes;
    core::Duration longest_ttl{};
    std::uint64_t rank = 0;
    voices([&](const SharedMembership& its, const ListTerms& terms) {
      if (terms != one) return;
      votes.push_back(its);
      longest_ttl = std::max(longest_ttl, its->longest_ttl(terms));
      const bool later = its->phase == ListPhase::announced && terms == its->to_terms;
      rank = std::max(rank, its->rank() + (later ? 1 : 0));
    });
    const bool wins = win(votes, list_);
    return std::tuple(wins, wins ? longest_ttl : core::Duration(), wins ? 0 : votes.size(), rank,
                      one == terms_);
  };
  terms_ = *std::ranges::max_element(served, {}, worth);
}

/// If all nodes may have forgotten, the list is founded with the terms that they remember.
void Electorate::remember_terms(std::span<const NodeRecord> nodes) {
  const Membership* last = nullptr;
  for (const NodeRecord& node : nodes) {
    const SharedMembership& its = node.remembered;
    if (node.membership || !its || !redis::refusal_of(*its, list_).empty()) continue;
    if (last == nullptr || its->rank() > last->rank()) last = its.get();
  }
  if (last != nullptr) terms_ = named_.over(last->to_terms);
}

/// Finds how each node would be enrolled in our list. If that has changed, our own founding is
/// drawn anew, since the old list may have been founded with it: two lists with the same founding
/// and epoch would look like one.
void Electorate::name_founded(std::span<const NodeRecord> nodes) {
  const auto is_named = [&](const NodeRecord& node, const SharedMembership& as) {
    return name_of(node) == as->name && as->to == list_ && as->to_terms == terms_;
  };
  if (std::ranges::equal(nodes, founded_, is_named)) return;
  const bool same = founded_.empty() || founded_.front()->to_terms == terms_;
  if (!same) own_ = draw(random_);
  founded_.clear();
  for (const NodeRecord& node : nodes) {
    const Membership as{0, 0, ListPhase::settled, name_of(node), {}, list_, {}, terms_};
    founded_.push_back(std::make_shared<Membership>(as));
  }
}

/// Proposes the smallest founding of the candidates that stand for our list, or our own if there is
/// none. Our own is drawn anew if it is on record, since its node may have forgotten it by the next
/// look.
void Electorate::propose(std::span<const NodeRecord> nodes) {
  std::optional<std::uint64_t> smallest;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].membership && nodes[i].membership->founding == own_) own_ = draw(random_);
    const std::optional<MembersMark>& its = nodes[i].candidate;
    if (!its) continue;
    const bool ours = its->digest == founded_[i]->mark().digest;
    if (!ours && !planted(Mutant::founding_of_another_list)) continue;
    smallest = std::min(smallest.value_or(its->founding), its->founding);
  }
  begun_ = smallest.has_value();
  const std::uint64_t proposed = smallest.value_or(own_);
  for (SharedMembership& as : founded_) {
    if (as->founding == proposed) continue;
    Membership anew = *as;
    anew.founding = proposed;
    as = std::make_shared<Membership>(std::move(anew));
  }
  const auto may_found = [this](const NodeRecord& node, const SharedMembership& as) {
    if (node.membership) return *node.membership == *as;
    return !node.remembered ||
           (redis::refusal_of(*node.remembered, list_).empty() &&
            terms_difference(*node.remembered, list_, named_).first == Vote::pending);
  };
  founds_ = std::ranges::equal(nodes, founded_, may_found);
}

void Electorate::vouch() {
  vouched_ = true;
  asked_.clear();
}

const std::vector<Ruling>& Electorate::judge(std::span<const NodeRecord> nodes) {
  if (!std::ranges::equal(nodes, asked_)) {
    judged_ = decide(nodes);
    asked_.assign(nodes.begin(), nodes.end());
  }
  return judged_;
}

std::vector<Ruling> Electorate::decide(std::span<const NodeRecord> nodes) {
  take_names(nodes);
  choose_founding(nodes);
  choose_terms(nodes);
  name_founded(nodes);
  propose(nodes);

  std::vector<Ruling> judged(nodes.size());
  std::uint32_t newest = 0;  // only for a planted mistake
  const bool expects = std::ranges::any_of(nodes, &NodeRecord::expected);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    judged[i].founded = founded_[i];
    judged[i].founds = founds_;
    judged[i].begun = begun_;
    if (!nodes[i].membership) {
      // Nothing speaks against a node that has not said yet what it remembers. Its first word
      // counts for the attempts under way, so it must not blame us before it has been compared.
      const SharedMembership& last = nodes[i].remembered;
      judged[i].perhaps_ours = !last || perhaps_ours(*last, nodes) != nullptr;
      continue;
    }
    const Membership& its = *nodes[i].membership;
    judged[i].asks = core::Majority::impossible();
    judged[i].refusal = refusal_of(its, list_, std::ranges::count(list_, its.name) > 1);
    if (const NodeNames* const list = perhaps_ours(its, nodes)) {
      judged[i].perhaps_ours = true;
      judged[i].vote = Vote::quarantined;
      judged[i].refusal = unclear(its, *list, list_);
    }
    judged[i].undecided = expects && !judged[i].refusal.empty();
    if (!judged[i].refusal.empty()) continue;
    if (auto [vote, why] = terms_difference(its, list_, named_); vote != Vote::pending) {
      judged[i].vote = vote;
      judged[i].refusal = std::move(why);
      continue;
    }
    if (its.founding != founding_) {
      judged[i].refusal = "was enrolled in another founding of these nodes than the others";
      judged[i].vote = Vote::quarantined;
    } else if (!its.serves(list_, terms_)) {
      judged[i].refusal =
          "votes with other terms than the others of these nodes: quorumlock members";
      judged[i].vote = Vote::quarantined;
      judged[i].changes = true;
    } else if (asked_by(its, nodes) == core::Majority::impossible()) {
      judged[i].refusal = "asks for a majority of " + in_braces(*its.asks()) +
                          ", of which our list has too few: if these nodes never were a list, "
                          "quorumlock members commit makes it forget them";
      judged[i].asks_too_much = true;
    } else {
      newest = std::max(newest, *its.epoch_of(list_));
    }
  }
  voters_.clear();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!nodes[i].membership || !judged[i].refusal.empty()) continue;
    const Membership& its = *nodes[i].membership;
    if (planted(Mutant::epochs_compared) && its.epoch_of(list_) != newest) continue;
    judged[i].asks = asked_by(its, nodes);
    judged[i].changes = its.phase != ListPhase::settled;
    judged[i].longest_ttl = its.longest_ttl(terms_);
    voters_.push_back(static_cast<int>(i));
  }
  choose_state(nodes, judged);
  std::string founding;
  if (founds_) {
    look_together(nodes, judged);
    founding = founding_waits_for(nodes, judged);
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!nodes[i].membership) {
      const bool founder = !founding.empty() || is_founder(nodes, i);
      admit(judged[i], founder ? founding : vouched_for_by_too_few());
    } else if (!judged[i].refusal.empty()) {
      judged[i].outdated = is_outdated(*nodes[i].membership);
    }
  }
  return judged;
}

/// What a vote with this membership asks for. A majority of our own list is needed anyway. A list
/// of which too few nodes are in ours cannot be had.
core::Majority Electorate::asked_by(const Membership& its,
                                    std::span<const NodeRecord> nodes) const {
  if (its.asks() == nullptr || *its.asks() == list_) return {};
  core::NodeSet places;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (is_member(*its.asks(), name_of(nodes[i]))) places.add(static_cast<int>(i));
  }
  const int votes = redis::quorum(*its.asks());
  return votes > places.size() ? core::Majority::impossible() : core::Majority(places, votes);
}

/// Chooses the state with which nodes are let in.
void Electorate::choose_state(std::span<const NodeRecord> nodes, std::span<const Ruling> judged) {
  state_.reset();
  likely_.reset();
  stand_ = 0;
  const bool by_one_word = planted(Mutant::furthest_word_taken);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const SharedMembership& as = nodes[i].membership;
    const bool votes = as && std::ranges::count(voters_, static_cast<int>(i)) > 0;
    // Only an operator lets nodes in by the word of nodes whose own votes cannot count for us.
    const bool speaks = as && voters_.empty() && judged[i].asks_too_much;
    if (!votes && !speaks) continue;
    NodeNames names;
    for (const NodeRecord& node : nodes) {
      const bool stands =
          node.membership && as->for_node(node.membership->name) == *node.membership;
      const bool blank = !node.membership && planted(Mutant::blank_nodes_vouch);
      if (stands || blank || (by_one_word && node.membership)) names.push_back(name_of(node));
    }
    const auto stand = static_cast<int>(names.size());
    const bool further = likely_ && as->rank() > likely_->rank();
    if (stand > stand_ || (stand == stand_ && further)) {
      likely_ = as;
      stand_ = stand;
    }
    if (!votes) continue;
    // For a list of one or two nodes one would be enough, if no other node knew better.
    const bool alone = stand < 2 && voters_.size() > 1;
    if (!as->is_vouched_for_by(names) || alone) continue;
    if (!state_ || as->rank() > state_->rank()) state_ = as;
  }
}

/// Whether a node that refuses our list can only come back without its record: it is of another
/// founding, or says what it cannot have learnt from the nodes that vote, or no step of a change
/// leads from its state to that of these nodes.
bool Electorate::is_outdated(const Membership& its) const {
  if (!state_ || state_->phase == ListPhase::unsettled || !state_->may_vote(its.name)) {
    return false;
  }
  if (its.founding != state_->founding) return true;
  const bool announced = state_->phase == ListPhase::announced;
  const NodeNames& list = announced ? state_->from : state_->to;
  const ListTerms& terms = announced ? state_->from_terms : state_->to_terms;
  const Membership settled{
      state_->founding, state_->epoch, ListPhase::settled, {}, {}, list, {}, terms};
  if (its.rank() >= settled.rank()) return false;
  const bool decided = its.phase == ListPhase::unsettled;
  if (decided && planted(Mutant::decided_record_kept)) return false;
  if (decided) {
    return its.epoch != settled.epoch || its.to != list || its.to_terms != settled.to_terms;
  }
  const NodeNames& was = its.phase == ListPhase::settled ? its.to : its.from;
  return its.epoch + 1 != settled.epoch || !is_member(was, its.name);
}

/// Whether this list may be ours by other names: each of our nodes that it does not have may be one
/// that ours does not have. A node that was restarted remembers its name, and another client's
/// candidate on a node that has forgotten everything is for the name that it will have.
bool Electorate::may_be_ours(const NodeNames& list, std::span<const NodeRecord> nodes) const {
  const NodeNames lacking = without(list, list_);
  const bool twice = std::ranges::adjacent_find(list_) != list_.end();
  if (lacking.empty() || list.size() != list_.size() || twice) return false;
  return std::ranges::all_of(nodes, [&](const NodeRecord& node) {
    if (is_member(list, name_of(node))) return true;
    if (node.membership) return false;
    if (node.remembered) return is_member(lacking, node.remembered->name);
    return node.unheard || std::ranges::any_of(lacking, [&](const std::string& name) {
             const Membership as{0, 0, ListPhase::settled, name, {}, list, {}, terms_};
             return node.candidate && node.candidate->digest == as.mark().digest;
           });
  });
}

/// The list of this membership that may be ours by other names; null if there is none.
const NodeNames* Electorate::perhaps_ours(const Membership& its,
                                          std::span<const NodeRecord> nodes) const {
  if (its.epoch_of(list_)) return nullptr;
  if (may_be_ours(its.to, nodes)) return &its.to;
  const bool serves_both = its.phase == ListPhase::announced;
  return serves_both && may_be_ours(its.from, nodes) ? &its.from : nullptr;
}

std::string Electorate::vouched_for_by_too_few() const {
  const Membership& as = likely_ ? *likely_ : *founded_.front();
  return "is vouched for by only " + std::to_string(stand_) + " of the " +
         std::to_string(as.vouchers_needed()) + " nodes that it takes: run quorumlock enroll";
}

/// Decides with which membership a node without a record may be enrolled.
void Electorate::admit(Ruling& its, const std::string& founding_waits) const {
  const std::string& name = its.founded->name;
  if (std::ranges::count(list_, name) > 1) {
    its.why_not = "is called " + name + ", as another of our nodes is: name each server once";
    return;
  }
  if (state_) {
    its.admitted = std::make_shared<Membership>(state_->for_node(name));
    its.vouched_for = true;
  } else if (likely_ && vouched_) {
    its.admitted = std::make_shared<Membership>(likely_->for_node(name));
  } else if (founds_ && (founding_waits.empty() || vouched_)) {
    its.admitted = its.founded;
  } else if (founds_) {
    its.why_not = founding_waits;
  } else if (likely_) {
    its.why_not = vouched_for_by_too_few();
  } else {
    its.why_not = "is vouched for by no node, since those that have a record refuse our list";
  }
}

/// Finds the nodes whose candidates were not seen since all of them had waited long enough.
void Electorate::look_together(std::span<const NodeRecord> nodes, std::vector<Ruling>& judged) {
  core::Time together{};
  for (const NodeRecord& node : nodes) {
    if (node.membership) continue;
    if (!node.ripe) return;
    together = std::max(together, node.ripe_since);
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    judged[i].to_look =
        !nodes[i].membership && nodes[i].seen < together && !planted(Mutant::seen_to_wait_once);
  }
}

/// The reason why the list cannot be founded yet; empty if there is none.
std::string Electorate::founding_waits_for(std::span<const NodeRecord> nodes,
                                           std::span<const Ruling> judged) {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const NodeRecord& node = nodes[i];
    if (node.membership) continue;  // it has this founding, see propose()
    if (!node.knows_groups) return std::string(nobody_vouches);
    if (!node.candidate || *node.candidate != founded_[i]->mark() || !node.ripe) {
      return "is enrolled anew once all nodes of the list have waited together, and " + node.name +
             " has not: bring it back, or run quorumlock enroll";
    }
  }
  if (std::ranges::any_of(judged, &Ruling::to_look)) {
    return "is enrolled anew once all nodes of the list have been seen to wait together";
  }
  if (std::ranges::any_of(nodes, has_record)) return {};
  waited_.clear();
  for (const NodeRecord& node : nodes) waited_.push_back(node.nonce);
  return {};
}

/// Whether this node has the candidate with which it waited together with all others, if the
/// founding has begun with a record of one of them.
bool Electorate::is_founder(std::span<const NodeRecord> nodes, std::size_t i) const {
  return std::ranges::none_of(nodes, has_record) ||
         (i < waited_.size() && nodes[i].nonce == waited_[i]) ||
         planted(Mutant::founded_beside_a_record);
}

}  // namespace quorumlock::redis
