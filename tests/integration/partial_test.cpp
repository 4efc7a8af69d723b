#include <bit>
#include <vector>

#include "integration/fixture.hpp"

namespace quorumlock::test {
namespace {

class PartialForeignHeld : public FiveNodes {};

TEST_F(PartialForeignHeld, EverySubsetIsDecidedByTheMajority) {
  // Another client holds each subset of nodes in turn: the lock is granted iff three are free, and
  // the foreign values and their expiry stay unchanged.
  Coordinator coordinator = connect();
  for (unsigned held = 0; held < 32; ++held) {
    SCOPED_TRACE(held);
    const std::string name = resource_of_this_test(std::to_string(held));
    const int foreign = std::popcount(held);
    for (int node = 0; node < 5; ++node) {
      if ((held >> node & 1U) != 0) cluster().plant(node, name);
    }
    Result<Lease> lease = coordinator.acquire(name);
    if (foreign <= 2) {
      ASSERT_TRUE(ok(lease));
      EXPECT_TRUE(
          eventually([&] { return cluster().holders(name, lease->owner_token()) == 5 - foreign; }));
      EXPECT_EQ(cluster().holders(name, "foreign"), foreign);
      EXPECT_TRUE(ok(lease->release()));
    } else {
      ASSERT_TRUE(fails_with(lease, Errc::contended));
      const Outcome& outcome = lease.error().outcome();
      EXPECT_EQ(outcome.attempts, 1);
      EXPECT_GE(outcome.count(Vote::held), 3);
      for (int node = 0; node < 5; ++node) {
        const Vote vote = outcome.votes.at(static_cast<std::size_t>(node)).vote;
        const Vote expected = (held >> node & 1U) != 0 ? Vote::held : Vote::granted;
        EXPECT_TRUE(vote == expected || vote == Vote::pending) << to_string(vote);
      }
    }
    EXPECT_TRUE(eventually([&] { return cluster().holders(name) == foreign; }));
    EXPECT_EQ(cluster().holders(name, "foreign"), foreign);
    for (int node = 0; node < 5; ++node) {
      const bool planted = (held >> node & 1U) != 0;
      EXPECT_EQ(cluster().pttl(node, name) > 500s, planted);
    }
  }
}

TEST_F(PartialForeignHeld, ExtendAndReleaseLeaveTheMinorityAlone) {
  // A lease next to two foreign values is extended and released on its own three nodes only.
  Coordinator coordinator = connect();
  cluster().plant(1, key);
  cluster().plant(3, key);
  Result<Lease> lease = coordinator.acquire(key);
  ASSERT_TRUE(ok(lease));
  EXPECT_TRUE(ok(lease->extend(20s)));
  EXPECT_EQ(cluster().holders(key, "foreign"), 2);
  EXPECT_GT(cluster().pttl(1, key), 500s);
  EXPECT_TRUE(ok(lease->release()));
  EXPECT_TRUE(eventually([&] { return cluster().holders(key) == 2; }));
  EXPECT_EQ(cluster().holders(key, "foreign"), 2);
}

class PartialNodesDown : public FiveNodes {};

TEST_F(PartialNodesDown, EverySubsetIsDecidedByTheMajority) {
  // Each subset of nodes is dead in turn: the lock is granted iff three are up, else no_quorum. The
  // votes show the missing nodes, and nothing is left on the others.
  unsigned down = 0;
  for (unsigned step = 0; step < 32; ++step) {
    const unsigned wanted = step ^ (step >> 1U);  // one node dies or comes back at each step
    for (int node = 0; node < 5; ++node) {
      if (((down ^ wanted) >> node & 1U) == 0) continue;
      if ((wanted >> node & 1U) != 0)
        cluster().kill(node);
      else
        cluster().restart(node);
    }
    down = wanted;
    SCOPED_TRACE(down);
    const int up = 5 - std::popcount(down);
    Coordinator coordinator = connect();
    Result<Lease> lease = coordinator.acquire(key);
    if (up >= 3) {
      ASSERT_TRUE(ok(lease));
      EXPECT_TRUE(eventually([&] { return cluster().holders(key, lease->owner_token()) == up; }));
      EXPECT_TRUE(ok(lease->extend(20s)));
      EXPECT_TRUE(ok(lease->release()));
    } else {
      ASSERT_TRUE(fails_with(lease, Errc::no_quorum));
      const Outcome& outcome = lease.error().outcome();
      for (int node = 0; node < 5; ++node) {
        const Vote vote = outcome.votes.at(static_cast<std::size_t>(node)).vote;
        if ((down >> node & 1U) == 0)
          EXPECT_NE(vote, Vote::unreachable);
        else
          EXPECT_TRUE(vote == Vote::unreachable || vote == Vote::pending) << to_string(vote);
      }
    }
    EXPECT_TRUE(eventually([&] { return cluster().keys().empty(); }));
  }
}

TEST_F(PartialNodesDown, WithAllDownThereIsNoQuorum) {
  // With all nodes down an attempt and a whole wait both end with no_quorum, never contended.
  for (int node = 0; node < 5; ++node) cluster().kill(node);
  Coordinator coordinator = connect();
  EXPECT_TRUE(fails_with(coordinator.acquire(key), Errc::no_quorum));
  const Clock::time_point before = Clock::now();
  const Result<Lease> waited = coordinator.acquire(key, {.wait = 200ms});
  EXPECT_GE(Clock::now() - before, 200ms);
  EXPECT_TRUE(fails_with(waited, Errc::no_quorum));
}

TEST_F(PartialNodesDown, AServerThatComesBackVotesAgain) {
  // Two nodes die under a running coordinator and come back, after which two others may die.
  Coordinator coordinator = connect();
  warm(coordinator);
  cluster().kill(0);
  cluster().kill(1);
  {
    Result<Lease> lease = coordinator.acquire(key);
    ASSERT_TRUE(ok(lease));
    EXPECT_TRUE(ok(lease->release()));
  }
  cluster().restart(0);
  cluster().restart(1);
  EXPECT_TRUE(eventually([&] {
    Result<Lease> lease = coordinator.acquire(resource_of_this_test("probe"), {.wait = 1s});
    return lease && eventually([&] { return cluster().holders(lease->resource()) >= 3; }) &&
           cluster().holders(lease->resource(), lease->owner_token()) == 5;
  }));
  cluster().kill(2);
  cluster().kill(3);
  EXPECT_TRUE(ok(coordinator.acquire(key, {.wait = 20s})));
}

TEST_F(PartialNodesDown, ReleaseWithoutAQuorumSaysSo) {
  // The holder learns that a quorum did not confirm its release; the nodes that are up ran it.
  Coordinator coordinator = connect();
  Result<Lease> lease = coordinator.acquire(key);
  ASSERT_TRUE(ok(lease));
  for (const int node : {0, 1, 2}) cluster().kill(node);
  const Result<void> released = lease->release();
  EXPECT_TRUE(fails_with(released, Errc::no_quorum));
  EXPECT_FALSE(lease->is_valid());
  EXPECT_TRUE(eventually([&] { return cluster().keys().empty(); }));
}

class PartialOneStopped : public FiveNodes {
 protected:
  // A wait for the stopped node would last a minute, twice what a test may take.
  static Options patient() {
    Options options = FiveNodes::options();
    options.node_timeout = 60s;
    options.connect_timeout = 60s;
    return options;
  }
};

TEST_F(PartialOneStopped, IsNeverWaitedFor) {
  // One node falls silent under a running coordinator: acquire, extend and release go on at the
  // speed of the others. (The node is resumed before the close, which may wait for it.)
  Coordinator coordinator = test::connect(patient());
  warm(coordinator);
  cluster().pause(2);
  const Clock::time_point before = Clock::now();
  for (int i = 0; i < 20; ++i) {
    Result<Lease> lease = coordinator.acquire(key, {.wait = 10s});
    ASSERT_TRUE(ok(lease));
    EXPECT_TRUE(ok(lease->extend(15s)));
    EXPECT_TRUE(ok(lease->release()));
  }
  EXPECT_LT(Clock::now() - before, 30s);
  cluster().resume(2);
  EXPECT_TRUE(eventually([&] { return cluster().keys().empty(); }));
}

TEST_F(PartialOneStopped, IsNotWaitedForWhileConnecting) {
  // The node is silent before the first connection: four greetings are enough.
  cluster().pause(0);
  const Clock::time_point before = Clock::now();
  {
    Coordinator coordinator = test::connect(patient());
    Result<Lease> lease = coordinator.acquire(key);
    ASSERT_TRUE(ok(lease));
    EXPECT_TRUE(ok(lease->release()));
    EXPECT_LT(Clock::now() - before, 30s);
    cluster().resume(0);
  }
  EXPECT_TRUE(eventually([&] { return cluster().keys().empty(); }));
}

TEST_F(PartialOneStopped, ATakenLockIsRefusedAtOnceDespiteIt) {
  // A taken lock is contended at once, although one node does not answer.
  Coordinator holder = test::connect(patient());
  Coordinator other = test::connect(patient());
  Result<Lease> lease = holder.acquire(key);
  ASSERT_TRUE(ok(lease));
  ASSERT_TRUE(eventually([&] { return cluster().holders(key) == 5; }));
  cluster().pause(4);
  const Clock::time_point before = Clock::now();
  EXPECT_TRUE(fails_with(other.acquire(key), Errc::contended));
  EXPECT_LT(Clock::now() - before, 30s);
  cluster().resume(4);
}

TEST_F(PartialOneStopped, CatchesUpWhenItGoesOn) {
  // The stopped node runs its commands late: its grant joins the lease, and the release deletes the
  // key.
  Coordinator coordinator = connect();
  warm(coordinator);
  cluster().pause(1);
  Result<Lease> lease = coordinator.acquire(key);
  ASSERT_TRUE(ok(lease));
  cluster().resume(1);
  EXPECT_TRUE(eventually([&] { return cluster().holders(key, lease->owner_token()) == 5; }));
  EXPECT_TRUE(ok(lease->release()));
  EXPECT_TRUE(eventually([&] { return cluster().keys().empty(); }));
}

TEST_F(PartialOneStopped, WithThreeStoppedThereIsNoQuorumAfterTheTimeout) {
  // With a majority silent an attempt ends after node_timeout, and leaves no key when they go on.
  Options short_timeout = options();
  short_timeout.node_timeout = 300ms;
  Coordinator coordinator = test::connect(short_timeout);
  warm(coordinator);
  for (const int node : {0, 1, 2}) cluster().pause(node);
  const Result<Lease> refused = coordinator.acquire(key);
  ASSERT_TRUE(fails_with(refused, Errc::no_quorum));
  EXPECT_EQ(refused.error().outcome().count(Vote::timed_out), 3);
  for (const int node : {0, 1, 2}) cluster().resume(node);
  EXPECT_TRUE(eventually([&] { return cluster().keys().empty(); }));
  EXPECT_TRUE(ok(coordinator.acquire(key, {.wait = 20s})));
}

}  // namespace
}  // namespace quorumlock::test
