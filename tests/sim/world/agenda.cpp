#include "sim/world/agenda.hpp"

#include <algorithm>

namespace quorumlock::sim {

void Agenda::at(TrueTime when, Action&& action) {
  std::size_t place = actions_.size();
  if (free_places_.empty()) {
    actions_.push_back(std::move(action));
  } else {
    place = free_places_.back();
    free_places_.pop_back();
    actions_[place] = std::move(action);
  }
  events_.push({std::max(when, now_), ++events_planned_, place});
}

void Agenda::run_until(TrueTime end) {
  while (!events_.empty() && events_.top().when <= end && !stopped_) {
    now_ = events_.top().when;
    const std::size_t place = events_.top().action;
    events_.pop();
    const Action action = std::exchange(actions_[place], {});
    free_places_.push_back(place);
    action();
  }
  now_ = std::max(now_, end);
}

}  // namespace quorumlock::sim
