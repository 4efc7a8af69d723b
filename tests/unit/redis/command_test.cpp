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

/// The bytes that hiredis makes of these words.
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
  // Random words, some of them empty or binary, of lengths with one to four digits; earlier bytes
  // stay in front.
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

/// The words of a vote script's call, followed by those that the node's link appends.
std::string vote_call(std::initializer_list<std::string_view> words) {
  std::vector<std::string_view> all(words);
  all.insert(all.end(), {"run1:30000,a,86400:volatile", "5"});
  return formatted(all);
}
std::string encoded_vote(const core::Send& send) {
  EXPECT_TRUE(says_enrolment(send.tag.kind));
  std::string bytes = encoded(send);
  if (send.tag.kind == CommandKind::renew) append_word(bytes, "0");
  append_word(bytes, "run1:30000,a,86400:volatile");
  append_word(bytes, "5");
  return bytes;
}

constexpr std::string_view counter = "quorumlock:fence:orders:42";
constexpr std::string_view life = "86400000";

TEST(Command, OfTheEngine) {
  // SET is what any other client would send. The scripts are called by their names; a script that
  // votes gets the keys of the lock, its counter and the enrolment.
  EXPECT_EQ(encoded(command(CommandKind::set)),
            formatted({"SET", "orders:42", "t0ken", "NX", "PX", "12345"}));
  EXPECT_EQ(encoded_vote(command(CommandKind::acquire)),
            vote_call({"EVALSHA", acquire_script.sha1, "3", "orders:42", counter,
                       "quorumlock:enrolment", "t0ken", "12345", "77", "1700000000000000", life}));
  EXPECT_EQ(encoded_vote(command(CommandKind::raise)),
            vote_call({"EVALSHA", raise_script.sha1, "3", "orders:42", counter,
                       "quorumlock:enrolment", "t0ken", "77", life}));
  EXPECT_EQ(encoded(command(CommandKind::release)),
            formatted({"EVALSHA", release_script.sha1, "1", "orders:42", "t0ken"}));
  core::Send by_token = command(CommandKind::release);
  by_token.by_token = true;
  EXPECT_EQ(encoded(by_token),
            formatted({"EVALSHA", release_token_script.sha1, "1", "orders:42", "t0ken", "30000"}));
}

TEST(Command, OfALine) {
  // A waiter is named by mode, process and number; a probe stands in no line. Without fencing there
  // is no counter, and its life is zero.
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
            vote_call({"EVALSHA", acquire_script.sha1, "3", "orders:42", counter,
                       "quorumlock:enrolment", "t0ken", "12345", "77", "1700000000000000", "0"}));
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
  // A waiter that wants to read has an `r` in its name. One script acquires to read, in the line or
  // not, and one renews; the latter also extends by token, whoever holds it.
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
                       "quorumlock:enrolment", "t0ken", "12345", "77", "1", life, "0"}));
  core::Send by_token = command(CommandKind::renew);
  by_token.by_token = true;
  EXPECT_EQ(encoded_vote(by_token),
            vote_call({"EVALSHA", renew_shared_script.sha1, "3", "orders:42", counter,
                       "quorumlock:enrolment", "t0ken", "12345", "77", "0", life, "0"}));
  core::Send release = command(CommandKind::release);
  release.process = "0123456789abcdef";
  release.waiter = 7;
  release.not_woken = 8;
  release.not_woken_reads = true;
  EXPECT_EQ(encoded(release), formatted({"EVALSHA", release_script.sha1, "1", "orders:42", "t0ken",
                                         "w0123456789abcdef.7", "r0123456789abcdef.8"}));
}

TEST(Command, OfSeveralLocks) {
  // One call has all the keys: the locks, their counters in the same order, the enrolment.
  const std::vector<std::string> others = {"stock:7", "", "cash"};
  const auto of = [&others](CommandKind kind) {
    core::Send send = command(kind);
    send.others = others;
    send.process = "0123456789abcdef";
    send.entry_life = 3s;
    return send;
  };
  const auto keys = [](std::string_view sha1) {
    return std::vector<std::string_view>{"EVALSHA",
                                         sha1,
                                         "9",
                                         "orders:42",
                                         "stock:7",
                                         "",
                                         "cash",
                                         "quorumlock:fence:orders:42",
                                         "quorumlock:fence:stock:7",
                                         "quorumlock:fence:",
                                         "quorumlock:fence:cash",
                                         "quorumlock:enrolment",
                                         "t0ken"};
  };
  const auto call = [](std::vector<std::string_view> words,
                       std::initializer_list<std::string_view> more) {
    words.insert(words.end(), more);
    words.insert(words.end(), {"run1:30000,a,86400:volatile", "5"});
    return formatted(words);
  };
  const auto sent = [](const core::Send& send) {
    std::string bytes = encoded(send);
    if (send.tag.kind == CommandKind::renew) append_word(bytes, "0");
    append_word(bytes, "run1:30000,a,86400:volatile");
    append_word(bytes, "5");
    return bytes;
  };
  core::Send acquire = of(CommandKind::acquire);
  acquire.waiter = 9;
  acquire.ticket = 1'700'000'000'000'123;
  EXPECT_EQ(sent(acquire), call(keys(acquire_all_script.sha1),
                                {"12345", "77", "1700000000000000", "86400000",
                                 "w0123456789abcdef.9", "1700000000000123", "3000", "w"}));
  acquire.waiter = 0;
  acquire.fenced = false;
  acquire.shared = true;
  EXPECT_EQ(sent(acquire),
            call(keys(acquire_all_script.sha1),
                 {"12345", "77", "1700000000000000", "0", "", "1700000000000123", "3000", "r"}));
  EXPECT_EQ(sent(of(CommandKind::raise)), call(keys(raise_all_script.sha1), {"77", "86400000"}));
  core::Send renew = of(CommandKind::renew);
  renew.replant = true;
  EXPECT_EQ(sent(renew),
            call(keys(renew_all_script.sha1), {"12345", "77", "1", "86400000", "w", "0"}));
  renew.shared = true;
  EXPECT_EQ(sent(renew),
            call(keys(renew_all_script.sha1), {"12345", "77", "1", "86400000", "r", "0"}));
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
  // A node that does not know the script is sent its source.
  EXPECT_EQ(encoded_vote(command(CommandKind::raise, true)),
            vote_call({"EVAL", raise_script.source, "3", "orders:42", counter,
                       "quorumlock:enrolment", "t0ken", "77", life}));
  EXPECT_EQ(encoded(command(CommandKind::release, true)),
            formatted({"EVAL", release_script.source, "1", "orders:42", "t0ken"}));
}

TEST(Command, NamesTheScriptsByFortyHexDigits) {
  // Every script has a name of its own.
  std::set<std::string_view> names;
  for (const Script* script :
       {&acquire_script, &acquire_ordered_script, &acquire_shared_script, &renew_shared_script,
        &acquire_permit_script, &renew_permit_script, &release_permit_script, &queue_script,
        &raise_script, &renew_script, &release_script, &release_token_script, &adopt_script,
        &candidate_script, &enrol_script, &repair_script, &replace_script}) {
    EXPECT_EQ(script->sha1.size(), 40U);
    EXPECT_EQ(script->sha1.find_first_not_of("0123456789abcdef"), script->sha1.npos);
    EXPECT_TRUE(names.insert(script->sha1).second);
  }
}

}  // namespace
}  // namespace quorumlock::redis
