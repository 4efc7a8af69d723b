#include "lock/fence_memory.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "support/seeded_random.hpp"

// The memory of a resource's counter: a hint that may be forgotten, but is never too great.
namespace quorumlock::core {
namespace {

TEST(FenceMemory, KnowsNothingAtFirst) {
  // The memory knows nothing of the empty key either.
  const FenceMemory memory;
  EXPECT_EQ(memory.of("key"), 0U);
  EXPECT_EQ(memory.of(""), 0U);
}

TEST(FenceMemory, KeepsTheGreatest) {
  // Answers come in any order; a smaller number changes nothing.
  FenceMemory memory;
  memory.note("key", 41);
  EXPECT_EQ(memory.of("key"), 41U);
  memory.note("key", 40);
  EXPECT_EQ(memory.of("key"), 41U);
  memory.note("key", 43);
  EXPECT_EQ(memory.of("key"), 43U);
  EXPECT_EQ(memory.of("another"), 0U);
}

TEST(FenceMemory, HoldsNumbersUpToTheLast) {
  // 2^53 - 1 is the greatest number that a server accepts.
  FenceMemory memory;
  memory.note("key", (1ULL << 53) - 1);
  EXPECT_EQ(memory.of("key"), (1ULL << 53) - 1);
}

TEST(FenceMemory, ForgetsButNeverInvents) {
  // With far more resources than there is room for, the memory knows a resource's greatest number
  // or nothing, but never another's, which could be too great. The latest is always known.
  FenceMemory memory;
  test::SeededRandom random(3);
  std::map<std::string, std::uint64_t> noted;
  int forgotten = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::string key = "key" + std::to_string(random.index(5000));
    const std::uint64_t known = memory.of(key);
    if (known == 0 && noted.contains(key)) ++forgotten;
    const std::uint64_t fence = 1 + random.index(1'000'000);
    memory.note(key, fence);
    ASSERT_EQ(memory.of(key), std::max(known, fence));
    noted[key] = std::max(noted[key], fence);
    ASSERT_LE(memory.of(key), noted[key]);
  }
  EXPECT_GT(forgotten, 0);
}

TEST(FenceMemory, RemembersAFew) {
  // Two resources that are used all the time do not evict each other.
  FenceMemory memory;
  for (std::uint64_t fence = 1; fence < 100; ++fence) {
    memory.note("orders", fence);
    memory.note("stock", 2 * fence);
    ASSERT_EQ(memory.of("orders"), fence);
    ASSERT_EQ(memory.of("stock"), 2 * fence);
  }
}

}  // namespace
}  // namespace quorumlock::core
