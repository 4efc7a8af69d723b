#pragma once

#include <functional>

#include <quorumlock/clock.hpp>

#include "uv/descriptor.hpp"
#include "uv/handle.hpp"

namespace quorumlock::uv {

/// One deadline on quorumlock::Clock, kept by a timerfd on CLOCK_BOOTTIME. Unlike libuv's own
/// timers it counts the time that the machine is suspended, and a deadline that passes meanwhile
/// fires in the first turn afterwards.
///
/// It is armed lazily: moving the deadline to a later time costs no system call; the timer then
/// fires once for nothing.
class Timer {
 public:
  Timer(uv_loop_t* loop, Open& open, std::function<void()> fired);

  /// Sets the deadline to `when`; Clock::time_point::max() is never.
  void arm(Clock::time_point when);
  void keep_alive(bool yes) { poll_.keep_alive(yes); }
  void close();

 private:
  void on_ready();

  Descriptor fd_;
  std::function<void()> fired_;
  Poll poll_;
  Clock::time_point wanted_ = Clock::time_point::max();
  Clock::time_point armed_ = Clock::time_point::max();  ///< a time of the kernel's clock
};

}  // namespace quorumlock::uv
