#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <quorumlock/coordinator.hpp>

#include "event.hpp"

namespace quorumlock::cli {

/// Locks and unlocks without a pause, with `in_flight` locks at a time, and measures each call. All
/// members but the constructor and stop() belong to the loops' threads until done() is readable.
class BenchLoad {
 public:
  /// If there are fewer keys than locks in flight the locks wait for each other, in order.
  BenchLoad(Coordinator& coordinator, const std::vector<std::string>& keys, int in_flight,
            std::chrono::nanoseconds ttl);

  void start();
  /// Begins nothing new and cancels waits. May be called from any thread.
  void stop();
  [[nodiscard]] int done() const { return done_.fd(); }

  // The following are valid once done() is readable.
  [[nodiscard]] const std::optional<Error>& refused() const { return refused_; }
  [[nodiscard]] std::int64_t cycles() const { return cycles_; }
  [[nodiscard]] const std::vector<std::uint32_t>& acquire_ns() const { return acquire_ns_; }
  [[nodiscard]] const std::vector<std::uint32_t>& release_ns() const { return release_ns_; }
  /// The keys that were locked.
  [[nodiscard]] std::vector<std::string> used() const;
  /// Returns the time from the first acquisition to the last release.
  [[nodiscard]] double seconds() const;

 private:
  struct Slot {
    std::size_t key = 0;
    Clock::time_point began;
    Lease lease;
  };

  void begin(std::size_t which);
  void acquired(std::size_t which, Result<Lease> lease);
  void released(std::size_t which, const Result<void>& result);
  void end();

  Coordinator& coordinator_;
  const std::vector<std::string>& keys_;
  LockOptions options_;
  bool waits_;
  std::size_t used_ = 1;  ///< keys from the first one on
  std::mutex guard_;      ///< protects the members below, as there may be several loops
  std::vector<Slot> slots_;
  std::size_t busy_ = 0;
  std::stop_source stopping_;
  std::optional<Error> refused_;
  std::int64_t cycles_ = 0;
  std::vector<std::uint32_t> acquire_ns_, release_ns_;
  Clock::time_point first_, last_;
  Event done_;
};

}  // namespace quorumlock::cli
