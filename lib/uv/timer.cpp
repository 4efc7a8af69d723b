#include "uv/timer.hpp"

#include <sys/timerfd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <ctime>

#include <quorumlock/detail/clock_control.hpp>

namespace quorumlock::uv {
namespace {

Descriptor make_timerfd() {
  Descriptor fd(timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC));
  if (!fd) check(-errno, "cannot create a timer");
  // What forbids this call (a seccomp profile) must not show first when a timer is armed on a loop.
  const itimerspec never{};
  if (timerfd_settime(fd.get(), 0, &never, nullptr) != 0) check(-errno, "cannot set a timer");
  return fd;
}

}  // namespace

Timer::Timer(uv_loop_t* loop, Open& open, std::function<void()> fired)
    : fd_(make_timerfd()),
      fired_(std::move(fired)),
      poll_(loop, open, fd_.get(), [this](int, int) { on_ready(); }) {
  poll_.wait_for(UV_READABLE);
}

void Timer::arm(Clock::time_point when) {
  wanted_ = when;
  if (when != Clock::time_point::max()) when = detail::ClockControl::by_kernel(when);
  if (when >= armed_) return;
  armed_ = when;
  const auto at = std::max<Clock::rep>(when.time_since_epoch().count(), 1);  // 0 would disarm
  itimerspec spec{};
  spec.it_value.tv_sec = static_cast<std::time_t>(at / 1'000'000'000);
  spec.it_value.tv_nsec = static_cast<long>(at % 1'000'000'000);
  if (timerfd_settime(fd_.get(), TFD_TIMER_ABSTIME, &spec, nullptr) != 0) {
    check(-errno, "cannot set a timer");
  }
}

void Timer::on_ready() {
  std::uint64_t expirations = 0;
  if (::read(fd_.get(), &expirations, sizeof expirations) < 0) return;
  armed_ = Clock::time_point::max();
  if (Clock::now() >= wanted_) {
    const auto fired = fired_;  // this timer may be destroyed in the call
    fired();
  } else {
    arm(wanted_);
  }
}

void Timer::close() {
  poll_.close();
  fd_.reset();
}

}  // namespace quorumlock::uv
