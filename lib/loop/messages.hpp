#pragma once

#include <optional>
#include <string>
#include <variant>

#include "lock/engine.hpp"
#include "loop/links.hpp"

namespace quorumlock::detail {

/// The messages that nodes send on their second connections: wake-ups for the engine's waiters, and
/// announcements of leaders. These connections are opened at the first listen().
class Messages {
 public:
  /// A message about the leader of this lock has come, or may have been lost.
  struct Heard {
    std::string key;
  };
  using Output = std::variant<OpenWire, CloseWire, News, Heard>;

  Messages(Links& links, core::Engine& engine) : links_(links), engine_(engine) {}

  /// Starts or stops listening to messages on this channel, or starts with those that the engine
  /// wants.
  void listen(core::Time now, const std::string& channel, bool on);
  void listen(core::Time now, const core::Listen& listening);
  /// Checks the connections.
  void ping(core::Time now);
  /// Checks the connections if the last check was long ago. Called as long as there are waiters
  /// that ask for their place; `life` is how long their entries in the line live.
  void ping_sometimes(core::Time now, core::Duration life);
  void advance(core::Time now);
  [[nodiscard]] core::Time deadline() const;
  /// Whether listen() was called, so that the second connections are in use.
  [[nodiscard]] bool listens() const { return listens_; }

  /// Takes one event of a touched subscriber; there must be one. It may lead to an output, or to
  /// inputs of the engine.
  std::optional<Output> next(core::Time now);

 private:
  std::optional<Output> on_event(core::Time now, int node, redis::Subscriber::Event& event);
  void on_wake(core::Time now, int node, const std::string& text);

  Links& links_;
  core::Engine& engine_;
  bool listens_ = false;
  core::Time next_ping_{};
};

}  // namespace quorumlock::detail
