#include "redis/attempts.hpp"

#include <chrono>
#include <utility>

#include "redis/back_off.hpp"

namespace quorumlock::redis {

using core::Time;

namespace {

/// The time between two log lines about the same failure to connect. Attempts at a node that is
/// down fail about 1.5 times a second, mostly for the same reason.
constexpr core::Duration between_notes = std::chrono::minutes(1);

}  // namespace

void Attempts::begin(Time now) {
  next_ = core::never;
  give_up_ = now + connect_timeout_;
}

std::string Attempts::succeed() {
  ++connections_;
  first_ = false;
  give_up_ = core::never;
  back_off_ = core::Duration::zero();
  const int failures = std::exchange(failures_, 0);
  if (failures == 0) return "connected";
  return "connected after " + std::to_string(failures) + " failed attempts";
}

std::optional<std::string> Attempts::note_failure(Time now, const std::string& why) {
  ++failures_;
  if (failures_ > 1 && why == noted_ && now < next_note_) return std::nullopt;
  noted_ = why;
  next_note_ = now + between_notes;
  return "no connection: " + why +
         (failures_ == 1 ? "" : " (" + std::to_string(failures_) + " attempts so far)");
}

void Attempts::end(Time now) {
  first_ = false;
  give_up_ = core::never;
  back_off_ = std::clamp(2 * back_off_, first_back_off, longest_back_off);
  next_ = now + back_off_ / 2 + random_.below(back_off_ / 2);
}

}  // namespace quorumlock::redis
