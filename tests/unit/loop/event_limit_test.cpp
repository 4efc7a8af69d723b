#include "loop/event_limit.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

// How many events are passed on, and what becomes of the others.
namespace quorumlock::test {
namespace {

using namespace std::chrono_literals;
using detail::EventLimit;

constexpr int most_events = EventLimit::most;
constexpr core::Duration window_of_a_node = EventLimit::window_of(0);

class EventLimits : public ::testing::Test {
 protected:
  /// An event of this kind about this node; `what` is its reason.
  bool admits(int node, EventKind kind, const std::string& what = "") {
    Event event{.kind = kind, .reason = what};
    return limit.admits(now, node, event);
  }
  /// Passes on as many events as a window has room for.
  void fill(int node, EventKind kind) {
    for (int i = 0; i < most_events; ++i) EXPECT_TRUE(admits(node, kind)) << i;
  }

  EventLimit limit;
  core::Time now{1h};
};

TEST_F(EventLimits, TheLastOfThoseBeyondTheBoundFollowsWithTheirNumber) {
  fill(3, EventKind::node_down);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_FALSE(admits(3, EventKind::node_down, std::to_string(i)));
  }
  EXPECT_EQ(limit.deadline(), now + window_of_a_node);
  EXPECT_FALSE(limit.next(now + window_of_a_node - 1ns));
  now += window_of_a_node;
  const std::optional<Event> last = limit.next(now);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->reason, "999");
  EXPECT_EQ(last->left_out, 999U);
  EXPECT_FALSE(limit.next(now));
  EXPECT_EQ(limit.deadline(), core::never);
}

TEST_F(EventLimits, EachNodeAndKindHasABoundOfItsOwn) {
  fill(3, EventKind::node_down);
  EXPECT_FALSE(admits(3, EventKind::node_down));
  EXPECT_TRUE(admits(3, EventKind::node_up));
  EXPECT_TRUE(admits(4, EventKind::node_down));
  EXPECT_TRUE(admits(EventLimit::no_node, EventKind::lease_lost));
}

TEST_F(EventLimits, ANodeThatFlapsForAnHourFillsNoLog) {
  // It goes down and comes back once a second.
  int said = 0;
  for (int second = 0; second < 3600; ++second, now += 1s) {
    said += admits(0, EventKind::node_down) ? 1 : 0;
    said += admits(0, EventKind::node_up) ? 1 : 0;
    while (limit.next(now)) ++said;
  }
  EXPECT_LE(said, 2 * 60 * most_events);
  EXPECT_GT(said, 60);
}

TEST_F(EventLimits, AWindowThatIsOverCountsNothing) {
  for (int window = 0; window < 3; ++window) {
    fill(0, EventKind::node_up);
    now += window_of_a_node;
  }
  EXPECT_EQ(limit.deadline(), core::never);
}

TEST_F(EventLimits, AKeptEventBeginsTheNextWindow) {
  // The event that was kept counts as one of those that may be passed on in that window.
  fill(0, EventKind::node_up);
  EXPECT_FALSE(admits(0, EventKind::node_up));
  now += window_of_a_node;
  ASSERT_TRUE(limit.next(now));
  for (int i = 1; i < most_events; ++i) EXPECT_TRUE(admits(0, EventKind::node_up));
  EXPECT_FALSE(admits(0, EventKind::node_up));
}

TEST_F(EventLimits, NothingOvertakesAKeptEvent) {
  // The timer of the loop is late: an event that comes before it takes the place of the kept one,
  // which is counted.
  fill(0, EventKind::node_up);
  EXPECT_FALSE(admits(0, EventKind::node_up, "first"));
  now += 2 * window_of_a_node;
  EXPECT_FALSE(admits(0, EventKind::node_up, "second"));
  const std::optional<Event> event = limit.next(now);
  ASSERT_TRUE(event);
  EXPECT_EQ(event->reason, "second");
  EXPECT_EQ(event->left_out, 1U);
}

TEST_F(EventLimits, OneOfALockNeedNotBeMadeIfOneOfItsKindIsKept) {
  // An event that is not made is counted. Events of the other kinds have to be made.
  EXPECT_FALSE(limit.leaves_out(EventKind::lease_acquired));
  fill(EventLimit::no_node, EventKind::lease_acquired);
  EXPECT_FALSE(limit.leaves_out(EventKind::lease_acquired));
  EXPECT_FALSE(admits(EventLimit::no_node, EventKind::lease_acquired, "kept"));
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(limit.leaves_out(EventKind::lease_acquired));
  EXPECT_FALSE(limit.leaves_out(EventKind::lease_released));
  now += EventLimit::window_of(EventLimit::no_node);
  const std::optional<Event> kept = limit.next(now);
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->reason, "kept");
  EXPECT_EQ(kept->left_out, 1000U);
  EXPECT_FALSE(limit.leaves_out(EventKind::lease_acquired));
}

TEST_F(EventLimits, TheEndTakesAllThatIsKept) {
  for (const int node : {0, 1, 2}) {
    fill(node, EventKind::node_up);
    EXPECT_FALSE(admits(node, EventKind::node_up));
  }
  int kept = 0;
  while (limit.next(core::never)) ++kept;
  EXPECT_EQ(kept, 3);
}

}  // namespace
}  // namespace quorumlock::test
