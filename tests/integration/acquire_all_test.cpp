#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <thread>
#include <vector>

#include "integration/several.hpp"
#include "support/process.hpp"

// Several locks as one, on real servers.
namespace quorumlock::test {
namespace {

using AcquireAll = Several;

TEST_F(AcquireAll, OneLeaseHoldsThemAll) {
  // The locks share one token, one end and one release, which leaves no key.
  Coordinator coordinator = connect();
  Result<Lease> lease = coordinator.acquire_all({a, b, c});
  ASSERT_TRUE(ok(lease));
  EXPECT_EQ(lease->resource(), a);
  EXPECT_EQ(lease->resources(), (std::vector<std::string>{a, b, c}));
  for (const std::string& each : {a, b, c}) {
    EXPECT_TRUE(eventually([&] { return cluster().holders(each, lease->owner_token()) == 5; }));
    EXPECT_EQ(coordinator.inspect(each).value().holder, lease->owner_token());
  }
  EXPECT_TRUE(ok(lease->extend(20s)));
  for (const std::string& each : {a, b, c}) {
    EXPECT_TRUE(eventually([&] { return cluster().pttl(4, each) > 15s; }));
  }
  EXPECT_TRUE(ok(lease->release()));
  EXPECT_FALSE(lease->is_valid());
  EXPECT_TRUE(eventually([&] { return cluster().keys().empty(); }));
}

TEST_F(AcquireAll, ExcludesEachOfThemAndIsExcludedByEach) {
  // A lock on the set excludes a lock on a member, and the other way round; a refusal leaves no
  // keys.
  Coordinator coordinator = connect();
  Coordinator other = connect();
  Result<Lease> set = coordinator.acquire_all({a, b});
  ASSERT_TRUE(ok(set));
  EXPECT_TRUE(fails_with(other.acquire(a), Errc::contended));
  EXPECT_TRUE(fails_with(other.acquire(b), Errc::contended));
  EXPECT_TRUE(fails_with(other.acquire_all({b, c}), Errc::contended));
  EXPECT_TRUE(fails_with(coordinator.acquire_all({c, a}), Errc::contended));
  // A node that the set has not reached yet may have granted c for a moment.
  EXPECT_TRUE(eventually([&] { return cluster().holders(c) == 0; }));
  ASSERT_TRUE(ok(set->release()));

  Result<Lease> member = other.acquire(b, {.wait = 20s});
  ASSERT_TRUE(ok(member));
  EXPECT_TRUE(fails_with(coordinator.acquire_all({a, b, c}), Errc::contended));
  EXPECT_TRUE(eventually([&] { return cluster().holders(a) + cluster().holders(c) == 0; }));
  EXPECT_TRUE(ok(other.acquire_all({a, c})));
}

TEST_F(AcquireAll, ANodeGrantsAllOfThemOrNone) {
  // Another client's key exists on two nodes: these grant nothing, the other three everything.
  Coordinator coordinator = connect();
  warm(coordinator);
  for (const int node : {1, 3}) cluster().plant(node, b);
  Result<Lease> lease = coordinator.acquire_all({a, b, c});
  ASSERT_TRUE(ok(lease));
  EXPECT_EQ(lease->outcome().count(Vote::granted), 3);
  ASSERT_TRUE(eventually([&] { return cluster().holders(b, lease->owner_token()) == 3; }));
  for (const std::string& each : {a, c}) EXPECT_EQ(cluster().holders(each), 3);
  ASSERT_TRUE(ok(lease->release()));
  EXPECT_EQ(cluster().holders(b, "foreign"), 2);
  // With a third foreign key there is no quorum for the set, but there is one for the rest of it.
  cluster().plant(0, b);
  EXPECT_TRUE(fails_with(coordinator.acquire_all({a, b, c}), Errc::contended));
  EXPECT_TRUE(ok(coordinator.acquire_all({a, c}, {.wait = 20s})));
}

TEST_F(AcquireAll, ItsTokenExceedsEveryEarlierOneOfEach) {
  // The greatest counter of any of the locks decides the token, and all of them are raised to it.
  Coordinator coordinator = connect();
  std::uint64_t greatest = 0;
  for (const std::string& each : {a, b, c}) {
    // Each counter in turn is an hour or two ahead of every earlier token.
    const std::uint64_t first = coordinator.acquire(each)->fencing_token();
    greatest = first + 3'600'000'000 * (greatest == 0 ? 1 : 2);
    cluster().raw_everywhere({"SET", "quorumlock:fence:" + each, std::to_string(greatest)});
    Result<Lease> set = coordinator.acquire_all({a, b, c}, {.wait = 20s});
    ASSERT_TRUE(ok(set));
    EXPECT_GT(set->fencing_token(), greatest);
    greatest = set->fencing_token();
    ASSERT_TRUE(ok(set->release()));
  }
  for (const std::string& each : {a, b, c}) {
    EXPECT_GT(connect().acquire(each, {.wait = 20s})->fencing_token(), greatest);
  }
}

TEST_F(AcquireAll, CountersThatDifferAreRaisedToOneToken) {
  // Each node's counters differ: acquiring takes one more round, after which a quorum of each
  // resource has the token.
  Coordinator coordinator = connect();
  const std::uint64_t first = coordinator.acquire_all({a, b})->fencing_token();
  for (int node = 0; node < 5; ++node) {
    const std::uint64_t ahead = first + 3'600'000'000 * static_cast<std::uint64_t>(node + 1);
    cluster().raw(node,
                  {"SET", "quorumlock:fence:" + (node % 2 == 0 ? a : b), std::to_string(ahead)});
  }
  Result<Lease> set = connect().acquire_all({a, b}, {.wait = 20s});
  ASSERT_TRUE(ok(set));
  for (const std::string& each : {a, b}) {
    int standing = 0;
    for (int node = 0; node < 5; ++node) {
      const auto value = cluster().value(node, "quorumlock:fence:" + each);
      if (value == std::to_string(set->fencing_token())) ++standing;
    }
    EXPECT_GE(standing, 3) << each;
  }
}

TEST_F(AcquireAll, WaitsForTheReleaseOfEach) {
  // There are two holders: the release of one lock is not enough, that of the other wakes the
  // waiter.
  Coordinator holders = connect();
  Coordinator waiter = connect();
  Result<Lease> one = holders.acquire(a);
  Result<Lease> two = holders.acquire(c);
  ASSERT_TRUE(ok(one));
  ASSERT_TRUE(ok(two));
  Answer<Result<Lease>> answer;
  waiter.async_acquire_all({a, b, c}, {.wait = forever}, {}, answer.handler());
  for (const std::string& each : {a, b, c}) see_waiters(each, 1);
  ASSERT_TRUE(ok(two->release()));
  EXPECT_EQ(answer.calls(), 0);
  ASSERT_TRUE(ok(one->release()));
  Result<Lease> set = answer.get();
  ASSERT_TRUE(ok(set));
  EXPECT_EQ(set->resources().size(), 3U);
  ASSERT_TRUE(ok(set->release()));
  for (const std::string& each : {a, b, c}) see_waiters(each, 0);
}

TEST_F(AcquireAll, IsNotOvertakenByRequestsForFewerLocks) {
  // While a waiter waits for one of two locks, a newcomer to the free one waits after it.
  Coordinator holder = connect();
  Coordinator waiter = connect();
  Coordinator late = connect();
  Result<Lease> held = holder.acquire(a);
  ASSERT_TRUE(ok(held));
  Answer<Result<Lease>> set;
  waiter.async_acquire_all({b, a}, {.wait = forever}, {}, set.handler());
  see_waiters(b, 1);
  EXPECT_TRUE(fails_with(late.acquire(b), Errc::contended));
  EXPECT_TRUE(fails_with(late.acquire_all({c, b}), Errc::contended));
  Answer<Result<Lease>> single;
  late.async_acquire(b, {.wait = forever}, {}, single.handler());
  see_waiters(b, 2);
  ASSERT_TRUE(ok(held->release()));
  Result<Lease> first = set.get();
  ASSERT_TRUE(ok(first));
  EXPECT_EQ(single.calls(), 0);
  ASSERT_TRUE(ok(first->release()));
  EXPECT_TRUE(ok(single.get()));
}

TEST_F(AcquireAll, AWaiterThatGivesUpLetsAllOthersThrough) {
  // The waiter is first in both lines and one of the locks is free: when the waiter leaves, the
  // next one gets the free lock.
  Coordinator holder = connect();
  Coordinator waiter = connect();
  Coordinator next = connect();
  Result<Lease> held = holder.acquire(a);
  ASSERT_TRUE(ok(held));
  std::stop_source stop;
  Answer<Result<Lease>> set;
  waiter.async_acquire_all({a, b}, {.wait = forever}, stop.get_token(), set.handler());
  see_waiters(b, 1);
  Answer<Result<Lease>> single;
  next.async_acquire(b, {.wait = forever}, {}, single.handler());
  see_waiters(b, 2);
  stop.request_stop();
  EXPECT_TRUE(fails_with(set.get(), Errc::cancelled));
  EXPECT_TRUE(ok(single.get()));
  for (const std::string& each : {a, b}) see_waiters(each, 0);
}

TEST_F(AcquireAll, IsLostIfOneOfThemIsLost) {
  // One key of the set is gone from a quorum: the lease ends, and the others are deleted.
  Coordinator coordinator = connect();
  Result<Lease> lease = coordinator.acquire_all({a, b}, {.ttl = 3s});
  ASSERT_TRUE(ok(lease));
  ASSERT_TRUE(eventually([&] { return cluster().holders(b, lease->owner_token()) == 5; }));
  EXPECT_TRUE(eventually([&] {
    // The key is deleted again and again, since a renewal may come between two deletions and set it
    // anew on the first node.
    for (const int node : {0, 2, 4}) cluster().raw(node, {"DEL", b});
    return !lease->is_valid();
  }));
  EXPECT_TRUE(fails_with(lease->release(), Errc::lost));
  EXPECT_TRUE(eventually([&] { return cluster().keys().empty(); }));
}

TEST_F(AcquireAll, HealsKeysThatAMinorityHasLost) {
  // The renewals set the missing key again while a quorum still has the whole set.
  Coordinator coordinator = connect();
  Result<Lease> lease = coordinator.acquire_all({a, b}, {.ttl = 2s});
  ASSERT_TRUE(ok(lease));
  ASSERT_TRUE(eventually([&] { return cluster().holders(b, lease->owner_token()) == 5; }));
  for (const int node : {1, 4}) cluster().raw(node, {"DEL", b});
  EXPECT_TRUE(eventually([&] { return cluster().holders(b, lease->owner_token()) == 5; }));
  const Clock::time_point end = lease->valid_until();
  EXPECT_TRUE(eventually([&] { return lease->valid_until() > end; }));
  for (const std::string& each : {a, b}) {
    EXPECT_EQ(cluster().holders(each, lease->owner_token()), 5);
  }
  EXPECT_TRUE(ok(lease->release()));
  EXPECT_TRUE(eventually([&] { return cluster().keys().empty(); }));
}

TEST_F(AcquireAll, AReleaseByTokenOfOneEndsTheLease) {
  // A release by token takes one resource out of the set, which the holder notices.
  Coordinator coordinator = connect();
  Coordinator stranger = connect();
  Result<Lease> lease = coordinator.acquire_all({a, b}, {.ttl = 2s});
  ASSERT_TRUE(ok(lease));
  const OwnerToken token(lease->owner_token());
  EXPECT_TRUE(ok(stranger.extend(b, token, 2s)));
  EXPECT_TRUE(ok(stranger.release(b, token)));
  EXPECT_TRUE(eventually([&] { return !lease->is_valid(); }));
  EXPECT_TRUE(eventually([&] { return cluster().keys().empty(); }));
}

TEST_F(AcquireAll, IsAScriptEvenWithoutFencing) {
  // No counter is written and no token is given; the set excludes others as before.
  Options plain = options();
  plain.fencing = false;
  Coordinator coordinator = test::connect(plain);
  Result<Lease> lease = coordinator.acquire_all({a, b});
  ASSERT_TRUE(ok(lease));
  EXPECT_EQ(lease->fencing_token(), 0U);
  EXPECT_TRUE(fails_with(test::connect(plain).acquire(b), Errc::contended));
  EXPECT_EQ(cluster().holders("quorumlock:fence:" + a) + cluster().holders("quorumlock:fence:" + b),
            0);
}

TEST_F(AcquireAll, RefusesBadArgumentsBeforeAnythingIsSent) {
  // No resources, a duplicate, an empty or reserved name and too many resources are each refused
  // in a sentence.
  Coordinator coordinator = connect();
  const auto refusal = [&](std::vector<std::string> resources) {
    const Result<Lease> lease = coordinator.acquire_all(std::move(resources));
    EXPECT_TRUE(fails_with(lease, Errc::invalid_argument));
    return lease ? std::string() : std::string(lease.error().what());
  };
  using ::testing::HasSubstr;
  EXPECT_THAT(refusal({}), HasSubstr("name what is to be locked"));
  EXPECT_THAT(refusal({a, b, a}), HasSubstr("is given twice"));
  EXPECT_THAT(refusal({a, ""}), HasSubstr("is empty"));
  EXPECT_THAT(refusal({a, "quorumlock:x"}), HasSubstr("\"quorumlock:x\""));
  std::vector<std::string> many;
  for (int i = 0; i < 65; ++i) many.push_back(key + "/" + std::to_string(i));
  EXPECT_THAT(refusal(many), HasSubstr("65 resources are given: at most 64"));
  EXPECT_TRUE(cluster().keys().empty());
  // The greatest permitted number of resources fits in one lease.
  many.pop_back();
  EXPECT_TRUE(ok(coordinator.acquire_all(many, {.wait = 20s})));
}

TEST_F(AcquireAll, ServesManyWaitersOfOneProcessForManySets) {
  // There are more entries than fit into one command: each waiter's stay together, and all are
  // served.
  Coordinator coordinator = connect();
  Result<Lease> held = coordinator.acquire(key + "/0");
  ASSERT_TRUE(ok(held));
  std::atomic<int> served{0};
  for (int i = 0; i < 12; ++i) {
    std::vector<std::string> set = {key + "/0"};
    for (int j = 1; j < 12; ++j) set.push_back(key + "/" + std::to_string((i * j) % 97 + 100 * j));
    coordinator.async_acquire_all(std::move(set), {.wait = forever}, {}, [&](Result<Lease> lease) {
      EXPECT_TRUE(ok(lease));
      ++served;
    });
  }
  see_waiters(key + "/0", 12);
  ASSERT_TRUE(ok(held->release()));
  EXPECT_TRUE(eventually([&] { return served == 12; }));
  EXPECT_TRUE(eventually([&] { return cluster().keys().empty(); }));
}

/// Five philosophers, each in a process of its own. A file has a number for each fork, which only
/// the lock on the fork protects.
TEST(AcquireAllPhilosophers, AllDineAndNoForkIsHeldTwice) {
  // Each asks for both forks, in a circle: no deadlock, no lost update, and all of them finish.
  constexpr int seats = 5;
  constexpr int times = 20;
  Cluster cluster;
  const TemporaryDirectory directory;
  const auto fork = [](int number) { return "fork-" + std::to_string(number % seats); };
  const auto file = [&](int number) { return (directory.path() / fork(number)).string(); };
  std::string nodes;
  for (const std::string& url : cluster.urls()) nodes += (nodes.empty() ? "" : ",") + url;
  for (int i = 0; i < seats; ++i) std::ofstream(file(i)) << 0;
  std::vector<Process> philosophers;
  for (int i = 0; i < seats; ++i) {
    philosophers.push_back(
        Process({QUORUMLOCK_TEST_WORKER, "count", nodes, fork(i) + "," + fork(i + 1),
                 file(i) + "," + file(i + 1), std::to_string(times)}));
  }
  for (Process& each : philosophers) EXPECT_EQ(each.wait(), 0);
  for (int i = 0; i < seats; ++i) {
    long long number = 0;
    std::ifstream(file(i)) >> number;
    EXPECT_EQ(number, 2 * times) << fork(i);
  }
  EXPECT_TRUE(eventually([&] { return cluster.keys().empty(); }));
}

}  // namespace
}  // namespace quorumlock::test
