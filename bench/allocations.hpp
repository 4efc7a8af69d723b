#pragma once

#include <cstdint>

namespace quorumlock::bench {

/// Returns how many blocks this program has requested from malloc, including those of operator new,
/// libuv and hiredis. Always zero if allocations_counted() is false (not glibc, or under a
/// sanitizer).
std::uint64_t allocations();
bool allocations_counted();

}  // namespace quorumlock::bench
