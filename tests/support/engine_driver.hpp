#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "lock/engine.hpp"
#include "lock/validity.hpp"
#include "support/printing.hpp"
#include "support/seeded_random.hpp"

namespace quorumlock::test {

using namespace std::chrono_literals;
using core::CommandKind;
using core::LinkState;

/// Hand-made time: at(3s) is three seconds after a test's begin.
constexpr core::Time at(core::Duration since) {
  return core::Time(since);
}

constexpr core::NodeSet all_of(int nodes) {
  return core::NodeSet::first(nodes);
}

/// The terms of most tests, how long such a lease is valid, and when it is renewed first.
inline const core::Terms ten_seconds{.ttl = 10s, .stop_margin = 1s};
inline constexpr core::Duration validity = 9898ms;
/// When an engine's first lease is renewed: after a third of its validity, to the 8 ms at which
/// leases are renewed together.
inline constexpr core::Duration third = validity / 3 / 8ms * 8ms;

/// A command as it went out to one node.
struct Command {
  core::Tag tag;
  std::string key;
  std::string token;
  core::Duration ttl{};
  std::uint64_t fence = 0;
  bool replant = false, ordered = false;
  std::uint64_t waiter = 0, ticket = 0;  ///< those of Send::place
  std::uint64_t not_woken = 0;
  bool shared = false;
  bool not_woken_reads = false;
  int slot = 0;  ///< the permit's, if it is about one
  core::Duration left{};
  /// Waiter and ticket of each entry of a SendEntries.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> entries = {};
  /// All keys of a Send; for a SendEntries, the key of each entry.
  std::vector<std::string> keys = {};
  bool late = false;  ///< has been reported to the engine as overdue
};

/// A Send, with its words kept.
struct Sent {
  core::NodeSet to;
  Command command;
};

/// An output of the engine, and when it came.
struct Seen {
  core::Time when;
  std::variant<Sent, core::Acquired, core::Refused, core::Renewed, core::AtRisk, core::Ended,
               core::Extended, core::Released, core::ClockJumped, core::ClockStood, core::Listen>
      what;
};

/// Drives an Engine as the client's driver does, but with hand-made time and with nodes whose every
/// answer the test gives. Node numbers count from 0; a command stays with its node until the test
/// answers it, in order.
class EngineDriver {
 public:
  static constexpr core::Duration delay = 50ms;
  static constexpr core::Duration jitter = 30ms;
  /// The user's number of an acquisition's lease, which differs from the acquisition's.
  static constexpr core::UserId lease_of(core::UserId user) { return user + 1000; }

  static core::Engine::Config fencing(int nodes) {
    return {.nodes = nodes,
            .retry_delay = delay,
            .retry_jitter = jitter,
            .fencing = true,
            .first_window = 6400};
  }

  explicit EngineDriver(int nodes, std::uint64_t seed = 1)
      : EngineDriver(
            core::Engine::Config{
                .nodes = nodes, .retry_delay = delay, .retry_jitter = jitter, .first_window = 6400},
            seed) {}
  explicit EngineDriver(const core::Engine::Config& config, std::uint64_t seed = 1)
      : random_(seed), engine_(config, random_), unanswered_(core::max_nodes) {}

  core::Time now{};
  core::Trace* trace = nullptr;  ///< the trace of the acquisitions of one lock that follow

  // What the user does. `wait` zero is one attempt.

  core::WaiterId acquire(core::UserId user, const core::Terms& terms, core::Duration wait = 0s,
                         std::string_view key = "key") {
    core::WaiterId waiter;
    engine_.acquire(now, {key, terms, core::later(now, wait), wait > 0s, user, false, {}, 0, trace},
                    &waiter);
    pull();
    return waiter;
  }
  /// Acquires, and waits in the line.
  core::WaiterId acquire_in_order(core::UserId user, const core::Terms& terms, core::Duration wait,
                                  std::string_view key = "key") {
    core::WaiterId waiter;
    engine_.acquire(now, {key, terms, core::later(now, wait), true, user, true, {}, 0, trace},
                    &waiter);
    pull();
    return waiter;
  }
  /// Acquires several locks as one.
  core::WaiterId acquire_all(core::UserId user, const core::Terms& terms, core::Duration wait,
                             const std::vector<std::string>& keys, bool ordered = true) {
    core::WaiterId waiter;
    engine_.acquire(now,
                    {keys.at(0), terms, core::later(now, wait), wait > 0s, user, ordered,
                     std::span(keys).subspan(1)},
                    &waiter);
    pull();
    return waiter;
  }
  /// Asks for one of the `capacity` permits of a semaphore.
  core::WaiterId acquire_permit(core::UserId user, int capacity, core::Duration wait = 0s,
                                bool ordered = true) {
    core::WaiterId waiter;
    core::AcquireRequest request{"key",     ten_seconds, core::later(now, wait),
                                 wait > 0s, user,        ordered};
    request.capacity = capacity;
    engine_.acquire(now, request, &waiter);
    pull();
    return waiter;
  }
  /// The node reports that this waiter of ours is first in its line, and that the lock is free.
  void wake(int node, std::uint64_t waiter, int slot = 0) {
    engine_.on_wake(now, node, waiter, slot);
    pull();
  }
  void cancel(core::WaiterId waiter, Errc why = Errc::cancelled) {
    engine_.cancel(now, waiter, why);
    pull();
  }
  bool release(core::ClaimId claim, bool report = true) {
    const bool held = engine_.release(now, claim, report);
    pull();
    return held;
  }
  bool extend(core::ClaimId claim, core::Duration ttl) {
    const bool begun = engine_.extend(now, claim, ttl);
    pull();
    return begun;
  }
  bool downgrade(core::ClaimId claim) {
    const bool begun = engine_.downgrade(now, claim);
    pull();
    return begun;
  }
  void extend_token(core::UserId user, std::string_view token, core::Duration ttl) {
    engine_.extend_token(now, "key", nullptr, token, ttl, user);
    pull();
  }
  void release_token(core::UserId user, std::string_view token) {
    engine_.release_token(now, "key", nullptr, token, user);
    pull();
  }
  void close() {
    engine_.close(now);
    pull();
  }

  // What the nodes do.

  /// The node answers its oldest command.
  void reply(int node, Vote vote) { reply(node, core::Answer{vote}); }
  void reply(int node, const core::Answer& answer) {
    auto& commands = unanswered_[static_cast<std::size_t>(node)];
    ASSERT_FALSE(commands.empty()) << "n" << node + 1 << " has nothing to answer";
    const core::Tag tag = commands.front().tag;
    commands.pop_front();
    if (tag.kind == CommandKind::queue) {
      engine_.on_places(now, node, tag, answer.vote, {});
    } else {
      engine_.on_answer(now, node, tag, answer);
    }
    pull();
  }
  /// The node answers its oldest command, which is about entries, with their places.
  void reply(int node, const std::vector<core::Place>& places) {
    auto& commands = unanswered_[static_cast<std::size_t>(node)];
    ASSERT_FALSE(commands.empty()) << "n" << node + 1 << " has nothing to answer";
    ASSERT_EQ(commands.front().tag.kind, CommandKind::queue) << "n" << node + 1;
    const core::Tag tag = commands.front().tag;
    commands.pop_front();
    engine_.on_places(now, node, tag, Vote::granted, places);
    pull();
  }
  /// Each of these nodes answers its oldest command, in this order.
  void reply(std::initializer_list<int> nodes, Vote vote) {
    for (const int node : nodes) reply(node, vote);
  }
  /// Every node answers all that it was sent, until nothing is left to answer, as Redis does for a
  /// key that is ours.
  void answer_all(Vote vote = Vote::granted) {
    for (int turns = 0; engine_.unanswered() > 0; ++turns) {
      ASSERT_LT(turns, 1000) << "what is answered is asked for again and again";
      for (int node = 0; node < nodes(); ++node) {
        for (std::size_t i = unanswered(node).size(); i > 0; --i) reply(node, vote);
      }
    }
  }
  /// Reports the node's oldest command that was not yet reported late as overdue.
  void time_out(int node) {
    for (Command& command : unanswered_[static_cast<std::size_t>(node)]) {
      if (std::exchange(command.late, true)) continue;
      const core::Tag tag = command.tag;
      engine_.on_timeout(now, node, tag);
      return pull();
    }
    FAIL() << "n" << node + 1 << " has nothing that could be late";
  }
  void link(int node, LinkState state, Vote reason = Vote::unreachable) {
    engine_.on_link(now, node, state, reason);
    pull();
  }
  /// Breaks the connection to the node: its commands are answered accordingly.
  void lose(int node) {
    link(node, LinkState::down);
    auto& commands = unanswered_[static_cast<std::size_t>(node)];
    while (!commands.empty()) {
      const core::Tag tag = commands.front().tag;
      commands.pop_front();
      if (tag.kind == CommandKind::queue) {
        engine_.on_places(now, node, tag, Vote::disconnected, {});
      } else {
        engine_.on_answer(now, node, tag, {Vote::disconnected});
      }
      pull();
    }
  }

  /// Lets time pass, and the engine do what is due meanwhile, each at its moment.
  void pass(core::Duration span) { pass_until(now + span); }
  void pass_until(core::Time then) {
    for (int turns = 0; engine_.deadline() <= then; ++turns) {
      ASSERT_LT(turns, 10'000) << "the engine's deadline does not move on";
      now = std::max(now, engine_.deadline());
      engine_.advance(now);
      pull();
    }
    now = std::max(now, then);
  }

  // The results.

  [[nodiscard]] core::Engine& engine() { return engine_; }
  [[nodiscard]] int nodes() const { return engine_.config().nodes; }
  [[nodiscard]] const std::deque<Command>& unanswered(int node) const {
    return unanswered_[static_cast<std::size_t>(node)];
  }
  [[nodiscard]] const std::vector<Seen>& seen() const { return seen_; }
  /// All outputs of one kind since the last forget_seen(), in order.
  template <class T>
  [[nodiscard]] std::vector<T> all() const {
    std::vector<T> found;
    for (const Seen& seen : seen_) {
      if (const T* what = std::get_if<T>(&seen.what)) found.push_back(*what);
    }
    return found;
  }
  /// The only output of its kind; fails the test if there is none or more than one.
  template <class T>
  [[nodiscard]] T only() const {
    const std::vector<T> found = all<T>();
    EXPECT_EQ(found.size(), 1U);
    return found.empty() ? T{} : found.back();
  }
  template <class T>
  [[nodiscard]] std::size_t count() const {
    return all<T>().size();
  }
  /// The nodes that were sent a command of this kind for this token since the last forget_seen().
  [[nodiscard]] core::NodeSet told(CommandKind kind, std::string_view token) const {
    core::NodeSet nodes;
    for (const Sent& sent : all<Sent>()) {
      if (sent.command.tag.kind == kind && sent.command.token == token) nodes = nodes | sent.to;
    }
    return nodes;
  }
  [[nodiscard]] std::size_t count(CommandKind kind) const {
    std::size_t commands = 0;
    for (const Sent& sent : all<Sent>()) {
      if (sent.command.tag.kind == kind) commands += static_cast<std::size_t>(sent.to.size());
    }
    return commands;
  }
  void forget_seen() { seen_.clear(); }
  /// All tokens that commands ever were to set, in order of appearance.
  [[nodiscard]] const std::vector<std::string>& tokens() const { return tokens_; }
  /// The claim of the lease won last.
  [[nodiscard]] core::ClaimId lease() const { return lease_; }
  [[nodiscard]] core::Time lease_end() {
    const core::Claim* claim = engine_.claim(lease_);
    return claim == nullptr ? core::Time() : claim->deadline;
  }

  /// Wins the lock at once, on all nodes.
  core::ClaimId hold(const core::Terms& terms, core::UserId user = 1) {
    acquire(user, terms);
    answer_all();
    EXPECT_EQ(count<core::Acquired>(), 1U);
    forget_seen();
    return lease_;
  }
  /// Checks that the test has left nothing: no wait, no lease, no answer, no timer.
  void expect_nothing_left() {
    EXPECT_FALSE(engine_.busy());
    EXPECT_EQ(engine_.unanswered(), 0);
    EXPECT_EQ(engine_.deadline(), core::never);
  }

 private:
  void pull() {
    do {
      while (const core::Output* const output = engine_.next()) {
        std::visit([this](const auto& what) { take(what); }, *output);
      }
    } while (engine_.send_queued());
  }
  void take(const core::Send& send) {
    ASSERT_FALSE(send.to.empty()) << "a command for nobody";
    Command command{send.tag,
                    std::string(send.lock.first),
                    std::string(send.token),
                    send.ttl,
                    send.fence,
                    send.replant,
                    send.ordered,
                    send.place.number,
                    send.place.ticket,
                    send.not_woken.number,
                    send.lock.mode == LockMode::shared,
                    send.not_woken.reads};
    command.keys.assign(send.lock.others.begin(), send.lock.others.end());
    command.keys.emplace(command.keys.begin(), send.lock.first);
    command.slot = send.lock.permit.slot;
    command.left = send.left;
    for (const int node : send.to) unanswered_[static_cast<std::size_t>(node)].push_back(command);
    const bool sets = send.tag.kind == CommandKind::set || send.tag.kind == CommandKind::acquire;
    if (sets && !send.tag.with_source) tokens_.push_back(command.token);
    seen_.push_back({now, Sent{send.to, command}});
  }
  void take(const core::SendEntries& sending) {
    ASSERT_FALSE(sending.to.empty()) << "a command for nobody";
    Command command{.tag = sending.tag, .key = std::string(sending.entries.at(0).key), .token = {}};
    for (const core::Entry& entry : sending.entries) {
      command.entries.emplace_back(entry.waiter, entry.ticket);
      command.shared = entry.shared;
      command.keys.emplace_back(entry.key);
    }
    for (const int node : sending.to) {
      unanswered_[static_cast<std::size_t>(node)].push_back(command);
    }
    seen_.push_back({now, Sent{sending.to, command}});
  }
  void take(const core::Acquired& acquired) {
    lease_ = acquired.claim;
    seen_.push_back({now, acquired});
    engine_.adopt(lease_, lease_of(acquired.user));
  }
  template <class T>
  void take(const T& what) {
    seen_.push_back({now, what});
  }

  SeededRandom random_;
  core::Engine engine_;
  std::vector<std::deque<Command>> unanswered_;  // for each node, the oldest first
  std::vector<Seen> seen_;
  std::vector<std::string> tokens_;
  core::ClaimId lease_;
};

}  // namespace quorumlock::test
