#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/claim.hpp"

namespace quorumlock::core {

/// The claims of an engine, in O(1) each. A claim that is merely held, with nothing under way, can
/// be folded to a quarter of its size; any access unfolds it again.
class Claims {
 public:
  /// `nodes` are those of the list, which may change.
  explicit Claims(const NodeSet& nodes) : nodes_(nodes) {}

  ClaimId take(std::string_view key, std::string_view token);
  void give_back(ClaimId id);
  /// Returns null once the claim has been given back. The pointer is valid until the claim is
  /// folded.
  Claim* find(ClaimId id) {
    Place* const place = places_.find(id);
    return place == nullptr ? nullptr : &open(*place, id);
  }
  Claim& operator[](ClaimId id) { return open(places_[id], id); }
  ClaimId at(std::uint32_t index) { return places_.at(index); }

  /// Folds the claim if it is a lease that has its user, on one lock, with no place in the line and
  /// no round or answer out. The votes of its last round are dropped.
  void fold(ClaimId id);
  /// The number of claims that are not folded.
  [[nodiscard]] std::size_t open() const { return opened_.used(); }
  /// Keeps the names that a lease has shared with its claim, for the next claim.
  void reuse(Names names);

  /// Calls fn(ClaimId) for each unfolded claim; fn may give it back. O(the most ever open).
  template <class F>
  void for_each_open(F&& fn) {
    opened_.for_each([&](SlotId slot) { fn(opened_[slot].id); });
  }
  /// Calls fn(ClaimId, NodeSet& footprint, NodeSet& standing) for each folded claim; fn may unfold
  /// it. O(the most claims ever).
  template <class F>
  void for_each_folded(F&& fn) {
    places_.for_each([&](ClaimId id) {
      if (!places_[id].is_folded()) return;
      fn(id, places_[id].kept.footprint, places_[id].kept.standing);
    });
  }
  /// Calls fn(ClaimId) for each claim; fn may give it back. O(the most claims ever).
  template <class F>
  void for_each(F&& fn) {
    places_.for_each(fn);
  }

 private:
  struct Opened {
    Claim claim;
    ClaimId id;
    SlotId slot;  ///< its own id in opened_
  };
  /// The fields of a folded claim that unfold() cannot reconstruct.
  struct Folded {
    Time deadline, next_try, gone_at, limit;
    std::uint64_t fence;
    UserId user;
    NodeSet footprint, standing;
    int renewals;
    std::uint16_t round;
    std::uint8_t terms;  ///< index into terms_
    bool told : 1, goes_on : 1, detached : 1, ordered : 1;
  };
  struct Place {
    Place() : opened(nullptr) {}
    [[nodiscard]] bool is_folded() const { return !names.empty(); }
    Names names;  ///< names of a folded claim; an open claim holds its own
    union {
      Opened* opened;
      Folded kept;
    };
  };
  static_assert(sizeof(Place) <= 72);  // docs/architecture.md

  Claim& open(Place& place, ClaimId id) {
    if (place.is_folded()) [[unlikely]]
      return unfold(place, id);
    return place.opened->claim;
  }
  Claim& unfold(Place& place, ClaimId id);
  Claim& open_anew(Place& place, ClaimId id);
  std::optional<std::uint8_t> number_of(const Terms& terms);

  const NodeSet& nodes_;
  Slots<Place> places_;
  Slots<Opened> opened_;
  std::vector<Terms> terms_;  // all terms that folded claims ever had, at most 256
  std::vector<Names> spare_names_;
};

}  // namespace quorumlock::core
