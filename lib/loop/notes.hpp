#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/claim.hpp"
#include "redis/enrolment.hpp"
#include "redis/reply.hpp"

namespace quorumlock::detail {

class Session;

/// The notes that nodes keep about one another under trust_disk: "quorumlock:node:NAME" on the
/// other nodes is the run of the node NAME that was seen not to be durable.
///
/// A node whose append-only file was switched off starts from an older file, in which its record
/// still says "durable". So before its record says "volatile", that is noted on q - 1 others, and
/// before a record is trusted, N - q + 1 others are asked: the two sets share a node. A node that
/// has itself forgotten does not count. A note lives for fencing_memory, longer than any lock or
/// counter that the node could have forgotten, and is renewed while the node is not durable.
class Notes {
 public:
  /// The rounds of these questions begin here, and those of Repair end before: the questions of
  /// both are of core::CommandKind::repair.
  static constexpr std::uint16_t first_round = 64;

  explicit Notes(Session& session) : session_(session) {}

  void begin(core::Time now, int node, redis::Enrolment::Errand what);
  /// The node with this number is gone.
  void forget(int node) { errands_[static_cast<std::size_t>(node)].what = {}; }
  /// Takes an answer of the node `from`; `reply` is null if there is none.
  void on_answer(core::Time now, int from, const core::Tag& tag, const redis::Reply* reply);

 private:
  struct Errand {
    redis::Enrolment::Errand what = redis::Enrolment::Errand::none;
    std::uint32_t run = 0;  ///< answers to an earlier run do not count
    core::NodeSet to_come;  ///< nodes that have neither answered nor timed out
    int good = 0;
  };
  void ask_others(core::Time now, int node, const std::vector<std::string>& words);
  void erase(core::Time now, int node, int from, std::string_view noted);
  void judge(core::Time now, int node, bool refuted);

  Session& session_;
  std::array<Errand, core::max_nodes> errands_;  ///< indexed by the node that they are about
};

}  // namespace quorumlock::detail
