#include "wire/ring.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>

#include "support/seeded_random.hpp"

namespace quorumlock::redis {
namespace {

TEST(Ring, FirstInFirstOut) {
  // The ring grows beyond its first capacity and keeps the order.
  Ring<int> ring;
  EXPECT_TRUE(ring.empty());
  for (int i = 0; i < 100; ++i) ring.push(i);
  EXPECT_EQ(ring.size(), 100U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(ring.pop(), i);
  EXPECT_TRUE(ring.empty());
}

TEST(Ring, TakesMoveOnlyValues) {
  // The ring may grow while its contents wrap around its end.
  Ring<std::unique_ptr<int>> ring;
  for (int i = 0; i < 10; ++i) ring.push(std::make_unique<int>(i));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(*ring.pop(), i);
  for (int i = 0; i < 40; ++i) ring.push(std::make_unique<int>(i));
  for (int i = 0; i < 40; ++i) EXPECT_EQ(*ring.pop(), i);
}

TEST(Ring, DoesWhatADequeDoes) {
  // Random pushes, pops and looks at elements are compared with a std::deque.
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    test::SeededRandom random(seed);
    Ring<std::string> ring;
    std::deque<std::string> model;
    const int pushes_of_ten = random.between(4, 6);
    for (int step = 0; step < 500; ++step) {
      if (random.between(1, 10) <= pushes_of_ten) {
        ring.push("item " + std::to_string(step));
        model.push_back("item " + std::to_string(step));
      } else if (!model.empty()) {
        ASSERT_EQ(ring.pop(), model.front());
        model.pop_front();
      }
      ASSERT_EQ(ring.size(), model.size());
      ASSERT_EQ(ring.empty(), model.empty());
      if (model.empty()) continue;
      const std::size_t i = random.index(model.size());
      ASSERT_EQ(ring[i], model[i]);
    }
  }
}

}  // namespace
}  // namespace quorumlock::redis
