#pragma once

#include <algorithm>
#include <functional>

namespace quorumlock::cli {

/// What is done again and again while this program waits. Returns after how many milliseconds it is
/// to be called again; -1: not again. poll() takes such a time.
using Meanwhile = std::function<int()>;

inline int never_again() {
  return -1;
}

/// The earlier of two such times.
inline int sooner(int one, int other) {
  return one < 0 || other < 0 ? std::max(one, other) : std::min(one, other);
}

}  // namespace quorumlock::cli
