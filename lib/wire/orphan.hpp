#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "lock/types.hpp"
#include "wire/reply.hpp"

namespace quorumlock::redis {

/// The last connection to a node, if it was lost with unanswered commands. The server may still
/// have it, with commands that it has not read, and must not execute these after what is sent on
/// the next connection. So on the next connection to the same run of the server the orphan is
/// killed first. If the node refuses that, the link waits for node_timeout instead.
class Orphan {
 public:
  explicit Orphan(core::Duration node_timeout) : node_timeout_(node_timeout) {}

  /// A connection to this run of the server is lost. `client` was its number there, if known.
  void leave(const std::string& run_id, std::optional<std::int64_t> client);
  /// Whether the server of this run may still have it. Another run does not have it, and gives its
  /// number to another client.
  [[nodiscard]] bool may_be_on(const std::string& run_id) const {
    return left_ && !run_id.empty() && run_id == run_id_;
  }
  /// Appends the command that kills it. Returns false if its number is unknown: wait() follows
  /// instead.
  bool kill(std::string& out);
  /// Whether kill() has no answer yet.
  [[nodiscard]] bool is_asked() const { return asked_; }
  /// Takes the answer: whether the orphan is gone.
  bool on_reply(const Reply& reply);
  /// Waits, since only time puts its commands before the next ones. Returns the end of the wait.
  core::Time wait(core::Time now) { return go_on_ = now + node_timeout_; }
  /// A clause about the node, for an event. `why` is why the orphan cannot be killed.
  static std::string why_it_waits(const std::string& why);
  [[nodiscard]] core::Time deadline() const { return go_on_; }
  /// The connection on which it was to be killed has ended.
  void disconnected();
  /// Forgets the orphan, which is gone or harmless.
  void forget();

 private:
  core::Duration node_timeout_;
  bool left_ = false;
  bool asked_ = false;
  std::string run_id_;
  std::optional<std::int64_t> client_;
  core::Time go_on_ = core::never;
};

}  // namespace quorumlock::redis
