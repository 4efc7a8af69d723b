#include "loop/event_limit.hpp"

#include <algorithm>
#include <utility>

namespace quorumlock::detail {

using core::Time;

bool EventLimit::admits(Time now, int node, Event& event) {
  Window& its = windows_[{node, event.kind}];
  if (its.kept) {
    event.left_out = its.kept->left_out + 1;
    its.kept = std::move(event);
    return false;
  }
  if (its.passed == 0 || now >= its.begin + window_of(node)) {
    its.begin = now;
    its.passed = 0;
  }
  if (its.passed < most) {
    ++its.passed;
    return true;
  }
  its.kept = std::move(event);
  due_ = std::min(due_, its.begin + window_of(node));
  return false;
}

bool EventLimit::leaves_out(EventKind kind) {
  const auto found = windows_.find({no_node, kind});
  if (found == windows_.end() || !found->second.kept) return false;
  ++found->second.kept->left_out;
  return true;
}

std::optional<Event> EventLimit::next(Time now) {
  if (now < due_) return std::nullopt;
  for (auto& [key, its] : windows_) {
    if (!its.kept || now < its.begin + window_of(key.first)) continue;
    its.begin += window_of(key.first);
    its.passed = 1;
    std::optional<Event> event = std::exchange(its.kept, std::nullopt);
    find_due();
    return event;
  }
  return std::nullopt;
}

void EventLimit::find_due() {
  due_ = core::never;
  for (const auto& [key, its] : windows_) {
    if (its.kept) due_ = std::min(due_, its.begin + window_of(key.first));
  }
}

}  // namespace quorumlock::detail
