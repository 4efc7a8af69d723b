#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace quorumlock::core {

/// Small integers in the order in which they were added. Each call costs O(1), and none allocates
/// for an integer that was in it before.
class ArrivalOrder {
 public:
  /// Adds this integer, which is not in it, as the last one.
  void add(std::uint32_t id) {
    const std::uint32_t own = id + 1;
    if (own >= links_.size()) links_.resize(own + std::size_t{1});
    const std::uint32_t last = links_[end].before;
    links_[own] = {last, end};
    links_[last].after = links_[end].before = own;
  }
  /// Takes out this integer, which is in it.
  void remove(std::uint32_t id) {
    const Neighbours link = links_[id + 1];
    links_[link.before].after = link.after;
    links_[link.after].before = link.before;
  }
  /// The integer that was added first of those in it.
  [[nodiscard]] std::optional<std::uint32_t> first() const {
    const std::uint32_t own = links_[end].after;
    return own == end ? std::nullopt : std::optional(own - 1);
  }

 private:
  static constexpr std::uint32_t end = 0;  // the ring begins and ends here
  struct Neighbours {
    std::uint32_t before = end, after = end;
  };
  std::vector<Neighbours> links_ = std::vector<Neighbours>(1);  // indexed by the integer, from 1 on
};

}  // namespace quorumlock::core
