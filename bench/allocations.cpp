#include "allocations.hpp"

#include <atomic>
#include <cstdlib>

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define QUORUMLOCK_BENCH_COUNTS_ALLOCATIONS 1
#else
#define QUORUMLOCK_BENCH_COUNTS_ALLOCATIONS 0
#endif

namespace quorumlock::bench {
namespace {

std::atomic<std::uint64_t> count{0};

}  // namespace

std::uint64_t allocations() {
  return count.load(std::memory_order_relaxed);
}
bool allocations_counted() {
  return QUORUMLOCK_BENCH_COUNTS_ALLOCATIONS != 0;
}

}  // namespace quorumlock::bench

#if QUORUMLOCK_BENCH_COUNTS_ALLOCATIONS

// glibc lets a program define malloc; this one counts and calls glibc's.
extern "C" {

void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* block, std::size_t size);

void* malloc(std::size_t size) {
  quorumlock::bench::count.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(size);
}

void* calloc(std::size_t number, std::size_t size) {
  quorumlock::bench::count.fetch_add(1, std::memory_order_relaxed);
  return __libc_calloc(number, size);
}

void* realloc(void* block, std::size_t size) {
  quorumlock::bench::count.fetch_add(1, std::memory_order_relaxed);
  return __libc_realloc(block, size);
}

}  // extern "C"

#endif
