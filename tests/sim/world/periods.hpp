#pragma once

#include <cstdint>
#include <deque>

#include "loop/once_query.hpp"
#include "sim/world/machine.hpp"

namespace quorumlock::sim {

/// The work that the holders of the lock do once per period, as Coordinator::once() does it, and
/// what is promised of it. A period that a quorum has noted, or of which a caller was told that it
/// is done, is never begun again; what a caller is told to be done was done by somebody; of two
/// holders that were both told that a period is not done, one counts it as done at most.
class Periods : Machine {
 public:
  using Machine::Machine;
  /// A client has got the lock: it asks how far the work is done.
  void won(Operation& lease);
  void answered(Client& client, const detail::Session::Answered& answer);
  /// Too few nodes remembered anything, so that what was done is forgotten.
  void forgotten();

 private:
  struct Run {
    std::size_t number;
    std::size_t operation;
    std::uint64_t period;
    detail::OnceQuery query;
    bool asks = true;        ///< whether it has asked, and has no answer yet
    bool begun = false;      ///< it was told that the period is not done
    bool completed = false;  ///< the work was done, and its record is on its way
    bool done = false;       ///< it was told that the period is done, by it or before
  };

  void ask(std::size_t number, bool done);
  void work(std::size_t number);
  void told(Run& run, bool done);
  [[nodiscard]] bool holds() const;

  std::deque<Run> runs_;
  std::uint64_t undone_ = 0;  ///< the period that is asked for next
  bool forgotten_ = false;
};

}  // namespace quorumlock::sim
