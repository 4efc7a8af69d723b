#pragma once

#include <chrono>
#include <deque>
#include <random>
#include <string>

#include "local/descriptor.hpp"
#include "support/weather.hpp"

namespace quorumlock::test {

using local::Descriptor;
using SteadyTime = std::chrono::steady_clock::time_point;

/// One direction of a connection through the proxy: what was read and is not written yet.
class Pipe {
 public:
  /// Reads what is available. Returns false once nothing more will come.
  bool read_from(const Descriptor& source, const Course& course, SteadyTime now,
                 std::mt19937_64& random);
  /// Writes what is due. Returns false if the other end is gone.
  bool write_to(const Descriptor& sink, const Course& course, SteadyTime now);

  /// When write_to has something to do next; SteadyTime::max() if it waits for something else.
  [[nodiscard]] SteadyTime due(const Course& course) const;
  [[nodiscard]] bool empty() const { return pieces_.empty(); }
  /// Whether reading has to stop until some of this is written.
  [[nodiscard]] bool full() const { return size_ > 1 << 20; }
  /// Whether the sink took less than it was given, so that it must become writable first.
  [[nodiscard]] bool blocked() const { return blocked_; }
  /// Whether received bytes were thrown away.
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

}  // namespace quorumlock::test
