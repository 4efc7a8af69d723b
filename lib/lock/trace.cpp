#include "lock/trace.hpp"

namespace quorumlock::core {

void Trace::add(const Step& step) {
  if (steps_.size() == most) {
    Step& gap = steps_[first];
    if (gap.kind != TraceKind::left_out)
      gap = {gap.at, TraceKind::left_out, gap.attempt, -1, {}, 1};
    gap.count += dropped_at_once;
    const auto from = steps_.begin() + first + 1;
    steps_.erase(from, from + dropped_at_once);
  }
  steps_.push_back(step);
}

}  // namespace quorumlock::core
