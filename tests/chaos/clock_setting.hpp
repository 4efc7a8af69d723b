#pragma once

#include <atomic>
#include <cstdint>

namespace quorumlock::chaos {

/// The environment variable that names the file with a server's ClockSetting.
inline constexpr const char* clock_variable = "QUORUMLOCK_CHAOS_CLOCK";

/// The setting of a server's wall clock, in a file that the server has mapped and we write to:
/// shown + (true - from) x rate, in nanoseconds. True time is CLOCK_BOOTTIME, so that the machine's
/// own wall clock may be set meanwhile. Guarded by a sequence, which is odd during a write.
struct ClockSetting {
  std::atomic<std::uint64_t> sequence;
  std::atomic<std::int64_t> from;
  std::atomic<std::int64_t> shown;
  std::atomic<double> rate;

  [[nodiscard]] std::int64_t show(std::int64_t now) const noexcept {
    for (;;) {
      const std::uint64_t before = sequence.load(std::memory_order_acquire);
      const std::int64_t since = now - from.load(std::memory_order_relaxed);
      const std::int64_t base = shown.load(std::memory_order_relaxed);
      const double pace = rate.load(std::memory_order_relaxed);
      std::atomic_thread_fence(std::memory_order_acquire);
      if (before % 2 == 1 || sequence.load(std::memory_order_relaxed) != before) continue;
      return base + static_cast<std::int64_t>(static_cast<double>(since) * pace);
    }
  }

  void set(std::int64_t now, std::int64_t now_shown, double pace) noexcept {
    sequence.fetch_add(1, std::memory_order_acq_rel);
    from.store(now, std::memory_order_relaxed);
    shown.store(now_shown, std::memory_order_relaxed);
    rate.store(pace, std::memory_order_relaxed);
    sequence.fetch_add(1, std::memory_order_acq_rel);
  }
};

static_assert(std::atomic<double>::is_always_lock_free);

}  // namespace quorumlock::chaos
