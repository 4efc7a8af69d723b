#pragma once

#include <string>
#include <vector>

#include "core/types.hpp"
#include "redis/electorate.hpp"

namespace quorumlock::detail {

class Session;

/// Keeps all links informed of what the other nodes say: which nodes vote for our list, and as what
/// a node without a record may be enrolled. The decisions are redis::Electorate's.
class Members {
 public:
  Members(Session& session, core::Random& random) : session_(session), electorate_(random) {}

  /// Takes into account what has changed in the links.
  void judge(core::Time now);
  /// The operator vouches for nodes without a record.
  void vouch(core::Time now);
  void advance(core::Time now) {
    if (now >= doubt_due_) judge(now);
  }
  [[nodiscard]] core::Time deadline() const { return doubt_due_; }
  [[nodiscard]] const redis::Electorate& electorate() const { return electorate_; }

 private:
  bool confirms_outdated(core::Time now, const std::vector<redis::Electorate::Judgement>& judged);
  void tell_list(core::Time now, int node, const redis::NodeNames& list);
  void read_again(core::Time now, const std::vector<redis::Electorate::Node>& nodes,
                  const std::vector<redis::Electorate::Judgement>& judged);

  Session& session_;
  redis::Electorate electorate_;
  /// What each node was last called by its own word, which holds while it is away; empty: unknown.
  std::vector<std::string> names_;
  /// The name that the connection to each node was given; empty if it has none yet.
  std::vector<std::string> told_;
  bool confirming_ = false;     ///< see confirms_outdated()
  bool ever_enrolled_ = false;  ///< we have seen an enrolled node
  core::Time last_doubt_{};     ///< when nodes were last read again
  core::Time doubt_due_ = core::never;
};

}  // namespace quorumlock::detail
