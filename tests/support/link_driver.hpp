#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "support/members_marks.hpp"
#include "support/printing.hpp"
#include "support/scripts.hpp"
#include "support/seeded_random.hpp"
#include "wire/link.hpp"
#include "wire/words.hpp"

namespace quorumlock::test {

using namespace std::chrono_literals;
using core::CommandKind;
using core::LinkState;

/// Drives a Link with hand-made time and bytes, and records what it reports as short sentences.
class LinkDriver {
 public:
  static constexpr core::Duration node_timeout = 500ms;
  static constexpr core::Duration connect_timeout = 2s;

  explicit LinkDriver(redis::Endpoint endpoint = {.host = "n1"}, std::uint64_t seed = 1)
      : random_(seed), link({std::move(endpoint), node_timeout, connect_timeout}, random_) {
    link.follow(now, all_agree(members()));
  }

 private:
  SeededRandom random_;

 public:
  redis::Link link;
  core::Time now = core::Time(1h);
  std::string refusal;   ///< why the node does not vote for our list
  bool compares = true;  ///< all nodes are compared whenever the record has been read
  bool bars = false;     ///< refuses each server that it greets, as one that another node has

  /// The membership of every record and candidate here, whose texts do not show it.
  static redis::Membership members() { return founded("n1", {"n1", "n2", "n3"}); }

  // What the socket does.

  void start() {
    link.start(now);
    pull();
  }
  void open() {
    link.on_open();
    pull();
  }
  void close(std::string_view why = "closed by the server") {
    link.on_closed(now, why);
    pull();
  }
  void feed(std::string_view bytes) {
    link.on_bytes(bytes);
    pull();
  }
  void stop() {
    link.stop(now);
    pull();
  }
  void doubt() {
    link.doubt(now);
    pull();
  }
  void compare() {
    link.follow(now, all_agree(members(), refusal));
    pull();
  }
  void look_again() {
    link.look_again(now);
    pull();
  }
  void repaired(std::uint64_t floor = 0, std::int64_t since = 0) {
    link.repaired(now, members(), floor, since);
    pull();
  }
  void repair_failed() {
    link.repair_failed(now, false, "");
    pull();
  }
  /// Lets time pass, and the link do what is due meanwhile, each at its moment.
  void pass(core::Duration span) {
    const core::Time then = now + span;
    for (int turns = 0; link.deadline() <= then; ++turns) {
      ASSERT_LT(turns, 1000) << "the link's deadline does not move on";
      now = std::max(now, link.deadline());
      link.advance(now);
      pull();
    }
    now = then;
  }

  // What the user does. Each command has a number, and sends "PING <number>".

  void send(int number, CommandKind kind = CommandKind::set) {
    std::string bytes;
    redis::append_command(bytes, {"PING", std::to_string(number)});
    if (redis::says_enrolment(kind)) bytes[1] = '6';  // the link appends four words
    link.send(now, tag(number, kind), bytes);
    pull();
  }

  // The results.

  /// The commands in these bytes, each with its words separated by spaces.
  static std::vector<std::string> commands_in(std::string_view bytes) {
    std::vector<std::string> commands;
    const auto take_number = [&bytes] {
      const std::size_t end = bytes.find("\r\n");
      const int number = std::stoi(std::string(bytes.substr(1, end - 1)));
      bytes.remove_prefix(end + 2);
      return static_cast<std::size_t>(number);
    };
    while (!bytes.empty()) {
      std::string command;
      for (std::size_t words = take_number(); words > 0; --words) {
        const std::size_t size = take_number();
        std::string word(script_name(bytes.substr(0, size)));
        if (word == redis::writable_script.sha1) word = redis::writable_script.name;
        if (!is_members(word)) command += (command.empty() ? "" : " ") + without_marks(word);
        bytes.remove_prefix(size + 2);
      }
      commands.push_back(command.starts_with("SCRIPT LOAD") ? "SCRIPT LOAD" : command);
    }
    return commands;
  }
  /// The questions to a connected server about what may have changed.
  static std::vector<std::string> facts() {
    return {"INFO replication", "EVAL writable 0", "EVALSHA writable 0"};
  }
  /// The commands written since the last call.
  std::vector<std::string> written() {
    std::vector<std::string> commands = commands_in(link.output());
    link.wrote(link.output().size());
    return commands;
  }
  /// Returns the link's reports since the last call, without the notes.
  std::vector<std::string> said() { return std::exchange(said_, {}); }
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

  /// A server that accepts us.
  struct Server {
    std::string run_id = "run1";
    int client_id = 7;
    std::string role = "master";
    std::string mode = "standalone";
    /// The value of the enrolment's key, "" for no key; nothing: a record of this very run.
    std::optional<std::string> enrolment = std::nullopt;
    std::optional<redis::Membership> members = std::nullopt;  ///< nothing: LinkDriver::members()
    int replicas = 0;
    bool promoted = false;                    ///< it was a replica in this run
    std::string history = "12345678";         ///< the start of its replication id
    int least_replicas = 0, most_lag_s = 10;  ///< min-replicas-to-write, min-replicas-max-lag
    std::string eval = ":1\r\n", evalsha = ":1\r\n";  ///< what the script that would write gets
    std::string version = "7.0.15";
  };
  /// The server's answer to a greeting.
  static std::string answer_to(const std::string& greeting, const Server& server) {
    if (greeting == "CLIENT ID") return ":" + std::to_string(server.client_id) + "\r\n";
    if (greeting.starts_with("CLIENT KILL")) return ":1\r\n";
    if (greeting == "INFO replication") {
      return bulk("# Replication\r\nrole:" + server.role +
                  "\r\nconnected_slaves:" + std::to_string(server.replicas) +
                  "\r\nmaster_replid:" + server.history + std::string(32, '0') +
                  "\r\nmaster_replid2:" + std::string(40, server.promoted ? 'a' : '0') +
                  "\r\nsecond_repl_offset:" + (server.promoted ? "1" : "-1") + "\r\n");
    }
    if (greeting == "INFO server") {
      return bulk("# Server\r\nredis_version:" + server.version + "\r\nredis_mode:" + server.mode +
                  "\r\nrun_id:" + server.run_id + "\r\ntcp_port:6379\r\n");
    }
    if (greeting == "CONFIG GET min-replicas-*") {
      return "*4\r\n" + bulk("min-replicas-to-write") +
             bulk(std::to_string(server.least_replicas)) + bulk("min-replicas-max-lag") +
             bulk(std::to_string(server.most_lag_s));
    }
    if (greeting == "MGET quorumlock:enrolment quorumlock:members") {
      const std::string own = server.run_id + ":abc";
      if (server.enrolment == "") return "*2\r\n$-1\r\n$-1\r\n";
      return both(server.enrolment.value_or(own), server.members.value_or(members()));
    }
    if (greeting == "EVAL writable 0") return server.eval;
    if (greeting == "EVALSHA writable 0") return server.evalsha;
    if (greeting == "SCRIPT LOAD") return bulk("a1a3971130d890ec4bcde1be19c986f55a346300");
    return "+OK\r\n";
  }
  /// Answers all written greetings as this server would, and returns them.
  std::vector<std::string> greet(const Server& server) {
    std::vector<std::string> greetings = written();
    for (const std::string& greeting : greetings) feed(answer_to(greeting, server));
    return greetings;
  }
  std::vector<std::string> greet() { return greet(Server()); }
  /// Connects for the first time, and comes up.
  void come_up(const Server& server) {
    start();
    open();
    greet(server);
    said();
  }
  void come_up() { come_up(Server()); }
  /// Waits for the next attempt and connects; the test answers the greeting.
  void reconnect() {
    pass(link.deadline() - now);
    open();
  }

  /// The answer to MGET of this record, with the mark of the members, and of the members.
  static std::string both(const std::string& record, const redis::Membership& its = members()) {
    return "*2\r\n" + bulk(with_mark(record, its)) + bulk(its.text());
  }
  /// Whether this is a text under the members' key.
  static bool is_members(const std::string& word) { return word.find(" s - ") != word.npos; }
  static std::string bulk(std::string_view text) {
    return "$" + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
  }
  static core::Tag tag(int number, CommandKind kind) {
    return {{static_cast<std::uint32_t>(number), 0}, 1, kind, false};
  }

 private:
  void pull() {
    for (;;) {
      const bool had_more = link.may_have_more();
      const redis::Link::Event* const event = link.next(now);
      if (event == nullptr) break;
      EXPECT_TRUE(had_more);
      std::visit([this](const auto& what) { take(what); }, *event);
    }
    EXPECT_FALSE(link.has_events());
  }
  void take(const redis::Link::Connect&) { said_.emplace_back("connect"); }
  void take(const redis::Link::AskTimes&) {}
  void take(const redis::Link::Disconnect&) { said_.emplace_back("disconnect"); }
  void take(const redis::Link::Changed& changed) {
    switch (changed.state) {
      case LinkState::connecting: said_.emplace_back("connecting"); break;
      case LinkState::up: said_.emplace_back("up"); break;
      case LinkState::stalled: said_.emplace_back("stalled"); break;
      case LinkState::quarantined:
        said_.push_back("quarantined: " + std::string(describe(changed.reason)));
        break;
      case LinkState::down: said_.push_back("down: " + std::string(describe(changed.reason)));
    }
  }
  void take(const redis::Link::Greeted&) {
    if (!bars) return link.admit(now);
    link.bar(now, Vote::same_server, "is the same server as n2");
  }
  void take(const redis::Link::Enrolled&) {
    if (compares) link.follow(now, all_agree(members(), refusal));
  }
  void take(const redis::Link::Repair&) { said_.emplace_back("repair"); }
  void take(const redis::Link::Answered& answer) {
    said_.push_back(std::to_string(answer.tag.claim.index) + " " +
                    std::string(describe(answer.answer.vote)));
    if (answer.answer.vote == Vote::granted) {
      ASSERT_NE(answer.reply, nullptr);
      EXPECT_EQ(answer.reply->text, "OK");
    }
  }
  void take(const redis::Link::Late& late) {
    said_.push_back(std::to_string(late.tag.claim.index) + " late");
  }
  void take(const redis::Link::StillDown&) { notes_.emplace_back("still down"); }
  void take(const redis::Link::Writes&) { notes_.push_back(std::string(describe(link.reason()))); }
  void take(const redis::Link::Note& note) { notes_.push_back(note.why); }

  std::vector<std::string> said_;
  std::vector<std::string> notes_;
};

}  // namespace quorumlock::test
