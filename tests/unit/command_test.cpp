#include "redis/command.hpp"

#include <gtest/gtest.h>
#include <hiredis/hiredis.h>

#include <array>
#include <set>
#include <span>

#include "redis/scripts.hpp"
#include "support/printing.hpp"
#include "support/seeded_random.hpp"

namespace quorumlock::redis {
namespace {

using namespace std::chrono_literals;
using core::CommandKind;

/// What hiredis makes of these words.
std::string formatted(std::span<const std::string_view> words) {
  std::vector<const char*> pointers;
  std::vector<std::size_t> sizes;
  for (const std::string_view word : words) {
    pointers.push_back(word.data());
    sizes.push_back(word.size());
  }
  char* bytes = nullptr;
  const int size =
      redisFormatCommandArgv(&bytes, static_cast<int>(words.size()), pointers.data(), sizes.data());
  EXPECT_GE(size, 0);
  std::string text(bytes, static_cast<std::size_t>(size));
  redisFreeCommand(bytes);
  return text;
}

std::string formatted(std::initializer_list<std::string_view> words) {
  return formatted(std::span(words.begin(), words.size()));
}

std::string encoded(const core::Send& send) {
  std::string bytes;
  append_command(bytes, send, {1'700'000'000'000'000, 30s});
  return bytes;
}

core::Send command(CommandKind kind, bool with_source = false) {
  return {core::NodeSet::only(0), {{}, 1, kind, with_source}, "orders:42", "t0ken", 12345ms, 77};
}

TEST(Command, IsWhatHiredisFormats) {
  // Random words, empty and binary ones among them, of all lengths that have another number of
  // digits; what was there before stays in front.
  test::SeededRandom random(17);
  for (int run = 0; run < 500; ++run) {
    std::array<std::string, 4> words;
    for (std::string& word : words) {
      const int longest = std::array{0, 1, 9, 10, 99, 100, 5000}[random.index(7)];
      word.resize(static_cast<std::size_t>(random.between(0, longest)));
      random.fill(std::as_writable_bytes(std::span(word)));
    }
    std::string bytes = "before";
    append_command(bytes, {words[0], words[1], words[2], words[3]});
    ASSERT_EQ(bytes, "before" + formatted({words[0], words[1], words[2], words[3]}));
    bytes.clear();
    append_command(bytes, {words[0]});
    ASSERT_EQ(bytes, formatted({words[0]}));
  }
}

/// The words of a vote script's call, up to those that the node's link puts behind.
std::string vote_call(std::initializer_list<std::string_view> words) {
  std::vector<std::string_view> all(words);
  all.insert(all.end(), {"run1:30000:volatile", "5"});
  return formatted(all);
}
std::string encoded_vote(const core::Send& send) {
  EXPECT_TRUE(says_enrolment(send.tag.kind));
  std::string bytes = encoded(send);
  append_word(bytes, "run1:30000:volatile");
  append_word(bytes, "5");
  return bytes;
}

constexpr std::string_view counter = "quorumlock:fence:orders:42";
constexpr std::string_view life = "2592000000";

TEST(Command, OfTheEngine) {
  // SET as any other client would, the scripts by their names, with the lock's key, its counter's
  // and the enrolment's where they vote.
  EXPECT_EQ(encoded(command(CommandKind::set)),
            formatted({"SET", "orders:42", "t0ken", "NX", "PX", "12345"}));
  EXPECT_EQ(encoded_vote(command(CommandKind::acquire)),
            vote_call({"EVALSHA", acquire_script.sha1, "3", "orders:42", counter,
                       "quorumlock:enrolment", "t0ken", "12345", "77", "1700000000000000", life}));
  EXPECT_EQ(encoded_vote(command(CommandKind::raise)),
            vote_call({"EVALSHA", raise_script.sha1, "3", "orders:42", counter,
                       "quorumlock:enrolment", "t0ken", "77", life}));
  core::Send renewal = command(CommandKind::renew);
  EXPECT_EQ(encoded_vote(renewal),
            vote_call({"EVALSHA", renew_script.sha1, "3", "orders:42", counter,
                       "quorumlock:enrolment", "t0ken", "12345", "77", "0", life}));
  renewal.replant = true;
  EXPECT_EQ(encoded_vote(renewal),
            vote_call({"EVALSHA", renew_script.sha1, "3", "orders:42", counter,
                       "quorumlock:enrolment", "t0ken", "12345", "77", "1", life}));
  EXPECT_EQ(encoded(command(CommandKind::release)),
            formatted({"EVALSHA", release_script.sha1, "1", "orders:42", "t0ken"}));
  core::Send by_token = command(CommandKind::release);
  by_token.by_token = true;
  EXPECT_EQ(encoded(by_token), formatted({"EVALSHA", release_token_script.sha1, "1", "orders:42",
                                          "t0ken", "30000"}));
}

TEST(Command, OfALine) {
  // Waiters are named by mode, process and number; a probe has none, and without fencing there is
  // no counter, whose life is then zero.
  core::Send attempt = command(CommandKind::acquire);
  attempt.ordered = true;
  attempt.process = "0123456789abcdef";
  attempt.waiter = 7;
  attempt.ticket = 1'700'000'000'000'001;
  attempt.entry_life = std::chrono::seconds(3);
  EXPECT_EQ(encoded_vote(attempt),
            vote_call({"EVALSHA", acquire_ordered_script.sha1, "3", "orders:42", counter,
                       "quorumlock:enrolment", "t0ken", "12345", "77", "1700000000000000", life,
                       "w0123456789abcdef.7", "1700000000000001", "3000"}));
  attempt.waiter = attempt.ticket = 0;
  attempt.fenced = false;
  EXPECT_EQ(encoded_vote(attempt),
            vote_call({"EVALSHA", acquire_ordered_script.sha1, "3", "orders:42", counter,
                       "quorumlock:enrolment", "t0ken", "12345", "77", "1700000000000000", "0", "",
                       "0", "3000"}));
  core::Send release = command(CommandKind::release);
  release.process = "0123456789abcdef";
  release.not_woken = 8;
  EXPECT_EQ(encoded(release), formatted({"EVALSHA", release_script.sha1, "1", "orders:42", "t0ken",
                                         "", "w0123456789abcdef.8"}));
  release.waiter = 7;
  release.not_woken = 0;
  EXPECT_EQ(encoded(release), formatted({"EVALSHA", release_script.sha1, "1", "orders:42", "t0ken",
                                         "w0123456789abcdef.7", ""}));
  std::string bytes;
  append_command(bytes, core::SendEntries{core::NodeSet::first(3),
                                          {},
                                          "0123456789abcdef",
                                          {{"a", 7, 100}, {"b", 8, 101}},
                                          std::chrono::seconds(3)});
  EXPECT_EQ(bytes, formatted({"EVALSHA", queue_script.sha1, "2", "a", "b", "3000",
                              "w0123456789abcdef.7", "100", "w0123456789abcdef.8", "101"}));
}

TEST(Command, OfReaders) {
  // Who waits to read is named so; there is one script to read, in the line or not, and one to renew,
  // which also extends by token, whoever holds it.
  core::Send attempt = command(CommandKind::acquire);
  attempt.shared = true;
  attempt.process = "0123456789abcdef";
  attempt.waiter = 7;
  attempt.ticket = 11;
  attempt.entry_life = std::chrono::seconds(3);
  EXPECT_EQ(encoded_vote(attempt),
            vote_call({"EVALSHA", acquire_shared_script.sha1, "3", "orders:42", counter,
                       "quorumlock:enrolment", "t0ken", "12345", "77", "1700000000000000", life,
                       "r0123456789abcdef.7", "11", "3000"}));
  core::Send renewal = command(CommandKind::renew);
  renewal.shared = renewal.replant = true;
  EXPECT_EQ(encoded_vote(renewal),
            vote_call({"EVALSHA", renew_shared_script.sha1, "3", "orders:42", counter,
                       "quorumlock:enrolment", "t0ken", "12345", "77", "1", life}));
  core::Send by_token = command(CommandKind::renew);
  by_token.by_token = true;
  EXPECT_EQ(encoded_vote(by_token),
            vote_call({"EVALSHA", renew_shared_script.sha1, "3", "orders:42", counter,
                       "quorumlock:enrolment", "t0ken", "12345", "77", "0", life}));
  core::Send release = command(CommandKind::release);
  release.process = "0123456789abcdef";
  release.waiter = 7;
  release.not_woken = 8;
  release.not_woken_reads = true;
  EXPECT_EQ(encoded(release), formatted({"EVALSHA", release_script.sha1, "1", "orders:42", "t0ken",
                                         "w0123456789abcdef.7", "r0123456789abcdef.8"}));
}

TEST(Command, OfSeveralLocks) {
  // All keys in one call: the locks, their counters in the same order, the enrolment.
  const std::vector<std::string> others = {"stock:7", "", "cash"};
  const auto of = [&others](CommandKind kind) {
    core::Send send = command(kind);
    send.others = others;
    send.process = "0123456789abcdef";
    send.entry_life = 3s;
    return send;
  };
  const auto keys = [](std::string_view sha1) {
    return std::vector<std::string_view>{"EVALSHA", sha1, "9", "orders:42", "stock:7", "", "cash",
                                         "quorumlock:fence:orders:42", "quorumlock:fence:stock:7",
                                         "quorumlock:fence:", "quorumlock:fence:cash",
                                         "quorumlock:enrolment", "t0ken"};
  };
  const auto call = [](std::vector<std::string_view> words,
                       std::initializer_list<std::string_view> more) {
    words.insert(words.end(), more);
    words.insert(words.end(), {"run1:30000:volatile", "5"});
    return formatted(words);
  };
  const auto sent = [](const core::Send& send) {
    std::string bytes = encoded(send);
    append_word(bytes, "run1:30000:volatile");
    append_word(bytes, "5");
    return bytes;
  };
  core::Send acquire = of(CommandKind::acquire);
  acquire.waiter = 9;
  acquire.ticket = 1'700'000'000'000'123;
  EXPECT_EQ(sent(acquire), call(keys(acquire_all_script.sha1),
                                {"12345", "77", "1700000000000000", "2592000000",
                                 "w0123456789abcdef.9", "1700000000000123", "3000"}));
  acquire.waiter = 0;
  acquire.fenced = false;
  EXPECT_EQ(sent(acquire), call(keys(acquire_all_script.sha1),
                                {"12345", "77", "1700000000000000", "0", "", "1700000000000123",
                                 "3000"}));
  EXPECT_EQ(sent(of(CommandKind::raise)), call(keys(raise_all_script.sha1), {"77", "2592000000"}));
  core::Send renew = of(CommandKind::renew);
  renew.replant = true;
  EXPECT_EQ(sent(renew),
            call(keys(renew_all_script.sha1), {"12345", "77", "1", "2592000000"}));
  core::Send release = of(CommandKind::release);
  EXPECT_EQ(encoded(release), formatted({"EVALSHA", release_all_script.sha1, "4", "orders:42",
                                         "stock:7", "", "cash", "t0ken"}));
  release.waiter = 9;
  EXPECT_EQ(encoded(release),
            formatted({"EVALSHA", release_all_script.sha1, "4", "orders:42", "stock:7", "", "cash",
                       "t0ken", "w0123456789abcdef.9", ""}));
  release.tag.with_source = true;
  EXPECT_EQ(encoded(release).find("*10\r\n$4\r\nEVAL\r\n"), 0U);
}

TEST(Command, WithItsSource) {
  // Where the node does not know the script it is sent whole.
  EXPECT_EQ(encoded_vote(command(CommandKind::renew, true)),
            vote_call({"EVAL", renew_script.source, "3", "orders:42", counter,
                       "quorumlock:enrolment", "t0ken", "12345", "77", "0", life}));
  EXPECT_EQ(encoded(command(CommandKind::release, true)),
            formatted({"EVAL", release_script.source, "1", "orders:42", "t0ken"}));
}

TEST(Command, NamesTheScriptsByFortyHexDigits) {
  // Each another.
  std::set<std::string_view> names;
  for (const Script* script :
       {&acquire_script, &acquire_ordered_script, &acquire_shared_script, &renew_shared_script,
        &queue_script, &raise_script, &renew_script,
        &release_script, &release_token_script, &adopt_script, &candidate_script, &enrol_script,
        &repair_script, &replace_script}) {
    EXPECT_EQ(script->sha1.size(), 40U);
    EXPECT_EQ(script->sha1.find_first_not_of("0123456789abcdef"), script->sha1.npos);
    EXPECT_TRUE(names.insert(script->sha1).second);
  }
}

Reply of(Reply::Type type, std::string_view text = {}) {
  return {type, 0, text, {}};
}
Reply number(std::int64_t value) {
  return {Reply::Type::integer, value, {}, {}};
}

Vote vote_to(CommandKind kind, const Reply& reply) {
  return answer_of(kind, reply).vote;
}

TEST(Vote, OnASet) {
  // OK is a grant and nil a refusal; anything else is no answer that Redis gives.
  EXPECT_EQ(vote_to(CommandKind::set, of(Reply::Type::status, "OK")), Vote::granted);
  EXPECT_EQ(vote_to(CommandKind::set, of(Reply::Type::nil)), Vote::held);
  EXPECT_EQ(vote_to(CommandKind::set, of(Reply::Type::status, "QUEUED")), Vote::failed);
  EXPECT_EQ(vote_to(CommandKind::set, of(Reply::Type::string, "OK")), Vote::failed);
  EXPECT_EQ(vote_to(CommandKind::set, number(1)), Vote::failed);
  EXPECT_EQ(vote_to(CommandKind::set, of(Reply::Type::array)), Vote::failed);
}

/// Of a vote script: what, counter and the node's time.
core::Answer answer_to(CommandKind kind, std::vector<std::int64_t> numbers) {
  std::vector<Reply> words;
  for (const std::int64_t value : numbers) words.push_back(number(value));
  return answer_of(kind, {Reply::Type::array, 0, {}, words});
}

TEST(Vote, OfAVoteScript) {
  // The first number says what, the others the counter and the node's clock.
  const auto vote = [](CommandKind kind, std::int64_t what) {
    return answer_to(kind, {what, 41, 1700}).vote;
  };
  EXPECT_EQ(vote(CommandKind::acquire, 1), Vote::granted);
  EXPECT_EQ(vote(CommandKind::raise, 1), Vote::granted);
  EXPECT_EQ(vote(CommandKind::renew, 1), Vote::granted);
  EXPECT_EQ(vote(CommandKind::renew, 2), Vote::absent);
  EXPECT_FALSE(answer_to(CommandKind::renew, {1, 41, 1700}).replanted);
  EXPECT_TRUE(answer_to(CommandKind::renew, {2, 41, 1700}).replanted);
  EXPECT_EQ(vote(CommandKind::renew, 3), Vote::absent);
  EXPECT_EQ(vote(CommandKind::raise, 3), Vote::absent);
  for (const auto kind : {CommandKind::acquire, CommandKind::raise, CommandKind::renew}) {
    EXPECT_EQ(vote(kind, 0), Vote::held);
    EXPECT_EQ(vote(kind, -1), Vote::not_enrolled);
    EXPECT_EQ(vote(kind, 4), Vote::failed);
    EXPECT_EQ(answer_to(kind, {1, 41, 1700}).fence, 41U);
    EXPECT_EQ(answer_to(kind, {1, 41, 1700}).node_time, 1700);
    EXPECT_EQ(answer_to(kind, {1, 41}).vote, Vote::failed);
    EXPECT_EQ(answer_to(kind, {1, -41, 1700}).vote, Vote::failed);
    EXPECT_EQ(answer_of(kind, number(1)).vote, Vote::failed);
    EXPECT_EQ(answer_of(kind, of(Reply::Type::nil)).vote, Vote::failed);
  }
  EXPECT_EQ(vote(CommandKind::acquire, 2), Vote::failed);
  EXPECT_EQ(vote(CommandKind::acquire, 3), Vote::failed);
  EXPECT_EQ(vote(CommandKind::raise, 2), Vote::failed);
  EXPECT_EQ(answer_to(CommandKind::acquire, {0, 41, 1700, 12000}).vote, Vote::held);
}

TEST(Vote, OfAnOrderedAcquisition) {
  // A refusal tells when that may change and the greatest ticket, a grant who is next.
  const core::Answer refused = answer_to(CommandKind::acquire, {0, 41, 1700, 250, 99});
  EXPECT_EQ(refused.vote, Vote::held);
  EXPECT_EQ(refused.due, std::chrono::milliseconds(250));
  EXPECT_EQ(refused.greatest_ticket, 99U);
  EXPECT_LE(answer_to(CommandKind::acquire, {0, 41, 1700, -2, 0}).due, core::Duration::zero());
  const core::Answer granted = answer_to(CommandKind::acquire, {1, 41, 1700, 8});
  EXPECT_EQ(granted.vote, Vote::granted);
  EXPECT_EQ(granted.next_waiter, 8U);
  EXPECT_EQ(answer_to(CommandKind::renew, {1, 41, 1700, 8}).next_waiter, 0U);
}

TEST(Vote, OfEntries) {
  // Four numbers for each, or nothing is believed.
  std::vector<Reply> words;
  for (const std::int64_t value : {0, 1, 250, 99, 3, 0, -1, 0}) words.push_back(number(value));
  std::vector<core::Place> places;
  places_of({Reply::Type::array, 0, {}, words}, places);
  ASSERT_EQ(places.size(), 2U);
  EXPECT_EQ(places[0].before, 0);
  EXPECT_TRUE(places[0].free);
  EXPECT_EQ(places[0].due, std::chrono::milliseconds(250));
  EXPECT_EQ(places[0].greatest_ticket, 99U);
  EXPECT_EQ(places[1].before, 3);
  EXPECT_FALSE(places[1].free);
  words.pop_back();
  places_of({Reply::Type::array, 0, {}, words}, places);
  EXPECT_TRUE(places.empty());
  words.push_back(of(Reply::Type::string, "x"));
  places_of({Reply::Type::array, 0, {}, words}, places);
  EXPECT_TRUE(places.empty());
  EXPECT_EQ(vote_to(CommandKind::queue, of(Reply::Type::array)), Vote::granted);
  EXPECT_EQ(vote_to(CommandKind::queue, number(1)), Vote::failed);
}

TEST(Vote, OnARelease) {
  // Deleted, or nothing of ours there.
  EXPECT_EQ(vote_to(CommandKind::release, number(1)), Vote::granted);
  EXPECT_EQ(vote_to(CommandKind::release, number(0)), Vote::absent);
  EXPECT_EQ(vote_to(CommandKind::release, number(-1)), Vote::failed);
  // Deleted, and who was not woken is first in the line.
  EXPECT_FALSE(answer_of(CommandKind::release, number(1)).first_in_line);
  EXPECT_EQ(vote_to(CommandKind::release, number(2)), Vote::granted);
  EXPECT_TRUE(answer_of(CommandKind::release, number(2)).first_in_line);
  // Deleted, and somebody else is; the rest is the greatest ticket.
  EXPECT_EQ(vote_to(CommandKind::release, number(3)), Vote::granted);
  EXPECT_FALSE(answer_of(CommandKind::release, number(3)).first_in_line);
  EXPECT_TRUE(answer_of(CommandKind::release, number(103)).waited_for);
  EXPECT_EQ(answer_of(CommandKind::release, number(103)).greatest_ticket, 100U);
  EXPECT_FALSE(answer_of(CommandKind::release, number(1)).waited_for);
  EXPECT_EQ(vote_to(CommandKind::release, of(Reply::Type::nil)), Vote::failed);
}

TEST(Vote, OnEachError) {
  // What Redis 7 says, and what it means for a lock.
  constexpr std::pair<std::string_view, Vote> table[] = {
      {"NOSCRIPT No matching script. Please use EVAL.", Vote::no_script},
      {"LOADING Redis is loading the dataset in memory", Vote::loading},
      {"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
       Vote::loading},
      {"BUSY Redis is busy running a script. You can only call SCRIPT KILL.", Vote::busy},
      {"READONLY You can't write against a read only replica.", Vote::read_only},
      {"OOM command not allowed when used memory > 'maxmemory'.", Vote::out_of_memory},
      {"MISCONF Redis is configured to save RDB snapshots", Vote::not_writable},
      {"NOREPLICAS Not enough good replicas to write.", Vote::not_writable},
      {"NOAUTH Authentication required.", Vote::unauthorized},
      {"WRONGPASS invalid username-password pair or user is disabled.", Vote::unauthorized},
      {"NOPERM this user has no permissions to run the 'set' command", Vote::unauthorized},
      {"CLUSTERDOWN The cluster is down", Vote::not_standalone},
      {"MOVED 3999 127.0.0.1:6381", Vote::not_standalone},
      {"CROSSSLOT Keys in request don't hash to the same slot", Vote::not_standalone},
      {"WRONGTYPE Operation against a key holding the wrong kind of value", Vote::held},
      {"ERR unknown command 'SET'", Vote::failed},
      {"ERR max number of clients reached", Vote::failed},
      {"EXECABORT Transaction discarded because of previous errors.", Vote::failed},
      {"BUSYGROUP Consumer Group name already exists", Vote::failed},
      {"", Vote::failed},
  };
  for (const auto& [text, vote] : table) {
    EXPECT_EQ(vote_of_error(text), vote) << text;
    EXPECT_EQ(vote_to(CommandKind::set, of(Reply::Type::error, text)), vote) << text;
    EXPECT_EQ(vote_to(CommandKind::renew, of(Reply::Type::error, text)), vote) << text;
  }
}

TEST(Vote, OnAnErrorInsideAScript) {
  // Redis 6 puts its own words around what a call in a script was answered.
  constexpr std::string_view around = "ERR Error running script (call to f_0123): @user_script:3: ";
  const auto inside = [&](std::string_view text) {
    return vote_of_error(std::string(around) + std::string(text));
  };
  EXPECT_EQ(inside("-READONLY You can't write against a read only replica."), Vote::read_only);
  EXPECT_EQ(inside("-OOM command not allowed when used memory > 'maxmemory'."),
            Vote::out_of_memory);
  EXPECT_EQ(inside("WRONGTYPE Operation against a key holding the wrong kind of value"),
            Vote::held);
  EXPECT_EQ(inside("The user executing the script has no permissions to run this command"),
            Vote::unauthorized);
  EXPECT_EQ(inside("something else"), Vote::failed);
}

TEST(Vote, AnotherKindOfValueIsNothingToRelease) {
  // Whatever lies under the key, it is not ours: done.
  const Reply wrong_type = of(Reply::Type::error, "WRONGTYPE Operation against a key");
  EXPECT_EQ(vote_to(CommandKind::release, wrong_type), Vote::absent);
  EXPECT_EQ(vote_to(CommandKind::renew, wrong_type), Vote::held);
}

}  // namespace
}  // namespace quorumlock::redis
