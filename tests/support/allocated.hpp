#pragma once

#include <malloc.h>

#include <cstddef>

// Defined if AddressSanitizer is linked in.
extern "C" __attribute__((weak)) std::size_t __sanitizer_get_current_allocated_bytes();

namespace quorumlock::test {

/// The number of bytes that this program has allocated and not freed.
inline std::size_t allocated() {
  if (__sanitizer_get_current_allocated_bytes != nullptr) {
    return __sanitizer_get_current_allocated_bytes();
  }
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

}  // namespace quorumlock::test
