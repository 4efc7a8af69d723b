#pragma once

#include <string>
#include <vector>

#include "chaos/history.hpp"

namespace quorumlock::chaos {

/// What a run must keep to.
enum class Promise {
  fence_at_store,  ///< accepted writes' tokens never go back, and each has one owner
  fence_of_locks,  ///< who is granted after another has been has the greater token
  exclusion,       ///< nobody believes beside a writer, nor one more than there are permits, within
                   ///< the assumptions
  told_in_time,    ///< a holder is told before its lease ends, or at its first turn after a stop
  no_orphans,      ///< no key outlives its ttl
  liveness         ///< after healing every worker holds a lock again in time
};

std::string_view name_of(Promise promise);

struct Violation {
  Promise promise = Promise::exclusion;
  std::string resource;  ///< empty where it is not about one
  Time at{};
  std::string sentence;
};

/// All of them, in the order of time.
std::vector<Violation> check(const History& history);

// Each by itself.
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
/// When exclusion is not demanded: from a fault beyond the assumptions until the last lease that it
/// may have touched has ended. Merged, in the order of time.
std::vector<Span> excused(const History& history);

/// Two leases of one resource that were believed in at the same time and must not be, within the
/// assumptions or not: indices into history.holdings. Of a semaphore: the second is one too many,
/// the first one of those that it is too many beside.
struct Overlap {
  std::size_t first = 0;
  std::size_t second = 0;
  Span span;
};
std::vector<Overlap> overlaps(const History& history);

}  // namespace quorumlock::chaos
