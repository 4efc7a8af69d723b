#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/answer.hpp"
#include "core/output.hpp"
#include "redis/reply.hpp"

namespace quorumlock::redis {

/// Renewals of plain locks that go to the same nodes as one command.
class Renewals {
 public:
  /// Beyond that a call gains nothing, and makes others at the node wait: 100 take it about 0.2 ms.
  static constexpr std::size_t most = 100;

  /// Whether it is a renewal of a plain lock, by its holder.
  static bool can_be(const core::Send& send);
  /// Whether this one can go with those that are in it.
  [[nodiscard]] bool takes(const core::Send& send) const;
  void add(const core::Send& send);
  [[nodiscard]] bool empty() const { return tags_.empty(); }
  [[nodiscard]] core::NodeSet to() const { return to_; }
  [[nodiscard]] const std::vector<core::Tag>& tags() const { return tags_; }
  /// Appends the command, but for its last two words, which are the node's own.
  void append_to(std::string& out) const;
  void clear();

 private:
  core::NodeSet to_;
  core::Duration ttl_{};
  bool replant_ = false;
  bool with_source_ = false;
  std::vector<core::Tag> tags_;
  std::string keys_, args_;  // as RESP
};

/// What a reply to such a command says, lock by lock.
class RenewalVotes {
 public:
  /// Of a reply to a command of so many renewals. `asked` of the answers is left to the caller.
  void read(const core::Answer& said, const Reply* reply, std::size_t renewals);
  [[nodiscard]] core::Answer of(std::size_t number) const;

 private:
  core::Answer said_;  // of all of them, where there are no digits
  std::string digits_;
};

}  // namespace quorumlock::redis
