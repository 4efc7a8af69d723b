#include <gmock/gmock.h>

#include <utility>
#include <vector>

#include "integration/fixture.hpp"

namespace quorumlock::test {
namespace {

class Extend : public FiveNodes {};

TEST_F(Extend, ResetsAndNeverAdds) {
  // Three extends by the same ttl leave the nodes and the lease at one ttl from the last of them.
  Coordinator coordinator = connect();
  Lease lease = coordinator.acquire(key, {.ttl = 10s, .auto_extend = false}).value();
  ASSERT_TRUE(eventually([&] { return cluster().holders(key) == 5; }));
  Clock::time_point before;
  for (int i = 0; i < 3; ++i) {
    const Clock::time_point old_end = lease.valid_until();
    before = Clock::now();
    ASSERT_TRUE(ok(lease.extend(10s)));
    EXPECT_GT(lease.valid_until(), old_end);
  }
  EXPECT_GE(lease.valid_until(), before + 10s - 102ms);
  EXPECT_LE(lease.valid_until(), Clock::now() + 10s - 102ms);
  EXPECT_TRUE(eventually([&] {
    // The last round must have reached the slowest node, too.
    for (int node = 0; node < 5; ++node) {
      if (cluster().pttl(node, key) + 2ms < 10s - (Clock::now() - before)) return false;
    }
    return true;
  }));
  for (int node = 0; node < 5; ++node) EXPECT_LE(cluster().pttl(node, key), 10s);
  EXPECT_EQ(cluster().holders(key, lease.owner_token()), 5);
}

TEST_F(Extend, ALongerTtlTakesEffectAtOnce) {
  // A longer ttl takes effect at once, on the nodes and in the lease.
  Coordinator coordinator = connect();
  Lease lease = coordinator.acquire(key, {.ttl = 2s}).value();
  const Clock::time_point before = Clock::now();
  ASSERT_TRUE(ok(lease.extend(30s)));
  EXPECT_GE(lease.valid_until(), before + 30s - 302ms);
  EXPECT_TRUE(eventually([&] {
    int longer = 0;
    for (int node = 0; node < 5; ++node) longer += cluster().pttl(node, key) > 20s ? 1 : 0;
    return longer == 5;
  }));
}

TEST_F(Extend, NeverShortens) {
  // An extend by less than the remaining time succeeds and shortens nothing.
  Coordinator coordinator = connect();
  Lease lease = coordinator.acquire(key, {.ttl = 20s, .auto_extend = false}).value();
  const Clock::time_point end = lease.valid_until();
  ASSERT_TRUE(ok(lease.extend(1s)));
  EXPECT_EQ(lease.valid_until(), end);
  for (int node = 0; node < 5; ++node) {
    const auto left = cluster().pttl(node, key);
    EXPECT_TRUE(left < 0ms || left > 5s);
  }
}

TEST_F(Extend, ATtlAboveTheMaximumIsRefused) {
  // A ttl above max_ttl, zero or negative is refused before anything is sent; the lease stays.
  Coordinator coordinator = connect();
  Lease lease = coordinator.acquire(key).value();
  const Clock::time_point end = lease.valid_until();
  for (const std::chrono::nanoseconds ttl : {30'001ms, 0ms, -5'000ms}) {
    EXPECT_TRUE(fails_with(lease.extend(ttl), Errc::invalid_argument));
  }
  EXPECT_TRUE(lease.is_valid());
  EXPECT_GE(lease.valid_until(), end);
  EXPECT_TRUE(ok(lease.extend(30s)));
}

TEST_F(Extend, FailsAfterTheEnd) {
  // An expired lease is not extended, whether its keys are free or another's.
  Coordinator coordinator = connect();
  Lease lease = coordinator.acquire(key, {.ttl = 400ms, .wait = 20s, .auto_extend = false}).value();
  EXPECT_TRUE(eventually([&] { return !lease.is_valid(); }));
  EXPECT_TRUE(fails_with(lease.extend(10s), Errc::expired));
  EXPECT_FALSE(lease.is_valid());
  const Lease next = coordinator.acquire(key, {.wait = 20s}).value();
  EXPECT_TRUE(fails_with(lease.extend(10s), Errc::expired));
  EXPECT_TRUE(eventually([&] { return cluster().holders(key, next.owner_token()) >= 3; }));
}

TEST_F(Extend, FailsAfterTheRelease) {
  // A released lease cannot be extended.
  Coordinator coordinator = connect();
  Lease lease = coordinator.acquire(key).value();
  EXPECT_TRUE(ok(lease.release()));
  EXPECT_TRUE(fails_with(lease.extend(10s), Errc::not_held));
  EXPECT_EQ(cluster().holders(key), 0);
}

TEST_F(Extend, ReportsALossIfAnotherHasTakenTheLock) {
  // A quorum of nodes has a foreign value: the lease is lost, and those values stay unchanged.
  Coordinator coordinator = connect();
  Lease lease = coordinator.acquire(key, {.ttl = 20s}).value();
  ASSERT_TRUE(eventually([&] { return cluster().holders(key) == 5; }));
  for (const int node : {0, 1, 2}) cluster().plant(node, key);
  EXPECT_TRUE(fails_with(lease.extend(20s), Errc::lost));
  EXPECT_FALSE(lease.is_valid());
  EXPECT_TRUE(lease.stop_token().stop_requested());
  EXPECT_EQ(cluster().holders(key, "foreign"), 3);
  for (const int node : {0, 1, 2}) EXPECT_GT(cluster().pttl(node, key), 500s);
  EXPECT_TRUE(eventually([&] { return cluster().holders(key) == 3; }));
}

TEST_F(Extend, WorksWithAMinorityGone) {
  // Two nodes lost the key, then two are dead: three votes are enough.
  Coordinator coordinator = connect();
  Lease lease = coordinator.acquire(key).value();
  ASSERT_TRUE(eventually([&] { return cluster().holders(key) == 5; }));
  cluster().raw(0, {"DEL", key});
  cluster().plant(1, key);
  EXPECT_TRUE(ok(lease.extend(20s)));
  EXPECT_EQ(cluster().value(1, key), "foreign");
  cluster().kill(0);
  cluster().kill(1);
  EXPECT_TRUE(ok(lease.extend(20s)));
  EXPECT_TRUE(lease.is_valid());
}

TEST_F(Extend, TheOldEndStandsWithoutAQuorum) {
  // Three nodes are dead: the extend fails, and the lease keeps its earlier end.
  Coordinator coordinator = connect();
  Lease lease = coordinator.acquire(key, {.ttl = 20s, .auto_extend = false}).value();
  const Clock::time_point end = lease.valid_until();
  for (const int node : {0, 1, 2}) cluster().kill(node);
  EXPECT_TRUE(fails_with(lease.extend(30s), Errc::no_quorum));
  EXPECT_TRUE(lease.is_valid());
  EXPECT_EQ(lease.valid_until(), end);
}

TEST_F(Extend, OnlyOneIsUnderWayAtATime) {
  // Twenty extends are sent at once: each handler is called once, the first succeeds, and the
  // others either succeed or report that one is under way.
  Coordinator coordinator = connect();
  Lease lease = coordinator.acquire(key, {.ttl = 5s}).value();
  std::vector<Answer<Result<void>>> answers(20);
  for (auto& answer : answers) lease.async_extend(20s, answer.handler());
  EXPECT_TRUE(ok(answers.front().get()));
  for (std::size_t i = 1; i < answers.size(); ++i) {
    const Result<void> result = answers[i].get();
    EXPECT_TRUE(result || fails_with(result, Errc::invalid_argument));
  }
  EXPECT_TRUE(lease.is_valid());
  EXPECT_GT(lease.remaining(), 10s);
  EXPECT_TRUE(ok(lease.extend(20s)));
  for (auto& answer : answers) EXPECT_EQ(answer.calls(), 1);
}

TEST_F(Extend, ARefusalNamesTheCallThatIsUnderWay) {
  // An extend after an extend, and after a downgrade, in the same turn of the loop.
  Coordinator coordinator = connect();
  Lease lease = coordinator.acquire(key).value();
  std::vector<Answer<Result<void>>> answers(2);
  std::vector<Answer<Result<void>>> refusals(2);
  on_loop(coordinator, [&] {
    lease.async_extend(20s, answers[0].handler());
    lease.async_extend(20s, refusals[0].handler());
  });
  EXPECT_TRUE(ok(answers[0].get()));
  on_loop(coordinator, [&] {
    lease.async_downgrade(answers[1].handler());
    lease.async_extend(20s, refusals[1].handler());
  });
  EXPECT_TRUE(ok(answers[1].get()));
  for (const auto& [refusal, what] :
       {std::pair{&refusals[0], "an extend"}, std::pair{&refusals[1], "a downgrade"}}) {
    const Result<void> result = refusal->get();
    ASSERT_TRUE(fails_with(result, Errc::invalid_argument));
    EXPECT_THAT(result.error().what(), ::testing::HasSubstr(std::string(": ") + what +
                                                            " of this lease is still under way"));
  }
}

TEST_F(Extend, SetsTheTtlOfTheRenewals) {
  // After an extend by 2 s the lease is renewed by 2 s from then on.
  Coordinator coordinator = connect();
  Lease lease = coordinator.acquire(key, {.ttl = 1500ms, .wait = 20s}).value();
  ASSERT_TRUE(ok(lease.extend(2s)));
  const Clock::time_point end = lease.valid_until();
  EXPECT_TRUE(eventually([&] { return lease.valid_until() > end; }));
  EXPECT_LE(lease.valid_until(), Clock::now() + 2s);
  EXPECT_TRUE(lease.is_valid());
}

TEST_F(Extend, TheLeaseMayMoveMeanwhile) {
  // The lease is moved and destroyed while its extend is in flight: the handler is called once.
  Coordinator coordinator = connect();
  Answer<Result<void>> answer;
  {
    Lease lease = coordinator.acquire(key).value();
    lease.async_extend(20s, answer.handler());
    const Lease moved = std::move(lease);
  }
  (void)answer.get();
  EXPECT_TRUE(eventually([&] { return cluster().keys().empty(); }));
  coordinator.close();
  EXPECT_EQ(answer.calls(), 1);
}

}  // namespace
}  // namespace quorumlock::test
