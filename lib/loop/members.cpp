#include "loop/members.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "loop/session.hpp"

namespace quorumlock::detail {

using core::Time;

void Members::vouch(Time now) {
  electorate_.vouch();
  judge(now);
}

/// Decides which nodes vote for our list, and tells all links what that means for their nodes.
void Members::judge(Time now) {
  using redis::Enrolment;
  std::vector<redis::Electorate::Node> nodes;
  Enrolment::Others others;
  names_.resize(static_cast<std::size_t>(session_.nodes()));
  for (int number = 0; number < session_.nodes(); ++number) {
    const redis::Link& link = session_.link(number);
    const Enrolment& its = link.enrolment();
    redis::Electorate::Node& node = nodes.emplace_back();
    std::string& name = names_[static_cast<std::size_t>(number)];
    if (its.standing() == Enrolment::Standing::enrolled && !link.barred()) {
      name = its.membership().name;
    }
    node.name = name.empty() ? its.config().node : name;
    node.knows_groups = its.knows_groups();
    if (link.barred()) continue;
    node.expected = link.is_first() && its.standing() != Enrolment::Standing::enrolled;
    node.candidate = its.candidate();
    node.ripe = its.ripe();
    if (its.standing() != Enrolment::Standing::enrolled) continue;
    node.membership = its.membership();
    others.policy = its.policy();
    ever_enrolled_ = true;
  }
  std::vector<redis::Electorate::Judgement> judged = electorate_.judge(nodes);
  doubt_the_minority(now, nodes, judged);
  others.ever = ever_enrolled_;
  others.founds = electorate_.founds();
  others.begun = electorate_.begun();
  for (int node = 0; node < session_.nodes(); ++node) {
    redis::Electorate::Judgement& its = judged[static_cast<std::size_t>(node)];
    redis::Link& link = session_.link(node);
    others.founded = std::move(its.founded);
    others.admitted = std::move(its.admitted);
    others.why_not = std::move(its.why_not);
    others.outdated = its.outdated;
    if (its.says != core::Majority()) session_.engine().on_list(node, its.says);
    if (its.undecided && link.is_first()) {
      link.follow_undecided(now, others);
    } else {
      link.follow(now, others, its.refusal, its.vote);
    }
    session_.touched(node);
  }
}

/// If the nodes that vote are too few, and another node has a record that contradicts theirs or has
/// nobody to vouch for it, theirs may be out of date: they are read again, at most once a second.
void Members::doubt_the_minority(Time now, const std::vector<redis::Electorate::Node>& nodes,
                                 const std::vector<redis::Electorate::Judgement>& judged) {
  const std::vector<int>& voters = electorate_.vouchers();
  doubt_due_ = core::never;
  if (voters.empty()) return;
  const redis::Membership& any = *nodes[static_cast<std::size_t>(voters.front())].membership;
  if (static_cast<int>(voters.size()) >= any.votes_needed()) return;
  bool contradicted = false;
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    contradicted = contradicted || !judged[node].refusal.empty() ||
                   (nodes[node].ripe && !nodes[node].membership && !judged[node].admitted);
  }
  if (!contradicted) return;
  doubt_due_ = std::max(now, last_doubt_ + std::chrono::seconds(1));
  if (now < doubt_due_) return;
  last_doubt_ = now;
  for (const int node : voters) session_.doubt(now, node);
}

}  // namespace quorumlock::detail
