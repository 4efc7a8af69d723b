#pragma once

#include <functional>

#include <quorumlock/clock.hpp>

#include "uv/descriptor.hpp"
#include "uv/handle.hpp"

namespace quorumlock::uv {

/// One deadline on quorumlock::Clock, kept by a timerfd on CLOCK_BOOTTIME: it counts the time that
/// the machine is suspended, which libuv's own timers don't, and fires on the first turn after.
///
/// Armed lazily: moving the deadline later costs no system call, the timer then fires once for
/// nothing.
class Timer {
 public:
  Timer(uv_loop_t* loop, Open& open, std::function<void()> fired);

  /// Fire at `when` at the latest; Clock::time_point::max() for never.
  void arm(Clock::time_point when);
  void keep_alive(bool yes) { poll_.keep_alive(yes); }
  void close();

 private:
  void on_ready();

  Descriptor fd_;
  std::function<void()> fired_;
  Poll poll_;
  Clock::time_point wanted_ = Clock::time_point::max();
  Clock::time_point armed_ = Clock::time_point::max();
};

}  // namespace quorumlock::uv
