#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "lock/tag.hpp"
#include "lock/types.hpp"
#include "wire/reply.hpp"

namespace quorumlock::detail {

class Session;

/// Asks the other nodes for their TIMEs whenever the candidate of a node was seen: see
/// redis::TimedWait. A TIME counts for the candidate that had been seen when it was asked for.
class Witnesses {
 public:
  explicit Witnesses(Session& session) : session_(session) {}

  /// The candidate of this node was looked at.
  void looked(core::Time now, int node);
  /// This node can be asked from now on.
  void came(core::Time now, int witness);
  /// Takes the answer of a node; `reply` is null if there is none.
  void on_answer(core::Time now, int witness, const core::Tag& tag, const redis::Reply* reply);
  /// Whether some node has not answered yet.
  [[nodiscard]] bool asks() const { return unanswered_ > 0; }

 private:
  void ask(core::Time now, int node, int witness);

  Session& session_;
  struct Seen {
    std::string nonce;
    std::uint32_t number = 0;  ///< grows with each candidate
  };
  std::array<Seen, core::max_nodes> seen_;  ///< by the node's number: its last candidate
  int unanswered_ = 0;
};

}  // namespace quorumlock::detail
