#pragma once

#include <array>

#include "lock/types.hpp"

namespace quorumlock::detail {

/// The kernel's random numbers, fetched a page at a time. Not thread-safe.
class KernelRandom final : public core::Random {
 public:
  void fill(std::span<std::byte> bytes) override;

 private:
  std::array<std::byte, 4096> page_;
  std::size_t left_ = 0;
};

}  // namespace quorumlock::detail
