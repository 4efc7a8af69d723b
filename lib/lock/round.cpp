#include "lock/round.hpp"

#include <algorithm>

namespace quorumlock::core {
namespace {

/// A random distance from the number that others may ask for. Readers that come together would keep
/// choosing the same numbers, so the range doubles each time they collide.
std::uint64_t apart(Ballot& ballot, Random& random) {
  const int most = 8 << std::min(ballot.met(), 12);
  return static_cast<std::uint64_t>(random.below(Duration(most)).count());
}

/// The nodes whose votes say that our options, or our list of nodes, are not theirs.
NodeSet contradicting(const Tally& tally) {
  NodeSet nodes;
  for (const int node : tally.nodes()) {
    switch (tally.vote(node)) {
      case Vote::max_ttl_differs:
      case Vote::groups_differ:
      case Vote::terms_differ:
      case Vote::nodes_differ:
      case Vote::same_server: nodes.add(node); break;
      default: break;
    }
  }
  return nodes;
}

}  // namespace

void Round::open(Time now, Duration ttl, NodeSet nodes, Majority own) {
  if (++number_ == uncounted) ++number_;
  open_ = true;
  start_ = now;
  ttl_ = ttl;
  tally.begin(nodes, own);
}

bool Round::count(const Ballot::Said& answer, bool reads, Ballot* ballot, Random& random) {
  const int node = answer.node;
  const bool granted = answer.vote == Vote::granted;
  const bool raise = answer.kind == CommandKind::raise;
  if (ballot != nullptr) {
    ballot->saw(answer.fence);
    if (granted) ballot->vote(node, answer.fence);
    if (raise) ballot->answered(node);
  }
  if (raise) {
    // A counter that is as high already is not a vote for this number, and none against the lock
    // either: a greater number will do.
    if (answer.vote != Vote::held) {
      tally.record(node, answer.vote, answer.asks);
    } else if (ballot != nullptr) {
      ballot->refused(node, answer.fence);
      ballot->saw(answer.fence + 1 + (reads ? apart(*ballot, random) : 0));
    }
    return false;
  }
  if (tally.vote(node) == Vote::granted) return false;
  tally.record(node, answer.vote, answer.asks);
  return granted && tally.vote(node) == Vote::granted;
}

bool Round::late(int node, CommandKind kind, Ballot* ballot) {
  const bool raising =
      kind == CommandKind::raise && ballot != nullptr && ballot->raising().contains(node);
  if (raising) {
    ballot->answered(node);
  } else if (tally.vote(node) != Vote::pending) {
    return false;
  }
  tally.record(node, Vote::timed_out);
  return true;
}

Round::Fence Round::judge_fence(Ballot& ballot) const {
  const NodeSet granted = tally.granted_by();
  const std::uint64_t wanted = ballot.target() != 0 ? ballot.target() : ballot.most_common(granted);
  if (planted(Mutant::greatest_without_a_raise)) return {true, ballot.greatest(), {}};
  if (tally.wins(ballot.standing_for(wanted, granted))) return {true, wanted, {}};
  const NodeSet idle = granted - ballot.raising();
  if (planted(Mutant::silent_node_waited_for) && idle != granted) return {false, wanted, {}};
  if (ballot.target() == 0 || tally.wins(idle)) ballot.raise_target();
  const NodeSet to_raise = ballot.to_ask(granted);
  ballot.ask(to_raise);
  return {false, ballot.target(), to_raise};
}

Time Round::patient_until(Time now) const {
  return later(now, std::max<Duration>(std::chrono::milliseconds(5), 3 * (now - start_)));
}

bool may_be_misconfigured(const Tally& tally) {
  const NodeSet theirs = contradicting(tally);
  return !theirs.empty() && tally.leaves_no_quorum(theirs | tally.pending()) &&
         why_unreached(tally) == Errc::no_quorum;
}

Verdict reached(const Tally& tally) {
  const Verdict so_far = tally.reached();
  return so_far == Verdict::lost && may_be_misconfigured(tally) ? Verdict::pending : so_far;
}

Errc why_unreached(const Tally& tally) {
  for (const int node : tally.nodes()) {
    if (tally.vote(node) == Vote::capacity_differs) return Errc::misconfigured;
  }
  return tally.leaves_no_quorum(contradicting(tally)) ? Errc::misconfigured : Errc::no_quorum;
}

}  // namespace quorumlock::core
