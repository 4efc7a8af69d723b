#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>

#include <quorumlock/admin.hpp>

#include "output.hpp"

namespace quorumlock::cli {

/// Finds the leases that ran out, by comparing a list of locks with the one before: they were gone
/// when they could have run out, and not earlier. A lease that is renewed has most of its time left
/// when it is given back. The lists show only what becomes of leases on the nodes: a key that
/// somebody deletes looks like a release. Thread-safe.
class RanOut {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// Takes the answer to a question that was asked at this time and has just been answered.
  void note(const Result<LockList>& list, Time asked,
            Time answered = std::chrono::steady_clock::now());
  /// Returns [{"resource", "label", "token_begin", "at_ms"}, ...], the last lease first, at most
  /// 50.
  [[nodiscard]] Json document() const;
  /// Returns the same as lines of text, at most this many, whose names are cut so that each fits
  /// into this width; empty if there are none.
  [[nodiscard]] std::string text(std::size_t width = unlimited, std::size_t most = unlimited) const;

 private:
  using Name = std::tuple<std::string, int, std::string>;  ///< resource, permit, token
  struct Known {
    HeldLock lock;
    std::chrono::milliseconds longest;  ///< the most time that it was seen to have left
    Time asked;                         ///< when it was seen last
  };
  [[nodiscard]] bool ran_out(const Known& one, Time answered) const;

  mutable std::mutex guard_;
  std::map<Name, Known> known_;
  bool gap_ = false;  ///< no complete list could be read since then
  std::deque<std::pair<HeldLock, std::chrono::system_clock::time_point>> ended_;
};

}  // namespace quorumlock::cli
