#pragma once

#include <string>
#include <vector>

#include "chaos/history.hpp"

namespace quorumlock::chaos {

/// A promise that a run must keep.
enum class Promise {
  fence_at_store,  ///< tokens of accepted writes never go back, and each has one owner
  fence_of_locks,  ///< an attempt after a grant gets a greater token
  exclusion,     ///< a writer is alone, and no more clients than there are permits have one, within
                 ///< the assumptions
  told_in_time,  ///< a holder is notified before its lease ends, or at its first turn after a stop
  no_orphans,    ///< no key outlives its ttl
  liveness       ///< after healing every worker holds a lock again in time
};

std::string_view name_of(Promise promise);

struct Violation {
  Promise promise = Promise::exclusion;
  std::string resource;  ///< empty if it is not about a resource
  Time at{};
  std::string sentence;
};

/// All violations, in chronological order.
std::vector<Violation> check(const History& history);

// Each of these checks one promise.
std::vector<Violation> check_fence_at_store(const History& history);
std::vector<Violation> check_fence_of_locks(const History& history);
std::vector<Violation> check_exclusion(const History& history);
std::vector<Violation> check_told_in_time(const History& history);
std::vector<Violation> check_orphans(const History& history);
std::vector<Violation> check_liveness(const History& history);

struct Span {
  Time begin{};
  Time end{};
};
/// The times at which exclusion is not demanded: from a fault beyond the assumptions until the last
/// lease that it may have touched has ended. Merged, in chronological order.
std::vector<Span> excused(const History& history);

/// Two leases of one resource that were believed in at the same time and must not be, within the
/// assumptions or not: indices into history.holdings. If the resource is a semaphore, the second
/// lease is one too many, and the first is one of those that leave no permit for it.
struct Overlap {
  std::size_t first = 0;
  std::size_t second = 0;
  Span span;
};
std::vector<Overlap> overlaps(const History& history);

}  // namespace quorumlock::chaos
