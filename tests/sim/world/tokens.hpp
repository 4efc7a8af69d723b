#pragma once

#include <deque>
#include <string>

#include "sim/world/machine.hpp"

namespace quorumlock::sim {

/// The processes that extend a lease by its token, also a lease that the nodes have dropped and
/// given to others.
class Tokens : Machine {
 public:
  using Machine::Machine;
  /// Now and then another process extends the token of a lease, having read it somewhere.
  void plan();
  /// The nodes drop what a lease has, others take it for a moment, and its holder hears nothing.
  /// Then the holder renews, and somebody extends its token.
  void usurp(std::size_t number);
  /// Checks that an extend succeeds only if nobody else has had the lock since the token was won.
  void extended(const core::Extended& extended);

 private:
  struct Extend {
    std::size_t operation;
    std::string key;
    TrueTime asked;
  };
  void extend(std::size_t number);

  std::deque<Extend> extends_;  ///< index: the user's number less the offset
};

}  // namespace quorumlock::sim
