#pragma once

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

namespace quorumlock::test {

/// Calls fn(fates, order) for every way in which `nodes` nodes can meet one of `kinds` fates each,
/// and for every order in which they do. Stops if fn returns false. Returns the number of calls.
template <class F>
int for_each_order(int nodes, int kinds, F&& fn) {
  int count = 0;
  std::vector<int> fates(static_cast<std::size_t>(nodes), 0);
  for (;;) {
    std::vector<int> order(fates.size());
    std::iota(order.begin(), order.end(), 0);
    do {
      ++count;
      if (!fn(fates, order)) return count;
    } while (std::ranges::next_permutation(order).found);
    // Counts to the next number, with one digit for each node.
    auto digit = fates.begin();
    while (digit != fates.end() && ++*digit == kinds) *digit++ = 0;
    if (digit == fates.end()) return count;
  }
}

/// How a round of votes ends.
enum class End { undecided, won, contended, no_quorum };

/// The end if no more votes come in. `refused` nodes have answered, but not with a grant.
inline End end_of(int nodes, int granted, int refused) {
  if (2 * granted > nodes) return End::won;
  return 2 * (granted + refused) > nodes ? End::contended : End::no_quorum;
}

/// The end that every completion of the open votes has, found by trying them all; else undecided.
inline End slow_end(int nodes, int granted, int refused, int open) {
  if (open == 0) return end_of(nodes, granted, refused);
  const End one = slow_end(nodes, granted + 1, refused, open - 1);
  const End another = slow_end(nodes, granted, refused + 1, open - 1);
  const End silent = slow_end(nodes, granted, refused, open - 1);
  return one == another && another == silent ? one : End::undecided;
}

/// slow_end, remembered.
inline End certain_end(int nodes, int granted, int refused, int open) {
  constexpr std::size_t size = 6;
  static std::array<std::array<std::array<std::array<int, size>, size>, size>, size> known{};
  int& end = known[static_cast<std::size_t>(nodes)][static_cast<std::size_t>(granted)]
                  [static_cast<std::size_t>(refused)][static_cast<std::size_t>(open)];
  if (end == 0) end = 1 + static_cast<int>(slow_end(nodes, granted, refused, open));
  return static_cast<End>(end - 1);
}

}  // namespace quorumlock::test
