#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "core/engine.hpp"
#include "support/engine_driver.hpp"

namespace quorumlock::test {

/// Answers the engine's commands as a Redis server does: it has keys, tokens, expiries, and a clock
/// of its own that runs a little faster or slower and counts whole milliseconds.
class ModelNode {
 public:
  /// `rate` in parts per million of true time.
  explicit ModelNode(std::int64_t rate) : rate_(rate) {}

  core::Answer execute(core::Time now, const Command& command) {
    const std::int64_t ms = clock(now);
    const std::int64_t until = ms + command.ttl / 1ms;
    const auto entry = keys_.find(command.key);
    const bool exists = entry != keys_.end() && ms < entry->second.until;
    const bool ours = exists && entry->second.token == command.token;
    switch (command.tag.kind) {
      case CommandKind::set:
        if (exists) return {Vote::held};
        keys_.insert_or_assign(command.key, Value{command.token, until});
        return {Vote::granted};
      case CommandKind::renew:
        if (!exists && command.replant) {
          keys_.insert_or_assign(command.key, Value{command.token, until});
          return {Vote::absent, true};
        }
        if (!ours) return {exists ? Vote::held : Vote::absent};
        entry->second.until = std::max(entry->second.until, until);
        return {Vote::granted};
      case CommandKind::release:
        if (!ours) return {Vote::absent};
        keys_.erase(entry);
        return {Vote::granted};
      case CommandKind::acquire:
      case CommandKind::raise:
      case CommandKind::queue:
      case CommandKind::query:
      case CommandKind::renewals:
      case CommandKind::acquisitions:
      case CommandKind::releases:
      case CommandKind::repair:
      case CommandKind::clock: break;
    }
    return {Vote::failed};
  }
  /// The token under the key at this moment; empty if there is none.
  [[nodiscard]] std::string token(core::Time now, const std::string& key) const {
    const auto entry = keys_.find(key);
    return entry != keys_.end() && clock(now) < entry->second.until ? entry->second.token : "";
  }

 private:
  struct Value {
    std::string token;
    std::int64_t until;
  };
  [[nodiscard]] std::int64_t clock(core::Time now) const {
    return now.time_since_epoch() / 1us * rate_ / 1'000'000 / 1000;
  }

  std::int64_t rate_;
  std::map<std::string, Value> keys_;
};

/// A client's connection to a node, with what is on its way. Commands run in order; after a
/// connection breaks, commands left on it may still run until the next one is made.
struct ModelLink {
  struct Pending {
    Command command;
    bool executed = false;
    core::Answer answer = {};
  };
  LinkState state = LinkState::up;
  std::deque<Pending> pending;
  std::deque<Command> orphans;

  [[nodiscard]] bool up() const { return state != LinkState::down; }
  [[nodiscard]] Pending* next_to_run() {
    for (Pending& one : pending) {
      if (!one.executed) return &one;
    }
    return nullptr;
  }
};

}  // namespace quorumlock::test
