#include <gtest/gtest.h>

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <random>
#include <string>
#include <utility>

#include "sim/twins.hpp"
#include "sim/words_maker.hpp"
#include "support/eventually.hpp"

// Compares the simulated server with a real one: the same commands must give the same replies, byte
// for byte, and after each command the same keys with the same expiries.
namespace quorumlock::sim {
namespace {

/// `QUORUMLOCK_TEST_SEED=17 sim_tests --gtest_filter=Differential.*` repeats one walk.
std::uint64_t drawn_seed() {
  const char* const text = std::getenv("QUORUMLOCK_TEST_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : std::random_device{}();
}

/// Returns the end of the story: the commands that led to a difference.
std::string last_lines(const std::string& story) {
  std::size_t begin = story.size();
  for (int lines = 0; begin > 0 && lines < 40; ++lines) {
    const std::size_t end = story.rfind('\n', begin - 1);
    begin = end == story.npos ? 0 : end;
  }
  return story.substr(begin);
}

struct Walk {
  Twins::Settings settings;
  int steps;
  bool restarts = true;
  std::filesystem::path no_longer = {};  ///< the directory of the snapshots, which is gone
};

void walk(Walk walk) {
  const std::uint64_t seed = drawn_seed();
  SCOPED_TRACE("QUORUMLOCK_TEST_SEED=" + std::to_string(seed));
  WordsMaker maker(seed);
  walk.settings.watched = WordsMaker::keys();
  Twins twins(std::move(walk.settings));
  if (!walk.no_longer.empty()) {
    std::filesystem::remove_all(walk.no_longer);
    twins.control({"BGSAVE"});
    ASSERT_TRUE(test::eventually([&twins] {
      const std::string info = twins.control({"INFO", "persistence"}).text;
      return info.find("bgsave_status:err") != info.npos;
    }));
    twins.simulated().conditions.cannot_persist = true;
  }
  bool replica = false;
  try {
    for (int step = 0; step < walk.steps; ++step) {
      test::SeededRandom& random = maker.random();
      if (random.one_in(40)) twins.set_out_of_memory(random.one_in(3));
      if (random.one_in(40)) {
        replica = !replica && random.one_in(3);
        twins.set_replica(replica);
      }
      if (random.one_in(400) && walk.restarts) {
        twins.restart();
        replica = false;
      }
      twins.ask(maker.next(twins.now_us()));
    }
  } catch (const std::exception& failure) {
    FAIL() << failure.what() << "\nThe last of it:" << last_lines(twins.story());
  }
  EXPECT_LT(twins.undecided(), walk.steps / 20);
}

// Sends random commands to a server that forgets everything when it is restarted.
TEST(Differential, VolatileServersReplyTheSame) {
  walk({.settings = {}, .steps = 4000});
}

// Sends random commands to a server that logs every write.
TEST(Differential, DurableServersReplyTheSame) {
  walk({.settings = {.durable = true}, .steps = 2000});
}

// The server's directory for snapshots is gone, so it refuses to write.
TEST(Differential, ServersThatCannotPersistReplyTheSame) {
  const test::TemporaryDirectory directory;
  Twins::Settings settings{.more = {"--dir", directory.path(), "--save", "3600 1"}};
  walk({.settings = std::move(settings),
        .steps = 1000,
        .restarts = false,
        .no_longer = directory.path()});
}

}  // namespace
}  // namespace quorumlock::sim
