#include "openssl.hpp"

#include <cstdlib>
#include <stdexcept>

#include "allocations.hpp"

#if QUORUMLOCK_WITH_TLS && defined(__GLIBC__)
#include <openssl/crypto.h>

extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_realloc(void* block, std::size_t size);
}

namespace quorumlock::bench {

void leave_out_openssl() {
  if (!allocations_counted()) return;
  const int done = CRYPTO_set_mem_functions(
      [](std::size_t size, const char*, int) { return __libc_malloc(size); },
      [](void* block, std::size_t size, const char*, int) { return __libc_realloc(block, size); },
      [](void* block, const char*, int) { std::free(block); });
  if (done != 1) throw std::runtime_error("OpenSSL has allocated something already");
}

}  // namespace quorumlock::bench
#else
namespace quorumlock::bench {

void leave_out_openssl() {}

}  // namespace quorumlock::bench
#endif
