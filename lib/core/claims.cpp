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
  const Held& held = claim.held;
  const bool idle = claim.phase == Phase::held && held.user != 0 && !claim.round.is_open() &&
                    !claim.asked_for && claim.footprint.unanswered == 0;
  const bool plain = !claim.by_token && claim.others == nullptr && claim.permit.capacity == 0 &&
                     claim.entry.place == 0 && claim.entry.not_woken == 0 &&
                     claim.fencing.ballot == SlotId() && claim.waiter == WaiterId() &&
                     claim.footprint.longest_ttl == claim.terms.ttl;
  if (!idle || !plain) return;
  const std::optional<std::uint8_t> terms = number_of(claim.terms);
  if (!terms) return;
  place->names = std::move(claim.names);
  place->kept = {.deadline = claim.deadline,
                 .next_try = claim.next_try,
                 .gone_at = claim.footprint.gone_at,
                 .limit = held.limit,
                 .fence = claim.fencing.number,
                 .user = held.user,
                 .footprint = claim.footprint.nodes,
                 .standing = held.standing,
                 .renewals = held.renewals,
                 .round = claim.round.number(),
                 .terms = *terms,
                 .told = held.told,
                 .goes_on = held.goes_on,
                 .detached = held.detached,
                 .ordered = claim.entry.ordered};
  opened_.give_back(opened.slot);
}

Claim& Claims::unfold(Place& place, ClaimId id) {
  const Folded kept = place.kept;
  Claim& claim = open_anew(place, id);
  claim.phase = Phase::held;
  claim.names = std::move(place.names);
  claim.round.resume(kept.round, nodes_);
  claim.terms = terms_[kept.terms];
  claim.deadline = kept.deadline;
  claim.next_try = kept.next_try;
  claim.fencing.number = claim.fencing.noted = kept.fence;
  claim.footprint.nodes = kept.footprint;
  claim.footprint.gone_at = kept.gone_at;
  claim.footprint.longest_ttl = claim.terms.ttl;
  claim.entry.ordered = kept.ordered;
  claim.held = {.user = kept.user,
                .standing = kept.standing,
                .renewals = kept.renewals,
                .limit = kept.limit,
                .won = true,
                .told = kept.told,
                .goes_on = kept.goes_on,
                .detached = kept.detached};
  return claim;
}

/// The index of these terms for a folded claim, unset if the index does not fit in a byte any more.
/// A linear search will do, since leases mostly share one or two different terms.
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
