#include <cstdlib>
#include <string>

#include "support/lock_world.hpp"

// Random walks over everything that users, nodes and networks may do to the engine.
namespace quorumlock::test {
namespace {

/// `QUORUMLOCK_TEST_SEED=17 unit_tests --gtest_filter=EngineRandom.*` repeats the walk of seed 17.
std::pair<std::uint64_t, std::uint64_t> seeds(std::uint64_t count) {
  const char* text = std::getenv("QUORUMLOCK_TEST_SEED");
  if (text == nullptr) return {1, count};
  const std::uint64_t seed = std::stoull(text);
  return {seed, seed};
}

TEST(EngineRandom, NoLockHasTwoHolders) {
  // Clients acquire, extend, cancel and release; nodes execute, refuse, stall and answer at any
  // time, by clocks that run at different rates; connections break over commands that may still
  // run. At every moment a lock has at most one valid holder, and a quorum of nodes has its token.
  // When all works again every acquisition is answered, no key is left and the engines are at rest.
  int acquired = 0, renewed = 0, ended = 0;
  const auto [first, last] = seeds(3000);
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    LockWorld world(seed);
    world.run(800);
    acquired += world.acquired();
    renewed += world.renewed();
    ended += world.ended();
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
  // Fewer events than these would make the walks meaningless.
  if (first == last) return;
  EXPECT_GT(acquired, 6 * static_cast<int>(last));
  EXPECT_GT(renewed, 2 * static_cast<int>(last));
  EXPECT_GT(ended, static_cast<int>(last) / 2);
}

}  // namespace
}  // namespace quorumlock::test
