#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

namespace quorumlock::core {

/// The greatest fencing counter seen for each resource, so that new tokens grow even if every node
/// has lost its counter. A fixed-size lossy cache: an entry may be overwritten at any time, so its
/// answers are hints. O(1).
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
    entry = {hash, fence};
  }

 private:
  static std::size_t hash_of(std::string_view key) { return std::hash<std::string_view>{}(key); }

  struct Entry {
    std::size_t hash = 0;
    std::uint64_t fence = 0;
  };
  static constexpr std::size_t room = 1024;
  std::array<Entry, room> entries_{};
};

}  // namespace quorumlock::core
