#include <algorithm>
#include <set>

#include "integration/fixture.hpp"

namespace quorumlock::test {
namespace {

class Traced : public FiveNodes {};

int count_of(const Outcome& outcome, TraceKind kind) {
  return static_cast<int>(std::ranges::count(outcome.trace, kind, &TraceStep::kind));
}

TEST_F(Traced, AnAcquisitionHasTheAnswerOfEachNode) {
  // The trace is there if it was asked for, even after the release, and never otherwise.
  Coordinator coordinator = connect();
  Result<Lease> lease = coordinator.acquire(key, {.trace = true});
  ASSERT_TRUE(ok(lease));
  const Outcome outcome = lease->outcome();
  ASSERT_FALSE(outcome.trace.empty());
  EXPECT_EQ(outcome.trace.front().kind, TraceKind::begun);
  EXPECT_EQ(outcome.trace.back().kind, TraceKind::won);
  std::set<std::string> granted;
  for (const TraceStep& step : outcome.trace) {
    if (step.kind == TraceKind::voted && step.vote == Vote::granted) granted.insert(step.node);
  }
  EXPECT_GE(granted.size(), 3U);
  for (const NodeVote& vote : outcome.votes) granted.erase(vote.node);
  EXPECT_TRUE(granted.empty());  // a step names its node as a vote does
  EXPECT_TRUE(std::ranges::is_sorted(outcome.trace, {}, &TraceStep::at));
  EXPECT_GT(outcome.trace.back().at, 0ns);
  EXPECT_TRUE(ok(lease->release()));
  EXPECT_EQ(lease->outcome(), outcome);
  *lease = Lease();

  Result<Lease> untraced = coordinator.acquire(key);
  ASSERT_TRUE(ok(untraced));
  EXPECT_TRUE(untraced->outcome().trace.empty());
  EXPECT_EQ(untraced->outcome().timeline(), "");
}

TEST_F(Traced, ARefusalHasATraceToo) {
  Coordinator coordinator = connect();
  for (int node = 0; node < 5; ++node) cluster().plant(node, key);
  Outcome outcome;
  // On a busy machine a wait may end before a quorum has answered the first attempt.
  ASSERT_TRUE(eventually([&] {
    const Result<Lease> refused =
        coordinator.acquire(key, {.wait = 100ms, .order = WaitOrder::unordered, .trace = true});
    if (!fails_with(refused, Errc::timed_out)) return false;
    outcome = refused.error().outcome();
    return count_of(outcome, TraceKind::pausing) > 0;
  }));
  EXPECT_EQ(count_of(outcome, TraceKind::sent), outcome.attempts);
  EXPECT_EQ(count_of(outcome, TraceKind::refused), 1);
  EXPECT_GE(outcome.trace.back().at, 100ms);
  EXPECT_NE(outcome.timeline().find("pausing between attempts"), std::string::npos);
  EXPECT_TRUE(coordinator.acquire(key).error().outcome().trace.empty());
}

TEST_F(Traced, SeveralLocksAndPermitsHaveOneToo) {
  Coordinator coordinator = connect();
  const Result<Lease> all = coordinator.acquire_all({key, key + "/2"}, {.trace = true});
  ASSERT_TRUE(ok(all));
  EXPECT_EQ(count_of(all->outcome(), TraceKind::won), 1);
  EXPECT_EQ(all->resources().size(), 2U);
  Semaphore semaphore(coordinator, key, 2, {.trace = true});
  Answer<Result<Lease>> answer;
  semaphore.async_acquire(answer.handler());
  const Result<Lease> permit = answer.get();
  ASSERT_TRUE(ok(permit));
  EXPECT_EQ(count_of(permit->outcome(), TraceKind::won), 1);
}

}  // namespace
}  // namespace quorumlock::test
