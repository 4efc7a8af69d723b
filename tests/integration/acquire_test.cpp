#include <functional>
#include <set>
#include <thread>
#include <vector>

#include "integration/fixture.hpp"

namespace quorumlock::test {
namespace {

class Acquire : public FiveNodes {};

TEST_F(Acquire, PutsOneTokenOnEveryNodeForTheTtl) {
  // An uncontended lock is on all five nodes, under the plain key, for its ttl and no longer.
  Coordinator coordinator = connect();
  const Clock::time_point before = Clock::now();
  Result<Lease> lease = coordinator.acquire(key, {.ttl = 10s, .auto_extend = false});
  const Clock::time_point after = Clock::now();
  ASSERT_TRUE(ok(lease));
  EXPECT_EQ(lease->owner_token().text().find_first_not_of("0123456789abcdef"), 40U);
  EXPECT_EQ(lease->owner_token().text().substr(40), "@" + default_label());
  EXPECT_TRUE(eventually([&] { return cluster().holders(key, lease->owner_token()) == 5; }));
  for (int node = 0; node < 5; ++node) {
    const auto left = cluster().pttl(node, key);
    EXPECT_LE(left, 10s);
    EXPECT_GE(left + 2ms, 10s - (Clock::now() - before));
  }
  const auto margin = 102ms;  // a hundredth of the ttl, and 2 ms
  EXPECT_GE(lease->valid_until(), before + 10s - margin);
  EXPECT_LE(lease->valid_until(), after + 10s - margin);
}

TEST_F(Acquire, TheLeaseReportsWhatItHolds) {
  // The lease has its resource, its votes and its times.
  Coordinator coordinator = connect();
  Result<Lease> lease = coordinator.acquire(key);
  ASSERT_TRUE(ok(lease));
  EXPECT_EQ(lease->resource(), key);
  EXPECT_EQ(lease->resources(), std::vector<std::string>{key});
  EXPECT_TRUE(lease->is_valid());
  EXPECT_GT(lease->remaining(), 0s);
  EXPECT_LT(lease->remaining(), 10s);
  EXPECT_FALSE(lease->stop_token().stop_requested());
  EXPECT_TRUE(lease->stop_token().stop_possible());
  const Outcome outcome = lease->outcome();
  EXPECT_EQ(outcome.votes.size(), 5U);
  EXPECT_EQ(outcome.quorum, 3);
  EXPECT_EQ(outcome.attempts, 1);
  EXPECT_GE(outcome.count(Vote::granted), 3);
}

TEST_F(Acquire, ReleaseDeletesTheKeyEverywhere) {
  // A release deletes the key on all five nodes.
  Coordinator coordinator = connect();
  Result<Lease> lease = coordinator.acquire(key);
  ASSERT_TRUE(ok(lease));
  EXPECT_TRUE(ok(lease->release()));
  EXPECT_FALSE(lease->is_valid());
  EXPECT_TRUE(eventually([&] { return cluster().keys().empty(); }));
}

TEST_F(Acquire, ATakenLockIsRefusedWithTheVotes) {
  // Another coordinator's attempt is contended, reports every node's vote, and changes nothing.
  Coordinator holder = connect();
  Coordinator other = connect();
  Result<Lease> lease = holder.acquire(key);
  ASSERT_TRUE(ok(lease));
  ASSERT_TRUE(eventually([&] { return cluster().holders(key, lease->owner_token()) == 5; }));
  const Result<Lease> refused = other.acquire(key, {.wait = 0s});
  ASSERT_TRUE(fails_with(refused, Errc::contended));
  const Outcome& outcome = refused.error().outcome();
  EXPECT_EQ(outcome.votes.size(), 5U);
  EXPECT_EQ(outcome.count(Vote::granted), 0);
  EXPECT_GE(outcome.count(Vote::held), 3);
  EXPECT_EQ(outcome.attempts, 1);
  EXPECT_NE(std::string(refused.error().what()).find(key), std::string::npos);
  EXPECT_EQ(cluster().holders(key, lease->owner_token()), 5);
  EXPECT_TRUE(lease->is_valid());
}

TEST_F(Acquire, TheSameCoordinatorExcludesItself) {
  // A lock is not reentrant: the coordinator that holds it is refused like any other.
  Coordinator coordinator = connect();
  Result<Lease> lease = coordinator.acquire(key);
  ASSERT_TRUE(ok(lease));
  EXPECT_TRUE(fails_with(coordinator.acquire(key), Errc::contended));
}

TEST_F(Acquire, EveryLeaseHasATokenOfItsOwn) {
  // A hundred leases of one resource, one after the other, never share an owner token.
  Coordinator coordinator = connect();
  std::set<std::string> tokens;
  for (int i = 0; i < 100; ++i) {
    Result<Lease> lease = coordinator.acquire(key, {.wait = 10s});
    ASSERT_TRUE(ok(lease));
    tokens.insert(lease->owner_token());
    EXPECT_TRUE(ok(lease->release()));
  }
  EXPECT_EQ(tokens.size(), 100U);
}

TEST_F(Acquire, ResourcesAreAnyBytes) {
  // Spaces, braces, a NUL, line ends, bytes beyond ASCII and 64 KiB of name are all just a key.
  Coordinator coordinator = connect();
  const std::vector<std::string> names = {
      "with spaces", "{braces}",           std::string("nul\0inside", 10),
      "line\r\nend", "\xC3\xBCmlaut \xFF", std::string(65'536, 'x')};
  for (const std::string& name : names) {
    Result<Lease> lease = coordinator.acquire(name);
    ASSERT_TRUE(ok(lease));
    EXPECT_EQ(lease->resource(), name);
    EXPECT_TRUE(eventually([&] { return cluster().holders(name, lease->owner_token()) == 5; }));
    EXPECT_TRUE(ok(lease->release()));
  }
}

TEST_F(Acquire, ManyResourcesAreLockedAtOnce) {
  // Five hundred locks are in flight at the same time on one connection per node.
  Coordinator coordinator = connect();
  std::vector<Answer<Result<Lease>>> answers(500);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    coordinator.async_acquire(key + std::to_string(i), {}, {}, answers[i].handler());
  }
  std::set<std::string> tokens;
  std::vector<Lease> leases;
  for (auto& answer : answers) {
    Result<Lease> lease = answer.get();
    ASSERT_TRUE(ok(lease));
    tokens.insert(lease->owner_token());
    leases.push_back(std::move(*lease));
  }
  EXPECT_EQ(tokens.size(), answers.size());
  leases.clear();
  EXPECT_TRUE(eventually([&] { return cluster().keys().empty(); }));
}

TEST_F(Acquire, MoreBytesThanTheKernelTakesAtOnceAreSent) {
  // Megabytes of requests in one turn of the loop go out piece by piece, and all are answered.
  Options patient = options();
  patient.node_timeout = 60s;  // a busy machine takes long for that many bytes
  Coordinator coordinator = test::connect(patient);
  std::vector<Answer<Result<Lease>>> answers(150);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    coordinator.async_acquire(std::string(60'000, 'x') + std::to_string(i), {.ttl = 30s}, {},
                              answers[i].handler());
  }
  for (auto& answer : answers) EXPECT_TRUE(ok(answer.get()));
  EXPECT_TRUE(eventually([&] { return cluster().keys().empty(); }));
}

TEST_F(Acquire, AtMostOneOfManyAttemptsIsGranted) {
  // At most one of a hundred simultaneous single attempts from four coordinators is granted.
  std::vector<Coordinator> coordinators;
  for (int i = 0; i < 4; ++i) coordinators.push_back(connect());
  for (int round = 0; round < 10; ++round) {
    std::vector<Answer<Result<Lease>>> answers(100);
    for (std::size_t i = 0; i < answers.size(); ++i) {
      coordinators[i % 4].async_acquire(key, {}, {}, answers[i].handler());
    }
    std::vector<Lease> winners;
    for (auto& answer : answers) {
      Result<Lease> lease = answer.get();
      if (lease)
        winners.push_back(std::move(*lease));
      else
        EXPECT_TRUE(fails_with(lease, Errc::contended));
    }
    EXPECT_LE(winners.size(), 1U);
    winners.clear();
    EXPECT_TRUE(eventually([&] { return cluster().keys().empty(); }));
  }
}

TEST_F(Acquire, ATtlThatTheMarginEatsUpFailsAndCleansUp) {
  // With 2 ms of margin a ttl of 2 ms is never valid: the acquire fails and leaves no key.
  Coordinator coordinator = connect();
  const Result<Lease> refused = coordinator.acquire(key, {.ttl = 2ms});
  ASSERT_FALSE(refused.has_value());
  EXPECT_TRUE(eventually([&] { return cluster().keys().empty(); }));
}

TEST_F(Acquire, AnswersAfterTheTtlMakeNoLease) {
  // Answers that arrive after the end of the ttl make no lease, even if they grant it.
  Coordinator coordinator = connect();
  warm(coordinator);
  for (const int node : {0, 1, 2}) cluster().pause(node);
  Answer<Result<Lease>> answer;
  coordinator.async_acquire(key, {.ttl = 300ms}, {}, answer.handler());
  // The other two nodes have granted the attempt by now, so it has been sent. Their counters stay.
  EXPECT_TRUE(eventually([&] { return cluster().holders("quorumlock:fence:" + key) == 2; }));
  const Clock::time_point over = Clock::now() + 300ms;
  EXPECT_TRUE(eventually([&] { return Clock::now() > over; }));
  for (const int node : {0, 1, 2}) cluster().resume(node);
  EXPECT_FALSE(answer.get().has_value());
  EXPECT_TRUE(eventually([&] { return cluster().keys().empty(); }));
}

TEST_F(Acquire, SlowAnswersShortenTheLease) {
  // The time that the nodes take to answer an acquire or an extend is taken off the lease: the ttl
  // counts from before the first byte is sent, so at the latest from a node's receipt of it.
  Coordinator coordinator = connect();
  warm(coordinator);
  const auto slowly = [&](const std::function<void()>& ask, const std::function<bool()>& arrived) {
    for (const int node : {0, 1, 2}) cluster().pause(node);
    ask();
    EXPECT_TRUE(eventually(arrived));
    const Clock::time_point sent = Clock::now();
    EXPECT_TRUE(eventually([&] { return Clock::now() > sent + 200ms; }));
    for (const int node : {0, 1, 2}) cluster().resume(node);
    return sent;
  };
  Answer<Result<Lease>> acquired;
  Clock::time_point sent = slowly(
      [&] {
        coordinator.async_acquire(key, {.ttl = 10s, .auto_extend = false}, {}, acquired.handler());
      },
      [&] { return cluster().holders(key) == 2; });
  Lease lease = acquired.get().value();
  EXPECT_LE(lease.valid_until(), sent + 10s - 102ms);
  Answer<Result<void>> extended;
  sent = slowly([&] { lease.async_extend(20s, extended.handler()); },
                [&] { return cluster().pttl(3, key) > 15s; });
  EXPECT_TRUE(ok(extended.get()));
  EXPECT_LE(lease.valid_until(), sent + 20s - 202ms);
}

TEST_F(Acquire, AnUnreleasedLockIsFreeAfterItsTtl) {
  // A holder that neither renews nor releases keeps others out for its ttl, and no longer.
  Coordinator holder = connect();
  Coordinator other = connect();
  Result<Lease> first = holder.acquire(key, {.ttl = 1s, .wait = 20s, .auto_extend = false});
  ASSERT_TRUE(ok(first));
  first->detach();
  Result<Lease> second = other.acquire(key, {.wait = forever});
  ASSERT_TRUE(ok(second));
  EXPECT_FALSE(first->is_valid());
  EXPECT_NE(first->owner_token(), second->owner_token());
}

TEST_F(Acquire, AcquireAllOfOneIsAcquire) {
  // acquire_all of one resource makes one lease; an empty set is refused before anything is sent.
  Coordinator coordinator = connect();
  Result<Lease> lease = coordinator.acquire_all({key});
  ASSERT_TRUE(ok(lease));
  EXPECT_EQ(lease->resources(), std::vector<std::string>{key});
  EXPECT_TRUE(fails_with(coordinator.acquire_all({}), Errc::invalid_argument));
  EXPECT_TRUE(fails_with(coordinator.acquire(key), Errc::contended));
}

}  // namespace
}  // namespace quorumlock::test
