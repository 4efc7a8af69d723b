#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/answer.hpp"
#include "core/output.hpp"
#include "redis/reply.hpp"

namespace quorumlock::redis {

/// Consecutive commands of one kind (renewals, acquisitions or releases) for plain locks on the
/// same nodes. They go out as one script call, which handles each lock in turn as it would alone.
class Batch {
 public:
  /// A longer batch gains nothing and makes other clients wait: this many renewals, or this many of
  /// the other kinds, take a node about 0.2 ms.
  static constexpr std::size_t most_renewals = 100;
  static constexpr std::size_t most = 32;

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
  [[nodiscard]] core::CommandKind kind() const;
  /// For renewals: the least Send::left of the batch.
  [[nodiscard]] core::Duration least_left() const { return least_left_; }
  /// Appends the batch as one command without the node's own words (see append_command): for
  /// renewals the first of these is a lower bound of the node's time in us when they are sent, 0 if
  /// unknown. Acquisitions need the client's wall clock, in us since 1970; a counter's life is in
  /// ms.
  void append_to(std::string& out, std::int64_t wall_us, std::string_view counter_life) const;
  void clear();

 private:
  void append_words_of(const core::Send& send);

  core::Send first_{};
  core::Duration least_left_{};
  std::string first_key_, first_token_;
  std::vector<core::Tag> tags_;
  std::string keys_, args_;  // as RESP
};

/// The answers in the reply to a batch, lock by lock.
class BatchVotes {
 public:
  /// Reads the reply to a batch of `locks` locks; `said` is what answer_of() made of it as a whole.
  void read(core::CommandKind kind, const core::Answer& said, const Reply* reply,
            std::size_t locks);
  [[nodiscard]] const core::Answer& of(std::size_t number) const;

 private:
  std::vector<core::Answer> answers_;
};

}  // namespace quorumlock::redis
