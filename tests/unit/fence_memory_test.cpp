#include "core/fence_memory.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "support/seeded_random.hpp"

// What was seen of a resource's counter: a hint that may be forgotten, and never be too great.
namespace quorumlock::core {
namespace {

TEST(FenceMemory, KnowsNothingAtFirst) {
  // Also of the empty key.
  const FenceMemory memory;
  EXPECT_EQ(memory.of("key"), 0U);
  EXPECT_EQ(memory.of(""), 0U);
}

TEST(FenceMemory, KeepsTheGreatest) {
  // Answers come in any order; a smaller one changes nothing.
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
  // 2^53 - 1 is the greatest that a server takes.
  FenceMemory memory;
  memory.note("key", (1ULL << 53) - 1);
  EXPECT_EQ(memory.of("key"), (1ULL << 53) - 1);
}

TEST(FenceMemory, ForgetsAndNeverMakesUp) {
  // Far more resources than there is room for: of each it knows the greatest that was noted, or
  // nothing. Never another's, which could be too great. The one noted last is always known.
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
  // Two resources that are used all the time do not push each other out.
  FenceMemory memory;
  for (std::uint64_t fence = 1; fence < 100; ++fence) {
    memory.note("orders", fence);
    memory.note("stock", 2 * fence);
    ASSERT_EQ(memory.of("orders"), fence);
    ASSERT_EQ(memory.of("stock"), 2 * fence);
  }
}

TEST(FenceMemory, IsSettledUntilAnybodyIsSeenToHaveGoneOn) {
  // By the token of a lease; another number of the same counter, or another resource in its place,
  // unsettles it.
  FenceMemory memory;
  EXPECT_FALSE(memory.settled("key"));
  memory.note("key", 41);
  EXPECT_FALSE(memory.settled("key"));
  memory.settle("key", 41);
  EXPECT_TRUE(memory.settled("key"));
  EXPECT_FALSE(memory.settled("another"));
  memory.note("key", 41);
  memory.note("key", 40);
  EXPECT_TRUE(memory.settled("key"));
  memory.note("key", 42);
  EXPECT_FALSE(memory.settled("key"));
  memory.settle("key", 41);
  EXPECT_FALSE(memory.settled("key")) << "42 has been seen";
  memory.settle("key", 42);
  memory.unsettle("key");
  EXPECT_FALSE(memory.settled("key"));
  EXPECT_EQ(memory.of("key"), 42U);
}

}  // namespace
}  // namespace quorumlock::core
