#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <quorumlock/clock.hpp>
#include <quorumlock/outcome.hpp>

#include "stock.hpp"

namespace flash_sale {

/// What became of one buyer.
struct Visit {
  Buyer buyer;
  int phone = 0;                         ///< the one bought; 0: left empty-handed
  bool failed = false;                   ///< neither: `note` says why
  quorumlock::Clock::duration waited{};  ///< for the lock
  /// In the shop. One clock for all processes of a machine, so that visits can be compared.
  quorumlock::Clock::time_point entered{}, left{};
  std::vector<quorumlock::Vote> votes;  ///< one for each node, at the attempt that won
  std::string note;                     ///< the votes in words, or what went wrong

  /// Whether this node could not vote, whatever the reason.
  [[nodiscard]] bool lost_vote(std::size_t node) const;
};

/// As one line, without its end, for the parent to read.
std::string to_line(const Visit& visit);
/// Nothing where it is not such a line.
std::optional<Visit> parse_visit(std::string_view line);

}  // namespace flash_sale
