#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lock/tally.hpp"
#include "loop/session.hpp"

namespace quorumlock::detail {

/// What Coordinator::once() asks the nodes while it has the name's lock: whether a period is done,
/// or that they note that it is.
///
/// Both are decided by votes that count as those for a lock do, of nodes whose fencing counter is
/// at the holder's token, and which have its lock. Two such quorums share a node, on which the
/// holder with the smaller token came first, since counters only grow. So what one holder had noted
/// on a quorum every later one is told, and two holders never both count a period as done by them,
/// whatever clocks and networks do, as long as nodes do not forget. A node that forgot is given
/// what is done before it votes again (Repair).
///
/// What a holder had noted on too few nodes may be seen or not: who sees it has it noted on a
/// quorum before it says so, and then everybody sees it.
class OnceQuery {
 public:
  struct Goal {
    std::string key;        ///< of the name's lock
    std::string owner;      ///< its holder's owner token
    std::uint64_t fence{};  ///< its holder's fencing token
    /// How long the nodes keep what is noted. Unset: the fencing_memory of our list.
    std::optional<core::Duration> keep{};
    std::uint64_t period{};  ///< the period that this is about
    bool done = false;       ///< whether it is done, and to be noted; else this is the question
  };

  /// Asks the nodes. The answers go to take().
  void begin(core::Time now, Session& session, core::SlotId asker, Goal goal);
  /// Asks once more. Former answers do not count any more.
  void again(core::Time now, Session& session);
  void take(core::Time now, Session& session, const Session::Answered& answer);

  /// Won: is_done() is the answer. Lost: no quorum has answered; again() may help.
  [[nodiscard]] core::Verdict verdict() const;
  [[nodiscard]] bool is_done() const { return goal_.done || greatest_ > goal_.period; }
  /// Whether again() cannot help: the nodes that refuse such commands leave no quorum.
  [[nodiscard]] bool hopeless() const { return tally_.leaves_no_quorum(refusing_); }
  [[nodiscard]] const core::Tally& tally() const { return tally_; }

 private:
  Goal goal_;
  core::SlotId asker_;
  std::uint16_t number_ = 0;
  core::Tally tally_;
  core::NodeSet refusing_;
  /// Of the first periods that are not done, by the votes so far.
  std::uint64_t least_ = 0, greatest_ = 0;
  std::string bytes_;
};

}  // namespace quorumlock::detail
