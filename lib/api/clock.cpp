#include <quorumlock/clock.hpp>

#include <atomic>
#include <ctime>

#include <quorumlock/detail/clock_control.hpp>

namespace quorumlock {

namespace {

// How the test kit has changed the clock. Only the kit writes these two variables, and they guard
// no other data.
constinit std::atomic<Clock::rep> gained{0};  // added to the kernel's time while the clock goes
constinit std::atomic<Clock::rep> standing_at{0};  // 0: the clock goes

Clock::time_point by_the_kernel() {
  timespec time{};
  clock_gettime(CLOCK_BOOTTIME, &time);
  return Clock::time_point(std::chrono::seconds(time.tv_sec) +
                           std::chrono::nanoseconds(time.tv_nsec));
}

}  // namespace

Clock::time_point Clock::now() noexcept {
  const Clock::rep at = standing_at.load(std::memory_order_relaxed);
  if (at != 0) return Clock::time_point(Clock::duration(at));
  return by_the_kernel() + Clock::duration(gained.load(std::memory_order_relaxed));
}

namespace detail {

void ClockControl::stop() {
  if (!stands()) standing_at = Clock::now().time_since_epoch().count();
}

void ClockControl::go() {
  if (!stands()) return;
  gained = gain().count();
  standing_at = 0;
}

void ClockControl::advance(std::chrono::nanoseconds by) {
  (stands() ? standing_at : gained) += by.count();
}

bool ClockControl::stands() {
  return standing_at != 0;
}

std::chrono::nanoseconds ClockControl::gain() {
  return stands() ? Clock::now() - by_the_kernel() : Clock::duration(gained);
}

Clock::time_point ClockControl::by_kernel(Clock::time_point when) {
  if (!stands()) return when - Clock::duration(gained);
  return when > Clock::now() ? Clock::time_point::max() : Clock::time_point();
}

}  // namespace detail

}  // namespace quorumlock
