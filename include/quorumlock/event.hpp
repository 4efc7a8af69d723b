#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <quorumlock/detail/export.hpp>

namespace quorumlock {

/// Returns the text so that it can stand in a line of a log, a table or a metric, whoever wrote it:
/// UTF-8 on one line, without a character that could steer a terminal or change the order of what
/// is read. These are the control characters (C0, DEL, C1), the ends of lines and paragraphs, and
/// the marks of writing directions; each becomes an escape such as `\u001b`, and each byte that is
/// not UTF-8 one such as `\x9b`. Other text stays as it is, and so does text that is printable
/// already. A result of more than `longest` bytes is cut, and "..." follows.
///
/// What the library itself puts into errors, events, logs and metrics has been through this
/// function. Names, labels and tokens that it returns as values have not, since they are compared
/// and sent again.
QUORUMLOCK_EXPORT std::string printable(std::string_view text,
                                        std::size_t longest = std::string_view::npos);

/// What has happened. The kinds that begin with `lease` and `waiter` are about this coordinator's
/// own locks; those that begin with `node` are about the connection to one node.
enum class EventKind : std::uint8_t {
  lease_acquired,
  lease_renewed_late,      ///< renewed with less than a tenth of its ttl left
  lease_at_risk,           ///< about to end: its stop_token has been requested to stop
  lease_lost,              ///< too few nodes renewed it in time, or still had it
  lease_expired,           ///< ran to its end without another renewal, such as at max_hold
  lease_released,          ///< its holder released it, or the coordinator was closed
  waiter_starved,          ///< a wait ran out before the waiter got the lock
  thread_ended_with_lock,  ///< a thread has ended without unlocking its mutex
  node_up,                 ///< connected, and its votes count
  node_stalled,            ///< connected, but an answer is overdue
  node_down,               ///< not connected
  node_quarantined,        ///< connected, but it may have forgotten locks: it does not vote yet
  node_refused,            ///< it refuses us, or we refuse it, until somebody changes something
  node_impaired,           ///< goes on as before, but without something that it should give us
  node_clock_jumped,       ///< its clock has stepped: its votes do not count for max_ttl
  own_clock_stood,         ///< this machine's clock stood still: every lease has ended
  list_changed,            ///< this coordinator has moved to another list of nodes
  list_awaited,            ///< it is to move to another list, which the nodes do not accept yet
  callback_failed,         ///< Options::on_event or Options::log has thrown an exception
};
/// The kind's name in the list above, such as "lease_lost".
QUORUMLOCK_EXPORT std::string_view to_string(EventKind kind) noexcept;

/// info: as it should be. warning: still working, but look at it if it goes on. error: somebody's
/// work was interrupted, or somebody has to change something.
enum class EventLevel : std::uint8_t { info, warning, error };
QUORUMLOCK_EXPORT std::string_view to_string(EventLevel level) noexcept;

/// One thing that has happened, for Options::on_event and Options::log. Strings are empty if they
/// do not apply. None of them ever has a password or a whole owner token, and all are printable():
/// compare a resource with printable(resource) if its name may have control characters.
struct Event {
  EventKind kind = EventKind::node_up;              ///< what has happened
  EventLevel level = EventLevel::info;              ///< how much it matters
  std::chrono::system_clock::time_point time = {};  ///< when it happened
  std::string node = {};                            ///< the same text as NodeStatus::node
  std::string resource = {};                        ///< several are separated by ", "
  /// The holder of the lock: the label of its owner token, or the first digits of a token without a
  /// label.
  std::string holder = {};
  std::string reason = {};  ///< a clause about the node or resource, or else a sentence
  /// How many events of this kind about this node (or about no node) were left out since the last
  /// one that was passed on.
  std::uint64_t left_out = 0;
  bool operator==(const Event&) const = default;
};
/// The event as one sentence for people, such as Options::log gets: the node or the resource, what
/// has happened to it, the reason, and how many events were left out. It is printable().
QUORUMLOCK_EXPORT std::string to_string(const Event& event);

}  // namespace quorumlock
