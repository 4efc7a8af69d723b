#pragma once

#include <chrono>
#include <thread>

namespace quorumlock::test {

/// Nothing takes this long even on a busy machine: a wait that reaches it has failed.
inline constexpr std::chrono::seconds patience{30};

/// Waits until `condition()` holds. The only place of the tests that sleeps.
template <class Condition>
bool eventually(Condition&& condition) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace quorumlock::test
