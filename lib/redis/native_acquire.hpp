#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/answer.hpp"
#include "core/output.hpp"
#include "redis/reply.hpp"

// An acquisition with fencing by commands of the server's own, which cost it less than a script:
// in one write SET NX PX, GET of the enrolment, EXISTS of the line, INCR of the counter, PEXPIRE
// of it, TIME. Others may come in between any two of them; docs/architecture.md says why that does
// no harm in this order.
namespace quorumlock::redis {

/// Appends the commands of an acquire that Tag::native says.
void append_native_acquire(std::string& out, const core::Send& send);

/// Appends what deletes the counter of this lock where it stands at one, as it does where it began
/// on a node that is not enrolled: nobody's token stands there. release.lua compares and deletes.
void append_counter_taken_back(std::string& out, std::string_view key);

/// The replies to them, one after the other.
class NativeAcquireReplies {
 public:
  /// `record` and `floor` are the node's own, as it is enrolled. True with the last reply.
  bool add(const Reply& reply, std::string_view record, std::uint64_t floor);
  /// What they mean together; the next reply is another's first. Complexity: O(1).
  core::Answer take();

 private:
  std::size_t replies_ = 0;
  core::Answer answer_{};
  bool is_set_ = false, enrolled_ = false, waited_for_ = false;
  Vote refused_ = Vote::pending;  ///< with an error
};

}  // namespace quorumlock::redis
