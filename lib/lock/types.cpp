#include "lock/types.hpp"

namespace quorumlock::core {

Duration Random::below(Duration bound) {
  if (bound <= Duration::zero()) return Duration::zero();
  std::uint64_t bits = 0;
  fill(std::as_writable_bytes(std::span(&bits, 1)));
  return Duration(static_cast<Duration::rep>(bits % static_cast<std::uint64_t>(bound.count())));
}

}  // namespace quorumlock::core
