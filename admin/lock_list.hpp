#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <quorumlock/admin.hpp>
#include <quorumlock/detail/node_questions.hpp>

namespace quorumlock::detail {

/// The locks and permits that nodes report, and those that a quorum of nodes agrees on.
class LockCount {
 public:
  LockCount(std::string key_prefix, std::string group)
      : key_prefix_(std::move(key_prefix)), group_(std::move(group)) {}

  /// Adds what locks.lua has replied on this node for one page. Returns the next cursor, "0" after
  /// the last page; empty if the reply is malformed.
  std::string add(int node, const NodeReply& page);
  /// Whether this node has reported more than `most` holdings, or most_bytes of text in them, so
  /// that nothing more of it may be kept. A hostile node can report what it likes.
  [[nodiscard]] bool is_full(int node, std::size_t most) const;
  /// Notes that this node has sent its last page.
  void end(int node) { ++ended_, slowest_ = std::max(slowest_, shares_[node].pages); }
  /// Whether this node sends pages without end: a quorum of the others has ended, and this one has
  /// sent far more pages than the slowest of those.
  [[nodiscard]] bool is_endless(int node, int quorum) const;
  /// The holdings that at least `quorum` nodes report, in no particular order. O(size).
  [[nodiscard]] std::vector<HeldLock> on(int quorum) const;

  static constexpr std::size_t most_bytes = std::size_t{16} << 20;
  static constexpr std::size_t always_allowed_pages = 100'000;  ///< about ten million keys
  static constexpr std::size_t pages_to_one_of_others = 100;

 private:
  /// One node's report.
  struct Share {
    std::size_t pages = 0, holdings = 0, bytes = 0;
  };
  struct Holding {
    HeldLock lock;
    /// The key's lives by node, since SCAN may return a key twice.
    std::map<int, std::chrono::milliseconds> lives;
    std::set<int> leads;  ///< the nodes on which its holder is a leader
  };
  void add_holder(int node, HeldLock lock, std::string_view token, std::chrono::milliseconds life);

  std::string key_prefix_, group_;
  std::map<std::pair<std::string, std::string>, Holding> found_;  ///< indexed by key and token
  std::map<int, Share> shares_;                                   ///< indexed by node
  int ended_ = 0;
  std::size_t slowest_ = 0;  ///< the most pages of a node that has ended
};

}  // namespace quorumlock::detail
