#pragma once

#include <uv.h>

#include <chrono>
#include <cstdint>
#include <stdexcept>

#include "support/eventually.hpp"

namespace quorumlock::test {

/// The loop of a host program, on the test's own thread.
class UvLoop {
 public:
  UvLoop() { uv_loop_init(&loop_); }
  UvLoop(const UvLoop&) = delete;
  UvLoop& operator=(const UvLoop&) = delete;
  ~UvLoop() {
    if (!closed_) (void)close();
  }

  uv_loop_t* get() { return &loop_; }
  /// Runs the loop until nothing keeps it alive.
  void run() {
    Timer limit(loop_, std::chrono::milliseconds(patience), 0);
    uv_unref(limit.handle());
    uv_run(&loop_, UV_RUN_DEFAULT);
    if (limit.fired()) throw std::runtime_error("the loop does not end");
  }
  /// Turns the loop until the condition holds; a timer of the test's own keeps it alive.
  template <class Condition>
  void run_until(Condition&& condition) {
    const Timer ticks(loop_, std::chrono::milliseconds(1), 1);
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) {
        throw std::runtime_error("the loop turned in vain");
      }
      uv_run(&loop_, UV_RUN_ONCE);
    }
  }
  /// Closes the loop; zero if nothing was left on it.
  [[nodiscard]] int close() {
    const int status = uv_loop_close(&loop_);
    closed_ = status == 0;
    return status;
  }

 private:
  /// A timer that stops the loop unless it repeats; the destructor takes it off the loop.
  class Timer {
   public:
    Timer(uv_loop_t& loop, std::chrono::milliseconds first, std::uint64_t repeat) {
      timer_.data = this;
      uv_timer_init(&loop, &timer_);
      uv_timer_start(
          &timer_,
          [](uv_timer_t* timer) {
            static_cast<Timer*>(timer->data)->fired_ = true;
            if (uv_timer_get_repeat(timer) == 0) uv_stop(timer->loop);
          },
          static_cast<std::uint64_t>(first.count()), repeat);
    }
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;
    ~Timer() {
      uv_close(handle(),
               [](uv_handle_t* timer) { static_cast<Timer*>(timer->data)->gone_ = true; });
      while (!gone_) uv_run(timer_.loop, UV_RUN_NOWAIT);
    }
    uv_handle_t* handle() { return reinterpret_cast<uv_handle_t*>(&timer_); }
    [[nodiscard]] bool fired() const { return fired_; }

   private:
    uv_timer_t timer_{};
    bool fired_ = false;
    bool gone_ = false;
  };

  uv_loop_t loop_{};
  bool closed_ = false;
};

}  // namespace quorumlock::test
