#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/claim.hpp"

namespace quorumlock::core {

/// The claims of an engine, in O(1) each. One that is merely held, with nothing under way, can be
/// folded to a quarter of its size; whoever looks for it has it back as it was.
class Claims {
 public:
  explicit Claims(int nodes) : nodes_(nodes) {}

  ClaimId take(std::string_view key, std::string_view token);
  void give_back(ClaimId id);
  /// Null once it has been given back. Holds until it is folded.
  Claim* find(ClaimId id) {
    if (id.index >= size_) return nullptr;
    const Place& place = at_index(id.index);
    if (place.state == State::unused || place.generation != id.generation) return nullptr;
    return place.state == State::open ? &place.opened->claim : &unfold(id.index);
  }
  Claim& operator[](ClaimId id) { return open(id.index); }
  ClaimId at(std::uint32_t index) { return {index, at_index(index).generation}; }

  /// Folds it if it can be: a lease that has its user, on one lock, with no place in the line, and
  /// with no round and no answer out. Of its last round's votes nothing remains.
  void fold(ClaimId id);
  /// How many are not folded.
  [[nodiscard]] std::size_t open() const { return opened_.used(); }
  /// What a lease has shared with a claim, for the next one.
  void reuse(Names names);

  /// Calls fn(ClaimId) for each that is not folded; fn may give it back. O(the most ever open).
  template <class F>
  void for_each_open(F&& fn) {
    opened_.for_each([&](SlotId id) { fn(at(opened_[id].index)); });
  }
  /// Calls fn(ClaimId, NodeSet& standing) for each that is folded; fn may look for it. O(the most
  /// ever there).
  template <class F>
  void for_each_folded(F&& fn) {
    for (std::uint32_t index = 0; index < size_; ++index) {
      Place& place = at_index(index);
      if (place.state == State::folded) fn(at(index), place.kept.standing);
    }
  }
  /// Calls fn(ClaimId) for each; fn may give it back. O(the most ever there).
  template <class F>
  void for_each(F&& fn) {
    for (std::uint32_t index = 0; index < size_; ++index) {
      if (at_index(index).state != State::unused) fn(at(index));
    }
  }

 private:
  struct Opened {
    Claim claim;
    SlotId slot;  ///< its own in opened_
    std::uint32_t index = 0;  ///< of its place
  };
  /// What cannot be told from the rest.
  struct Folded {
    Time deadline, next_try, keys_die, hold_limit;
    std::uint64_t fence;
    UserId user;
    NodeSet may_hold, standing;
    int renewals;
    std::uint16_t round;
    std::uint8_t terms;  ///< in terms_
    bool told : 1, goes_on : 1, detached : 1, ordered : 1;
  };
  enum class State : std::uint8_t { unused, open, folded };
  struct Place {
    Place() : opened(nullptr) {}
    union {
      Opened* opened;
      Folded kept;
    };
    Names names;  ///< of a folded one
    std::uint32_t generation = 0;
    State state = State::unused;
  };
  static constexpr std::uint32_t chunk = 64;
  using Chunk = std::array<Place, chunk>;

  Place& at_index(std::uint32_t index) { return (*chunks_[index / chunk])[index % chunk]; }
  Claim& open(std::uint32_t index) {
    const Place& place = at_index(index);
    return place.state == State::folded ? unfold(index) : place.opened->claim;
  }
  Claim& unfold(std::uint32_t index);
  Claim& open_anew(std::uint32_t index);
  std::optional<std::uint8_t> number_of(const Terms& terms);

  int nodes_;
  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::uint32_t size_ = 0;  // places ever taken
  std::vector<std::uint32_t> free_;
  Slots<Opened> opened_;
  std::vector<Terms> terms_;  // all that folded claims ever had, up to as many as a byte counts
  std::vector<Names> spare_names_;
};

}  // namespace quorumlock::core
