#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "core/types.hpp"

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

/// How many clients compete for a resource, estimated from how often waiters woken by its release
/// found it taken again. A hint as well: resources may share an entry.
class Crowds {
 public:
  /// A waiter should heed one message of this many: 1, 2, 4, ... 1024.
  [[nodiscard]] int one_in(std::string_view key) const { return 1 << misses_[index_of(key)]; }
  void missed(std::string_view key) {
    std::uint8_t& misses = misses_[index_of(key)];
    if (misses < 10) ++misses;
  }
  void won(std::string_view key) {
    std::uint8_t& misses = misses_[index_of(key)];
    if (misses > 0) --misses;
  }

 private:
  static std::size_t index_of(std::string_view key) {
    return std::hash<std::string_view>{}(key) % room;
  }
  static constexpr std::size_t room = 256;
  std::array<std::uint8_t, room> misses_{};
};

}  // namespace quorumlock::core
