#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <quorumlock/clock.hpp>
#include <quorumlock/outcome.hpp>

#include "stock.hpp"

namespace flash_sale {

/// The result of one buyer's visit.
struct Visit {
  Buyer buyer;
  int phone = 0;                         ///< the phone bought; 0: none
  bool failed = false;                   ///< an error; `note` has the reason
  quorumlock::Clock::duration waited{};  ///< how long the buyer waited for the lock
  /// The time in the shop. One clock serves all processes of a machine, so visits can be compared.
  quorumlock::Clock::time_point entered{}, left{};
  std::vector<quorumlock::Vote> votes;  ///< each node's vote in the attempt that won
  std::string note;                     ///< the votes in words, or the error

  /// Whether this node could not vote, for whatever reason.
  [[nodiscard]] bool lost_vote(std::size_t node) const;
};

/// Returns the visit as one line, without its end, for the parent to read.
std::string to_line(const Visit& visit);
/// Returns nothing if the line is not a visit.
std::optional<Visit> parse_visit(std::string_view line);

}  // namespace flash_sale
