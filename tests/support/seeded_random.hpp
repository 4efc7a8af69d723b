#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>

#include "lock/types.hpp"

namespace quorumlock::test {

/// The randomness of a test: the same for the same seed, everywhere.
class SeededRandom final : public core::Random {
 public:
  explicit SeededRandom(std::uint64_t seed = 1) : generator_(seed) {}

  void fill(std::span<std::byte> bytes) override {
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(generator_() & 0xFFU);
  }

  /// A number in [0, bound); bound > 0.
  std::size_t index(std::size_t bound) { return static_cast<std::size_t>(generator_() % bound); }
  /// A number in [least, most].
  int between(int least, int most) {
    return least + static_cast<int>(index(static_cast<std::size_t>(most - least) + 1));
  }
  /// Returns true once in `times`.
  bool one_in(int times) { return between(1, times) == 1; }

 private:
  std::mt19937_64 generator_;
};

/// Always draws the same token, which no engine must ever be given.
class StuckRandom final : public core::Random {
 public:
  void fill(std::span<std::byte> bytes) override {
    for (std::byte& byte : bytes) byte = std::byte{0};
  }
};

}  // namespace quorumlock::test
