#pragma once

#include <algorithm>
#include <array>
#include <memory>

#include "support/model_node.hpp"

namespace quorumlock::test {

/// A few clients that take the same locks on the same nodes, in a world in which anything may
/// happen that the protocol does not rule out. The seed decides what happens next, and each step
/// checks that no lock has two holders.
class LockWorld {
 public:
  explicit LockWorld(std::uint64_t seed) : random_(seed), mishaps_(random_.between(0, 40)) {
    const int nodes = random_.between(1, 5);
    for (int i = 0; i < nodes; ++i) nodes_.emplace_back(1'000'000 + random_.between(-9999, 9999));
    for (int i = random_.between(1, 3); i > 0; --i) {
      clients_.push_back(std::make_unique<Client>(nodes, random_.between(1, 1'000'000)));
    }
  }

  void run(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
      step();
      check();
    }
    heal();
  }

  [[nodiscard]] int acquired() const { return acquired_; }
  [[nodiscard]] int renewed() const { return renewed_; }
  [[nodiscard]] int ended() const { return ended_; }

 private:
  struct Client {
    Client(int nodes, int seed)
        : random(static_cast<std::uint64_t>(seed)),
          engine({.nodes = nodes, .retry_delay = 20ms, .retry_jitter = 30ms}, random),
          links(static_cast<std::size_t>(nodes)) {}
    SeededRandom random;
    core::Engine engine;
    std::vector<ModelLink> links;
    std::vector<std::pair<int, core::Tag>> not_taken;  ///< sent to a node that was away
  };
  /// An acquisition, and its lease.
  struct Operation {
    std::size_t client;
    std::string key;
    core::WaiterId waiter{};
    core::ClaimId claim{};
    std::string token{};
    int answers = 0;
    bool held = false;
    bool seen_invalid = false;
    int extends = 0;  ///< unanswered extends
    int releases = 0;
    int warnings = 0;
  };
  static constexpr core::UserId lease_offset = 1'000'000;

  Operation& operation(core::UserId user) { return operations_[user % lease_offset]; }
  Client& client_of(const Operation& one) { return *clients_[one.client]; }
  bool mishap() { return random_.between(1, 100) <= mishaps_; }
  int quorum() const { return core::quorum_of(static_cast<int>(nodes_.size())); }

  // What may happen.

  void step() {
    const int what = random_.between(1, 100);
    if (what <= 5) return acquire();
    if (what <= 8) return use_lease();
    if (what <= 20) return pass_time();
    Client& client = *clients_[random_.index(clients_.size())];
    const std::size_t node = random_.index(nodes_.size());
    if (what <= 25) return mishap() ? lose(client, node) : connect(client, node);
    if (what <= 27 && mishap()) return be_late(client, node);
    // A node mostly executes what it was sent, and its answers mostly arrive.
    for (int i = random_.between(1, 4); i > 0; --i) execute(client.links[node], node);
    for (int i = random_.between(0, 4); i > 0; --i) deliver(client, node);
  }

  void acquire() {
    if (operations_.size() - done() > 6) return;
    const std::size_t which = random_.index(clients_.size());
    core::Terms drawn{.ttl = std::array<core::Duration, 3>{200ms, 2s, 60s}[random_.index(3)]};
    drawn.stop_margin = drawn.ttl / 10;
    drawn.auto_extend = !random_.one_in(3);
    if (random_.one_in(4)) drawn.max_hold = 3 * drawn.ttl / 2;
    if (random_.one_in(4)) drawn.max_renewals = 1;
    const core::Duration wait =
        random_.one_in(2) ? core::Duration() : core::Duration(random_.between(1, 5000) * 1ms);
    const core::UserId user = operations_.size();
    operations_.push_back({which, random_.one_in(4) ? "another" : "key"});
    clients_[which]->engine.acquire(now_,
                                    {operations_[user].key, drawn, now_ + wait, wait > 0s, user},
                                    &operations_[user].waiter);
    pull(which);
  }

  void use_lease() {
    std::vector<std::size_t> live;
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      if (operations_[i].answers == 0 || operations_[i].held) live.push_back(i);
    }
    if (live.empty()) return;
    Operation& one = operations_[live[random_.index(live.size())]];
    core::Engine& engine = client_of(one).engine;
    if (one.answers == 0) {
      if (random_.one_in(3)) engine.cancel(now_, one.waiter, Errc::cancelled);
    } else if (one.held && random_.one_in(3)) {
      if (engine.extend(now_, one.claim, random_.between(100, 5000) * 1ms)) ++one.extends;
    } else if (one.held) {
      release(one);
    }
    pull(one.client);
  }

  void release(Operation& one) {
    const bool report = random_.one_in(2);
    if (client_of(one).engine.release(now_, one.claim, report)) {
      if (report) ++one.releases;
      one.held = false;
    }
  }

  /// The engine may be run when something is due, or may oversleep it.
  void pass_time() {
    core::Time then = now_ + core::Duration(random_.between(1, 100'000) * 1us);
    const std::size_t which = random_.index(clients_.size());
    core::Engine& engine = clients_[which]->engine;
    if (random_.one_in(4) && engine.deadline() != core::never) then = engine.deadline();
    if (random_.one_in(30)) then = now_ + core::Duration(random_.between(1, 3000) * 1ms);
    pass_until(std::max(now_, then));
    if (random_.one_in(3)) return;
    engine.advance(now_);
    pull(which);
  }

  /// Keys only expire while time passes, so a lease that is still witnessed at its last moment was
  /// witnessed before.
  void pass_until(core::Time then) {
    for (const Operation& one : operations_) {
      const core::Time end = valid_until(one);
      if (end > now_ && end <= then) expect_witness(one, end - 1ns);
    }
    now_ = then;
    check();
  }

  void execute(ModelLink& link, std::size_t node) {
    if (!link.orphans.empty() && random_.one_in(2)) {
      const Command orphan = link.orphans.front();
      link.orphans.pop_front();
      nodes_[node].execute(now_, orphan);
      ran_as_orphan_.insert(orphan.token);
      return;
    }
    ModelLink::Pending* next = link.next_to_run();
    if (next == nullptr) return;
    next->executed = true;
    if (!mishap()) {
      next->answer = nodes_[node].execute(now_, next->command);
    } else {
      const bool scripted = next->command.tag.kind != CommandKind::set;
      next->answer.vote =
          std::array{Vote::busy, Vote::loading, scripted ? Vote::no_script : Vote::busy,
                     Vote::failed}[random_.index(4)];
      if (next->answer.vote == Vote::failed && random_.one_in(2))
        nodes_[node].execute(now_, next->command);
    }
  }

  void deliver(Client& client, std::size_t node) {
    ModelLink& link = client.links[node];
    if (!link.up() || link.pending.empty() || !link.pending.front().executed) return;
    const ModelLink::Pending answer = link.pending.front();
    link.pending.pop_front();
    if (link.state == LinkState::stalled &&
        (link.pending.empty() || !link.pending.front().command.late)) {
      change(client, node, LinkState::up, Vote::pending);
    }
    client.engine.on_answer(now_, static_cast<int>(node), answer.command.tag, answer.answer);
    pull(client);
  }

  void be_late(Client& client, std::size_t node) {
    ModelLink& link = client.links[node];
    for (ModelLink::Pending& one : link.pending) {
      if (std::exchange(one.command.late, true)) continue;
      const core::Tag tag = one.command.tag;
      if (link.state == LinkState::up) change(client, node, LinkState::stalled, Vote::stalled);
      client.engine.on_timeout(now_, static_cast<int>(node), tag);
      return pull(client);
    }
  }

  void lose(Client& client, std::size_t node) {
    ModelLink& link = client.links[node];
    if (!link.up()) return;
    std::deque<ModelLink::Pending> lost = std::exchange(link.pending, {});
    for (const ModelLink::Pending& one : lost) {
      if (!one.executed) link.orphans.push_back(one.command);
    }
    change(client, node, LinkState::down, Vote::unreachable);
    for (const ModelLink::Pending& one : lost) {
      client.engine.on_answer(now_, static_cast<int>(node), one.command.tag, {Vote::disconnected});
      pull(client);
    }
  }

  /// A new connection first kills the old one, so what was left on that never runs.
  void connect(Client& client, std::size_t node) {
    ModelLink& link = client.links[node];
    if (link.up()) return;
    link.orphans.clear();
    change(client, node, LinkState::up, Vote::pending);
  }

  void change(Client& client, std::size_t node, LinkState state, Vote reason) {
    client.links[node].state = state;
    changing_ = &client.links[node];
    client.engine.on_link(now_, static_cast<int>(node), state, reason);
    pull(client);
    changing_ = nullptr;
  }

  // What the engines report.

  void pull(std::size_t which) { pull(*clients_[which]); }
  void pull(Client& client) {
    do {
      while (const core::Output* const output = client.engine.next()) {
        std::visit([&](const auto& what) { take(client, what); }, *output);
      }
      for (const auto& [node, tag] : std::exchange(client.not_taken, {})) {
        client.engine.on_answer(now_, node, tag, {Vote::unreachable});
      }
    } while (client.engine.has_outputs());
  }
  void take(Client& client, const core::Send& send) {
    for (const int node : send.to) {
      ModelLink& link = client.links[static_cast<std::size_t>(node)];
      // The engine may still send what was due just before it learns of the change.
      if (!link.up()) {
        ASSERT_EQ(&link, changing_) << "sent to a node that is away";
        client.not_taken.emplace_back(node, send.tag);
        continue;
      }
      ASSERT_TRUE(link.state == LinkState::up || &link == changing_ || send.tag.with_source ||
                  send.tag.kind == CommandKind::release)
          << "asked a stalled node";
      link.pending.push_back({{send.tag, std::string(send.lock.first), std::string(send.token),
                               send.ttl, send.fence, send.replant}});
    }
    if (send.tag.kind != CommandKind::set) return;
    ASSERT_TRUE(tokens_.insert(std::string(send.token)).second) << "a token was used again";
  }
  void take(Client&, const core::SendEntries&) { FAIL() << "nobody waits in a line"; }
  void take(Client&, const core::Listen&) {}  // no node publishes anything
  void take(Client& client, const core::Acquired& acquired) {
    Operation& one = operation(acquired.user);
    ASSERT_EQ(++one.answers, 1);
    ++acquired_;
    one.claim = acquired.claim;
    one.token = client.engine.claim(one.claim)->token();
    one.held = true;
    client.engine.adopt(one.claim, acquired.user + lease_offset);
  }
  void take(Client&, const core::Refused& refused) {
    ASSERT_EQ(++operation(refused.user).answers, 1);
  }
  void take(Client&, const core::Renewed& renewed) {
    const Operation& one = operation(renewed.user);
    ASSERT_TRUE(one.held);
    ASSERT_FALSE(one.seen_invalid) << "renewed after its end";
    ++renewed_;
  }
  void take(Client&, const core::AtRisk& risk) { ASSERT_EQ(++operation(risk.user).warnings, 1); }
  void take(Client&, const core::ClockJumped&) { FAIL() << "no node has reported its time"; }
  void take(Client&, const core::ClockStood&) { FAIL() << "no node has reported its time"; }
  void take(Client&, const core::Ended& ended) {
    ++ended_;
    ASSERT_TRUE(std::exchange(operation(ended.user).held, false));
  }
  void take(Client&, const core::Extended& extended) {
    ASSERT_EQ(--operation(extended.user).extends, 0);
  }
  void take(Client&, const core::Released& released) {
    ASSERT_EQ(--operation(released.user).releases, 0);
  }

  // What must be true.

  core::Time valid_until(const Operation& one) {
    if (!one.held) return core::Time();
    const core::Claim* claim = client_of(one).engine.claim(one.claim);
    return claim == nullptr ? core::Time() : claim->deadline;
  }
  void check() {
    std::map<std::string, std::string> holders;
    for (Operation& one : operations_) {
      if (!one.held) continue;
      if (now_ >= valid_until(one)) {
        one.seen_invalid = true;
        continue;
      }
      ASSERT_FALSE(one.seen_invalid) << "valid again";
      ASSERT_TRUE(holders.emplace(one.key, one.token).second) << "two holders of one lock";
      expect_witness(one, now_);
    }
  }
  /// A valid lease has its token on a quorum of the nodes.
  void expect_witness(const Operation& one, core::Time when) {
    int witnesses = 0;
    for (const ModelNode& node : nodes_)
      witnesses += node.token(when, one.key) == one.token ? 1 : 0;
    ASSERT_GE(witnesses, quorum())
        << "of " << nodes_.size() << ", at " << to_text(when.time_since_epoch());
  }
  std::size_t done() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        operations_, [](const Operation& one) { return one.answers > 0 && !one.held; }));
  }

  int unanswered() const {
    int commands = 0;
    for (const auto& client : clients_) commands += client->engine.unanswered();
    return commands;
  }

  /// Repairs everything and releases all leases: every acquisition is answered, no key stays and no
  /// engine has anything left to do.
  void heal() {
    mishaps_ = 0;
    int quiet = 0;
    for (int round = 0; round < 1000 && quiet < 20 && !testing::Test::HasFailure(); ++round) {
      settle();
      quiet = done() == operations_.size() && unanswered() == 0 ? quiet + 1 : 0;
      pass_until(now_ + 10ms);
    }
    if (testing::Test::HasFailure()) return;
    for (const Operation& one : operations_) {
      ASSERT_EQ(one.answers, 1);
      ASSERT_EQ(one.extends + one.releases, 0);
    }
    for (const ModelNode& node : nodes_) {
      for (const char* key : {"key", "another"}) {
        // A command that ran only after its connection was lost may outlive the engine's memory of
        // it, and a slow clock may have made a key outlive its ttl by two per cent of a minute.
        const std::string token = node.token(now_ + 1200ms, key);
        ASSERT_TRUE(token.empty() || ran_as_orphan_.contains(token)) << "a key was left";
      }
    }
    pass_until(now_ + 61s);
    settle();
    for (const auto& client : clients_) {
      ASSERT_FALSE(client->engine.busy());
      ASSERT_EQ(client->engine.unanswered(), 0);
      ASSERT_EQ(client->engine.deadline(), core::never);
    }
  }
  void settle() {
    for (const auto& client : clients_) {
      client->engine.advance(now_);
      pull(*client);
      for (std::size_t node = 0; node < nodes_.size(); ++node) {
        connect(*client, node);
        ModelLink& link = client->links[node];
        while (!link.pending.empty() && !testing::Test::HasFailure()) {
          execute(link, node);
          deliver(*client, node);
        }
      }
    }
    for (Operation& one : operations_) {
      if (!one.held) continue;
      release(one);
      pull(one.client);
    }
  }

  SeededRandom random_;
  int mishaps_;  ///< how often mishaps happen, in per cent
  core::Time now_ = at(1h);
  std::vector<ModelNode> nodes_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::deque<Operation> operations_;
  std::set<std::string> tokens_;
  std::set<std::string> ran_as_orphan_;
  const ModelLink* changing_ = nullptr;  ///< the link whose change its engine is being notified of
  int acquired_ = 0;
  int renewed_ = 0;
  int ended_ = 0;
};

}  // namespace quorumlock::test
