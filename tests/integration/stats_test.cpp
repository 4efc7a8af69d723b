#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "integration/fixture.hpp"
#include "support/uv_loop.hpp"

namespace quorumlock::test {
namespace {

class StatsTest : public FiveNodes {};

TEST_F(StatsTest, StatsMayBeReadFromAnyThread) {
  // stats() works on another thread, on the loop's own, and after the close.
  Coordinator coordinator = connect();
  warm(coordinator);
  const Stats before = coordinator.stats();
  EXPECT_EQ(before.acquired, 1U);
  EXPECT_EQ(before.near_misses.acquired_late, 0U);
  Result<Lease> lease = coordinator.acquire(key);
  ASSERT_TRUE(ok(lease));
  EXPECT_TRUE(fails_with(coordinator.acquire(key), Errc::contended));
  EXPECT_TRUE(ok(lease->release()));
  Answer<Stats> on_the_loop;
  coordinator.async_acquire(key, {}, {}, [&, then = on_the_loop.handler()](const Result<Lease>&) {
    then(coordinator.stats());
  });
  const Stats stats = on_the_loop.get();
  EXPECT_EQ(stats.acquired, before.acquired + 2);
  EXPECT_EQ(stats.released, before.released + 1);
  EXPECT_EQ(stats.refused.contended, 1U);
  EXPECT_GE(stats.count(Vote::granted), before.count(Vote::granted) + 9);
  EXPECT_GE(stats.count(Vote::held), 3U);
  coordinator.close();
  EXPECT_EQ(coordinator.stats().acquired, stats.acquired);
  Coordinator moved = std::move(coordinator);
  EXPECT_EQ(coordinator.stats().acquired, 0U);
}

TEST_F(StatsTest, EachNodesVotesAreCountedOnAllLoops) {
  Options several = options();
  several.loops = 3;
  Coordinator coordinator = test::connect(several);
  warm(coordinator);
  for (int i = 0; i < 12; ++i) {
    ASSERT_TRUE(ok(coordinator.acquire(key + std::to_string(i), {.wait = 20s})));
  }
  Stats stats;
  ASSERT_TRUE(eventually([&] {
    stats = coordinator.stats();
    return std::ranges::all_of(stats.nodes, &NodeStats::counts);
  }));
  const std::vector<NodeStatus> nodes = coordinator.status().value().nodes;
  ASSERT_EQ(stats.nodes.size(), nodes.size());
  VoteCounts all{};
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    EXPECT_EQ(stats.nodes[i].node, nodes[i].node);
    all += stats.nodes[i].votes;
  }
  EXPECT_EQ(all, stats.votes);
  EXPECT_GE(stats.count(Vote::granted), 13U * 3);
}

TEST_F(StatsTest, WaitsOfACrowdAreCounted) {
  // Twenty waiters of one process wait for its holder and take turns, most of them by hand-over.
  Coordinator coordinator = connect();
  warm(coordinator);
  Result<Lease> held = coordinator.acquire(key);
  ASSERT_TRUE(ok(held));
  std::atomic<int> turns{0};
  for (int i = 0; i < 20; ++i) {
    coordinator.async_acquire(key, {.wait = forever}, {}, [&](const Result<Lease>& lease) {
      EXPECT_TRUE(ok(lease));
      ++turns;
    });
  }
  ASSERT_TRUE(eventually([&] {
    return cluster().raw(0, {"ZCARD", "quorumlock:queue:" + key}).integer == 20;
  }));
  EXPECT_TRUE(ok(held->release()));
  ASSERT_TRUE(eventually([&] { return turns == 20; }));
  const Stats stats = coordinator.stats();
  EXPECT_GE(stats.waits.count, 20U);
  EXPECT_EQ(stats.won_after.hand_over + stats.won_after.message + stats.won_after.look,
            stats.waits.count);
  EXPECT_GE(stats.won_after.hand_over, 1U);
  std::uint64_t all = 0;
  for (const std::uint64_t some : stats.waits.histogram) all += some;
  EXPECT_EQ(all, stats.waits.count);
  EXPECT_LE(stats.waits.longest, stats.waits.total);
  EXPECT_GE(stats.waits.percentile(1), stats.waits.longest);
}

TEST_F(StatsTest, TheOldestWaitGrowsUntilItEnds) {
  // The same holds with several loops, each of which keeps its own numbers.
  for (const int count : {1, 3}) {
    Options several = options();
    several.loops = count;
    Coordinator coordinator = test::connect(several);
    EXPECT_EQ(coordinator.stats().oldest_wait, 0ns);
    for (int node = 0; node < 5; ++node) cluster().plant(node, key);
    std::stop_source stop;
    Answer<Result<Lease>> answer;
    const Clock::time_point before = Clock::now();
    coordinator.async_acquire(key, {.wait = forever}, stop.get_token(), answer.handler());
    EXPECT_TRUE(eventually([&] { return coordinator.stats().oldest_wait >= 50ms; }));
    const Stats stats = coordinator.stats();
    EXPECT_LE(stats.oldest_wait, Clock::now() - before);
    stop.request_stop();
    EXPECT_TRUE(fails_with(answer.get(), Errc::cancelled));
    EXPECT_EQ(coordinator.stats().oldest_wait, 0ns);
    for (int node = 0; node < 5; ++node) cluster().raw(node, {"DEL", key});
  }
}

TEST_F(StatsTest, StatsMayBeReadOnTheLoopOfAHost) {
  // stats() works on the host's thread before its loop runs and after it has ended.
  UvLoop loop;
  {
    Coordinator coordinator = Coordinator::attach(loop.get(), options()).value();
    EXPECT_EQ(coordinator.stats().attempts, 0U);
    coordinator.async_acquire(key, {}, {},
                              [](const Result<Lease>& lease) { EXPECT_TRUE(ok(lease)); });
    loop.run();
    EXPECT_EQ(coordinator.stats().acquired, 1U);
    coordinator.close();
    loop.run();
    EXPECT_EQ(coordinator.stats().acquired, 1U);
  }
  EXPECT_EQ(loop.close(), 0);
}

}  // namespace
}  // namespace quorumlock::test
