#pragma once

#include <vector>

#include "support/engine_driver.hpp"

namespace quorumlock::test {

using core::Place;

inline const core::Terms terms{.ttl = 10s, .stop_margin = 1s};
/// Places of an entry of ours in a node's line.
inline const Place first_and_free{.before = 0, .free = true};
inline const Place first{.before = 0, .free = false};
inline const Place behind_ours{.before = 1, .free = false};
inline const Place behind_another{.before = 2, .free = false};
inline const Place far_behind{.before = 3, .free = false};
inline constexpr std::int64_t node_time = 1'700'000'000'000'000;

/// Three nodes, and waiters of one process in their lines.
class EngineLine : public ::testing::Test {
 protected:
  static core::Engine::Config config(bool fencing) {
    return {.nodes = 3,
            .retry_delay = EngineDriver::delay,
            .retry_jitter = EngineDriver::jitter,
            .fencing = fencing};
  }
  /// Refuses an acquisition: another client has the lock, or somebody waits.
  static core::Answer refused(std::uint64_t greatest = 0) {
    core::Answer answer{Vote::held, false, 5, node_time};
    answer.greatest_ticket = greatest;
    return answer;
  }
  /// Acquires in order; the request is refused at first, and then enters the line.
  core::WaiterId enqueue(core::UserId user, core::Duration wait = 1h) {
    const core::WaiterId waiter = driver.acquire_in_order(user, terms, wait);
    for (const int node : {0, 1, 2}) driver.reply(node, refused());
    // The probe is given back on a node that may have granted it; the entry is put on every node.
    driver.reply(2, Vote::absent);
    for (const int node : {0, 1, 2}) driver.reply(node, {far_behind});
    driver.forget_seen();
    return waiter;
  }
  [[nodiscard]] std::vector<Command> sent(CommandKind kind) const {
    std::vector<Command> found;
    for (const Sent& sent : driver.all<Sent>()) {
      if (sent.command.tag.kind == kind) found.push_back(sent.command);
    }
    return found;
  }
  void answer_rest() { driver.answer_all(Vote::absent); }

  EngineDriver driver{config(false)};
};

}  // namespace quorumlock::test
