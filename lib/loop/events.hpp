#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <quorumlock/event.hpp>
#include <quorumlock/options.hpp>

#include "config/node_list.hpp"
#include "loop/event_limit.hpp"
#include "loop/lease_state.hpp"
#include "loop/session.hpp"

namespace quorumlock::detail {

/// Makes the events for Options::on_event and Options::log from the session's outputs, and from the
/// few things that the session does not report. They are kept until deliver(), so that the user's
/// code never runs inside a call of ours. If neither is set, every function does nothing.
class Events {
 public:
  Events(const Options& options, Session& session, const NodeList& nodes, core::WallClock& wall);

  /// Takes an output before it is carried out, while its objects are still as they were.
  void take(core::Time now, const Session::Output& output) {
    if (wanted_) make(now, output);
  }
  /// The lease is released in the background, for which the session has no output.
  void released(core::Time now, const LeaseState& lease);
  /// A thread has ended while it held the lock with this owner token.
  void thread_ended(core::Time now, std::string resource, std::string_view token);

  /// When a kept event is due, see EventLimit.
  [[nodiscard]] core::Time deadline() const { return limit_.deadline(); }
  void advance(core::Time now);
  [[nodiscard]] bool has_any() const { return !ready_.empty(); }
  /// Passes on each event that may be passed on by now.
  void deliver(core::Time now);
  /// Delivers all events, also those that are kept; further ones are ignored.
  void end(core::Time now);

 private:
  void make(core::Time now, const Session::Output& output);
  void on(core::Time now, const core::Acquired& acquired);
  void on(core::Time now, const core::Refused& refused);
  void on(core::Time now, const core::Renewed& renewed);
  void on(core::Time now, const core::AtRisk& risk);
  void on(core::Time now, const core::Ended& ended);
  void on(core::Time now, const core::Released& released);
  void on(core::Time now, const Session::NodeChanged& changed);
  void on(core::Time now, const Session::News& news);
  void on(core::Time now, const core::ClockJumped& jumped);
  void on(core::Time now, const core::ClockStood& stood);
  void add_lease(core::Time now, EventKind kind, const LeaseState& lease, std::string reason);
  void add(core::Time now, int node, Event event);
  /// Whether to make an event of this kind, which is_everyday().
  bool makes_everyday(EventKind kind) { return options_.on_event && !limit_.leaves_out(kind); }
  template <class Call>
  void tell(core::Time now, const char* name, const Event& event, Call&& call);
  [[nodiscard]] std::string name_of(int node) const;
  [[nodiscard]] std::string votes_of(const core::Tally& tally) const;

  const Options& options_;
  Session& session_;
  const NodeList& nodes_;
  core::WallClock& wall_;
  bool wanted_;
  EventLimit limit_;
  std::vector<Event> ready_;
};

/// The kind of the event that a link has come into this state; `reason` is the vote that its node
/// counts as.
EventKind kind_of(core::LinkState state, Vote reason);
EventLevel level_of(EventKind kind);
/// Whether events of this kind may be as many as locks: the log does not get them.
constexpr bool is_everyday(EventKind kind) {
  return kind == EventKind::lease_acquired || kind == EventKind::lease_released;
}
/// Whether such an output of a session is an event and nothing else.
template <class Output>
constexpr bool is_only_an_event =
    std::is_same_v<Output, Session::News> || std::is_same_v<Output, Session::NodeChanged> ||
    std::is_same_v<Output, core::ClockJumped> || std::is_same_v<Output, core::ClockStood>;
/// Why a lease was lost, as a clause that does not list the votes.
std::string_view why_lost(const core::Tally& tally);

}  // namespace quorumlock::detail
