#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

#include "integration/fixture.hpp"
#include "support/process.hpp"

// Waiting in order, on real servers (docs/architecture.md).
namespace quorumlock::test {
namespace {

class Line : public FiveNodes {
 protected:
  const std::string line = "quorumlock:queue:" + key;
  const std::string lives = "quorumlock:waiting:" + key;

  static long long waiters(int node, const std::string& line) {
    return cluster().raw(node, {"ZCARD", line}).integer;
  }
  /// Returns once each node has `count` entries in the line.
  void see_waiters(long long count) const {
    ASSERT_TRUE(eventually([&] {
      for (int node = 0; node < 5; ++node) {
        if (waiters(node, line) != count) return false;
      }
      return true;
    })) << count
        << " waiters";
  }
  void see_nothing_left() const {
    EXPECT_TRUE(eventually([&] {
      return cluster().holders(line) == 0 && cluster().holders(lives) == 0 &&
             cluster().keys().empty();
    }));
  }
  /// Plants the entry of a first waiter that never refreshes it.
  void plant_entry(std::chrono::milliseconds life) const {
    for (int node = 0; node < 5; ++node) {
      const Reply now = cluster().raw(node, {"TIME"});
      const long long ms =
          std::stoll(now.elements.at(0).text) * 1000 + std::stoll(now.elements.at(1).text) / 1000;
      cluster().raw(node, {"ZADD", line, "1", "wdeadbeefdeadbeef.1"});
      cluster().raw(node,
                    {"ZADD", lives, std::to_string(ms + life.count()), "wdeadbeefdeadbeef.1"});
      cluster().raw(node, {"PEXPIRE", line, "6000"});
      cluster().raw(node, {"PEXPIRE", lives, "6000"});
    }
  }

  /// Notes the order of the holders, and releases each lease.
  struct Turns {
    std::mutex mutex;
    std::vector<int> order;
    auto handler(int who) {
      return [this, who](Result<Lease> lease) {
        EXPECT_TRUE(ok(lease));
        const std::lock_guard<std::mutex> one_at_a_time(mutex);
        order.push_back(who);
      };
    }
    std::size_t count() {
      const std::lock_guard<std::mutex> one_at_a_time(mutex);
      return order.size();
    }
  };
};

TEST_F(Line, ServesProcessesInTheOrderInWhichTheyCame) {
  // Each waiter has its entry on every node before the next one asks.
  std::vector<Coordinator> processes;
  for (int i = 0; i < 6; ++i) processes.push_back(connect());
  Turns turns;
  Result<Lease> held = processes[0].acquire(key);
  ASSERT_TRUE(ok(held));
  for (int i = 0; i < 12; ++i) {
    // Each process has two waiters, so its own hand-over must respect the others' tickets.
    processes[static_cast<std::size_t>(i % 6)].async_acquire(key, {.wait = forever}, {},
                                                             turns.handler(i));
    see_waiters(i + 1);
  }
  EXPECT_TRUE(ok(held->release()));
  ASSERT_TRUE(eventually([&] { return turns.count() == 12; }));
  EXPECT_TRUE(std::is_sorted(turns.order.begin(), turns.order.end()));
  see_nothing_left();
}

TEST_F(Line, ServesWaitersOfOneProcessInOrder) {
  // Forty waiters of one process get the lock by hand-over, one after the other.
  Coordinator coordinator = connect();
  Turns turns;
  Result<Lease> held = coordinator.acquire(key);
  ASSERT_TRUE(ok(held));
  for (int i = 0; i < 40; ++i) {
    coordinator.async_acquire(key, {.wait = forever}, {}, turns.handler(i));
    if (i == 0) see_waiters(1);
  }
  see_waiters(40);
  EXPECT_TRUE(ok(held->release()));
  ASSERT_TRUE(eventually([&] { return turns.count() == 40; }));
  EXPECT_TRUE(std::is_sorted(turns.order.begin(), turns.order.end()));
  see_nothing_left();
}

TEST_F(Line, AHandOverCostsNoMoreIfMoreProcessesWait) {
  // A hand-over takes 15 requests as a rule, and some more if messages and looks cross; every
  // process also refreshes its entries once a second.
  constexpr int waits = 48;
  const auto requests = [] {
    long long all = 0;
    for (int node = 0; node < 5; ++node) {
      all += cluster().calls(node, "evalsha") + cluster().calls(node, "eval");
    }
    return all;
  };
  for (const int processes : {2, 24}) {
    std::vector<Coordinator> waiting;
    for (int i = 0; i < processes; ++i) waiting.push_back(connect());
    Turns turns;
    Result<Lease> held = waiting[0].acquire(key);
    ASSERT_TRUE(ok(held));
    for (int i = 0; i < waits; ++i) {
      waiting[static_cast<std::size_t>(i % processes)].async_acquire(key, {.wait = forever}, {},
                                                                     turns.handler(i));
    }
    see_waiters(waits);
    const long long before = requests();
    const Clock::time_point begun = Clock::now();
    EXPECT_TRUE(ok(held->release()));
    ASSERT_TRUE(eventually([&] { return turns.count() == waits; }));
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(Clock::now() - begun).count() + 1;
    EXPECT_LT(requests() - before, 20 * waits + 5 * processes * seconds)
        << processes << " processes, " << seconds << " s";
    see_nothing_left();
  }
}

TEST_F(Line, AcquiresOutsideOfItAreRefusedWhileSomebodyWaits) {
  // The lock is free, but a live entry exists: a single attempt is contended, and so is an
  // unordered wait; both succeed once the entry is gone.
  Coordinator coordinator = connect();
  warm(coordinator);
  plant_entry(20s);
  EXPECT_TRUE(fails_with(coordinator.acquire(key), Errc::contended));
  EXPECT_TRUE(fails_with(coordinator.acquire(key, {.wait = 1s, .order = WaitOrder::unordered}),
                         Errc::timed_out));
  for (int node = 0; node < 5; ++node) cluster().raw(node, {"DEL", line, lives});
  EXPECT_TRUE(ok(coordinator.acquire(key)));
}

TEST_F(Line, ADeadFirstWaiterDelaysTheNextByItsEntrysLife) {
  // The dead waiter's entry is not refreshed: the next waiter has the lock soon after its end.
  Coordinator coordinator = connect();
  warm(coordinator);
  plant_entry(1500ms);
  const Clock::time_point begun = Clock::now();
  EXPECT_TRUE(ok(coordinator.acquire(key, {.wait = 20s})));
  const auto waited = Clock::now() - begun;
  EXPECT_GE(waited, 1400ms);
  // The waiter looks again when that entry ends, or a second later; a busy machine may take longer.
  EXPECT_LE(waited, 10s);
}

TEST_F(Line, AStoppedFirstWaiterIsPassedAndKeepsItsPlace) {
  // Another process is first and is stopped with SIGSTOP: its entry expires, and the next waiter is
  // served. When the process goes on it is first again, before a waiter that came after it.
  Coordinator coordinator = connect();
  Result<Lease> held = coordinator.acquire(key, {.wait = 20s});
  ASSERT_TRUE(ok(held));
  std::string urls;
  for (const std::string& url : cluster().urls()) urls += (urls.empty() ? "" : ",") + url;
  Process first({QUORUMLOCK_TEST_WORKER, "hold", urls, key, "700"});
  see_waiters(1);
  const auto head = [this](int node) {
    const Reply found = cluster().raw(node, {"ZRANGE", line, "0", "0"});
    return found.elements.empty() ? "" : found.elements[0].text;
  };
  const std::string name = head(0);
  first.stop();
  Answer<Result<Lease>> second;
  Answer<Result<Lease>> third;
  coordinator.async_acquire(key, {.wait = forever}, {}, second.handler());
  see_waiters(2);
  EXPECT_TRUE(ok(held->release()));
  Result<Lease> passed = second.get();
  ASSERT_TRUE(ok(passed));
  coordinator.async_acquire(key, {.wait = forever}, {}, third.handler());
  first.resume();
  for (int node = 0; node < 5; ++node) {
    ASSERT_TRUE(eventually([&] { return head(node) == name; }));
  }
  EXPECT_TRUE(ok(passed->release()));
  EXPECT_TRUE(first.line().starts_with("held "));
  first.signal(SIGKILL);
  EXPECT_EQ(first.wait(), 128 + SIGKILL);
  EXPECT_TRUE(ok(third.get()));
}

TEST_F(Line, ALostSubscriberConnectionCostsOneLookAtMost) {
  // No message can arrive; the waiter's own look finds the lock free.
  Coordinator holder = connect();
  Coordinator waiter = connect();
  warm(waiter);
  Result<Lease> held = holder.acquire(key, {.wait = 20s});
  ASSERT_TRUE(ok(held));
  Answer<Result<Lease>> answer;
  waiter.async_acquire(key, {.wait = forever}, {}, answer.handler());
  see_waiters(1);
  for (int node = 0; node < 5; ++node) {
    ASSERT_TRUE(eventually([&] {
      return cluster().raw(node, {"PUBSUB", "CHANNELS", "quorumlock:wake:*"}).elements.size() == 1;
    }));
  }
  for (int node = 0; node < 5; ++node) cluster().raw(node, {"CLIENT", "KILL", "TYPE", "pubsub"});
  const Clock::time_point begun = Clock::now();
  EXPECT_TRUE(ok(held->release()));
  EXPECT_TRUE(ok(answer.get()));
  EXPECT_LE(Clock::now() - begun, 8s);  // a second, instead of the lock's ttl of ten
  // The waiter subscribes again, for the next time.
  for (int node = 0; node < 5; ++node) {
    EXPECT_TRUE(eventually([&] {
      return cluster().raw(node, {"PUBSUB", "CHANNELS", "quorumlock:wake:*"}).elements.size() == 1;
    }));
  }
}

TEST_F(Line, AWaiterThatGivesUpLeavesAtOnce) {
  // Waiters are cancelled, timed out and closed: their entries go, and the others are served.
  Coordinator holder = connect();
  Coordinator other = connect();
  Result<Lease> held = holder.acquire(key);
  ASSERT_TRUE(ok(held));
  std::stop_source stop;
  Answer<Result<Lease>> cancelled;
  Answer<Result<Lease>> patient;
  other.async_acquire(key, {.wait = forever}, stop.get_token(), cancelled.handler());
  see_waiters(1);
  holder.async_acquire(key, {.wait = forever}, {}, patient.handler());
  see_waiters(2);
  EXPECT_TRUE(fails_with(other.acquire(key, {.wait = 1s}), Errc::timed_out));
  see_waiters(2);
  {
    Coordinator closed = connect();
    Answer<Result<Lease>> answer;
    closed.async_acquire(key, {.wait = forever}, {}, answer.handler());
    see_waiters(3);
    closed.close();
    EXPECT_TRUE(fails_with(answer.get(), Errc::closed));
  }
  stop.request_stop();
  EXPECT_TRUE(fails_with(cancelled.get(), Errc::cancelled));
  see_waiters(1);
  EXPECT_TRUE(ok(held->release()));
  EXPECT_TRUE(ok(patient.get()));
  see_nothing_left();
}

TEST_F(Line, AnEntryRemovedByHandBlocksNobody) {
  // The first waiter is gone without a message: the next one's look finds that out.
  Coordinator waiter = connect();
  warm(waiter);
  plant_entry(20s);
  Answer<Result<Lease>> answer;
  waiter.async_acquire(key, {.wait = forever}, {}, answer.handler());
  see_waiters(2);
  for (int node = 0; node < 5; ++node) {
    cluster().raw(node, {"ZREM", line, "wdeadbeefdeadbeef.1"});
  }
  EXPECT_TRUE(ok(answer.get()));
}

TEST_F(Line, AReleaseSendsAMessageOnlyIfSomebodyIsInIt) {
  // A waiter in no order finds the lock free when it looks, and nobody listens. With a waiter in
  // the line a majority of the nodes sends messages: a node that is late may find that it has left,
  // and one that is early sends another if the waiter gives its vote back and tries again.
  Coordinator holder = connect();
  Coordinator waiter = connect();
  warm(waiter);
  const auto messages = [this] {
    long long all = 0;
    for (int node = 0; node < 5; ++node) all += cluster().calls(node, "publish");
    return all;
  };
  const long long before = messages();
  for (const WaitOrder order : {WaitOrder::unordered, WaitOrder::fifo}) {
    Result<Lease> held = holder.acquire(key);
    ASSERT_TRUE(ok(held));
    Answer<Result<Lease>> answer;
    waiter.async_acquire(key, {.wait = forever, .order = order}, {}, answer.handler());
    if (order == WaitOrder::fifo) {
      see_waiters(1);
    } else {
      for (int node = 0; node < 5; ++node) {
        EXPECT_TRUE(cluster().raw(node, {"PUBSUB", "CHANNELS", "*"}).elements.empty());
      }
    }
    EXPECT_TRUE(ok(held->release()));
    EXPECT_TRUE(ok(answer.get()));
    if (order == WaitOrder::unordered) {
      EXPECT_TRUE(eventually([&] { return cluster().holders(key) == 0; }));
      EXPECT_EQ(messages(), before);
    }
  }
  EXPECT_TRUE(eventually([&] { return messages() >= before + 3; }));
}

TEST_F(Line, WithoutFencingWaitsInOrderIfAskedTo) {
  // The default is then a plain SET; WaitOrder::fifo uses the line, and no counter is written.
  Options plain = options();
  plain.fencing = false;
  Coordinator coordinator = test::connect(plain);
  Result<Lease> held = coordinator.acquire(key, {.wait = 20s, .order = WaitOrder::fifo});
  ASSERT_TRUE(ok(held));
  EXPECT_EQ(held->fencing_token(), 0U);
  Answer<Result<Lease>> answer;
  coordinator.async_acquire(key, {.wait = forever, .order = WaitOrder::fifo}, {}, answer.handler());
  see_waiters(1);
  EXPECT_TRUE(ok(held->release()));
  EXPECT_TRUE(ok(answer.get()));
  EXPECT_EQ(cluster().holders("quorumlock:fence:" + key), 0);
}

TEST(LineOfAUser, WaitsWithoutTheRightToListen) {
  // PUBLISH and SUBSCRIBE are refused to this user: releases work, and looks replace messages.
  Cluster cluster({.size = 1, .tcp = true, .user = ""});
  cluster.raw(0, {"ACL", "SETUSER", "locker", "on", ">secret", "~*", "+@all", "resetchannels"});
  Options options = cluster.options();
  for (NodeOptions& node : options.nodes) {
    node.url.insert(node.url.find("//") + 2, "locker:secret@");
  }
  Coordinator coordinator = connect(options);
  Result<Lease> held = coordinator.acquire("one", {.wait = 20s});
  ASSERT_TRUE(ok(held));
  Coordinator other = connect(options);
  Answer<Result<Lease>> answer;
  other.async_acquire("one", {.wait = 20s}, {}, answer.handler());
  ASSERT_TRUE(eventually([&] {
    return cluster.raw(0, {"ZCARD", "quorumlock:queue:one"}).integer == 1;
  }));
  EXPECT_TRUE(ok(held->release()));
  EXPECT_TRUE(ok(answer.get()));
}

TEST_F(Line, IsShownByInspect) {
  // Inspection shows the holder and the waiters in order: two of one process, then one of another.
  Coordinator one = connect();
  Coordinator other = connect();
  Result<Lease> held = one.acquire(key);
  ASSERT_TRUE(ok(held));
  Turns turns;
  int waiting = 0;
  for (Coordinator* coordinator : {&one, &one, &other}) {
    coordinator->async_acquire(key, {.wait = forever}, {}, turns.handler(waiting));
    see_waiters(++waiting);
  }
  const Result<Inspection> seen = other.inspect(key);
  ASSERT_TRUE(ok(seen));
  EXPECT_EQ(seen->holder, held->owner_token());
  EXPECT_EQ(seen->mode(), LockMode::exclusive);
  ASSERT_EQ(seen->waiters.size(), 3U);
  EXPECT_EQ(seen->waiters[0].process, seen->waiters[1].process);
  EXPECT_NE(seen->waiters[0].process, seen->waiters[2].process);
  EXPECT_LT(seen->waiters[1].ticket, seen->waiters[2].ticket);
  for (const LineEntry& entry : seen->waiters) {
    EXPECT_EQ(entry.mode, LockMode::exclusive);
    EXPECT_GE(entry.waiting_for, 0ms);
    EXPECT_LE(entry.expires_in, 3s);
  }
  for (const NodeHolding& node : seen->nodes) {
    ASSERT_EQ(node.waiters.size(), 3U) << node.node;
    EXPECT_EQ(node.waiters[2].name, seen->waiters[2].name);
  }
  EXPECT_TRUE(ok(held->release()));
  ASSERT_TRUE(eventually([&] { return turns.count() == 3; }));
}

}  // namespace
}  // namespace quorumlock::test
