#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

namespace quorumlock::test {

/// Calls fn(fates, order) for every way in which `nodes` nodes can meet one of `kinds` fates each,
/// and every order in which they do. Stops where fn returns false. Returns how many there were.
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
    // The next number, with as many digits as there are nodes.
    auto digit = fates.begin();
    while (digit != fates.end() && ++*digit == kinds) *digit++ = 0;
    if (digit == fates.end()) return count;
  }
}

}  // namespace quorumlock::test
