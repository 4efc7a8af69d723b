#pragma once

#include <chrono>
#include <deque>
#include <random>
#include <string>

#include "chaos/descriptor.hpp"
#include "chaos/weather.hpp"

namespace quorumlock::chaos {

using SteadyTime = std::chrono::steady_clock::time_point;

/// One direction of one connection through the proxy: what was read and is not written yet.
class Pipe {
 public:
  /// Reads what is there. False once nothing more will come.
  bool read_from(const Descriptor& source, const Course& course, SteadyTime now,
                 std::mt19937_64& random);
  /// Writes what is due. False where the other end is gone.
  bool write_to(const Descriptor& sink, const Course& course, SteadyTime now);

  /// When write_to has something to do next; SteadyTime::max() where it waits for other things.
  [[nodiscard]] SteadyTime due(const Course& course) const;
  [[nodiscard]] bool empty() const { return pieces_.empty(); }
  /// More is not read until some of this is written.
  [[nodiscard]] bool full() const { return size_ > 1 << 20; }
  /// The sink took less than it was given: wait until it is writable.
  [[nodiscard]] bool blocked() const { return blocked_; }
  /// Bytes that had come were thrown away.
  [[nodiscard]] bool lossy() const { return lossy_; }
  [[nodiscard]] bool ended() const { return ended_; }

 private:
  struct Piece {
    SteadyTime due;
    std::string bytes;
  };
  std::deque<Piece> pieces_;
  std::size_t size_ = 0;
  SteadyTime last_trickle_{};
  bool blocked_ = false;
  bool lossy_ = false;
  bool ended_ = false;
};

}  // namespace quorumlock::chaos
