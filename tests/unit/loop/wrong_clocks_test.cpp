#include "loop/wrong_clocks.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

// What the log says of wrong clocks, and what is kept of them.
namespace quorumlock::test {
namespace {

using namespace std::chrono_literals;
using detail::WrongClocks;

TEST(WrongClocks, AJumpIsNamedWithItsSizeAndDirection) {
  WrongClocks clocks;
  const core::Time until(2h);
  EXPECT_TRUE(
      clocks.take({1, 1500ms, until}, "n2")
          .starts_with("n2 has a wrong clock: it is 1.500000 s ahead of what drift_factor allows"));
  EXPECT_EQ(clocks.jump(1).size, 1500ms);
  EXPECT_EQ(clocks.jump(1).until, until);
  EXPECT_EQ(clocks.jump(0).size, 0s);
  EXPECT_TRUE(
      clocks.take({0, -250ms, until}, "n1")
          .starts_with("n1 has a wrong clock: it is 0.250000 s behind what drift_factor allows"));
  EXPECT_EQ(clocks.jump(0).size, -250ms);
}

TEST(WrongClocks, OurOwnClockThatStoodStillExplainsTheNodesThatAreAhead) {
  WrongClocks clocks;
  for (const int node : {0, 1, 2}) clocks.take({node, 60s, core::Time(2h)}, "a node");
  core::NodeSet trusted;
  trusted.add(0);
  trusted.add(1);
  EXPECT_TRUE(
      clocks.take({trusted, trusted, 59s})
          .starts_with(
              "this process's own clock stood still for 59.000000 s or more: 2 nodes are ahead"));
  EXPECT_EQ(clocks.jump(0).size, 0s);
  EXPECT_EQ(clocks.jump(1).size, 0s);
  EXPECT_EQ(clocks.jump(2).size, 60s);
}

TEST(WrongClocks, ANumberThatIsGivenAgainHasNoJump) {
  WrongClocks clocks;
  clocks.take({1, 60s, core::Time(2h)}, "n2");
  clocks.forget(1);
  EXPECT_EQ(clocks.jump(1).size, 0s);
}

}  // namespace
}  // namespace quorumlock::test
