#include <algorithm>
#include <atomic>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "integration/nodes_clocks.hpp"

// Options::on_event, with real nodes.
namespace quorumlock::test {
namespace {

/// Keeps the events of a coordinator.
class Kept {
 public:
  /// The options with an on_event that keeps its events here.
  Options in(Options options) {
    options.on_event = [this](const Event& event) {
      const std::lock_guard<std::mutex> lock(guard_);
      all_.push_back(event);
    };
    return options;
  }
  std::vector<Event> all() {
    const std::lock_guard<std::mutex> lock(guard_);
    return all_;
  }
  /// Waits for an event of this kind, about this node or resource.
  Event wait_for(EventKind kind, const std::string& about) {
    Event found;
    EXPECT_TRUE(eventually([&] {
      const std::vector<Event> events = all();
      const auto it = std::ranges::find_if(events, [&](const Event& event) {
        return event.kind == kind && (event.node == about || event.resource == about);
      });
      if (it != events.end()) found = *it;
      return it != events.end();
    })) << to_string(kind)
        << " " << about;
    return found;
  }
  bool has(EventKind kind) {
    const std::vector<Event> events = all();
    return std::ranges::find(events, kind, &Event::kind) != events.end();
  }
  void forget() {
    const std::lock_guard<std::mutex> lock(guard_);
    all_.clear();
  }

 private:
  std::mutex guard_;
  std::vector<Event> all_;
};

class EventsOfLeases : public FiveNodes {
 protected:
  Options labelled() {
    Options all = kept.in(options());
    all.label = "web-3:812";
    return all;
  }
  Kept kept;
};

TEST_F(EventsOfLeases, ALeaseIsAcquiredAndReleased) {
  // The events are the same if the handle ends instead of a call of release(); close() delivers
  // those that are still due.
  const auto before = std::chrono::system_clock::now();
  {
    Coordinator coordinator = test::connect(labelled());
    Lease lease = coordinator.acquire(key).value();
    ASSERT_TRUE(ok(lease.release()));
    { const Lease dropped = coordinator.acquire(key + "/dropped").value(); }
  }
  const Event acquired = kept.wait_for(EventKind::lease_acquired, key);
  EXPECT_EQ(acquired.level, EventLevel::info);
  EXPECT_EQ(acquired.holder, "web-3:812");
  EXPECT_NE(acquired.reason.find("nodes had granted it"), std::string::npos) << acquired.reason;
  EXPECT_GT(acquired.time, before - 1s);
  EXPECT_LT(acquired.time, std::chrono::system_clock::now() + 1s);
  EXPECT_EQ(kept.wait_for(EventKind::lease_released, key).level, EventLevel::info);
  kept.wait_for(EventKind::lease_released, key + "/dropped");
  EXPECT_FALSE(kept.has(EventKind::lease_lost));
  EXPECT_FALSE(kept.has(EventKind::node_down)) << "closing is no failure of the nodes";
}

TEST_F(EventsOfLeases, ALostLeaseSaysWhy) {
  Coordinator coordinator = test::connect(labelled());
  Lease lease = coordinator.acquire(key, {.ttl = 20s, .auto_extend = false}).value();
  ASSERT_TRUE(eventually([&] { return cluster().holders(key) == 5; }));
  for (const int node : {0, 1, 4}) cluster().raw(node, {"DEL", key});
  // If the keys' loss is known only after a quorum has granted once more, the extension succeeds,
  // and the lease is lost then.
  const Result<void> extended = lease.extend(20s);
  EXPECT_TRUE(extended || fails_with(extended, Errc::lost));
  const Event lost = kept.wait_for(EventKind::lease_lost, key);
  EXPECT_EQ(lost.level, EventLevel::error);
  EXPECT_EQ(lost.holder, "web-3:812");
  EXPECT_TRUE(lost.reason.starts_with("too many nodes no longer had its key (")) << lost.reason;
  EXPECT_FALSE(kept.has(EventKind::lease_released));
}

TEST_F(EventsOfLeases, ALeaseThatRunsOutIsAtRiskFirst) {
  Coordinator coordinator = test::connect(labelled());
  const Lease lease =
      coordinator.acquire(key, {.ttl = 500ms, .wait = 20s, .auto_extend = false}).value();
  EXPECT_EQ(kept.wait_for(EventKind::lease_at_risk, key).level, EventLevel::warning);
  kept.wait_for(EventKind::lease_expired, key);
}

TEST_F(EventsOfLeases, ARenewalInTheLastTenthOfTheTtlIsLate) {
  Coordinator coordinator = test::connect(labelled());
  // On a busy machine the lease may end before it is renewed.
  ASSERT_TRUE(eventually([&] {
    Result<Lease> lease = coordinator.acquire(key, {.ttl = 2s, .wait = 20s, .auto_extend = false});
    if (!lease) return false;
    return eventually([&] { return lease->remaining() <= 150ms; }) && ok(lease->extend(2s));
  }));
  const Event late = kept.wait_for(EventKind::lease_renewed_late, key);
  EXPECT_EQ(late.level, EventLevel::warning);
  EXPECT_EQ(late.holder, "web-3:812");
}

TEST_F(EventsOfLeases, AWaitInVainNamesTheHolder) {
  Coordinator holder = test::connect(labelled());
  const Lease lease = holder.acquire(key).value();
  Kept others;
  Coordinator coordinator = test::connect(others.in(options()));
  // On a busy machine a wait may end before a quorum has answered.
  ASSERT_TRUE(eventually([&] {
    others.forget();
    return fails_with(coordinator.acquire(key, {.wait = 300ms}), Errc::timed_out);
  }));
  const Event starved = others.wait_for(EventKind::waiter_starved, key);
  EXPECT_EQ(starved.holder, "web-3:812");
  EXPECT_TRUE(starved.reason.starts_with("the wait ran out")) << starved.reason;
}

TEST_F(EventsOfLeases, AThreadThatEndsWithALockIsReported) {
  Coordinator coordinator = test::connect(labelled());
  Mutex mutex(coordinator, key, {.ttl = 30s});
  std::thread([&] { mutex.lock(); }).join();
  const Event ended = kept.wait_for(EventKind::thread_ended_with_lock, key);
  EXPECT_EQ(ended.level, EventLevel::warning);
  EXPECT_EQ(ended.holder, "web-3:812");
}

TEST_F(EventsOfLeases, EveryEventIsPassedOnOrCounted) {
  // There are far more events than the bound in one second, on two loops, one call at a time.
  constexpr int count = 300;
  Options many = labelled();
  many.loops = 2;
  {
    Coordinator coordinator = test::connect(many);
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(ok(coordinator.acquire(key + std::to_string(i), {.wait = 20s})));
    }
  }
  std::uint64_t acquired = 0;
  std::size_t passed = 0;
  for (const Event& event : kept.all()) {
    if (event.kind != EventKind::lease_acquired) continue;
    acquired += 1 + event.left_out;
    ++passed;
  }
  EXPECT_EQ(acquired, count);
  EXPECT_LT(passed, count);
}

TEST_F(EventsOfLeases, AHandlerMayLockAndMayThrow) {
  // The handler is called outside of the library's own work, so it may call the coordinator; an
  // exception does no harm.
  Options thrower = options();
  std::atomic<Coordinator*> lender{nullptr};
  Answer<bool> locked;
  thrower.on_event = [&lender, key = key, tell = locked.handler()](const Event& event) {
    if (event.kind == EventKind::lease_acquired && event.resource == key) {
      lender.load()->async_acquire(key + "/inside",
                                   [tell](const Result<Lease>& lease) { tell(lease.has_value()); });
    }
    throw std::runtime_error("no room");
  };
  Coordinator coordinator = test::connect(std::move(thrower));
  lender = &coordinator;
  const Lease lease = coordinator.acquire(key, {.wait = 20s}).value();
  EXPECT_TRUE(locked.get());
}

TEST(EventsOfNodes, ANodeIsDownThenQuarantinedThenUp) {
  // The node comes back empty, so it does not vote until every earlier lock has run out.
  Cluster cluster({.size = 3, .enrolled = false, .max_ttl = 1s});
  for (int node = 0; node < 3; ++node) cluster.enrol(node);
  Kept kept;
  Options options = kept.in(cluster.options());
  options.ttl = 900ms;
  Coordinator coordinator = connect(options);
  const std::string node = coordinator.status().value().nodes.at(1).node;
  kept.wait_for(EventKind::node_up, node);
  kept.forget();
  cluster.kill(1);
  const Event down = kept.wait_for(EventKind::node_down, node);
  EXPECT_EQ(down.level, EventLevel::warning);
  EXPECT_FALSE(down.reason.empty());
  cluster.restart(1);
  const Event quarantined = kept.wait_for(EventKind::node_quarantined, node);
  EXPECT_TRUE(quarantined.reason.starts_with("has ")) << quarantined.reason;
  EXPECT_EQ(kept.wait_for(EventKind::node_up, node).level, EventLevel::info);
}

TEST(EventsOfNodes, ANodeThatDoesNotAnswerIsStalled) {
  Cluster cluster({.size = 3});
  Kept kept;
  Options options = kept.in(cluster.options());
  options.node_timeout = 200ms;
  Coordinator coordinator = connect(options);
  const std::string node = coordinator.status().value().nodes.at(2).node;
  kept.wait_for(EventKind::node_up, node);
  cluster.pause(2);
  ASSERT_TRUE(eventually([&] {
    (void)coordinator.acquire(resource_of_this_test(), {.ttl = 20s});
    return kept.has(EventKind::node_stalled) || kept.has(EventKind::node_down);
  }));
  cluster.resume(2);
}

/// A coordinator that has compared the clocks of five nodes, and holds a lock.
class EventsOfClocks : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(eventually([&] {
      return coordinator.status().value().voters() == 5 &&
             nodes.cluster.holders(lease.resource(), lease.owner_token()) == 5;
    }));
  }
  std::string name(std::size_t node) { return coordinator.status().value().nodes.at(node).node; }

  ClockedNodes nodes;
  Kept kept;
  Coordinator coordinator = connect(kept.in(nodes.cluster.options()));
  Lease lease =
      coordinator.acquire(resource_of_this_test(), {.ttl = 20s, .auto_extend = false}).value();
};

TEST_F(EventsOfClocks, AStepOfANodeIsAnEventOfThatNode) {
  nodes.step({1}, 60s);
  ASSERT_TRUE(ok(lease.extend(20s)));
  const Event jumped = kept.wait_for(EventKind::node_clock_jumped, name(1));
  EXPECT_EQ(jumped.level, EventLevel::error);
  EXPECT_NE(jumped.reason.find(" s ahead of "), std::string::npos) << jumped.reason;
  EXPECT_FALSE(kept.has(EventKind::lease_lost));
}

TEST_F(EventsOfClocks, AStepOfAllNodesIsOurOwnClocksAndEndsTheLease) {
  nodes.step({0, 1, 2, 3, 4}, 60s);
  EXPECT_TRUE(fails_with(lease.extend(20s), Errc::lost));
  EXPECT_EQ(kept.wait_for(EventKind::own_clock_stood, "").level, EventLevel::error);
  kept.wait_for(EventKind::lease_lost, resource_of_this_test());
}

TEST(EventsOfNodes, ANodeThatRefusesOurPasswordIsRefused) {
  // The reason is the server's own, without the password.
  Cluster cluster({.size = 3, .user = ""});
  cluster.raw_everywhere({"ACL", "SETUSER", "locker", "on", ">s3cret", "~*", "&*", "+@all"});
  Kept kept;
  Options options = kept.in(cluster.options());
  options.credentials = [](std::string_view) -> Result<Credentials> {
    return Credentials{.user = "locker", .password = "wrong-s3cret"};
  };
  Coordinator coordinator = connect(options);
  const std::string node = coordinator.status().value().nodes.at(0).node;
  const Event refused = kept.wait_for(EventKind::node_refused, node);
  EXPECT_EQ(refused.level, EventLevel::error);
  EXPECT_NE(refused.reason.find("WRONGPASS"), std::string::npos) << refused.reason;
  EXPECT_EQ(refused.reason.find("s3cret"), std::string::npos);
}

}  // namespace
}  // namespace quorumlock::test
