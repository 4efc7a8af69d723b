#pragma once

#include <cstdint>

namespace quorumlock::bench {

/// How many blocks this program has asked malloc for, operator new, libuv and hiredis included.
/// Zero for ever where allocations_counted() is false (not glibc, or under a sanitizer).
std::uint64_t allocations();
bool allocations_counted();

}  // namespace quorumlock::bench
