#pragma once

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "members/enrolment.hpp"
#include "support/members_marks.hpp"
#include "support/printing.hpp"
#include "support/scripts.hpp"
#include "support/seeded_random.hpp"

namespace quorumlock::test {

using namespace std::chrono_literals;

/// max_ttl x (1 + drift) + 2 ms
inline constexpr core::Duration quarantine = 30s + 300ms + 2ms;
inline constexpr core::Duration look = 1s;

/// Drives an Enrolment with hand-made replies, and reads its commands as short sentences.
class EnrolmentDriver {
 public:
  explicit EnrolmentDriver(const redis::Enrolment::Config& config = {}, std::uint64_t seed = 1)
      : random_(seed), it(called_n1(config), random_) {
    members = founded("n1", {"n1", "n2", "n3"});
    it.follow(now, all_agree(members));
  }

 private:
  static redis::Enrolment::Config called_n1(redis::Enrolment::Config config) {
    if (config.node.empty()) config.node = "n1";
    return config;
  }
  SeededRandom random_;

 public:
  redis::Enrolment it;
  core::Time now = core::Time(1h);
  redis::Membership members;  ///< that of each record and candidate, whose texts here omit it
  std::string patience;       ///< that of the last offer, in ms
  std::string age;            ///< the least age that the last enrolment asked for, in us
  std::int64_t time = candidates_begin;  ///< the node's own
  std::string life;                      ///< the last written candidate's, in ms

  void greet(const std::optional<std::string>& record, const std::string& run_id = "run2") {
    it.greeted(now, {run_id}, texts(record));
  }
  /// Connects anew, to the same run.
  void reconnect() {
    it.disconnected();
    greet(std::nullopt);
  }
  /// The next command, a script as its name and arguments; "nothing" if there is none.
  std::string asks() {
    std::string bytes;
    if (!it.take_command(now, bytes)) return "nothing";
    std::vector<std::string> words = words_of(bytes);
    std::string said = words[0];
    if (said == "EVAL") {
      said = script_name(words[1]);
      if (said == "replace" || said == "candidate") {
        life = words.back();
        words.pop_back();
      }
      if (said == "replace") said += " " + words[3];
      words.erase(words.begin(), words.begin() + 2 + std::stoi(words[2]));
      if (said == "candidate") {
        patience = words[1];
        words.erase(words.begin() + 1);
      }
      if (said == "enrol") {
        age = words[1];
        words.erase(words.begin() + 1);
      }
    }
    for (std::size_t i = 1; i < words.size(); ++i) {
      if (words[i] == members.text()) continue;
      said += " " + (words[i].empty() ? "''" : without_marks(words[i]));
    }
    return said;
  }
  /// The candidate that the enrolment would write.
  std::string proposes() {
    const std::string said = asks();
    EXPECT_TRUE(said.starts_with("candidate run2 ")) << said;
    return said.substr(said.rfind(' ') + 1);
  }

  void hear(std::int64_t number) {
    it.on_reply(now, {redis::Reply::Type::integer, number, {}, {}});
  }
  void hear_ok() { it.on_reply(now, {redis::Reply::Type::status, 0, "OK", {}}); }
  void hear_nil() { it.on_reply(now, {redis::Reply::Type::nil, 0, {}, {}}); }
  void hear_text(std::string_view text) {
    it.on_reply(now, {redis::Reply::Type::string, 0, text, {}});
  }
  void hear_error(std::string_view text) {
    it.on_reply(now, {redis::Reply::Type::error, 0, text, {}});
  }
  /// Replies to MGET of the record and the members.
  void hear_record(std::string_view text) {
    const redis::RecordTexts own = texts(std::string(text));
    const std::string list = own.members.value_or("");
    const std::array<redis::Reply, 2> words{
        redis::Reply{redis::Reply::Type::string, 0, *own.record, {}},
        redis::Reply{redis::Reply::Type::string, 0, list, {}}};
    it.on_reply(now, {redis::Reply::Type::array, 0, {}, words});
  }
  /// Replies with 1: the record of this run, or 2: the standing candidate.
  void hear(std::int64_t what, std::string_view text) {
    const std::string marked = with_mark(std::string(text), members);
    const std::string stands = what == 2 ? as_it_stands(marked) : marked;
    const std::array<redis::Reply, 3> words{
        redis::Reply{redis::Reply::Type::integer, what, {}, {}},
        redis::Reply{redis::Reply::Type::string, 0, stands, {}},
        redis::Reply{redis::Reply::Type::integer, time, {}, {}}};
    const auto count = static_cast<std::size_t>(what + 1);
    it.on_reply(now, {redis::Reply::Type::array, 0, {}, std::span(words).first(count)});
    if (what != 1) return;
    EXPECT_EQ(asks(), "MGET quorumlock:enrolment quorumlock:members");
    hear_record(text);
  }

  /// Lets time pass, and answers what is due meanwhile: the candidate still stands.
  void wait(core::Time until, std::string_view candidate) {
    for (int turns = 0; it.deadline() <= until; ++turns) {
      ASSERT_LT(turns, 1000) << "the deadline does not move on";
      now = std::max(now, it.deadline());
      it.advance(now);
      ASSERT_TRUE(asks().starts_with("candidate "));
      hear(2, candidate);
    }
    now = until;
  }
  /// Waits from a standing candidate to the moment at which the counters are to be repaired.
  void wait_to_repair(std::string_view candidate) {
    ASSERT_NO_FATAL_FAILURE(wait(it.wait().until() - 1ns, candidate));
    now = it.deadline();
    it.advance(now);
    ASSERT_TRUE(asks().starts_with("candidate "));
    hear(2, candidate);
    ASSERT_TRUE(asks().starts_with("SET quorumlock:repairer "));
    hear_ok();
    ASSERT_TRUE(it.take_repair());
  }

 private:
  [[nodiscard]] redis::RecordTexts texts(const std::optional<std::string>& record) const {
    if (!record) return {};
    return {with_mark(*record, members), members.text()};
  }
  static std::vector<std::string> words_of(std::string_view bytes) {
    std::vector<std::string> words;
    const auto take = [&bytes] {
      const std::size_t end = bytes.find("\r\n");
      const std::size_t number = std::stoul(std::string(bytes.substr(1, end - 1)));
      bytes.remove_prefix(end + 2);
      return number;
    };
    for (std::size_t left = take(); left > 0; --left) {
      const std::size_t size = take();
      words.emplace_back(bytes.substr(0, size));
      bytes.remove_prefix(size + 2);
    }
    EXPECT_TRUE(bytes.empty()) << "more than one command";
    return words;
  }
};

}  // namespace quorumlock::test
