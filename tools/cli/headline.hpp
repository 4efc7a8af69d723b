#pragma once

#include <string>
#include <vector>

#include <quorumlock/admin.hpp>

#include "output.hpp"

namespace quorumlock::cli {

/// What a person has to know first about a cluster.
struct Headline {
  Colour colour = Colour::green;
  std::string state;  ///< "Locks can be had: 5 of 5 nodes may vote; a quorum is 3"
  std::string wrong;  ///< what is wrong; empty if nothing is
  std::string to_do;  ///< what to do about it

  /// A view that begins with a line for each of the three, and then has this text. Only the state
  /// has the colour.
  [[nodiscard]] View above(const std::string& text) const;
  [[nodiscard]] Json document() const;
};

/// It is yellow if and only if doctor has an error or a warning, and locks can be had.
Headline headline_of(const ClusterStatus& status, const std::vector<Finding>& findings);

}  // namespace quorumlock::cli
