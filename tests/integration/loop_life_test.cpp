#include <atomic>
#include <thread>

#include "integration/fixture.hpp"
#include "support/uv_loop.hpp"

namespace quorumlock::test {
namespace {

/// An attached loop stays alive for other threads' requests.
class LoopLife : public FiveNodes {
 protected:
  static Coordinator attach(UvLoop& loop) {
    return Coordinator::attach(loop.get(), options()).value();
  }
  static void end(UvLoop& loop, Coordinator& coordinator) {
    coordinator.close();
    loop.run();
    EXPECT_EQ(loop.close(), 0);
  }
  /// Runs a call on another thread that has returned before this does.
  void ask_on_another_thread(Coordinator& coordinator, std::function<void(Errc)> tell,
                             const std::string& more = "/other") const {
    std::thread([&] {
      coordinator.async_acquire(key + more, {.wait = 20s}, [tell](const Result<Lease>& result) {
        tell(result ? Errc() : static_cast<Errc>(result.error().code().value()));
      });
    }).join();
  }
};

/// Calls back once, on the next turn of the loop.
class CalledOnce {
 public:
  CalledOnce(UvLoop& loop, std::function<void()> call) : call_(std::move(call)) {
    timer_.data = this;
    uv_timer_init(loop.get(), &timer_);
    uv_timer_start(
        &timer_,
        [](uv_timer_t* timer) {
          static_cast<CalledOnce*>(timer->data)->call_();
          uv_close(reinterpret_cast<uv_handle_t*>(timer), nullptr);
        },
        0, 0);
  }

 private:
  uv_timer_t timer_{};
  std::function<void()> call_;
};

TEST_F(LoopLife, GoesOnForCallsOfAnotherThreadWhileItRuns) {
  // The host's last work is a timer; during its callback another thread requests a lock.
  UvLoop loop;
  Coordinator coordinator = attach(loop);
  int told = 0;
  const CalledOnce last(loop, [&] {
    ask_on_another_thread(coordinator, [&](Errc why) {
      EXPECT_EQ(why, Errc());
      ++told;
    });
  });
  loop.run();
  EXPECT_EQ(told, 1);
  end(loop, coordinator);
}

TEST_F(LoopLife, TheNextCallOnItsThreadTakesEarlierCalls) {
  // While the loop is not running another thread asks for a lock, then the loop's thread for
  // another: the loop runs until both have their answers, in that order.
  UvLoop loop;
  Coordinator coordinator = attach(loop);
  loop.run();
  std::vector<std::string> told;
  ask_on_another_thread(
      coordinator, [&](Errc) { told.emplace_back("first"); }, "");
  coordinator.async_acquire(key, {.wait = 20s},
                            [&](const Result<Lease>&) { told.emplace_back("second"); });
  EXPECT_TRUE(told.empty());
  EXPECT_NE(uv_loop_alive(loop.get()), 0);
  loop.run();
  EXPECT_EQ(told, (std::vector<std::string>{"first", "second"}));
  end(loop, coordinator);
}

TEST_F(LoopLife, TheNextTurnTakesEarlierCalls) {
  // Only the host's own work keeps the loop running.
  UvLoop loop;
  Coordinator coordinator = attach(loop);
  loop.run();
  int told = 0;
  ask_on_another_thread(coordinator, [&](Errc why) { told += why == Errc() ? 1 : 100; });
  const CalledOnce own(loop, [] {});
  loop.run();
  EXPECT_EQ(told, 1);
  end(loop, coordinator);
}

TEST_F(LoopLife, CloseEndsEarlierCalls) {
  // A thread that waits for an answer gets closed, instead of waiting for ever.
  UvLoop loop;
  Coordinator coordinator = attach(loop);
  loop.run();
  int told = 0;
  ask_on_another_thread(coordinator, [&](Errc why) {
    EXPECT_EQ(why, Errc::closed);
    ++told;
  });
  coordinator.close();
  EXPECT_EQ(told, 0);
  loop.run();
  EXPECT_EQ(told, 1);
  EXPECT_EQ(loop.close(), 0);
}

TEST_F(LoopLife, EndsAfterCallsOfAnotherThread) {
  // The loop ends by itself once the other thread's lock is released, and does not spin before.
  UvLoop loop;
  Coordinator coordinator = attach(loop);
  for (int round = 0; round < 20; ++round) {
    int told = 0;
    const CalledOnce last(loop, [&] {
      ask_on_another_thread(coordinator, [&](Errc why) { told += why == Errc() ? 1 : 100; });
    });
    loop.run();
    EXPECT_EQ(told, 1);
    EXPECT_EQ(uv_loop_alive(loop.get()), 0);
  }
  EXPECT_TRUE(cluster().keys().empty());
  end(loop, coordinator);
}

TEST_F(LoopLife, SurvivesHundredsOfShutdownsWhileAnotherThreadLocks) {
  // The loop ends whenever it has nothing to do; the host then closes, whatever the other thread is
  // doing. Each call of that thread returns, with a lock or with closed.
  for (int round = 0; round < 200; ++round) {
    UvLoop loop;
    Coordinator coordinator = attach(loop);
    std::atomic<int> locked{0};
    std::atomic<bool> done{false};
    std::thread other([&] {
      for (int i = 0; i < round % 5; ++i) {
        Result<Lease> lease = coordinator.acquire(key, {.wait = 20s});
        if (!lease) {
          EXPECT_TRUE(fails_with(lease, Errc::closed));
          break;
        }
        ++locked;
        const Result<void> released = lease->release();
        EXPECT_TRUE(released || released.error().code() != Errc::not_held);
      }
      done = true;
    });
    if (round % 2 == 0) loop.run();
    if (round % 3 == 0) {
      coordinator.async_acquire(key + "/own", {}, [](const Result<Lease>&) {});
    }
    coordinator.close();
    loop.run();
    ASSERT_TRUE(eventually([&] { return done.load(); })) << "round " << round;
    other.join();
    ASSERT_EQ(loop.close(), 0) << "round " << round;
  }
}

TEST_F(LoopLife, SurvivesHundredsOfRunsWhileAnotherThreadLocks) {
  // The host follows docs/architecture.md: it keeps a handle of its own for as long as another
  // thread may ask. No call waits in vain, and nothing needs a close to end.
  UvLoop loop;
  Coordinator coordinator = attach(loop);
  for (int round = 0; round < 200; ++round) {
    uv_async_t hold{};
    uv_async_init(loop.get(), &hold, [](uv_async_t* async) {
      uv_close(reinterpret_cast<uv_handle_t*>(async), nullptr);
    });
    std::thread other([&] {
      for (int i = 0; i < 3; ++i) {
        Result<Lease> lease = coordinator.acquire(key, {.wait = 20s});
        EXPECT_TRUE(ok(lease));
        EXPECT_TRUE(lease && (i == 0 || lease->release()));
      }
      uv_async_send(&hold);
    });
    loop.run();
    other.join();
  }
  end(loop, coordinator);
}

}  // namespace
}  // namespace quorumlock::test
