#pragma once

#include <ostream>
#include <string>

#include <quorumlock/outcome.hpp>
#include <quorumlock/result.hpp>

#include "lock/engine.hpp"

// How values print themselves in a failed test. Every test file that compares these types includes
// this header, so that they print in one way everywhere.
namespace quorumlock::test {

/// The shortest exact text of a span: "1h", "500ms", "2500us", "9898000001ns", "forever".
inline std::string to_text(core::Duration span) {
  using namespace std::chrono_literals;
  if (span == core::Duration::max()) return "forever";
  if (span == 0s) return "0s";
  const auto in = [span](core::Duration unit) { return std::to_string(span / unit); };
  if (span % 1s == 0s) return in(1s) + "s";
  if (span % 1ms == 0s) return in(1ms) + "ms";
  if (span % 1us == 0s) return in(1us) + "us";
  return in(1ns) + "ns";
}

constexpr std::string_view to_text(Errc code) {
  switch (code) {
    case Errc::contended: return "contended";
    case Errc::no_quorum: return "no_quorum";
    case Errc::expired: return "expired";
    case Errc::lost: return "lost";
    case Errc::not_held: return "not_held";
    case Errc::timed_out: return "timed_out";
    case Errc::cancelled: return "cancelled";
    case Errc::closed: return "closed";
    case Errc::invalid_argument: return "invalid_argument";
    case Errc::would_deadlock: return "would_deadlock";
    case Errc::misconfigured: return "misconfigured";
  }
  return "?";
}

constexpr std::string_view to_text(core::CommandKind kind) {
  switch (kind) {
    case core::CommandKind::set: return "set";
    case core::CommandKind::acquire: return "acquire";
    case core::CommandKind::raise: return "raise";
    case core::CommandKind::renew: return "renew";
    case core::CommandKind::release: return "release";
    case core::CommandKind::queue: return "queue";
    case core::CommandKind::query: return "query";
    case core::CommandKind::once: return "once";
    case core::CommandKind::renewals: return "renewals";
    case core::CommandKind::acquisitions: return "acquisitions";
    case core::CommandKind::releases: return "releases";
    case core::CommandKind::repair: return "repair";
    case core::CommandKind::clock: return "clock";
    case core::CommandKind::witness: return "witness";
  }
  return "?";
}

inline std::string to_text(core::NodeSet nodes) {
  std::string text;
  for (const int node : nodes) text += (text.empty() ? "n" : " n") + std::to_string(node + 1);
  return text.empty() ? "nobody" : text;
}

}  // namespace quorumlock::test

namespace quorumlock {

inline void PrintTo(Vote vote, std::ostream* out) {
  *out << to_string(vote);
}
inline void PrintTo(Errc code, std::ostream* out) {
  *out << test::to_text(code);
}
inline void PrintTo(const Clock::time_point& time, std::ostream* out) {
  *out << (time == core::never ? "never" : test::to_text(time.time_since_epoch()));
}

}  // namespace quorumlock

namespace quorumlock::core {

inline void PrintTo(CommandKind kind, std::ostream* out) {
  *out << test::to_text(kind);
}
inline void PrintTo(const NodeSet& nodes, std::ostream* out) {
  *out << test::to_text(nodes);
}
inline void PrintTo(Verdict verdict, std::ostream* out) {
  *out << (verdict == Verdict::won ? "won" : verdict == Verdict::lost ? "lost" : "pending");
}
inline void PrintTo(Phase phase, std::ostream* out) {
  constexpr std::string_view names[] = {"acquiring", "held", "extending", "releasing"};
  *out << names[static_cast<int>(phase)];
}
inline void PrintTo(LinkState state, std::ostream* out) {
  constexpr std::string_view names[] = {"connecting", "up", "stalled", "quarantined", "down"};
  *out << names[static_cast<int>(state)];
}

}  // namespace quorumlock::core
