#include "wire/pipeline.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "wire/back_off.hpp"

namespace quorumlock::redis {

using core::Time;

namespace {

/// After a node's first overdue command, further ones are reported in batches at this interval: a
/// node that stops with thousands of commands must not take a timer for each.
constexpr core::Duration batch_of_late = std::chrono::milliseconds(10);

}  // namespace

void Pipeline::hold(Time now, const core::Tag& tag, std::string_view bytes) {
  held_.emplace_back(bytes);
  add(now, tag);
}

std::vector<Pipeline::HeldBack> Pipeline::take_held() {
  std::vector<HeldBack> all;
  const std::size_t late = std::exchange(late_, 0);
  for (std::string& bytes : std::exchange(held_, {})) {
    all.push_back({commands_.pop(), std::move(bytes), all.size() < late});
  }
  return all;
}

void Pipeline::resume(const HeldBack& held) {
  commands_.push(held.command);
  if (held.late) ++late_;
}

void Pipeline::end() {
  held_.clear();
  late_ = 0;
}

Pipeline::Command Pipeline::next_overdue(Time now) {
  if (!is_stalled()) stalled_since_ = now;
  next_batch_ = now + batch_of_late;
  return commands_[late_++];
}

bool Pipeline::follows_idleness() const {
  return !empty() && commands_[0].sent >= heard_ + idle_may_be_forgotten;
}

Time Pipeline::deadline() const {
  Time due = core::never;
  if (is_stalled()) due = silent_since() + connect_timeout_;
  if (late_ == commands_.size()) return due;
  const Time overdue = overdue_at(commands_[late_]);
  return std::min(due, is_stalled() ? std::max(overdue, next_batch_) : overdue);
}

}  // namespace quorumlock::redis
