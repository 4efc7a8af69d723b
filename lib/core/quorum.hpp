#pragma once

#include <compare>
#include <cstdint>
#include <type_traits>

#include "core/mutants.hpp"

namespace quorumlock::core {

/// The verdict of a round of votes.
enum class Verdict {
  pending,  ///< the answers still out decide
  won,      ///< a quorum said yes, whatever the others will say
  lost,     ///< no quorum can say yes any more
};

/// The majority of the configured nodes, never of the connected ones: two majorities always share
/// a node, and that node grants to one.
constexpr int quorum_of(int nodes) {
  if (!std::is_constant_evaluated() && planted(Mutant::quorum_minus_one) && nodes > 1) {
    return nodes / 2;
  }
  return nodes / 2 + 1;
}

/// Decided as soon as it is certain, so that an even split settles.
constexpr Verdict verdict(int needed, int yes, int pending) {
  if (yes >= needed) return Verdict::won;
  if (yes + pending < needed) return Verdict::lost;
  return Verdict::pending;
}

/// What a node says of the list of nodes that it votes for: which list it is, as a number that
/// grows with each change, and how many votes a lock needs. Of two, the greater one has the newer
/// list or, for the same list, needs more votes.
class Majority {
 public:
  constexpr Majority() = default;
  constexpr Majority(std::uint64_t list, int votes)
      : bits_(list << 8U | static_cast<std::uint64_t>(votes)) {}
  [[nodiscard]] constexpr std::uint64_t list() const { return bits_ >> 8U; }
  [[nodiscard]] constexpr int votes() const { return static_cast<int>(bits_ & 0xffU); }
  constexpr auto operator<=>(const Majority&) const = default;

 private:
  std::uint64_t bits_ = 0;  // one number, since each vote compares it
};

}  // namespace quorumlock::core
