#pragma once

#include <uv.h>

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
  /// Until nothing keeps it alive.
  void run() { uv_run(&loop_, UV_RUN_DEFAULT); }
  /// Turns until the condition holds, kept alive by a timer of the test's own.
  template <class Condition>
  void run_until(Condition&& condition) {
    uv_timer_t ticks{};
    uv_timer_init(&loop_, &ticks);
    uv_timer_start(
        &ticks, [](uv_timer_t*) {}, 1, 1);
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (!condition() && std::chrono::steady_clock::now() < deadline) {
      uv_run(&loop_, UV_RUN_ONCE);
    }
    const bool held = condition();
    bool gone = false;
    ticks.data = &gone;
    uv_close(reinterpret_cast<uv_handle_t*>(&ticks),
             [](uv_handle_t* timer) { *static_cast<bool*>(timer->data) = true; });
    while (!gone) uv_run(&loop_, UV_RUN_NOWAIT);
    if (!held) throw std::runtime_error("the loop turned in vain");
  }
  /// Zero where nothing is left on it.
  [[nodiscard]] int close() {
    const int status = uv_loop_close(&loop_);
    closed_ = status == 0;
    return status;
  }

 private:
  uv_loop_t loop_{};
  bool closed_ = false;
};

}  // namespace quorumlock::test
