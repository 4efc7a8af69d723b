#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "core/types.hpp"
#include "redis/electorate.hpp"
#include "redis/link.hpp"

namespace quorumlock::detail {

class Session;

/// Keeps all links informed of what the other nodes say: which nodes vote for our list, and as what
/// a node without a record may be enrolled. The decisions are redis::Electorate's.
class Members {
 public:
  Members(Session& session, core::Random& random) : session_(session), electorate_(random) {}

  /// Takes into account what has changed in the links.
  void judge(core::Time now);
  /// Moves to these nodes as soon as as many of them as a lock needs accept that list, so that a
  /// client may be told of new nodes before the operator announces them. Until then the present
  /// list stays. If fewer than a quorum of its nodes accept it, it gives way to a list that any
  /// node accepts, or to any list if no lease is held.
  void set_nodes(core::Time now, std::vector<redis::Link::Config> list);
  /// The operator vouches for nodes without a record.
  void vouch(core::Time now);
  void advance(core::Time now);
  [[nodiscard]] core::Time deadline() const { return std::min(doubt_due_, look_due_); }
  /// Whether there is a sentence for the log.
  [[nodiscard]] bool has_note() const { return !note_.empty(); }
  std::string take_note() { return std::exchange(note_, {}); }
  [[nodiscard]] const redis::Electorate& electorate() const { return electorate_; }

 private:
  bool confirms_outdated(core::Time now, const std::vector<redis::Electorate::Judgement>& judged);
  void tell_list(core::Time now, int node, const redis::NodeNames& list);
  void read_again(core::Time now, const std::vector<redis::Electorate::Node>& nodes,
                  const std::vector<redis::Electorate::Judgement>& judged);

  [[nodiscard]] redis::NodeNames names_of(const std::vector<redis::Link::Config>& list) const;
  /// The number of the electorate's node `place`.
  [[nodiscard]] int number_of(int place) const;
  void look(core::Time now);
  void move_on(core::Time now);
  /// What some node says is being asked.
  [[nodiscard]] bool is_reading() const;
  [[nodiscard]] bool may_move_on() const;

  Session& session_;
  redis::Electorate electorate_;
  /// What each node was last called by its own word, which holds while it is away; empty: unknown.
  /// By the node's number, as the next.
  std::array<std::string, core::max_nodes> names_;
  /// The name that the connection to each node was given; empty if it has none yet.
  std::array<std::string, core::max_nodes> told_;
  /// The nodes that are to be moved to; empty: there are none.
  std::vector<redis::Link::Config> next_;
  core::Time look_due_ = core::never;  ///< when to see whether they are accepted
  bool noted_ = false;                 ///< the log says that they are not
  int refusing_ = 0;                   ///< nodes that refuse the present list, or wait in vain
  std::string note_;
  bool confirming_ = false;     ///< see confirms_outdated()
  bool ever_enrolled_ = false;  ///< we have seen an enrolled node
  core::Time last_doubt_{};     ///< when nodes were last read again
  core::Time doubt_due_ = core::never;
};

}  // namespace quorumlock::detail
