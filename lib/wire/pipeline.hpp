#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "lock/mutants.hpp"
#include "lock/tag.hpp"
#include "lock/types.hpp"
#include "wire/ring.hpp"

namespace quorumlock::redis {

/// The unanswered commands of one connection, the oldest first, as answers come in the order of the
/// commands; and how late the node is with them. Commands whose bytes have to wait are held here,
/// too, and are always the last ones.
///
/// A command is overdue if there is no answer within node_timeout since it was sent or, if that
/// came later, since the answer to the command before: what queues behind other commands of ours is
/// not late. The node is stalled from the first overdue command until it has answered all of them,
/// and dead if it answers nothing for connect_timeout meanwhile.
class Pipeline {
 public:
  struct Command {
    Command() = default;
    Command(const core::Tag& asked, core::Time when, bool ours = false)
        : tag(asked), sent(when), own(ours) {}
    core::Tag tag;
    core::Time sent{};
    bool own = false;  ///< sent by the link itself; its answer is not reported
  };
  struct HeldBack {
    Command command;
    std::string bytes;
    bool late = false;
  };

  Pipeline(core::Duration node_timeout, core::Duration connect_timeout)
      : node_timeout_(node_timeout), connect_timeout_(connect_timeout) {}

  /// A connection has come up.
  void begin(core::Time now) { heard_ = now; }
  void add(core::Time now, const core::Tag& tag, bool own = false) {
    commands_.emplace(tag, now, own);
  }
  /// Adds a command whose bytes are not sent yet.
  void hold(core::Time now, const core::Tag& tag, std::string_view bytes);
  /// Takes out all commands, which must all be held.
  std::vector<HeldBack> take_held();
  /// Puts back a command that was held and is now sent, with its age.
  void resume(const HeldBack& held);
  /// The node has answered the oldest command, which is taken out.
  Command answer(core::Time now) {
    answered_ = now;
    if (late_ > 0) --late_;
    const Command answered = commands_.pop();
    if (!answered.own) heard_ = now;
    return answered;
  }
  /// The connection is lost: no command is late any more, and drop() takes them out.
  void end();
  Command drop() { return commands_.pop(); }

  [[nodiscard]] bool empty() const { return commands_.empty(); }
  /// Whether next_overdue() has a command.
  [[nodiscard]] bool has_overdue(core::Time now) const {
    return late_ < commands_.size() && now >= overdue_at(commands_[late_]);
  }
  /// The oldest overdue command that was not returned before; the node is stalled.
  Command next_overdue(core::Time now);
  [[nodiscard]] bool is_stalled() const { return late_ > 0; }
  [[nodiscard]] bool is_dead(core::Time now) const {
    return is_stalled() && now >= silent_since() + connect_timeout_;
  }
  /// Whether the oldest command was the first one after an idle time: then the path may have
  /// forgotten the connection. The link's own commands do not count: it looks at a trusted disk
  /// every few seconds, and one of these looks may be the first command that the path loses.
  [[nodiscard]] bool follows_idleness() const;
  /// When the next command is overdue, or the node dead.
  [[nodiscard]] core::Time deadline() const;

 private:
  [[nodiscard]] core::Time overdue_at(const Command& command) const {
    const bool by_itself = core::planted(core::Mutant::late_since_it_was_sent);
    return (by_itself ? command.sent : std::max(command.sent, answered_)) + node_timeout_;
  }
  /// Since when a stalled node has answered nothing, at the earliest since it is stalled.
  [[nodiscard]] core::Time silent_since() const { return std::max(stalled_since_, answered_); }

  core::Duration node_timeout_, connect_timeout_;
  Ring<Command> commands_;
  std::vector<std::string> held_;  ///< bytes of the last of commands_
  std::size_t late_ = 0;           ///< how many of commands_, from the front, are overdue
  core::Time stalled_since_{};
  core::Time answered_{};  ///< when the last command was answered
  core::Time heard_{};     ///< when the last user's command was answered, or the connection came up
  core::Time next_batch_{};  ///< when more commands are reported overdue, while late_ > 0
};

}  // namespace quorumlock::redis
