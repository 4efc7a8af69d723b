#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/types.hpp"

namespace quorumlock::core {

/// At most one deadline for each small integer, the earliest first. A binary heap with an index:
/// set and clear cost O(log n), next O(1).
class TimerQueue {
 public:
  void set(std::uint32_t id, Time when);
  void clear(std::uint32_t id);
  /// The earliest deadline, or `never`.
  [[nodiscard]] Time next() const { return heap_.empty() ? never : heap_.front().when; }
  /// Takes out one timer whose deadline is not after `now`, the earliest first.
  std::optional<std::uint32_t> pop_due(Time now) {
    if (heap_.empty() || heap_.front().when > now) return std::nullopt;
    const std::uint32_t id = heap_.front().id;
    clear(id);
    return id;
  }

 private:
  struct Entry {
    Time when;
    std::uint32_t id;
  };
  static constexpr std::uint32_t absent = ~0U;

  void place(std::size_t position, Entry entry);
  void sift_up(std::size_t position, Entry entry);
  void sift_down(std::size_t position, Entry entry);

  std::vector<Entry> heap_;
  std::vector<std::uint32_t> position_;  // of each id in heap_
};

}  // namespace quorumlock::core
