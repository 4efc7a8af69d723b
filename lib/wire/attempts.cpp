#include "wire/attempts.hpp"

#include <chrono>
#include <utility>

#include "wire/back_off.hpp"

namespace quorumlock::redis {

using core::Time;

namespace {

/// The time after which the same failure to connect is news again. Attempts at a node that is down
/// fail about 1.5 times a second, mostly for the same reason.
constexpr core::Duration between_news = std::chrono::minutes(1);

}  // namespace

void Attempts::begin(Time now) {
  next_ = core::never;
  give_up_ = now + connect_timeout_;
}

void Attempts::succeed(Time now) {
  ++connections_;
  first_ = false;
  give_up_ = core::never;
  up_since_ = now;
  failures_ = 0;
}

bool Attempts::fail(Time now, const std::string& why) {
  ++failures_;
  if (failures_ > 1 && why == last_news_ && now < next_news_) return false;
  last_news_ = why;
  next_news_ = now + between_news;
  return true;
}

void Attempts::end(Time now) {
  first_ = false;
  give_up_ = core::never;
  const Time up_since = std::exchange(up_since_, core::never);
  if (up_since != core::never && now >= up_since + longest_back_off) forgive();
  back_off_ = std::clamp(2 * back_off_, first_back_off, longest_back_off);
  next_ = now + back_off_ / 2 + random_.below(back_off_ / 2);
}

}  // namespace quorumlock::redis
