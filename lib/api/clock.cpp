#include <quorumlock/clock.hpp>

#include <ctime>

namespace quorumlock {

Clock::time_point Clock::now() noexcept {
  timespec time{};
  clock_gettime(CLOCK_BOOTTIME, &time);
  return time_point(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
}

}  // namespace quorumlock
