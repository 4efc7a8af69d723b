#include "loop/kernel_random.hpp"

#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace quorumlock::detail {

void KernelRandom::fill(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    if (left_ == 0) {
      const ssize_t got = getrandom(page_.data(), page_.size(), 0);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) throw std::system_error(errno, std::generic_category(), "getrandom");
      left_ = static_cast<std::size_t>(got);
    }
    const std::size_t size = std::min(bytes.size(), left_);
    std::copy_n(page_.begin() + static_cast<std::ptrdiff_t>(left_ - size), size, bytes.begin());
    left_ -= size;
    bytes = bytes.subspan(size);
  }
}

}  // namespace quorumlock::detail
