#include "lock/nodes.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "lock/counter_bound.hpp"
#include "lock/quorum.hpp"
#include "lock/tally.hpp"
#include "lock/validity.hpp"

namespace quorumlock::core {

Nodes::Nodes(const Config& config)
    : all_(NodeSet::first(config.nodes)),
      majority_(Majority::of(all_)),
      mistrust_for_(config.max_ttl + margin(config.max_ttl, config.drift_factor)),
      take_requests_(all_),
      take_releases_(take_requests_),
      connecting_(all_),
      clocks_(config.drift_factor, config.max_ttl),
      fencing_memory_(config.fencing_memory) {
  unavailable_because_.fill(Vote::unreachable);
  longest_ttl_.fill(Duration::max());
}

void Nodes::on_terms(Duration max_ttl, Duration fencing_memory) {
  mistrust_for_ = max_ttl + margin(max_ttl, clocks_.drift_factor());
  fencing_memory_ = fencing_memory;
}

void Nodes::add(int node) {
  const auto at = static_cast<std::size_t>(node);
  all_.add(node);
  majority_ = Majority::of(all_);
  asks_[at] = {};
  longest_ttl_[at] = Duration::max();
  unavailable_because_[at] = Vote::unreachable;
  clocks_.forget(node);
  mistrusted_.remove(node);
  merely_ahead_.remove(node);
  take_requests_.add(node);
  take_releases_.add(node);
  connecting_.add(node);
  find_max_ttl();
}

void Nodes::remove(int node) {
  all_.remove(node);
  list_changes_.remove(node);
  majority_ = Majority::of(all_);
  for (Majority& each : asks_) each.leave(node);
  // A vote of this node that is still to be read does not count.
  asks_[static_cast<std::size_t>(node)] = Majority::impossible();
  take_requests_.remove(node);
  take_releases_.remove(node);
  connecting_.remove(node);
}

void Nodes::on_link(int node, LinkState state, Vote reason) {
  if (!all_.contains(node)) return;  // it has been removed from the list
  unavailable_because_[static_cast<std::size_t>(node)] = reason;
  take_requests_.remove(node);
  take_releases_.remove(node);
  connecting_.remove(node);
  if (state == LinkState::connecting) connecting_.add(node);
  if (state == LinkState::connecting || state == LinkState::up) take_requests_.add(node);
  if (state != LinkState::down) take_releases_.add(node);
}

void Nodes::on_list(int node, const Record& record) {
  asks_[static_cast<std::size_t>(node)] = record.asks;
  longest_ttl_[static_cast<std::size_t>(node)] = record.longest_ttl;
  list_changes_.remove(node);
  if (record.changes) list_changes_.add(node);
  find_max_ttl();
}

void Nodes::find_max_ttl() {
  Duration longest{};
  for (const int node : all_) {
    NodeSet as_long;
    for (const int other : all_) {
      if (longest_ttl(other) >= longest_ttl(node)) as_long.add(other);
    }
    if (longest_ttl(node) > longest && wins(as_long)) longest = longest_ttl(node);
  }
  max_ttl_ = longest > Duration::zero() ? longest : Duration::max();
}

bool Nodes::wins(NodeSet yes) const {
  Tally votes;
  votes.begin(all_, majority_);
  for (const int node : yes) votes.record(node, Vote::granted, asks(node));
  return votes.granted() == Verdict::won;
}

NodeSet Nodes::voters(Time now) {
  for (const int node : mistrusted_) {
    if (now < mistrusted_until_[static_cast<std::size_t>(node)]) continue;
    mistrusted_.remove(node);
    merely_ahead_.remove(node);
  }
  return take_requests_ - mistrusted_;
}

bool Nodes::too_silent() const {
  int able = take_requests_.size();
  if (able >= majority_.votes()) return false;
  for (const int node : all_ - take_requests_) {
    const Vote reason = unavailable_because_[static_cast<std::size_t>(node)];
    if (reason == Vote::stalled || reason == Vote::unreachable) ++able;
  }
  return able >= majority_.votes();
}

Vote Nodes::why_not_asked(int node) const {
  if (take_requests_.contains(node)) return Vote::clock_jumped;
  return unavailable_because_[static_cast<std::size_t>(node)];
}

std::optional<Nodes::Finding> Nodes::judge_clock(Time now, int node, Time asked,
                                                 std::int64_t node_time) {
  const std::optional<Duration> beyond = clocks_.sample(node, asked, now, node_time);
  if (!beyond) return std::nullopt;
  NodeSet ahead;
  if (*beyond > Duration::zero()) ahead = clocks_.ahead_with(node);
  if (ahead.size() >= majority_.votes() && !planted(Mutant::nodes_blamed)) {
    return trust_again(now, ahead, *beyond);
  }
  return mistrust(now, node, *beyond);
}

ClockJumped Nodes::mistrust(Time now, int node, Duration beyond) {
  const Time until = now + mistrust_for_;
  voters(now);
  if (beyond <= Duration::zero()) {
    merely_ahead_.remove(node);
  } else if (!mistrusted_.contains(node)) {
    merely_ahead_.add(node);
  }
  mistrusted_.add(node);
  mistrusted_until_[static_cast<std::size_t>(node)] = until;
  return {node, beyond, until};
}

/// A quorum of nodes has been ahead of us since one and the same moment, so our clock is wrong, and
/// the nodes' clocks are not.
ClockStood Nodes::trust_again(Time now, NodeSet ahead, Duration beyond) {
  const NodeSet trusted = merely_ahead_ & ahead;
  mistrusted_ = mistrusted_ - trusted;
  merely_ahead_ = merely_ahead_ - trusted;
  clocks_.restart(now);
  return {ahead, trusted, beyond};
}

Vote Nodes::counted(Time now, int node, Vote vote) {
  if (!mistrusted_.contains(node) || vote != Vote::granted) return vote;
  voters(now);
  return mistrusted_.contains(node) ? Vote::clock_jumped : vote;
}

std::uint64_t Nodes::counts_up_to(Time now, std::uint64_t number) const {
  const std::int64_t wall = microseconds_of(now) + wall_ahead_;
  const std::uint64_t by_wall = core::counts_up_to(wall, {}, 1, fencing_memory_);
  if (number <= by_wall) return by_wall;
  std::vector<std::int64_t> times;
  for (const int node : all_) times.push_back(clocks_.at_least(now, node, Duration::max()));
  return core::counts_up_to(wall, std::move(times), least_that_knows(), fencing_memory_);
}

void Nodes::saw_time(Time now, std::int64_t node_time) {
  if (node_time <= 0 || node_time >= (std::int64_t{1} << 52U)) return;
  const std::int64_t ahead = node_time - microseconds_of(now);
  ahead_ = std::max(ahead_.value_or(ahead), ahead);
}

std::uint64_t Nodes::ticket_clock(Time now) const {
  if (!ahead_) return 1;
  const std::int64_t us = microseconds_of(now) + *ahead_;
  return us < 1 ? 1 : std::min(static_cast<std::uint64_t>(us), last_ticket);
}

}  // namespace quorumlock::core
