#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "core/types.hpp"

namespace quorumlock::core {

/// When something was last so of a resource, and a number with it, for as many resources as there
/// is room. Forgetting is allowed, a hint is all that it is. Constant size, O(1).
class Recently {
 public:
  void note(Time now, std::string_view key, std::uint64_t number) {
    const std::size_t hash = hash_of(key);
    Entry& entry = entries_[hash % room];
    entry = {hash, now, entry.hash == hash ? std::max(entry.number, number) : number};
  }
  /// The greatest that was noted with it; zero for none.
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

/// How crowded it is around a resource, as far as those can tell who were woken by its release and
/// found it taken again. A hint, too; resources may share it.
class Crowds {
 public:
  /// One of this many messages is to be heeded: 1, 2, 4, ... 1024.
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
