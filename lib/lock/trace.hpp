#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <quorumlock/outcome.hpp>

#include "lock/types.hpp"

namespace quorumlock::core {

/// The steps of an acquisition whose caller wants to know where its time goes. A long wait has many
/// steps: the first ones and the latest ones are kept, and one of kind left_out between them.
class Trace {
 public:
  struct Step {
    Time at;
    TraceKind kind;
    int attempt = 0;
    int node = -1;  ///< -1: not about a single node
    Vote vote = Vote::pending;
    std::uint64_t count = 0;
  };
  static constexpr std::size_t most = 256;  ///< steps kept
  static constexpr std::size_t first = 64;  ///< the first ones, which are never left out
  static constexpr std::size_t dropped_at_once = 64;

  /// `called` is the time of the call.
  explicit Trace(Time called) : called_(called) {}

  /// Amortized O(1).
  void add(const Step& step);
  [[nodiscard]] Time called() const { return called_; }
  [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }

 private:
  Time called_;
  std::vector<Step> steps_;
};

}  // namespace quorumlock::core
