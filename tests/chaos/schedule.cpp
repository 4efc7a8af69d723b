#include "chaos/schedule.hpp"

#include <algorithm>

namespace quorumlock::chaos {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

/// Exclusion is not demanded for a while after a fault beyond the assumptions, so they are few.
constexpr std::size_t within_for_each_beyond = 3;
/// How soon a fault that found no target is tried again.
constexpr Clock::duration another_try = 10ms;
/// How soon a fault that was not over is looked at again.
constexpr Clock::duration another_look = 20ms;

std::string place_of(const FaultSpan& span) {
  return (span.of_worker ? "worker " : "node ") + std::to_string(span.target + 1);
}

}  // namespace

Schedule::Schedule(World world, const Faults& faults, Clock::duration quarantine, Say say)
    : world_(world), quarantine_(quarantine), say_(std::move(say)) {
  nodes_.targets = list_.targets = world.nodes.size();
  nodes_.at_once = list_.at_once = (static_cast<int>(world.nodes.list().size()) - 1) / 2;
  nodes_.least_pause = 50;
  nodes_.most_pause = 800;
  list_.least_pause = 500;
  list_.most_pause = 5000;
  workers_.targets = world.workers.size();
  workers_.at_once = std::max(1, workers_.targets / 3);
  workers_.least_pause = 100;
  workers_.most_pause = 1500;
  for (const auto& fault : faults) {
    const FaultTraits& traits = fault->traits();
    (traits.of_worker ? workers_ : traits.of_list ? list_ : nodes_).faults.push_back(fault.get());
  }
  nodes_.next = list_.next = workers_.next = Clock::now() + 500ms;
}

Time Schedule::step() {
  Time next = Time::max();
  for (Lane* lane : {&nodes_, &list_, &workers_}) {
    for (Active& each : lane->active) {
      if (each.healed || each.heal_at > Clock::now()) continue;
      if (each.fault->is_over(world_, each.target)) {
        heal(each);
      } else {
        each.heal_at = Clock::now() + another_look;
      }
    }
    const Time now = Clock::now();
    for (Active& each : lane->active) {
      const bool due = each.healed && each.free_at <= now;
      if (due && !votes_again(each)) each.free_at = now + another_look;
    }
    std::erase_if(lane->active,
                  [&](const Active& each) { return each.healed && each.free_at <= now; });
    if (!lane->faults.empty() && lane->next <= now) {
      const bool made = make_one(*lane);
      const milliseconds pause(between(world_.random, lane->least_pause, lane->most_pause));
      lane->next = Clock::now() + (made ? Clock::duration(pause) : another_try);
    }
    if (!lane->faults.empty()) next = std::min(next, lane->next);
    for (const Active& each : lane->active) {
      next = std::min(next, each.healed ? each.free_at : each.heal_at);
    }
  }
  return next;
}

/// A node that was restarted has no vote before a client has enrolled it anew; and a node that
/// missed a step of a change has none before it has made that step. Both take longer on a busy
/// machine. Two such nodes in addition to one that is being replaced are too many for a list of
/// five.
bool Schedule::votes_again(const Active& active) {
  const int node = active.target;
  if (active.fault->traits().of_worker || !world_.nodes.in_list(node)) return true;
  const std::optional<long long> made = world_.nodes.steps_made(node);
  if (!made) return false;
  return std::ranges::none_of(world_.nodes.list(), [&](int other) {
    const auto is_there = [other](const Active& each) { return each.target == other; };
    const bool frozen = std::ranges::any_of(nodes_.active, is_there);
    return other != node && !frozen && world_.nodes.steps_made(other) > made;
  });
}

std::vector<const Schedule::Active*> Schedule::broken(const Lane& lane) const {
  std::vector<const Active*> all;
  for (const Lane* other : {&nodes_, &list_, &workers_}) {
    if ((other == &workers_) != (&lane == &workers_)) continue;
    for (const Active& each : other->active) all.push_back(&each);
  }
  return all;
}

bool Schedule::make_one(Lane& lane) {
  const std::vector<const Active*> others = broken(lane);
  if (static_cast<int>(others.size()) >= lane.at_once) return false;
  const auto wants_to_be_alone = [](const Active* each) {
    return each->fault->traits().alone && !each->healed;
  };
  if (std::ranges::any_of(others, wants_to_be_alone)) return false;
  if (&lane == &list_) {
    if (!lane.active.empty()) return false;
    const bool another_waits = !nodes_.bag.empty() && nodes_.bag.front()->traits().alone;
    if (another_waits) return false;
  }
  if (lane.bag.empty()) {
    for (Fault* fault : lane.faults) {
      const bool within = fault->traits().assumption == Assumption::within;
      lane.bag.insert(lane.bag.end(), within ? within_for_each_beyond : 1, fault);
    }
    std::ranges::shuffle(lane.bag, world_.random);
  }
  // A fault that must be alone would wait for ever while other faults are made.
  if (lane.bag.front()->traits().alone && !others.empty()) return false;
  for (auto fault = lane.bag.begin(); fault != lane.bag.end(); ++fault) {
    if (!make(lane, **fault)) continue;
    lane.bag.erase(fault);
    return true;
  }
  return false;
}

bool Schedule::make(Lane& lane, Fault& fault) {
  const std::vector<const Active*> others = broken(lane);
  if (fault.traits().alone && !others.empty()) return false;
  std::vector<int> targets;
  for (int target = 0; target < lane.targets; ++target) {
    const bool spare = &lane != &workers_ && !world_.nodes.in_list(target);
    const bool taken =
        std::ranges::any_of(others, [&](const Active* each) { return each->target == target; });
    if (!taken && !spare && fault.available(world_, target)) targets.push_back(target);
  }
  if (targets.empty()) return false;
  const FaultTraits& traits = fault.traits();
  const int target = targets[world_.random() % targets.size()];
  const milliseconds lasts(between(world_.random, static_cast<int>(traits.least.count()),
                                   static_cast<int>(traits.most.count())));
  FaultSpan span;
  span.name = traits.name;
  span.assumption = traits.assumption;
  span.of_worker = traits.of_worker;
  span.target = target;
  span.stops_worker = traits.stops_worker;
  span.begin = Clock::now();
  spans_.push_back(span);
  spans_.back().detail = fault.inject(world_, target);
  const std::string& detail = spans_.back().detail;
  say_(place_of(span) + ": " + span.name + (detail.empty() ? "" : " (" + detail + ")"));
  lane.active.push_back({&fault, target, spans_.size() - 1, Clock::now() + lasts, {}, false});
  if (lasts == 0ms) heal(lane.active.back());
  return true;
}

void Schedule::heal(Active& active) {
  active.fault->heal(world_, active.target);
  active.healed = true;
  FaultSpan& span = spans_[active.span];
  span.end = Clock::now();
  const FaultTraits& traits = active.fault->traits();
  active.free_at = *span.end + (traits.forgets ? quarantine_ : 0s);
  if (traits.most > 0ms) say_(place_of(span) + ": " + span.name + " is over");
}

void Schedule::heal_all() {
  for (Lane* lane : {&nodes_, &workers_, &list_}) {
    lane->faults.clear();
    for (Active& each : lane->active) {
      if (!each.healed) heal(each);
    }
    lane->active.clear();
  }
}

std::string Schedule::now_broken() const {
  std::string words;
  for (const Lane* lane : {&nodes_, &list_, &workers_}) {
    for (const Active& each : lane->active) {
      if (each.healed) continue;
      words += (words.empty() ? "" : ", ") + place_of(spans_[each.span]) + " " +
               each.fault->traits().name;
    }
  }
  return words.empty() ? "nothing" : words;
}

}  // namespace quorumlock::chaos
