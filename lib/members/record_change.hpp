#pragma once

#include <string>
#include <string_view>

#include "lock/types.hpp"
#include "members/membership.hpp"
#include "wire/reply.hpp"

namespace quorumlock::redis {

/// The two texts about its membership that a node carries; each is unset if the node does not have
/// it.
struct RecordTexts {
  std::optional<std::string> record, members;
};

/// Appends the command that reads these texts.
void read_texts(std::string& out);
/// Reads the reply to that command.
RecordTexts texts_of(const Reply& reply);

/// A change of a node's record that is under way, and its commands. Each is a script that does
/// nothing if the node has another text than `from` by then, or another client's mark. The script
/// is sent in full: changes are rare, and the server may have forgotten its scripts, too.
struct RecordChange {
  std::string from;
  std::string to;
  Membership as;         ///< the membership that goes with `to`
  std::string_view key;  ///< the key that has `from`, for replace()
  std::string mark;      ///< ours under the repairer's key, while we repair

  /// Appends the command that replaces `from` by a candidate; `life` is its time to live, in ms.
  void replace(std::string& out, std::string_view candidate, std::string_view life) const;
  /// Appends the command that makes us the repairer, under a new mark.
  void claim(std::string& out, core::Random& random);
  /// Appends the command that gives up the mark.
  void yield(std::string& out) const;
  /// Appends the command that enrols a node on which this candidate stands, and is at least this
  /// old by the node's own clock.
  void enrol(std::string& out, std::string_view candidate, core::Duration age) const;
  /// Appends the command that replaces this candidate by `to`, the same with more TIMEs.
  void witness(std::string& out, std::string_view candidate, std::string_view life) const;
};

/// Appends the command that puts a candidate on a node without a record of this run, or looks at
/// the one that stands there. One for another list is replaced if nobody has looked at it for
/// longer than `patience`. Both are in ms.
void offer(std::string& out, std::string_view patience, std::string_view run_id,
           std::string_view candidate, std::string_view life);

}  // namespace quorumlock::redis
