#include <ctime>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "integration/fixture.hpp"
#include "support/uv_loop.hpp"

namespace quorumlock::test {
namespace {

/// A coordinator attached to the loop of a host program, which runs on the test's thread.
class LoopOfHost : public FiveNodes {
 protected:
  static Coordinator attach(UvLoop& loop) {
    return Coordinator::attach(loop.get(), options()).value();
  }
  static std::ptrdiff_t threads() {
    using Entries = std::filesystem::directory_iterator;
    return std::distance(Entries("/proc/self/task"), Entries());
  }
  /// Returns the clocks of all timer descriptors of this process.
  static std::multiset<int> timer_clocks() {
    std::multiset<int> clocks;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fdinfo")) {
      std::ifstream info(entry.path());
      for (std::string word; info >> word;) {
        int clock = 0;
        if (word == "clockid:" && info >> clock) clocks.insert(clock);
      }
    }
    return clocks;
  }
  static void close(UvLoop& loop, Coordinator& coordinator) {
    int closed = 0;
    coordinator.async_close([&] { ++closed; });
    EXPECT_EQ(closed, 0);
    loop.run();
    EXPECT_EQ(closed, 1);
    EXPECT_EQ(loop.close(), 0);
  }
};

TEST_F(LoopOfHost, EndsAtOnceWithoutWork) {
  // An idle attached coordinator does not keep the loop alive.
  UvLoop loop;
  Coordinator coordinator = attach(loop);
  EXPECT_EQ(uv_loop_alive(loop.get()), 0);
  loop.run();
  close(loop, coordinator);
}

TEST_F(LoopOfHost, GoesOnWhileThereIsWork) {
  // The loop runs until the lock is acquired and released, and then ends by itself.
  UvLoop loop;
  Coordinator coordinator = attach(loop);
  int acquired = 0;
  int released = 0;
  Lease lease;
  coordinator.async_acquire(key, {}, {}, [&](Result<Lease> result) {
    ASSERT_TRUE(ok(result));
    ++acquired;
    lease = std::move(*result);
    lease.async_release([&](const Result<void>& done) {
      EXPECT_TRUE(ok(done));
      ++released;
    });
  });
  EXPECT_EQ(acquired, 0);
  EXPECT_NE(uv_loop_alive(loop.get()), 0);
  loop.run();
  EXPECT_EQ(acquired, 1);
  EXPECT_EQ(released, 1);
  EXPECT_TRUE(cluster().keys().empty());
  close(loop, coordinator);
}

TEST_F(LoopOfHost, GoesOnWhileALeaseIsHeld) {
  // A held lease keeps the loop alive for its renewals; dropping the lease lets the loop end.
  UvLoop loop;
  Coordinator coordinator = attach(loop);
  Lease lease;
  coordinator.async_acquire(key, {.ttl = 1500ms, .wait = 20s}, {}, [&](Result<Lease> result) {
    ASSERT_TRUE(ok(result));
    lease = std::move(*result);
  });
  loop.run_until([&] { return lease.is_valid(); });
  const Clock::time_point first_end = lease.valid_until();
  loop.run_until([&] { return lease.valid_until() > first_end; });
  EXPECT_NE(uv_loop_alive(loop.get()), 0);
  lease = Lease();
  loop.run();
  EXPECT_TRUE(cluster().keys().empty());
  EXPECT_EQ(uv_loop_alive(loop.get()), 0);
  close(loop, coordinator);
}

TEST_F(LoopOfHost, GoesOnUntilARefusalIsReported) {
  // A refusal that needs no node is work, too: its handler runs before the loop ends.
  UvLoop loop;
  Coordinator coordinator = attach(loop);
  int refused = 0;
  std::stop_source stopped;
  stopped.request_stop();
  coordinator.async_acquire(key, {.ttl = -1s}, {}, [&](const Result<Lease>& result) {
    EXPECT_TRUE(fails_with(result, Errc::invalid_argument));
    ++refused;
  });
  coordinator.async_acquire(key, {}, stopped.get_token(), [&](const Result<Lease>& result) {
    EXPECT_TRUE(fails_with(result, Errc::cancelled));
    ++refused;
  });
  EXPECT_EQ(refused, 0);
  loop.run();
  EXPECT_EQ(refused, 2);
  close(loop, coordinator);
}

TEST_F(LoopOfHost, MayRunToItsEndAgainAndAgain) {
  // The host runs its loop to the end, makes another request and runs it again.
  UvLoop loop;
  Coordinator coordinator = attach(loop);
  for (int round = 1; round <= 5; ++round) {
    int acquired = 0;
    coordinator.async_acquire(key, {.wait = 20s}, {},
                              [&](const Result<Lease>& result) { acquired += result ? 1 : 0; });
    loop.run();
    EXPECT_EQ(acquired, 1);
    EXPECT_TRUE(cluster().keys().empty());
  }
  close(loop, coordinator);
}

TEST_F(LoopOfHost, BlockingCallsWouldDeadlock) {
  // The host's thread is the loop's: only asynchronous calls are allowed there.
  UvLoop loop;
  Coordinator coordinator = attach(loop);
  EXPECT_TRUE(fails_with(coordinator.acquire(key), Errc::would_deadlock));
  EXPECT_TRUE(fails_with(coordinator.inspect(key), Errc::would_deadlock));
  close(loop, coordinator);
}

TEST_F(LoopOfHost, OtherThreadsMayBlock) {
  // While the host's thread runs the loop, another one acquires and releases, blocking.
  UvLoop loop;
  Coordinator coordinator = attach(loop);
  std::atomic<bool> done{false};
  std::thread other([&] {
    for (int i = 0; i < 20; ++i) {
      Result<Lease> lease = coordinator.acquire(key, {.wait = 20s});
      EXPECT_TRUE(ok(lease));
      EXPECT_TRUE(lease && ok(lease->release()));
    }
    done = true;
  });
  loop.run_until([&] { return done.load(); });
  other.join();
  close(loop, coordinator);
}

TEST_F(LoopOfHost, AnotherThreadMayClose) {
  // close() on another thread returns once the loop has completed it.
  UvLoop loop;
  Coordinator coordinator = attach(loop);
  std::atomic<bool> done{false};
  std::thread other([&] {
    coordinator.close();
    done = true;
  });
  loop.run_until([&] { return done.load(); });
  other.join();
  EXPECT_EQ(loop.close(), 0);
}

TEST_F(LoopOfHost, DestructionClosesInTheNextTurns) {
  // The destructor of an attached coordinator returns at once; the next turns of the loop do the
  // rest, including the release of leases.
  UvLoop loop;
  Lease lease;
  {
    Coordinator coordinator = attach(loop);
    coordinator.async_acquire(key, {}, {}, [&](Result<Lease> result) {
      if (result) lease = std::move(*result);
    });
    loop.run_until([&] { return lease.is_valid(); });
  }
  loop.run();
  EXPECT_FALSE(lease.is_valid());
  EXPECT_TRUE(cluster().keys().empty());
  EXPECT_EQ(loop.close(), 0);
}

TEST_F(LoopOfHost, IsClosedBeforeItEverTurned) {
  // The coordinator is destroyed before the loop's first turn: nothing of it is left on the loop.
  UvLoop loop;
  { const Coordinator coordinator = attach(loop); }
  loop.run();
  EXPECT_EQ(loop.close(), 0);
}

TEST_F(LoopOfHost, CloseEndsWorkUnderWay) {
  // Attempts in flight and waits end with closed, each once, before the close's own handler, and
  // nothing is left on the loop or the nodes.
  UvLoop loop;
  Coordinator coordinator = attach(loop);
  for (int node = 0; node < 5; ++node) cluster().plant(node, key);
  int closed = 0;
  for (int i = 0; i < 10; ++i) {
    coordinator.async_acquire(key, {.wait = forever}, {}, [&](const Result<Lease>& result) {
      EXPECT_TRUE(fails_with(result, Errc::closed));
      ++closed;
    });
    coordinator.async_acquire(key + std::to_string(i), {}, {}, [&](const Result<Lease>& result) {
      EXPECT_TRUE(fails_with(result, Errc::closed));
      ++closed;
    });
  }
  coordinator.async_close([&] { EXPECT_EQ(closed, 20); });
  loop.run();
  EXPECT_EQ(closed, 20);
  EXPECT_EQ(loop.close(), 0);
  EXPECT_TRUE(eventually([&] { return cluster().keys().size() == 5; }));
}

TEST_F(LoopOfHost, IsSharedWithTheHostAndOtherCoordinators) {
  // Two coordinators and the host's own timer share one loop.
  UvLoop loop;
  Coordinator first = attach(loop);
  Coordinator second = attach(loop);
  int ticks = 0;
  uv_timer_t timer{};
  uv_timer_init(loop.get(), &timer);
  timer.data = &ticks;
  uv_timer_start(
      &timer, [](uv_timer_t* tick) { ++*static_cast<int*>(tick->data); }, 1, 1);
  Lease lease;
  bool contended = false;
  first.async_acquire(key, {}, {}, [&](Result<Lease> result) {
    ASSERT_TRUE(ok(result));
    lease = std::move(*result);
    second.async_acquire(key, {}, {}, [&](const Result<Lease>& refused) {
      contended = bool(fails_with(refused, Errc::contended));
    });
  });
  loop.run_until([&] { return contended && ticks > 3; });
  uv_close(reinterpret_cast<uv_handle_t*>(&timer), nullptr);
  first.close();
  second.close();
  loop.run();
  EXPECT_EQ(loop.close(), 0);
}

TEST_F(LoopOfHost, StartsNoThread) {
  // With addresses that need no resolving, everything runs on the host's one thread; if the suites
  // run over TLS, threads have read its files and ended.
  const auto before = threads();
  UvLoop loop;
  Coordinator coordinator = attach(loop);
  int acquired = 0;
  coordinator.async_acquire(key, {}, {},
                            [&](const Result<Lease>& result) { acquired += result ? 1 : 0; });
  loop.run();
  EXPECT_EQ(acquired, 1);
  EXPECT_TRUE(eventually([&] { return threads() == before; }));
  close(loop, coordinator);
}

TEST_F(LoopOfHost, IsWokenByAClockThatGoesOnInSleep) {
  // The kernel reports one timer made by an attached coordinator, on CLOCK_BOOTTIME.
  const auto before = timer_clocks();
  UvLoop loop;
  Coordinator coordinator = attach(loop);
  auto clocks = timer_clocks();
  for (const int clock : before) clocks.extract(clock);
  EXPECT_EQ(clocks, std::multiset<int>{CLOCK_BOOTTIME});
  close(loop, coordinator);
}

TEST_F(LoopOfHost, NotifiesTheHolderInTime) {
  // Without renewal the stop token is requested on the loop before the lease ends, and the loop
  // ends after the lease.
  UvLoop loop;
  Options early = options();
  early.stop_margin = 1s;
  Coordinator coordinator = Coordinator::attach(loop.get(), early).value();
  Lease lease;
  Clock::time_point told{};
  std::optional<std::stop_callback<std::function<void()>>> on_stop;
  coordinator.async_acquire(key, {.ttl = 1500ms, .wait = 20s, .auto_extend = false}, {},
                            [&](Result<Lease> result) {
                              ASSERT_TRUE(ok(result));
                              lease = std::move(*result);
                              on_stop.emplace(lease.stop_token(), [&] { told = Clock::now(); });
                            });
  loop.run();
  EXPECT_GE(told, lease.valid_until() - 1s);
  EXPECT_LT(told, lease.valid_until());
  EXPECT_FALSE(lease.is_valid());
  close(loop, coordinator);
}

TEST_F(LoopOfHost, ANullLoopIsRefused) {
  // There is no loop to attach to.
  EXPECT_TRUE(fails_with(Coordinator::attach(nullptr, options()), Errc::invalid_argument));
}

/// A loop that stands still for longer than node_timeout.
class LoopStandingStill : public LoopOfHost {
 protected:
  /// Connects to all nodes and makes them load the script of a lock with fencing.
  void SetUp() override {
    Options impatient = options();
    impatient.node_timeout = impatient.connect_timeout = 200ms;
    impatient.log = [this](std::string_view sentence) { (said_ += sentence) += '\n'; };
    coordinator_ = Coordinator::attach(loop_.get(), std::move(impatient)).value();
    Lease lease;
    coordinator_->async_acquire(key, {.wait = 20s}, {}, [&](Result<Lease> result) {
      ASSERT_TRUE(ok(result));
      lease = std::move(*result);
    });
    loop_.run_until([&] { return lease.is_valid() && cluster().holders(key) == 5; });
    lease = Lease();
    loop_.run();
    // Until the nodes have answered quickly for a while, fewer locks are sent in one turn.
    for (int round = 0; round < 3; ++round) {
      acquire(400);
      loop_.run_until([&] { return told_ == 400; });
      told_ = 0;
      held_.clear();
      loop_.run();
    }
    said_.clear();
  }
  void TearDown() override {
    held_.clear();
    close(loop_, *coordinator_);
  }

  void acquire(int locks) {
    for (int i = 0; i < locks; ++i) {
      coordinator_->async_acquire("l" + std::to_string(i), {}, {}, [this](Result<Lease> result) {
        ++told_;
        if (result) {
          held_.push_back(std::move(*result));
        } else {
          refused_ = result.error().what();
        }
      });
    }
    uv_run(loop_.get(), UV_RUN_NOWAIT);
    asked_at_ = Clock::now();
  }
  void stand_still_until_overdue() const {
    ASSERT_TRUE(eventually([&] { return Clock::now() > asked_at_ + 400ms; }));
  }

  UvLoop loop_;
  std::optional<Coordinator> coordinator_;
  std::string said_;
  int told_ = 0;
  std::vector<Lease> held_;
  std::string refused_;  ///< the last refusal's sentence
  Clock::time_point asked_at_;
};

TEST_F(LoopStandingStill, MoreAnswersThanOneReadTakesAreNotLate) {
  // Each node's 400 answers, 18 KB, are unread when the loop goes on: all of them count.
  acquire(400);
  ASSERT_TRUE(eventually([&] { return cluster().holders("l399") == 5; }));
  stand_still_until_overdue();
  loop_.run_until([&] { return told_ == 400; });
  EXPECT_EQ(held_.size(), 400U) << refused_;
  EXPECT_EQ(said_, "");
}

TEST_F(LoopStandingStill, AnswersThatCameAfterTheTimerAreNotLate) {
  // Three nodes answer after their deadline, but before the loop has looked: enough for two reads.
  for (const int node : {0, 1, 2}) cluster().pause(node);
  acquire(400);
  stand_still_until_overdue();
  for (const int node : {0, 1, 2}) cluster().resume(node);
  ASSERT_TRUE(eventually([&] { return cluster().holders("l399") == 5; }));
  // A server sends the answers of a turn at the end of that turn: after one more, all are with us.
  for (const int node : {0, 1, 2}) cluster().raw(node, {"PING"});
  loop_.run_until([&] { return told_ == 400; });
  EXPECT_EQ(held_.size(), 400U) << refused_;
  EXPECT_EQ(said_, "");
}

}  // namespace
}  // namespace quorumlock::test
