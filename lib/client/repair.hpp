#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/claim.hpp"
#include "redis/reply.hpp"

namespace quorumlock::client {

class Session;

/// Brings the fencing counters of a node that forgot up to where they must be before it votes
/// again.
///
/// A token that was decided with this node's vote stands on q - 1 others at least. So the greatest
/// counter on N - q + 1 others is at least every such token: each counter of those nodes is copied
/// where it is greater, a few hundred at a time (SCAN, MGET, repair.lua), while the lock goes on.
/// Tokens decided meanwhile don't need this node: their quorum and a later one with it share
/// another node. What those others don't have as counters they have as a floor, which goes over
/// with the rest. Where fewer others vote, what is to be reached is copied and a floor is set above
/// all clocks of the nodes.
///
/// A source that has forgotten since it was last asked for a vote is none: its enrolment is
/// compared once its counters have been read. One node after the other; the rest wait their turn.
class Repair {
 public:
  Repair(Session& session, core::WallClock& wall) : session_(session), wall_(wall) {}

  void begin(core::Time now, int node);
  /// `reply` null where there is none.
  void on_answer(core::Time now, const core::Tag& tag, const redis::Reply* reply);

 private:
  enum class Step { scan, values, write, check, time };

  void start(core::Time now);
  void next_source(core::Time now);
  void ask_times(core::Time now);
  void ask(core::Time now, int node, Step step, const std::vector<std::string_view>& words);
  void end_of_source(core::Time now);
  void on_keys(core::Time now, const redis::Reply& reply);
  void on_values(core::Time now, const redis::Reply& reply);
  void finish(core::Time now, bool done);

  Session& session_;
  core::WallClock& wall_;
  int target_ = -1;           ///< being repaired; -1: none
  std::vector<int> waiting_;  ///< to be repaired after it
  std::uint32_t run_ = 0;     ///< answers of an earlier one don't count
  std::vector<int> sources_;  ///< still to be copied, the last one first
  bool from_quorum_ = false;
  std::vector<int> clocks_;  ///< still to be asked for the time, where there is no quorum
  std::string cursor_;
  std::vector<std::string> keys_;
  std::uint64_t greatest_ = 0;  ///< of all that was seen
  std::uint64_t floor_ = 0;     ///< of the others' floors, and since when that one stands
  std::int64_t since_ = 0;
  std::string bytes_;
};

}  // namespace quorumlock::client
