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
  /// Plans processes that extend a lease by its token now and then, having read the token
  /// somewhere.
  void plan();
  /// Makes the nodes drop the keys of a lease: other clients take the lock for a moment, and the
  /// holder hears nothing. Then the holder renews, and another process extends its token.
  void usurp(std::size_t number);
  /// Checks that an extend succeeds only if nobody with a greater fencing token has had the lock.
  void extended(const core::Extended& extended);

 private:
  struct Extend {
    std::size_t operation;
    std::vector<std::string> keys;
    TrueTime asked;
    std::size_t client = 0;  ///< who extends
  };
  void extend(std::size_t number);

  std::deque<Extend> extends_;  ///< indexed by the user id less the offset
};

}  // namespace quorumlock::sim
