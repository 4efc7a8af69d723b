#include "core/claims.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

namespace quorumlock::core {

ClaimId Claims::take(std::string_view key, std::string_view token) {
  const ClaimId id = places_.take();
  Claim& claim = open_anew(places_[id], id);
  if (!spare_names_.empty()) {
    claim.names = std::move(spare_names_.back());
    spare_names_.pop_back();
  }
  claim.names.assign(key, token);
  return id;
}

void Claims::give_back(ClaimId id) {
  Place& place = places_[id];
  reuse(std::move(open(place, id).names));
  opened_.give_back(place.opened->slot);
  places_.give_back(id);
}

void Claims::reuse(Names names) {
  constexpr std::size_t most = 4096;
  if (names.empty() || names.shared() || spare_names_.size() == most) return;
  spare_names_.push_back(std::move(names));
}

Claim& Claims::open_anew(Place& place, ClaimId id) {
  const SlotId slot = opened_.take();
  Opened& opened = opened_[slot];
  std::destroy_at(&opened.claim);
  std::construct_at(&opened.claim);
  opened.id = id;
  opened.slot = slot;
  place.opened = &opened;
  return opened.claim;
}

void Claims::fold(ClaimId id) {
  Place* const place = places_.find(id);
  if (place == nullptr || place->is_folded()) return;
  Opened& opened = *place->opened;
  Claim& claim = opened.claim;
  const bool idle = claim.phase == Phase::held && claim.user != 0 && !claim.round_open &&
                    !claim.asked_for && claim.unanswered == 0;
  const bool plain = !claim.by_token && claim.others == nullptr && claim.capacity == 0 &&
                     claim.place == 0 && claim.not_woken == 0 && claim.ballot == SlotId() &&
                     claim.waiter == WaiterId() && claim.longest_ttl == claim.terms.ttl;
  if (!idle || !plain) return;
  const std::optional<std::uint8_t> terms = number_of(claim.terms);
  if (!terms) return;
  place->names = std::move(claim.names);
  place->kept = {claim.deadline, claim.next_try, claim.keys_die, claim.hold_limit, claim.fence,
                 claim.user,     claim.may_hold, claim.standing, claim.renewals,   claim.round,
                 *terms,         claim.told,     claim.goes_on,  claim.detached,   claim.ordered};
  opened_.give_back(opened.slot);
}

Claim& Claims::unfold(Place& place, ClaimId id) {
  const Folded kept = place.kept;
  Claim& claim = open_anew(place, id);
  claim.phase = Phase::held;
  claim.won = true;
  claim.names = std::move(place.names);
  claim.deadline = kept.deadline;
  claim.next_try = kept.next_try;
  claim.keys_die = kept.keys_die;
  claim.hold_limit = kept.hold_limit;
  claim.fence = claim.fence_noted = kept.fence;
  claim.user = kept.user;
  claim.may_hold = kept.may_hold;
  claim.standing = kept.standing;
  claim.renewals = kept.renewals;
  claim.round = kept.round;
  claim.terms = terms_[kept.terms];
  claim.longest_ttl = claim.terms.ttl;
  claim.told = kept.told;
  claim.goes_on = kept.goes_on;
  claim.detached = kept.detached;
  claim.ordered = kept.ordered;
  claim.tally.begin(nodes_);
  return claim;
}

/// The index of these terms for a folded claim, unset if they do not fit in a byte any more. A
/// linear search will do, since leases mostly share one or two different terms.
std::optional<std::uint8_t> Claims::number_of(const Terms& terms) {
  const auto found = std::find(terms_.begin(), terms_.end(), terms);
  if (found == terms_.end()) {
    if (terms_.size() > std::numeric_limits<std::uint8_t>::max()) return std::nullopt;
    terms_.push_back(terms);
    return static_cast<std::uint8_t>(terms_.size() - 1);
  }
  return static_cast<std::uint8_t>(found - terms_.begin());
}

}  // namespace quorumlock::core
