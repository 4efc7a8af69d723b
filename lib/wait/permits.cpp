#include "wait/permits.hpp"

#include <algorithm>
#include <functional>

namespace quorumlock::core {
namespace {

/// The most rounds of one attempt. Two rounds find a slot that is free on a quorum of nodes, unless
/// votes split.
constexpr int most_rounds = 8;

}  // namespace

OwnSlots& Permits::own(std::string_view key) {
  return own_[std::hash<std::string_view>{}(key) % own_.size()];
}

void Permits::begin(Acquisition& acquisition) {
  PermitSearch& search = *acquisition.permit;
  search.seen.begin(exchange_.nodes.numbers(), search.capacity);
  OwnSlots& own_slots = own(acquisition.key);
  search.slot = own_slots.left(search.capacity);
  if (search.slot == 0) {
    const auto any = static_cast<int>(exchange_.random.below(Duration(search.capacity)).count());
    search.slot = own_slots.unused(1 + any, search.capacity);
  }
}

int Permits::likely(Time now, Acquisition& acquisition) {
  return acquisition.permit->seen.likely(exchange_.nodes.voters(now),
                                         exchange_.nodes.majority().votes());
}

void Permits::choose(Time now, Acquisition& acquisition) {
  PermitSearch& search = *acquisition.permit;
  if (const int slot = likely(now, acquisition)) search.slot = slot;
  search.seen.forget(search.slot);  // the answers to this try replace what was known
  own(acquisition.key).use(search.slot);
}

bool Permits::may_try(Time now, Acquisition& acquisition) {
  PermitSearch& search = *acquisition.permit;
  const int slot = likely(now, acquisition);
  if (slot == 0) return false;
  const Config& config = exchange_.config;
  if (search.seen.free_votes(exchange_.nodes.voters(now), slot) >=
      exchange_.nodes.majority().votes())
    return true;
  if (now < search.guess_at) return false;
  search.guess_at = now + config.refresh_every() / (64 >> std::min(search.guesses++, 6));
  return true;
}

bool Permits::may_try_another(Time now, Acquisition& acquisition) {
  PermitSearch& search = *acquisition.permit;
  if (likely(now, acquisition) != 0 && ++search.rounds < most_rounds) return true;
  search.rounds = 0;
  search.seen.begin(exchange_.nodes.numbers(), search.capacity);
  return false;
}

}  // namespace quorumlock::core
