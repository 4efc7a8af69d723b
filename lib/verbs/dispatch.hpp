#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "verbs/batch_form.hpp"

// The engine's commands: each goes to its verb, alone or together with others.
namespace quorumlock::redis {

/// Appends a command of the engine's for which Batch::can_be() is false, without own_words().
void append_command(std::string& out, const core::Send& send, const Surroundings& around);

/// The meaning of a reply to a command of this kind; for a batch, what all its locks have in
/// common. The caller sets `asked`.
core::Answer answer_of(core::CommandKind kind, const Reply& reply);

/// Consecutive commands of one verb for plain locks on the same nodes. They go out as one script
/// call, which handles each lock in turn as it would alone.
class Batch {
 public:
  /// Whether this command can be part of a batch.
  static bool can_be(const core::Send& send);
  /// Whether this command, for which can_be() holds, fits into this batch.
  [[nodiscard]] bool takes(const core::Send& send) const;
  void add(const core::Send& send);
  [[nodiscard]] bool empty() const { return tags_.empty(); }
  /// The command that was added first; valid until clear().
  [[nodiscard]] const core::Send& first() const { return first_; }
  [[nodiscard]] const std::vector<core::Tag>& tags() const { return tags_; }
  /// The kind of the batch as one command.
  [[nodiscard]] core::CommandKind kind() const { return form_->kind; }
  /// For renewals: the least Send::left of the batch.
  [[nodiscard]] core::Duration least_left() const { return least_left_; }
  /// Appends the batch as one command, without own_words(): for renewals the first of these is a
  /// lower bound of the node's time in us when they are sent, 0 if unknown.
  void append_to(std::string& out, const Surroundings& around) const;
  void clear() {
    tags_.clear();
    locks_.clear();
  }

 private:
  const BatchForm* form_ = nullptr;
  core::Send first_{};
  core::Duration least_left_{};
  std::string first_key_, first_token_;
  std::vector<core::Tag> tags_;
  LockWords locks_;
};

/// The answers in the reply to a batch, lock by lock.
class BatchAnswers {
 public:
  /// Reads the reply to a batch of `locks` locks; `said` is what answer_of() made of it as a whole.
  void read(core::CommandKind kind, const core::Answer& said, const Reply* reply,
            std::size_t locks);
  [[nodiscard]] const core::Answer& of(std::size_t number) const;

 private:
  std::vector<core::Answer> answers_;
};

}  // namespace quorumlock::redis
