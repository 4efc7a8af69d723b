#include <gtest/gtest.h>

#include <cstdlib>
#include <exception>
#include <random>
#include <string>

#include "sim/twins.hpp"
#include "sim/words_maker.hpp"
#include "support/eventually.hpp"

// The simulated server is held to a real one: the same commands, the same replies, byte for byte,
// and the same keys with the same expiries after each.
namespace quorumlock::sim {
namespace {

/// `QUORUMLOCK_TEST_SEED=17 sim_tests --gtest_filter=Differential.*` repeats one walk.
std::uint64_t drawn_seed() {
  const char* const text = std::getenv("QUORUMLOCK_TEST_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : std::random_device{}();
}

/// What led to it: the end of the story.
std::string last_lines(const std::string& story) {
  std::size_t begin = story.size();
  for (int lines = 0; begin > 0 && lines < 40; ++lines) {
    const std::size_t end = story.rfind('\n', begin - 1);
    begin = end == story.npos ? 0 : end;
  }
  return story.substr(begin);
}

void walk(bool durable, int steps) {
  const std::uint64_t seed = drawn_seed();
  SCOPED_TRACE("QUORUMLOCK_TEST_SEED=" + std::to_string(seed));
  WordsMaker maker(seed);
  Twins twins(durable, WordsMaker::keys());
  bool replica = false;
  try {
    for (int step = 0; step < steps; ++step) {
      test::SeededRandom& random = maker.random();
      if (random.one_in(40)) twins.set_out_of_memory(random.one_in(3));
      if (random.one_in(40)) {
        replica = !replica && random.one_in(3);
        twins.set_replica(replica);
      }
      if (random.one_in(400)) {
        twins.restart();
        replica = false;
      }
      twins.ask(maker.next(twins.now_us()));
    }
  } catch (const std::exception& failure) {
    FAIL() << failure.what() << "\nThe last of it:" << last_lines(twins.story());
  }
  EXPECT_LT(twins.undecided(), steps / 20);
}

// Any commands, on a server that forgets everything when it is restarted.
TEST(Differential, Volatile) {
  walk(false, 4000);
}

// The same on one that logs every write.
TEST(Differential, Durable) {
  walk(true, 2000);
}

}  // namespace
}  // namespace quorumlock::sim
