#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "lock/types.hpp"

namespace quorumlock::core {

/// When something was last noted about a resource, and the greatest number noted with it. A
/// fixed-size lossy cache: an entry may be overwritten at any time, so its answers are hints. O(1).
class Recently {
 public:
  void note(Time now, std::string_view key, std::uint64_t number) {
    const std::size_t hash = hash_of(key);
    Entry& entry = entries_[hash % room];
    entry = {hash, now, entry.hash == hash ? std::max(entry.number, number) : number};
  }
  /// The greatest number noted with the key; zero for none.
  [[nodiscard]] std::uint64_t number_of(std::string_view key) const {
    const std::size_t hash = hash_of(key);
    const Entry& entry = entries_[hash % room];
    return entry.hash == hash ? entry.number : 0;
  }
  [[nodiscard]] bool was(Time now, std::string_view key, Duration within) const {
    const std::size_t hash = hash_of(key);
    const Entry& entry = entries_[hash % room];
    return entry.hash == hash && entry.when != Time() && now - entry.when < within;
  }

 private:
  static std::size_t hash_of(std::string_view key) { return std::hash<std::string_view>{}(key); }

  struct Entry {
    std::size_t hash = 0;
    Time when{};
    std::uint64_t number = 0;
  };
  static constexpr std::size_t room = 256;
  std::array<Entry, room> entries_{};
};

}  // namespace quorumlock::core
