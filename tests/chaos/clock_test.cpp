#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "chaos/node_clock.hpp"
#include "support/cluster.hpp"
#include "support/eventually.hpp"
#include "support/redis.hpp"

namespace quorumlock::chaos {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;
using test::eventually;

struct ClockOfServer : testing::Test {
  test::TemporaryDirectory directory;
  NodeClock clock{directory.path() / "clock"};
  local::Server server = local::Server::start(
      {.dir = directory.path() / "node", .durable = false, .environment = clock.environment()});
  test::Redis redis{server.url()};

  long long time() { return std::stoll(redis({"TIME"}).elements.at(0).text); }
  bool exists(const std::string& key) { return redis({"EXISTS", key}).integer == 1; }
};

TEST_F(ClockOfServer, ShowsTheTrueTimeUntilItIsSet) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  EXPECT_NEAR(static_cast<double>(time()),
              static_cast<double>(std::chrono::duration_cast<std::chrono::seconds>(now).count()),
              2);
}

// At a rate of 1.1 a key of 3300 ms is gone after 3000 ms.
TEST_F(ClockOfServer, AFasterClockEndsAKeyEarlier) {
  clock.run_at(1.1);
  const auto begin = steady_clock::now();
  redis({"SET", "key", "value", "PX", "3300"});
  const auto set = steady_clock::now();
  ASSERT_TRUE(eventually([&] { return !exists("key"); }));
  EXPECT_LT(steady_clock::now() - set, 3250ms);
  EXPECT_GT(steady_clock::now() - begin, 2990ms);
}

TEST_F(ClockOfServer, AStepOfAMinuteEndsAKeyAtOnce) {
  redis({"SET", "key", "value", "PX", "30000"});
  const long long before = time();
  clock.step(60s);
  EXPECT_FALSE(exists("key"));
  EXPECT_NEAR(static_cast<double>(time() - before), 60, 2);
}

TEST_F(ClockOfServer, AStepBackMakesAKeyLastLonger) {
  redis({"SET", "key", "value", "PX", "3000"});
  clock.step(-60s);
  EXPECT_GT(redis({"PTTL", "key"}).integer, 60'000);
}

TEST_F(ClockOfServer, IsTheSameClockAfterARestart) {
  clock.step(1000s);
  const long long before = time();
  server.restart();
  redis = test::Redis(server.url());
  EXPECT_NEAR(static_cast<double>(time() - before), 0, 5);
}

}  // namespace
}  // namespace quorumlock::chaos
