// The checker on hand-written histories: a good one passes, and each one with a single thing wrong
// is caught for that and nothing else.
#include "chaos/checker.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "chaos/at.hpp"

namespace quorumlock::chaos {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

Holding held(int worker, std::uint64_t token, int begin, int end) {
  Holding holding;
  holding.resource = "r";
  holding.owner = "owner-" + std::to_string(token);
  holding.worker = worker;
  holding.token = token;
  holding.asked = at(begin - 5);
  holding.begin = at(begin);
  holding.believed = at(end - 1);
  holding.until = at(begin + 1000);
  holding.ending = Ending::released;
  holding.noticed = at(end);
  return holding;
}

/// A lease that was held until it ended by itself.
Holding ran_out(int worker, std::uint64_t token, int begin, int until, std::optional<int> told) {
  Holding holding = held(worker, token, begin, until);
  holding.until = at(until);
  holding.ending = Ending::over;
  holding.noticed = at(until + 1);
  if (told) holding.told = at(*told);
  return holding;
}

Write written(const Holding& by, int when, bool accepted = true) {
  return {"r", by.owner, by.worker, by.token, at(when), accepted, 0};
}

FaultSpan fault(Assumption assumption, int begin, int end) {
  return {.name = "fault", .assumption = assumption, .begin = at(begin), .end = at(end)};
}

FaultSpan stop(int worker, int begin, int end) {
  return {.name = "stop",
          .of_worker = true,
          .target = worker,
          .begin = at(begin),
          .end = at(end),
          .stops_worker = true};
}

struct Checker : testing::Test {
  Checker() {
    history.workers = 2;
    history.end = at(60'000);
    history.ttl = 1s;
    history.max_ttl = 3s;
    const Holding first = held(0, 10, 100, 200);
    const Holding second = held(1, 11, 300, 400);
    history.holdings = {first, second};
    history.writes = {written(first, 150), written(first, 160), written(second, 350),
                      written(first, 360, false)};
    history.healed = at(50'000);
    history.healing_limit = 5s;
    history.again = {{0, at(51'000)}, {1, at(54'000)}};
  }

  std::vector<Promise> broken() const {
    std::vector<Promise> promises;
    for (const Violation& each : check(history)) promises.push_back(each.promise);
    return promises;
  }

  History history;
};

TEST_F(Checker, FindsNothingInAGoodHistory) {
  EXPECT_THAT(broken(), IsEmpty());
}

// The holder was frozen after its last look, and did not believe in the lease that it let go after
// the end. If a look after the end found the lease valid, it would be believed in.
TEST_F(Checker, BelievesAHolderNoLongerThanItWasPromised) {
  Holding& frozen = history.holdings[0];
  frozen.until = at(250);
  frozen.noticed = at(350);
  EXPECT_THAT(broken(), IsEmpty());
  frozen.believed = at(340);
  EXPECT_THAT(broken(), ElementsAre(Promise::exclusion));
}

TEST_F(Checker, CatchesAStaleWriteThatWasAccepted) {
  history.writes.push_back(written(history.holdings[0], 360));
  EXPECT_THAT(broken(), ElementsAre(Promise::fence_at_store));
}

TEST_F(Checker, CatchesTwoOwnersThatWroteWithOneToken) {
  Write write = written(history.holdings[1], 370);
  write.owner = "another";
  history.writes.push_back(write);
  EXPECT_THAT(broken(), ElementsAre(Promise::fence_at_store));
}

TEST_F(Checker, CatchesATokenThatTwoHoldersWereGiven) {
  history.holdings.push_back(held(0, 11, 295, 299));
  EXPECT_THAT(broken(), ElementsAre(Promise::fence_of_locks));
}

TEST_F(Checker, CatchesATokenThatWentBackFromHolderToHolder) {
  history.holdings.push_back(held(0, 9, 500, 600));
  EXPECT_THAT(broken(), ElementsAre(Promise::fence_of_locks));
}

TEST_F(Checker, TokensOfAttemptsThatOverlapMayComeInEitherOrder) {
  Holding early = held(0, 9, 500, 600);
  early.asked = at(95);  // before the others were granted the lock
  history.holdings.push_back(early);
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(Checker, CatchesTwoHoldersThatBelieveAtTheSameTime) {
  history.holdings.push_back(held(0, 12, 399, 500));
  history.holdings.back().asked = at(90);
  EXPECT_THAT(broken(), ElementsAre(Promise::exclusion));
  EXPECT_EQ(overlaps(history).size(), 1U);
}

TEST_F(Checker, ALongBeliefIsComparedWithAllThatOverlapIt) {
  history.holdings.push_back(held(0, 12, 50, 1000));
  history.holdings.back().token = 9;
  EXPECT_THAT(broken(), ElementsAre(Promise::exclusion, Promise::exclusion));
}

TEST_F(Checker, ReadersMayBelieveTogetherButNotWithAWriter) {
  history.holdings.push_back(held(0, 12, 500, 600));
  history.holdings.push_back(held(1, 13, 550, 650));
  EXPECT_THAT(broken(), ElementsAre(Promise::exclusion));
  history.holdings[2].shared = true;
  EXPECT_THAT(broken(), ElementsAre(Promise::exclusion));
  history.holdings[3].shared = true;
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(Checker, CatchesMoreHoldersThanThereArePermits) {
  for (const auto& [token, begin, end] :
       {std::tuple(12, 500, 600), {13, 510, 700}, {14, 605, 710}}) {
    history.holdings.push_back(held(0, static_cast<std::uint64_t>(token), begin, end));
    history.holdings.back().permits = 2;
  }
  EXPECT_THAT(broken(), IsEmpty());
  history.holdings[4].begin = at(599);
  EXPECT_THAT(broken(), ElementsAre(Promise::exclusion));
}

// A lease that was promised until then is not free when its holder dies.
TEST_F(Checker, AKilledHolderBelievesUntilItsPromiseEnds) {
  Holding killed = held(0, 12, 500, 600);
  killed.ending = Ending::unfinished;
  history.holdings.push_back(killed);
  history.holdings.push_back(held(1, 13, 1499, 1510));
  EXPECT_THAT(broken(), ElementsAre(Promise::exclusion));
  history.holdings.back() = held(1, 13, 1500, 1510);
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(Checker, AFaultWithinTheAssumptionsExcusesNothing) {
  history.holdings.push_back(held(0, 12, 399, 500));
  history.faults = {fault(Assumption::within, 390, 410)};
  EXPECT_THAT(broken(), ElementsAre(Promise::exclusion));
}

TEST_F(Checker, AFaultBeyondThemExcusesAnOverlapUntilItsLeasesHaveEnded) {
  history.holdings.push_back(held(0, 12, 10'000, 10'500));
  history.holdings.push_back(held(1, 13, 10'400, 10'600));
  history.faults = {fault(Assumption::beyond, 9'000, 9'500)};
  EXPECT_THAT(broken(), IsEmpty());
  history.faults = {fault(Assumption::beyond, 2'000, 3'000)};
  EXPECT_THAT(broken(), ElementsAre(Promise::exclusion));
  history.faults = {fault(Assumption::beyond, 10'450, 10'500)};  // the overlap began before that
  EXPECT_THAT(broken(), ElementsAre(Promise::exclusion));
}

TEST_F(Checker, AFaultBeyondThemExcusesNoStaleWrite) {
  history.writes.push_back(written(history.holdings[0], 360));
  history.faults = {fault(Assumption::beyond, 100, 500)};
  EXPECT_THAT(broken(), ElementsAre(Promise::fence_at_store));
}

TEST_F(Checker, CatchesAHolderThatWasNotNotified) {
  history.holdings.push_back(ran_out(0, 12, 500, 1500, {}));
  EXPECT_THAT(broken(), ElementsAre(Promise::told_in_time));
  history.holdings.back() = ran_out(0, 12, 500, 1500, 1400);
  EXPECT_THAT(broken(), IsEmpty());
  history.holdings.back() = ran_out(0, 12, 500, 1500, 1501);
  EXPECT_THAT(broken(), ElementsAre(Promise::told_in_time));
}

TEST_F(Checker, AStoppedHolderIsNotifiedAtItsFirstTurn) {
  history.faults = {stop(0, 700, 3000)};
  history.holdings.push_back(ran_out(0, 12, 500, 1500, 3010));
  EXPECT_THAT(broken(), IsEmpty());
  history.holdings.back() = ran_out(0, 12, 500, 1500, 3600);
  EXPECT_THAT(broken(), ElementsAre(Promise::told_in_time));
  history.holdings.back().longest_gap = 2800ms;  // the holder had no turn until 3500
  EXPECT_THAT(broken(), IsEmpty());
  history.holdings.back().told = at(4100);
  EXPECT_THAT(broken(), ElementsAre(Promise::told_in_time));
  history.holdings.back() = ran_out(1, 12, 500, 1500, 3010);  // another worker was stopped
  EXPECT_THAT(broken(), ElementsAre(Promise::told_in_time));
}

TEST_F(Checker, AHolderThatLosesItsLeaseEarlyIsNotifiedThen) {
  Holding lost = ran_out(0, 12, 500, 1500, 810);
  lost.noticed = at(800);
  lost.believed = at(799);
  history.holdings.push_back(lost);
  EXPECT_THAT(broken(), IsEmpty());
  history.holdings.push_back(held(1, 13, 900, 950));  // the first holder no longer believes
  EXPECT_THAT(broken(), IsEmpty());
  history.holdings[2].told = at(1400);
  EXPECT_THAT(broken(), ElementsAre(Promise::told_in_time));
}

TEST_F(Checker, CatchesAKeyThatIsLeftBehind) {
  history.orphans = {{2, "r", 50'000}};
  EXPECT_THAT(broken(), ElementsAre(Promise::no_orphans));
}

TEST_F(Checker, CatchesAWorkerThatComesBackLateOrNever) {
  history.again[1] = at(55'001);
  EXPECT_THAT(broken(), ElementsAre(Promise::liveness));
  history.again.erase(1);
  EXPECT_THAT(broken(), ElementsAre(Promise::liveness));
}

TEST_F(Checker, PassesOnComplaints) {
  history.complaints = {"worker 1 ended by itself"};
  EXPECT_THAT(broken(), ElementsAre(Promise::liveness));
}

}  // namespace
}  // namespace quorumlock::chaos
