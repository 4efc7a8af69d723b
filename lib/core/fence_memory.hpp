#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "core/types.hpp"

namespace quorumlock::core {

/// How long a fencing counter lives after its last write. A node whose counter has run out has let
/// that much time pass on its own clock, so that TIME - counter_life / 2 exceeds it.
inline constexpr Duration counter_life = std::chrono::hours(30 * 24);
inline constexpr std::uint64_t counter_life_us = counter_life / std::chrono::microseconds(1);

/// The greatest fencing counter seen of a resource, for as many resources as there is room: new
/// tokens then grow even where every node has lost its counter. And whether that was the token of
/// the last lease here, so that the nodes' counters are likely to be there still, and equal.
/// Forgetting is allowed, a hint is all that it is. Constant size, O(1).
class FenceMemory {
 public:
  [[nodiscard]] std::uint64_t of(std::string_view key) const {
    const std::size_t hash = hash_of(key);
    const Entry& entry = entries_[hash % room];
    return entry.hash == hash ? entry.fence : 0;
  }
  void note(std::string_view key, std::uint64_t fence) {
    const std::size_t hash = hash_of(key);
    Entry& entry = entries_[hash % room];
    if (entry.hash == hash && entry.fence >= fence) return;
    entry = {hash, fence, false};
  }
  /// A lease has this token.
  void settle(std::string_view key, std::uint64_t fence) {
    const std::size_t hash = hash_of(key);
    Entry& entry = entries_[hash % room];
    entry.settled = entry.hash == hash && entry.fence == fence;
  }
  /// The nodes have turned out not to agree.
  void unsettle(std::string_view key) { entries_[hash_of(key) % room].settled = false; }
  [[nodiscard]] bool settled(std::string_view key) const {
    const std::size_t hash = hash_of(key);
    const Entry& entry = entries_[hash % room];
    return entry.hash == hash && entry.settled;
  }

 private:
  static std::size_t hash_of(std::string_view key) { return std::hash<std::string_view>{}(key); }

  struct Entry {
    std::size_t hash = 0;
    std::uint64_t fence = 0;
    bool settled = false;
  };
  static constexpr std::size_t room = 1024;
  std::array<Entry, room> entries_{};
};

}  // namespace quorumlock::core
