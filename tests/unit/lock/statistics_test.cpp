#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "loop/stats.hpp"
#include "support/engine_line.hpp"

// The engine's statistics: each number is counted when its event happens.
namespace quorumlock::test {
namespace {

VoteCounts counted(const std::vector<Vote>& given) {
  VoteCounts counts;
  for (const Vote vote : given) ++counts[vote];
  return counts;
}

class Statistics : public EngineLine {
 protected:
  Stats stats() { return driver.engine().stats(driver.now); }
};

TEST_F(Statistics, AnAcquisitionAndItsVotesAreCounted) {
  // Two nodes grant and the third is pending: no near miss, and the acquisition never waited.
  driver.acquire(1, terms, 1h);
  driver.reply(0, Vote::granted);
  EXPECT_EQ(stats().acquired, 0U);
  driver.reply(1, Vote::granted);
  EXPECT_EQ(stats().attempts, 1U);
  EXPECT_EQ(stats().acquired, 1U);
  EXPECT_EQ(stats().count(Vote::granted), 2U);
  EXPECT_EQ(stats().near_misses.bare_quorum, 0U);
  EXPECT_EQ(stats().near_misses.acquired_late, 0U);
  EXPECT_EQ(stats().waits.count, 0U);
  EXPECT_EQ(stats().refusals(), 0U);
}

TEST_F(Statistics, ABareQuorumIsCounted) {
  // One node refuses, and later one is down: of three nodes, one more loss would have cost the
  // lock.
  driver.acquire(1, terms);
  driver.reply(0, Vote::held);
  driver.reply(1, Vote::granted);
  driver.reply(2, Vote::granted);
  EXPECT_EQ(stats().near_misses.bare_quorum, 1U);
  EXPECT_EQ(stats().count(Vote::held), 1U);
  driver.link(0, LinkState::down);
  driver.acquire(2, terms, 0s, "other");
  driver.reply(1, Vote::granted);
  driver.reply(2, Vote::granted);
  EXPECT_EQ(stats().near_misses.bare_quorum, 2U);
  EXPECT_EQ(stats().count(Vote::unreachable), 1U);
}

TEST_F(Statistics, TheVotesOfANodeAreCountedUntilItLeaves) {
  // The votes stay in the sum of all nodes. A node that takes the place of one that left begins
  // anew.
  driver.acquire(1, terms);
  driver.reply(0, Vote::held);
  driver.reply(1, Vote::granted);
  driver.reply(2, Vote::granted);
  EXPECT_EQ(stats().nodes.at(0).votes, counted({Vote::held}));
  EXPECT_EQ(stats().nodes.at(2).votes, counted({Vote::granted}));
  EXPECT_FALSE(stats().nodes.at(2).counts) << "it is connecting";
  driver.link(2, LinkState::up);
  EXPECT_TRUE(stats().nodes.at(2).counts);
  driver.link(2, LinkState::down);
  EXPECT_FALSE(stats().nodes.at(2).counts);
  driver.acquire(2, terms, 0s, "other");
  EXPECT_EQ(stats().nodes.at(2).votes, counted({Vote::granted, Vote::unreachable}));
  driver.engine().remove_node(driver.now, 2);
  EXPECT_EQ(stats().nodes.size(), 2U);
  EXPECT_EQ(stats().count(Vote::granted), 2U);
  EXPECT_EQ(stats().count(Vote::unreachable), 1U);
  driver.engine().add_node(driver.now, 2);
  EXPECT_EQ(stats().nodes.at(2).votes, counted({}));
  EXPECT_EQ(stats().count(Vote::granted), 2U);
}

TEST_F(Statistics, ALateAcquisitionIsCounted) {
  // The second vote comes when less than a tenth of the ttl is left.
  driver.acquire(1, terms);
  driver.reply(0, Vote::granted);
  driver.pass_until(at(9s));
  driver.reply(1, Vote::granted);
  EXPECT_EQ(stats().near_misses.acquired_late, 1U);
}

TEST_F(Statistics, RefusalsAreCountedByReason) {
  // One attempt is contended, one has no quorum, one wait is cancelled, and close() ends another.
  driver.acquire(1, terms);
  for (const int node : {0, 1, 2}) driver.reply(node, Vote::held);
  driver.answer_all(Vote::absent);
  EXPECT_EQ(stats().refused.contended, 1U);
  driver.acquire(2, terms);
  for (const int node : {0, 1}) driver.time_out(node);
  EXPECT_EQ(stats().count(Vote::timed_out), 2U);
  EXPECT_EQ(stats().refused.no_quorum, 1U);
  driver.answer_all(Vote::absent);
  EXPECT_EQ(stats().waits.count, 0U);

  driver.cancel(enqueue(3));
  driver.answer_all(Vote::absent);
  EXPECT_EQ(stats().refused.cancelled, 1U);
  EXPECT_EQ(stats().waits.count, 1U);
  enqueue(4);
  driver.close();
  EXPECT_EQ(stats().refused.closed, 1U);
  EXPECT_EQ(stats().refusals(), 4U);
}

TEST_F(Statistics, AWaitThatRunsOutIsCounted) {
  // The acquisition was in the line all the time: the wait counts as long as its limit.
  enqueue(1, 3ms);
  driver.pass_until(at(3ms));
  EXPECT_EQ(stats().refused.timed_out, 1U);
  EXPECT_EQ(stats().waits.count, 1U);
  EXPECT_EQ(stats().waits.longest, 3ms);
  EXPECT_EQ(stats().waits.total, 3ms);
  EXPECT_EQ(stats().waits.histogram[5], 1U);  // above 2.5 ms, at most 5 ms
  EXPECT_EQ(stats().waits.percentile(0.5), 5ms);
}

TEST_F(Statistics, AWinAfterAMessageIsCounted) {
  // Two nodes report that the waiter is first.
  enqueue(1);
  driver.pass_until(at(700us));
  driver.wake(0, 1);
  driver.wake(1, 1);
  driver.answer_all();
  EXPECT_EQ(stats().acquired, 1U);
  EXPECT_EQ(stats().attempts, 2U);
  EXPECT_EQ(stats().won_after.message, 1U);
  EXPECT_EQ(stats().waits.count, 1U);
  EXPECT_EQ(stats().waits.longest, 700us);
}

TEST_F(Statistics, AWinAfterALookIsCounted) {
  // The answers to a refresh report that the waiter is first and the lock is free.
  enqueue(1);
  driver.pass_until(at(1s));
  for (const int node : {0, 1}) driver.reply(node, {first_and_free});
  driver.answer_all();
  EXPECT_EQ(stats().won_after.look, 1U);
  EXPECT_EQ(stats().won_after.message, 0U);
}

TEST_F(Statistics, AWinByHandOverIsCounted) {
  // The waiter's own process holds the lock and hands it over.
  driver.acquire_in_order(1, terms, 1h);
  driver.answer_all();
  driver.acquire_in_order(2, terms, 1h);
  for (const int node : {0, 1, 2}) driver.reply(node, refused());
  driver.reply(2, Vote::absent);
  for (const int node : {0, 1, 2}) driver.reply(node, {first});
  driver.release(driver.lease());
  driver.answer_all();
  EXPECT_EQ(stats().acquired, 2U);
  EXPECT_EQ(stats().released, 1U);
  EXPECT_EQ(stats().won_after.hand_over, 1U);
}

TEST_F(Statistics, RenewalsAreCounted) {
  // One renewal comes in time, the next one late.
  driver.acquire(1, terms);
  driver.answer_all();
  driver.pass_until(at(third));
  driver.answer_all();
  EXPECT_EQ(stats().renewals, 1U);
  EXPECT_EQ(stats().renewal_slack.total, validity - third);
  EXPECT_EQ(stats().near_misses.renewed_late, 0U);
  driver.pass_until(at(third + validity - 1ms));
  driver.answer_all();
  EXPECT_EQ(stats().renewals, 2U);
  EXPECT_EQ(stats().near_misses.renewed_late, 1U);
  EXPECT_EQ(stats().renewal_slack.count, 2U);
  EXPECT_EQ(stats().renewal_slack.longest, validity - third);
  EXPECT_EQ(stats().renewal_slack.total, validity - third + 1ms);
  EXPECT_EQ(stats().failed_renewals, 0U);
}

TEST_F(Statistics, ALossIsCounted) {
  // No node can be reached when the lease is to be renewed.
  driver.acquire(1, terms);
  driver.answer_all();
  for (int node = 0; node < 3; ++node) driver.link(node, LinkState::down);
  driver.pass_until(at(10s));
  EXPECT_EQ(stats().renewals, 0U);
  EXPECT_GE(stats().failed_renewals, 3U);
  EXPECT_EQ(stats().lost, 1U);
  EXPECT_EQ(stats().expired, 0U);
}

TEST_F(Statistics, ALeaseThatRunsOutIsCounted) {
  // The lease has no automatic renewal.
  core::Terms once = terms;
  once.auto_extend = false;
  driver.acquire(1, once);
  driver.answer_all();
  driver.pass_until(at(10s));
  EXPECT_EQ(stats().expired, 1U);
  EXPECT_EQ(stats().lost, 0U);
}

TEST_F(Statistics, TheOldestAcquisitionIsKnown) {
  // The oldest is the first of the acquisitions without an answer, whatever becomes of the others.
  EXPECT_EQ(driver.engine().waiting_since(), core::never);
  driver.now = at(1s);
  const core::WaiterId first = driver.acquire(1, terms, 1h);
  driver.now = at(2s);
  const core::WaiterId second = driver.acquire(2, terms, 1h);
  driver.now = at(3s);
  driver.acquire(3, terms, 0s, "another");
  EXPECT_EQ(driver.engine().waiting_since(), at(1s));
  driver.cancel(second);
  EXPECT_EQ(driver.engine().waiting_since(), at(1s));
  driver.cancel(first);
  EXPECT_EQ(driver.engine().waiting_since(), at(3s));
  driver.answer_all();
  EXPECT_EQ(driver.engine().waiting_since(), core::never);
  Stats stats;
  detail::set_oldest_wait(stats, at(3s), at(5s));
  EXPECT_EQ(stats.oldest_wait, 2s);
  detail::set_oldest_wait(stats, core::never, at(5s));
  EXPECT_EQ(stats.oldest_wait, 0s);
}

class StatisticsClasses : public testing::Test {
 protected:
  static core::Engine::Config config() {
    core::Engine::Config config{.nodes = 3, .retry_delay = 50ms, .retry_jitter = 30ms};
    static constexpr std::string_view kinds[] = {"quorumlock:semaphore:"};
    config.classes = {{"orders:", "stock:"}, kinds, std::string_view("app:").size()};
    return config;
  }
  const ClassStats& of(int number) {
    stats_ = driver.engine().stats(driver.now);
    return stats_.classes.at(static_cast<std::size_t>(number));
  }
  EngineDriver driver{config()};
  core::Terms terms{.ttl = 10s, .stop_margin = 1s};

 private:
  Stats stats_;
};

TEST_F(StatisticsClasses, AreCountedByTheBeginningOfTheName) {
  // The prefix of the keys is not part of a name, nor is what a semaphore's key begins with.
  driver.acquire(1, terms, 0s, "app:orders:42");
  driver.answer_all();
  driver.acquire(2, terms, 0s, "app:stock:7");
  for (const int node : {0, 1, 2}) driver.reply(node, Vote::held);
  driver.answer_all(Vote::absent);
  driver.acquire(3, terms, 0s, "app:order");
  driver.answer_all();
  EXPECT_EQ(of(0).prefix, "orders:");
  EXPECT_EQ(of(0).acquired, 1U);
  EXPECT_EQ(of(0).refused.contended, 0U);
  EXPECT_EQ(of(1).acquired, 0U);
  EXPECT_EQ(of(1).refused.contended, 1U);
  EXPECT_EQ(of(2).prefix, "");
  EXPECT_EQ(of(2).acquired, 1U);
  EXPECT_EQ(driver.engine().stats(driver.now).acquired, 2U);
  driver.acquire(4, terms, 0s, "quorumlock:semaphore:app:orders:7");
  driver.answer_all();
  EXPECT_EQ(of(0).acquired, 2U);
}

TEST_F(StatisticsClasses, CountWaitsAndLosses) {
  driver.acquire(1, terms, 1h, "app:stock:7");
  for (const int node : {0, 1, 2}) driver.reply(node, Vote::held);
  driver.answer_all(Vote::absent);
  driver.pass_until(driver.now + 200ms);
  driver.answer_all();
  ASSERT_EQ(of(1).acquired, 1U);
  EXPECT_EQ(of(1).waits.count, 1U);
  EXPECT_EQ(of(0).waits.count, 0U);
  for (int node = 0; node < 3; ++node) driver.link(node, core::LinkState::down);
  driver.pass_until(driver.now + 10s);
  EXPECT_EQ(of(1).lost, 1U);
  EXPECT_EQ(of(0).lost + of(2).lost, 0U);
}

TEST(StatisticsOfSeveral, AreTheSumOfEveryNumber) {
  // All members before the classes are 64-bit words, so the test covers numbers that are added
  // later. Of the longest durations the sum is the maximum, and so is the age of the oldest wait.
  constexpr std::size_t count = offsetof(Stats, classes) / sizeof(std::uint64_t);
  Stats one, sum;
  const auto word = [](Stats& stats, std::size_t i) -> std::uint64_t& {
    return reinterpret_cast<std::uint64_t*>(&stats)[i];
  };
  for (std::size_t i = 0; i < count; ++i) word(one, i) = i + 1;
  one.classes = {{"orders:", 3, {.timed_out = 2}, 1, {.count = 5}}, {"", 7}};
  sum = one;
  detail::add(sum, one);
  EXPECT_EQ(sum.waits.longest, one.waits.longest);
  EXPECT_EQ(sum.renewal_slack.longest, one.renewal_slack.longest);
  sum.waits.longest *= 2;
  sum.renewal_slack.longest *= 2;
  EXPECT_EQ(sum.oldest_wait, one.oldest_wait);
  sum.oldest_wait *= 2;
  for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(word(sum, i), 2 * word(one, i)) << i;
  Stats all;  // the first of several loops is added to empty statistics
  detail::add(all, sum);
  ASSERT_EQ(all.classes.size(), 2U);
  EXPECT_EQ(all.classes[0].prefix, "orders:");
  EXPECT_EQ(all.classes[0].acquired, 6U);
  EXPECT_EQ(all.classes[0].refused.timed_out, 4U);
  EXPECT_EQ(all.classes[0].lost, 2U);
  EXPECT_EQ(all.classes[0].waits.count, 10U);
  EXPECT_EQ(all.classes[1].acquired, 14U);
}

TEST(StatisticsOfSeveral, HaveEachNodeOnce) {
  // Each loop has its own numbers of the same nodes, by number. A node's votes count if they do on
  // every loop.
  Stats first, second, sum;
  const auto granted = [](std::size_t times) { return counted(std::vector(times, Vote::granted)); };
  first.nodes = {{.counts = true, .votes = granted(1)}, {}, {.counts = true, .votes = granted(5)}};
  second.nodes = {
      {.counts = true, .votes = granted(2)}, {}, {.counts = false, .votes = granted(1)}};
  detail::NodeList list;
  list.add(2, "c");
  list.add(0, "a");
  for (Stats* const stats : {&first, &second}) {
    detail::name_nodes(*stats, list, "east");
    detail::add(sum, *stats);
  }
  ASSERT_EQ(sum.nodes.size(), 2U);
  EXPECT_EQ(sum.nodes[0].node, "c");
  EXPECT_EQ(sum.nodes[0].group, "east");
  EXPECT_EQ(sum.nodes[0].votes, granted(6));
  EXPECT_FALSE(sum.nodes[0].counts);
  EXPECT_EQ(sum.nodes[1].node, "a");
  EXPECT_EQ(sum.nodes[1].votes, granted(3));
  EXPECT_TRUE(sum.nodes[1].counts);
  Stats other = sum;
  other.nodes[0].group = "west";
  detail::add(sum, other);
  EXPECT_EQ(sum.nodes.size(), 3U);
}

}  // namespace
}  // namespace quorumlock::test
