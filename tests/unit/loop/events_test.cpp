#include "loop/events.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "loop/calls.hpp"
#include "support/outside_text.hpp"
#include "support/session_driver.hpp"

// Which events the outputs of a session are, and what becomes of them.
namespace quorumlock::test {
namespace {

using core::LinkState;
using detail::Events;
using detail::Session;

/// A session of three nodes, a lease, and the events that are made of them.
class EventsTest : public ::testing::Test {
 protected:
  EventsTest() {
    for (int node = 0; node < 3; ++node) nodes.add(node, SessionDriver::name(node));
    core::Claim claim;
    claim.names.assign("orders:42", std::string(40, 'a') + "@web-3:812");
    claim.deadline = Clock::now() + 1h;
    lease.begin(nullptr, {}, claim, 9, {}, 1);
  }
  ~EventsTest() override { lease.recycle(); }

  Options recording() {
    Options all;
    all.on_event = [this](const Event& event) {
      seen.push_back(event);
      if (throws) throw std::runtime_error("the sink is full");
    };
    all.log = [this](std::string_view sentence) {
      logged.emplace_back(sentence);
      if (log_throws) throw std::runtime_error("the disk is full");
    };
    return all;
  }
  /// Passes this output on and returns the one event that it is.
  Event event_of(const Session::Output& output) {
    events.take(driver.now, output);
    events.deliver(driver.now);
    if (seen.size() != 1) ADD_FAILURE() << seen.size() << " events";
    return seen.empty() ? Event() : std::exchange(seen, {}).front();
  }
  core::UserId user() { return reinterpret_cast<core::UserId>(&lease); }
  static core::Tally tally(const std::vector<Vote>& votes) {
    core::Tally tally;
    tally.begin(core::NodeSet::first(3));
    for (std::size_t i = 0; i < votes.size(); ++i) tally.record(static_cast<int>(i), votes[i]);
    return tally;
  }

  SessionDriver driver{3};
  std::vector<Event> seen;
  std::vector<std::string> logged;
  bool throws = false, log_throws = false;
  const Options options = recording();
  detail::NodeList nodes;
  detail::LeaseState lease;
  Events events{options, driver.session, nodes, driver.wall};
};

TEST_F(EventsTest, AStateOfANodeIsAKind) {
  // Refused is what stays until somebody changes something; the other kinds may pass.
  EXPECT_EQ(detail::kind_of(LinkState::up, Vote::pending), EventKind::node_up);
  EXPECT_EQ(detail::kind_of(LinkState::up, Vote::refuses_writes), EventKind::node_refused);
  EXPECT_EQ(detail::kind_of(LinkState::stalled, Vote::stalled), EventKind::node_stalled);
  EXPECT_EQ(detail::kind_of(LinkState::down, Vote::unreachable), EventKind::node_down);
  EXPECT_EQ(detail::kind_of(LinkState::down, Vote::loading), EventKind::node_down);
  EXPECT_EQ(detail::kind_of(LinkState::down, Vote::unauthorized), EventKind::node_refused);
  EXPECT_EQ(detail::kind_of(LinkState::down, Vote::tls_failed), EventKind::node_refused);
  EXPECT_EQ(detail::kind_of(LinkState::quarantined, Vote::quarantined),
            EventKind::node_quarantined);
  EXPECT_EQ(detail::kind_of(LinkState::quarantined, Vote::nodes_differ), EventKind::node_refused);
  EXPECT_EQ(detail::kind_of(LinkState::quarantined, Vote::same_server), EventKind::node_refused);
}

TEST_F(EventsTest, AChangeOfANodeNamesItAndTheReason) {
  driver.start();
  driver.acquire();
  driver.close(1);
  const Event down = event_of(Session::NodeChanged{1, LinkState::down, Vote::unreachable});
  EXPECT_EQ(down.kind, EventKind::node_down);
  EXPECT_EQ(down.level, EventLevel::warning);
  EXPECT_EQ(down.node, driver.session.link(1).endpoint().name());
  EXPECT_EQ(down.reason, "closed by the server");
  EXPECT_EQ(down.time, std::chrono::system_clock::time_point(std::chrono::seconds(1'700'000'000)));
  const Event up = event_of(Session::NodeChanged{1, LinkState::up, Vote::pending});
  EXPECT_EQ(up.kind, EventKind::node_up);
  EXPECT_EQ(up.level, EventLevel::info);
  EXPECT_EQ(up.reason, "it votes");
}

TEST_F(EventsTest, TheEndOfAnIdleConnectionIsNoTroubleYet) {
  // Servers and devices on the path end idle connections. If the node is down, the next attempt to
  // connect says so.
  driver.start();
  driver.close(1);
  const Session::NodeChanged down{1, LinkState::down, Vote::unreachable};
  const Session::NodeChanged up{1, LinkState::up, Vote::pending};
  events.take(driver.now, down);
  EXPECT_FALSE(events.has_any());
  EXPECT_EQ(event_of(up).reason, "it votes again: its idle connection was closed, and made anew");
  driver.pass(1s);
  EXPECT_EQ(event_of(down).kind, EventKind::node_down);
  EXPECT_EQ(event_of(up).reason, "it votes");
}

TEST_F(EventsTest, TextsFromOutsideAreMadePrintable) {
  // A program's own log has them as they are.
  const std::string outside = all_outside_texts();
  const Event of_a_node = event_of(Session::News{EventKind::node_impaired, outside, 1});
  EXPECT_EQ(unprintable_at(of_a_node.reason), std::string::npos) << of_a_node.reason;
  events.thread_ended(driver.now, outside, std::string(40, 'a') + "@" + outside);
  events.deliver(driver.now);
  ASSERT_EQ(seen.size(), 1);
  for (const std::string& text : {seen[0].resource, seen[0].holder, to_string(seen[0])}) {
    EXPECT_EQ(unprintable_at(text), text.npos) << text;
  }
  EXPECT_EQ(seen[0].resource, printable(outside));
}

TEST_F(EventsTest, ANodeThatHasLeftTheListHasNoEvents) {
  events.take(driver.now, Session::NodeChanged{7, LinkState::down, Vote::unreachable});
  EXPECT_FALSE(events.has_any());
}

TEST_F(EventsTest, ANodeThatStaysDownHasTheNumberOfAttempts) {
  driver.away[1] = true;
  driver.start();
  const Session::NodeChanged down{1, LinkState::down, Vote::unreachable};
  EXPECT_EQ(event_of(down).reason, "connection refused");
  driver.pass(5s);
  const int attempts = driver.session.link(1).attempts().failures();
  ASSERT_GT(attempts, 1);
  EXPECT_EQ(event_of(down).reason,
            "connection refused (" + std::to_string(attempts) + " attempts so far)");
}

TEST_F(EventsTest, NewsKeepsItsKindNodeAndReason) {
  const Event impaired =
      event_of(Session::News{EventKind::node_impaired, "sends no wake-ups: reset", 0});
  EXPECT_EQ(impaired.kind, EventKind::node_impaired);
  EXPECT_EQ(impaired.level, EventLevel::warning);
  EXPECT_EQ(impaired.node, driver.session.link(0).endpoint().name());
  EXPECT_EQ(impaired.reason, "sends no wake-ups: reset");
  const Event moved = event_of(Session::News{EventKind::list_changed, "the nodes are now a, b"});
  EXPECT_EQ(moved.level, EventLevel::info);
  EXPECT_EQ(moved.node, "");
  EXPECT_EQ(event_of(Session::News{EventKind::list_awaited, "waits"}).level, EventLevel::warning);
}

TEST_F(EventsTest, AWrongClockIsNamedWithItsSizeAndDirection) {
  const Event ahead = event_of(core::ClockJumped{1, 1500ms, driver.now});
  EXPECT_EQ(ahead.kind, EventKind::node_clock_jumped);
  EXPECT_EQ(ahead.level, EventLevel::error);
  EXPECT_EQ(ahead.node, driver.session.link(1).endpoint().name());
  EXPECT_TRUE(ahead.reason.starts_with("it is 1.500000 s ahead of what drift_factor allows"))
      << ahead.reason;
  const Event behind = event_of(core::ClockJumped{0, -250ms, driver.now});
  EXPECT_TRUE(behind.reason.starts_with("it is 0.250000 s behind what drift_factor allows"))
      << behind.reason;
  const core::NodeSet two = core::NodeSet::first(2);
  const Event own = event_of(core::ClockStood{two, two, 59s});
  EXPECT_EQ(own.kind, EventKind::own_clock_stood);
  EXPECT_EQ(own.level, EventLevel::error);
  EXPECT_EQ(own.node, "");
  EXPECT_TRUE(own.reason.starts_with(
      "this process's own clock stood still for 59.000000 s or more: 2 nodes are ahead"))
      << own.reason;
}

TEST_F(EventsTest, TheEndOfALeaseSaysWhy) {
  const core::Tally gone = tally({Vote::absent, Vote::held, Vote::granted});
  const Event lost = event_of(core::Ended{user(), Errc::lost, gone});
  EXPECT_EQ(lost.kind, EventKind::lease_lost);
  EXPECT_EQ(lost.level, EventLevel::error);
  EXPECT_EQ(lost.resource, "orders:42");
  EXPECT_EQ(lost.holder, "web-3:812");
  EXPECT_TRUE(lost.reason.starts_with("too many nodes no longer had its key (1 granted"))
      << lost.reason;
  EXPECT_EQ(detail::why_lost(tally({Vote::granted, Vote::timed_out, Vote::unreachable})),
            "too few nodes renewed it in time");
  EXPECT_EQ(detail::why_lost(tally({Vote::granted, Vote::granted, Vote::granted})),
            "a clock was found wrong, and its votes void");
  EXPECT_EQ(event_of(core::Ended{user(), Errc::expired, gone}).kind, EventKind::lease_expired);
  EXPECT_EQ(event_of(core::Ended{user(), Errc::closed, gone}).kind, EventKind::lease_released);
}

TEST_F(EventsTest, AReleaseThatFindsNothingIsALoss) {
  const core::Tally votes = tally({Vote::granted, Vote::granted, Vote::granted});
  const Event released = event_of(core::Released{user(), false, std::nullopt, votes});
  EXPECT_EQ(released.kind, EventKind::lease_released);
  EXPECT_EQ(released.level, EventLevel::info);
  EXPECT_EQ(event_of(core::Released{user(), false, Errc::not_held, votes}).kind,
            EventKind::lease_lost);
  events.take(driver.now, core::Released{user(), true, std::nullopt, votes});
  EXPECT_FALSE(events.has_any()) << "no lease of this process";
}

TEST_F(EventsTest, OnlyALateRenewalAndARiskAreEvents) {
  events.take(driver.now, core::Renewed{user(), {}, driver.now, false});
  EXPECT_FALSE(events.has_any());
  EXPECT_EQ(event_of(core::Renewed{user(), {}, driver.now, true}).kind,
            EventKind::lease_renewed_late);
  EXPECT_EQ(event_of(core::AtRisk{user()}).kind, EventKind::lease_at_risk);
  (void)lease.end(detail::LeaseState::released);
  events.take(driver.now, core::AtRisk{user()});
  EXPECT_FALSE(events.has_any()) << "its holder has just released it";
}

TEST_F(EventsTest, AWaiterStarvesIfItsWaitRunsOut) {
  detail::AcquireCall acquisition;
  acquisition.resource = "orders:42";
  acquisition.others = {"orders:43"};
  core::Refused refused{.user = reinterpret_cast<core::UserId>(&acquisition),
                        .why = Errc::timed_out,
                        .attempts = 1,
                        .tally = tally({Vote::held, Vote::held, Vote::held})};
  refused.holder = std::string(40, 'b') + "@web-4:7";
  const Event starved = event_of(refused);
  EXPECT_EQ(starved.kind, EventKind::waiter_starved);
  EXPECT_EQ(starved.resource, "orders:42, orders:43");
  EXPECT_EQ(starved.holder, "web-4:7");
  EXPECT_EQ(starved.reason, "the wait ran out while the lock was held by web-4:7");
  refused.unsent = core::Unsent{.before = 900, .waited = 2s};
  EXPECT_EQ(event_of(refused).reason,
            "it could not be sent in time: it waited for 2 s, with 900 others before it");
  for (const Errc why : {Errc::contended, Errc::no_quorum, Errc::cancelled, Errc::closed}) {
    refused.why = why;
    events.take(driver.now, refused);
    EXPECT_FALSE(events.has_any());
  }
}

TEST_F(EventsTest, AWholeTokenIsNeverShown) {
  events.thread_ended(driver.now, "orders:42", std::string(40, 'c'));
  events.deliver(driver.now);
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].kind, EventKind::thread_ended_with_lock);
  EXPECT_EQ(seen[0].holder, "the token cccccccc...");
}

TEST_F(EventsTest, TheLogGetsTheSentenceOfEachEventButThoseOfEveryDay) {
  events.take(driver.now, core::ClockJumped{1, 1500ms, driver.now});
  events.released(driver.now, lease);
  events.take(driver.now, core::Ended{user(), Errc::expired, {}});
  events.deliver(driver.now);
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_EQ(logged, (std::vector<std::string>{to_string(seen[0]), to_string(seen[2])}));
}

TEST_F(EventsTest, TheLogAloneCostsNothingForTheEventsOfEveryDay) {
  Options of_log;
  of_log.log = recording().log;
  Events logs(of_log, driver.session, nodes, driver.wall);
  logs.released(driver.now, lease);
  logs.take(driver.now, core::Ended{user(), Errc::closed, {}});
  EXPECT_FALSE(logs.has_any());
  logs.take(driver.now, core::Ended{user(), Errc::expired, {}});
  logs.deliver(driver.now);
  EXPECT_EQ(logged,
            std::vector<std::string>{
                "\"orders:42\" has expired: it has run to its end, and was not renewed again"});
}

TEST_F(EventsTest, TheLogHasTheSameLimit) {
  Options of_log;
  of_log.log = recording().log;
  Events logs(of_log, driver.session, nodes, driver.wall);
  for (int i = 0; i < 100; ++i)
    logs.take(driver.now, Session::News{EventKind::node_impaired, "x", 1});
  logs.take(driver.now, Session::News{EventKind::node_impaired, "x", 2});
  logs.deliver(driver.now);
  EXPECT_EQ(logged.size(), static_cast<std::size_t>(detail::EventLimit::most) + 1);
  logs.end(driver.now);
  EXPECT_TRUE(logged.back().ends_with("(79 events like this were left out before it)"))
      << logged.back();
}

TEST_F(EventsTest, AnExceptionIsAnEvent) {
  throws = true;
  events.released(driver.now, lease);
  events.deliver(driver.now);
  events.deliver(driver.now);
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[1].kind, EventKind::callback_failed);
  EXPECT_EQ(seen[1].level, EventLevel::error);
  EXPECT_EQ(logged,
            std::vector<std::string>{"on_event has thrown at lease_released: the sink is full"});
  EXPECT_FALSE(events.has_any()) << "an event about an exception leads to no other one";
}

TEST_F(EventsTest, AnExceptionOfTheLogIsAnEventToo) {
  log_throws = true;
  events.take(driver.now, core::AtRisk{user()});
  events.end(driver.now);
  ASSERT_EQ(seen.size(), 2U) << "also at the end";
  EXPECT_EQ(seen[1].kind, EventKind::callback_failed);
  EXPECT_EQ(seen[1].reason, "log has thrown at lease_at_risk: the disk is full");
}

TEST_F(EventsTest, TheEndDeliversWhatWasKeptAndNothingAfterIt) {
  for (int i = 0; i < 100; ++i) events.released(driver.now, lease);
  events.deliver(driver.now);
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(detail::EventLimit::most));
  EXPECT_EQ(events.deadline(),
            driver.now + detail::EventLimit::window_of(detail::EventLimit::no_node));
  events.end(driver.now);
  std::uint64_t all = 0;
  for (const Event& event : seen) all += 1 + event.left_out;
  EXPECT_EQ(all, 100U);
  events.released(driver.now, lease);
  EXPECT_FALSE(events.has_any());
}

TEST_F(EventsTest, NothingIsMadeIfNobodyAskedForEvents) {
  const Options silent;
  Events none(silent, driver.session, nodes, driver.wall);
  none.take(driver.now, core::AtRisk{user()});
  none.released(driver.now, lease);
  none.thread_ended(driver.now, "orders:42", "token");
  EXPECT_FALSE(none.has_any());
  EXPECT_EQ(none.deadline(), core::never);
}

}  // namespace
}  // namespace quorumlock::test
