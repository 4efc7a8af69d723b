#pragma once

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "loop/session.hpp"
#include "support/link_driver.hpp"

namespace quorumlock::test {

/// Drives a Session with hand-made time. Its nodes answer greetings and names by themselves; every
/// other command waits until the test answers it, in order. Node numbers count from 0.
class SessionDriver {
 public:
  using Server = LinkDriver::Server;
  /// Short, so that a quarantine takes two looks.
  static constexpr core::Duration max_ttl = 1s;
  /// A list with that max_ttl that was founded once, as this node carries it.
  static redis::Membership listed(const std::string& node, redis::NodeNames list) {
    redis::Membership its = founded(node, std::move(list));
    its.to_terms.max_ttl_ms = max_ttl / 1ms;
    return its;
  }
  static constexpr core::Duration node_timeout = 500ms;

  explicit SessionDriver(int nodes)
      : servers(static_cast<std::size_t>(nodes)),
        away(servers.size(), false),
        slow(servers.size(), false),
        told(servers.size()),
        asked_(servers.size()),
        session(config(nodes), random_, wall) {
    for (std::size_t i = 0; i < servers.size(); ++i) {
      servers[i].run_id = "run" + std::to_string(i + 1);
      servers[i].enrolment = record(static_cast<int>(i));
      servers[i].members = listed(name(static_cast<int>(i)), names(nodes));
    }
  }

  /// The record that enrols this node.
  static std::string record(int node) { return "run" + std::to_string(node + 1) + ":abc"; }

  static std::string name(int node) { return "n" + std::to_string(node + 1); }
  static redis::NodeNames names(int nodes) {
    redis::NodeNames names;
    for (int node = 0; node < nodes; ++node) names.push_back(name(node));
    return names;
  }

  std::vector<Server> servers;
  std::vector<bool> away;         ///< nodes that cannot be connected to
  bool tells_time = false;        ///< TIME waits for reply(), else it is refused at once
  std::vector<bool> slow;         ///< nodes whose connections are made by open()
  std::vector<std::string> told;  ///< the last CLIENT SETNAME of each node, which is answered OK
  struct Wall final : core::WallClock {
    std::int64_t us = 1'700'000'000'000'000;
    std::int64_t now_us() override { return us; }
  } wall;

 private:
  SeededRandom random_;
  std::vector<std::deque<std::string>> asked_;

 public:
  detail::Session session;
  core::Time now = core::Time(1h);
  std::vector<std::string> news;
  std::vector<core::ClockJumped> jumps;
  std::vector<core::ClockStood> standstills;
  std::vector<std::string> heard_of;  // changes of their leaders
  std::vector<core::Refused> refused;
  int acquired = 0;
  std::vector<core::ClaimId> claims;  // what was acquired; the users are 1, 2, ...
  std::vector<core::Extended> extended;
  std::vector<core::Released> released;
  /// Answers to queries, as "n1 granted".
  std::vector<std::string> answered;

  void start() {
    session.start(now);
    pull();
  }
  void acquire(std::string_view key = "key", core::Duration wait = 0s, bool ordered = false) {
    session.engine().acquire(now, {key, {.ttl = 900ms}, now + wait, wait > 0s, 1, ordered});
    pull();
  }
  void release() {
    session.engine().release(now, claims.back(), true);
    pull();
  }
  /// Extends everything that was acquired.
  void extend_all() {
    for (const core::ClaimId claim : claims) session.engine().extend(now, claim, 900ms);
    pull();
  }
  /// The commands that this node has not answered, the oldest first.
  [[nodiscard]] const std::deque<std::string>& asked(int node) const {
    return asked_[static_cast<std::size_t>(node)];
  }
  /// The node answers its oldest command, which must be this one.
  void reply(int node, std::string_view command, std::string_view answer) {
    auto& asked = asked_[static_cast<std::size_t>(node)];
    ASSERT_FALSE(asked.empty()) << "n" << node + 1 << " was not asked: " << command;
    ASSERT_TRUE(asked.front().starts_with(command))
        << "n" << node + 1 << " was asked: " << asked.front();
    asked.pop_front();
    session.link(node).on_bytes(answer);
    session.touched(node);
    pull();
  }
  /// The connection that was under way to this slow node is made.
  void open(int node) {
    slow[static_cast<std::size_t>(node)] = false;
    take(detail::Session::Connect{node});
    pull();
  }
  void close(int node) {
    away[static_cast<std::size_t>(node)] = true;
    asked_[static_cast<std::size_t>(node)].clear();
    session.link(node).on_closed(now, "closed by the server");
    session.touched(node);
    pull();
  }
  void pass(core::Duration span) {
    const core::Time then = now + span;
    for (int turns = 0; session.deadline() <= then; ++turns) {
      ASSERT_LT(turns, 1000) << "the deadline does not move on";
      now = std::max(now, session.deadline());
      session.advance(now);
      pull();
    }
    now = then;
  }
  /// Waits for this node, which has no enrolment, until its counters are to be repaired.
  void wait_to_repair(int node) {
    for (int turns = 0; turns < 10; ++turns) {
      ASSERT_FALSE(asked(node).empty()) << "n" << node + 1;
      tell_facts(node);
      if (asked(node).front().starts_with("SET quorumlock:repairer ")) return;
      look(node);
      if (asked(node).empty()) pass(session.link(node).deadline() - now);
    }
    FAIL() << "n" << node + 1 << " waits for ever";
  }
  /// This node answers if it is asked for its facts again, as before a repair.
  void tell_facts(int node) {
    const auto& asks = asked(node);
    while (!asks.empty() &&
           (asks.front() == "INFO replication" || asks.front().starts_with("CONFIG") ||
            asks.front().ends_with(" writable 0"))) {
      reply(node, "", LinkDriver::answer_to(asks.front(), servers[static_cast<std::size_t>(node)]));
    }
  }
  /// This node answers that the first proposed candidate stands, which is for the node's list.
  void look(int node) {
    ASSERT_FALSE(asked(node).empty()) << "n" << node + 1 << " is not looked at";
    const std::string& command = asked(node).front();
    std::string& stands = standing_[node];
    const std::size_t life = command.rfind(' ');
    const std::size_t before = command.rfind(' ', life - 1) + 1;
    if (stands.empty()) {
      stands = with_mark(command.substr(before, life - before),
                         *servers[static_cast<std::size_t>(node)].members);
    }
    const std::string begun = ":" + std::to_string(candidates_begin) + "\r\n";
    reply(node, "EVAL candidate", "*3\r\n:2\r\n" + LinkDriver::bulk(as_it_stands(stands)) + begun);
  }

 private:
  static detail::Session::Config config(int nodes) {
    detail::Session::Config config{.engine = {.nodes = nodes,
                                              .retry_delay = 50ms,
                                              .retry_jitter = 50ms,
                                              .fencing = true,
                                              .max_ttl = max_ttl},
                                   .links = {}};
    for (int node = 1; node <= nodes; ++node) {
      config.links.push_back(
          {{.host = "n" + std::to_string(node)},
           node_timeout,
           LinkDriver::connect_timeout,
           {.named = {.max_ttl_ms = max_ttl / 1ms}, .node = "n" + std::to_string(node)}});
    }
    return config;
  }
  void pull() {
    bool more = true;
    while (std::exchange(more, false)) {
      while (std::optional<detail::Session::Output> output = session.next(now)) {
        std::visit([this](const auto& what) { take(what); }, *output);
      }
      for (const int node : session.nodes()) {
        auto& asked = asked_[static_cast<std::size_t>(node)];
        for (std::string& command : written(node)) asked.push_back(std::move(command));
        const bool names = !asked.empty() && asked.front().starts_with("CLIENT SETNAME ");
        const bool clock = !asked.empty() && asked.front() == "TIME" && !tells_time;
        if (!names && !clock) continue;
        if (names) told[static_cast<std::size_t>(node)] = asked.front();
        asked.pop_front();
        session.link(node).on_bytes(names ? "+OK\r\n" : "-ERR no clock\r\n");
        session.touched(node);
        more = true;
      }
    }
  }
  std::vector<std::string> written(int node) {
    redis::Link& link = session.link(node);
    std::vector<std::string> commands = LinkDriver::commands_in(link.output());
    link.wrote(link.output().size());
    return commands;
  }
  void take(const detail::Session::Connect& connect) {
    if (!detail::is_link(connect.wire)) return;  // nobody has to answer there
    const auto node = static_cast<std::size_t>(connect.wire);
    redis::Link& link = session.link(connect.wire);
    session.touched(connect.wire);
    if (slow[node]) return;
    if (away[node]) return link.on_closed(now, "connection refused");
    link.on_open();
    for (const std::string& greeting : written(connect.wire)) {
      link.on_bytes(LinkDriver::answer_to(greeting, servers[node]));
    }
  }
  void take(const detail::Session::Disconnect& disconnect) {
    if (!detail::is_link(disconnect.wire)) return;
    asked_[static_cast<std::size_t>(disconnect.wire)].clear();
  }
  void take(const detail::Session::Answered& what) {
    answered.push_back("n" + std::to_string(what.node + 1) + " " +
                       std::string(describe(what.vote)));
  }
  void take(const detail::Session::News& what) { news.push_back(what.reason); }
  void take(const core::ClockJumped& what) { jumps.push_back(what); }
  void take(const core::ClockStood& what) { standstills.push_back(what); }
  void take(const detail::Session::ListChanged& /*changed*/) {}
  void take(const detail::Session::Heard& heard) { heard_of.push_back(heard.key); }
  void take(const core::Acquired& what) {
    ++acquired;
    claims.push_back(what.claim);
    session.engine().adopt(what.claim, claims.size());
  }
  void take(const core::Extended& what) { extended.push_back(what); }
  void take(const core::Released& what) { released.push_back(what); }
  void take(const core::Refused& what) { refused.push_back(what); }
  template <class T>
  void take(const T&) {}

  std::map<int, std::string> standing_;
};

}  // namespace quorumlock::test
