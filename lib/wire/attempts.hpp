#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "lock/types.hpp"

namespace quorumlock::redis {

/// The attempts to connect to a node: until when one may last, when the next one begins, and which
/// failures are worth an event. The pause between two attempts doubles with each failure, and a
/// part of it is random (wire/back_off.hpp). It begins again after a connection that has lasted: a
/// server that hangs up at once is greeted no more often than one that is down.
class Attempts {
 public:
  Attempts(core::Duration connect_timeout, core::Random& random)
      : connect_timeout_(connect_timeout), random_(random) {}

  void begin(core::Time now);
  /// The connection is up.
  void succeed(core::Time now);
  /// The attempt under way, or the connection that it has led to, has ended: the next attempt
  /// follows after a pause.
  void end(core::Time now);
  /// An attempt has failed. Returns whether that is news: the first failure, another reason, or a
  /// reason that was last news a minute ago.
  bool fail(core::Time now, const std::string& why);
  /// Lets the next attempt begin at once, since the last connection had only been idle for too
  /// long.
  void forgive() { back_off_ = core::Duration::zero(); }
  /// The attempt may last for connect_timeout after this time.
  void extend(core::Time from) { give_up_ = std::max(give_up_, from + connect_timeout_); }
  /// The attempt may last without a limit: it does not depend on this node alone.
  void wait() { give_up_ = core::never; }
  /// The attempt under way is given up by this time, if not earlier.
  void hurry(core::Time by) { give_up_ = std::min(give_up_, by); }
  /// No more attempts are made.
  void stop() { give_up_ = next_ = core::never; }

  /// Whether the attempt under way has lasted too long.
  [[nodiscard]] bool is_overdue(core::Time now) const { return now >= give_up_; }
  /// Whether the next attempt is to begin.
  [[nodiscard]] bool is_due(core::Time now) const { return now >= next_; }
  [[nodiscard]] core::Time deadline() const { return std::min(give_up_, next_); }
  /// Whether neither has the first attempt failed nor the first connection come up.
  [[nodiscard]] bool is_first() const { return first_; }
  /// How many attempts have failed since the last connection came up.
  [[nodiscard]] int failures() const { return failures_; }
  /// How many attempts have led to a connection.
  [[nodiscard]] std::uint64_t connections() const { return connections_; }
  /// Whether an attempt has failed, or a connection has ended, since one last lasted.
  [[nodiscard]] bool is_repeated() const { return back_off_ != core::Duration::zero(); }

 private:
  core::Duration connect_timeout_;
  core::Random& random_;
  core::Time give_up_ = core::never;
  core::Time next_ = core::never;
  core::Duration back_off_{};
  core::Time up_since_ = core::never;
  bool first_ = true;
  std::uint64_t connections_ = 0;
  int failures_ = 0;
  std::string last_news_;
  core::Time next_news_{};
};

}  // namespace quorumlock::redis
