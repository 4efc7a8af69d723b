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

/// What the engine sends one behind the other to the same nodes, of plain locks and of one kind:
/// renewals, acquisitions or releases. They go out as one call of a script, which does for each
/// lock in turn what it would have done alone.
class Batch {
 public:
  /// Beyond that a call gains nothing, and makes others at the node wait: so many renewals take it
  /// about 0.2 ms, so many of the others about as long.
  static constexpr std::size_t most_renewals = 100;
  static constexpr std::size_t most = 32;

  /// Whether it is of such a kind.
  static bool can_be(const core::Send& send);
  /// Whether this one, which can be, can go with those that are in it.
  [[nodiscard]] bool takes(const core::Send& send) const;
  void add(const core::Send& send);
  [[nodiscard]] bool empty() const { return tags_.empty(); }
  /// What was added first, for as long as it is in it.
  [[nodiscard]] const core::Send& first() const { return first_; }
  [[nodiscard]] const std::vector<core::Tag>& tags() const { return tags_; }
  /// The kind of all of them as one command.
  [[nodiscard]] core::CommandKind kind() const;
  /// Appends that command; where it says_enrolment(), but for its last two words. The client's wall
  /// clock, in us since 1970, is for acquisitions.
  void append_to(std::string& out, std::int64_t wall_us) const;
  void clear();

 private:
  void append_words_of(const core::Send& send);

  core::Send first_{};
  std::string first_key_, first_token_;
  std::vector<core::Tag> tags_;
  std::string keys_, args_;  // as RESP
};

/// What a reply to such a command says, lock by lock.
class BatchVotes {
 public:
  /// Of a reply to a command for so many locks, whose kind makes this of it as a whole (answer_of).
  void read(core::CommandKind kind, const core::Answer& said, const Reply* reply,
            std::size_t locks);
  [[nodiscard]] const core::Answer& of(std::size_t number) const;

 private:
  std::vector<core::Answer> answers_;
};

}  // namespace quorumlock::redis
