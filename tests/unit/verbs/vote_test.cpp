#include <gtest/gtest.h>

#include <array>
#include <span>
#include <string>
#include <vector>

#include "support/printing.hpp"
#include "verbs/dispatch.hpp"
#include "verbs/line.hpp"
#include "verbs/vote.hpp"

// The meaning of the replies to the engine's commands.
namespace quorumlock::redis {
namespace {

using namespace std::chrono_literals;
using core::CommandKind;

Reply of(Reply::Type type, std::string_view text = {}) {
  return {type, 0, text, {}};
}
Reply number(std::int64_t value) {
  return {Reply::Type::integer, value, {}, {}};
}

Vote vote_to(CommandKind kind, const Reply& reply) {
  return answer_of(kind, reply).vote;
}

TEST(Vote, ASetIsGrantedHeldOrFailed) {
  // OK is a grant and nil a refusal; any other reply to SET is a failure.
  EXPECT_EQ(vote_to(CommandKind::set, of(Reply::Type::status, "OK")), Vote::granted);
  EXPECT_EQ(vote_to(CommandKind::set, of(Reply::Type::nil)), Vote::held);
  EXPECT_EQ(vote_to(CommandKind::set, of(Reply::Type::status, "QUEUED")), Vote::failed);
  EXPECT_EQ(vote_to(CommandKind::set, of(Reply::Type::string, "OK")), Vote::failed);
  EXPECT_EQ(vote_to(CommandKind::set, number(1)), Vote::failed);
  EXPECT_EQ(vote_to(CommandKind::set, of(Reply::Type::array)), Vote::failed);
}

/// The answer to a vote script's reply: verdict, counter and the node's time.
core::Answer answer_to(CommandKind kind, std::vector<std::int64_t> numbers) {
  std::vector<Reply> words;
  for (const std::int64_t value : numbers) words.push_back(number(value));
  return answer_of(kind, {Reply::Type::array, 0, {}, words});
}

TEST(Vote, AVoteScriptRepliesWithVerdictCounterAndClock) {
  // The first number is the verdict, the others are the counter and the node's clock.
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
    EXPECT_EQ(vote(kind, 4), kind == CommandKind::renew ? Vote::timed_out : Vote::failed);
    EXPECT_EQ(vote(kind, 6), Vote::failed);
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

TEST(Vote, AnOrderedAcquisitionReportsItsPlace) {
  // A refusal reports the greatest ticket; a grant reports the next waiter.
  const core::Answer refused = answer_to(CommandKind::acquire, {0, 41, 1700, 250, 99});
  EXPECT_EQ(refused.vote, Vote::held);
  EXPECT_EQ(refused.greatest_ticket, 99U);
  const core::Answer granted = answer_to(CommandKind::acquire, {1, 41, 1700, 8});
  EXPECT_EQ(granted.vote, Vote::granted);
  EXPECT_EQ(granted.next_waiter, 8U);
  EXPECT_EQ(answer_to(CommandKind::renew, {1, 41, 1700, 8}).next_waiter, 0U);
}

TEST(Vote, ARefusalNamesTheHolder) {
  // The holder's token comes last. A semaphore's refusal has the number of a free slot there.
  std::vector<Reply> words;
  for (const std::int64_t value : {0, 41, 1700, 250, 99}) words.push_back(number(value));
  words.push_back(of(Reply::Type::string, "t0ken"));
  const core::Answer refused = answer_of(CommandKind::acquire, {Reply::Type::array, 0, {}, words});
  EXPECT_EQ(refused.vote, Vote::held);
  EXPECT_EQ(refused.greatest_ticket, 99U);
  EXPECT_EQ(refused.holder, "t0ken");
  EXPECT_EQ(refused.free_slot, 0);
  const core::Answer permit = answer_to(CommandKind::acquire, {0, 41, 1700, 250, 99, 3});
  EXPECT_EQ(permit.holder, "");
  EXPECT_EQ(permit.free_slot, 3);
  words.insert(words.begin() + 3, of(Reply::Type::string, "t0ken"));
  EXPECT_EQ(answer_of(CommandKind::acquire, {Reply::Type::array, 0, {}, words}).vote, Vote::failed);
}

TEST(Vote, EntriesHaveFiveWordsEach) {
  // Each entry has four numbers and a token; a reply with any other shape is ignored.
  std::vector<Reply> words = {
      number(0), number(1), of(Reply::Type::string),          number(250), number(99),
      number(3), number(0), of(Reply::Type::string, "t0ken"), number(-1),  number(0)};
  std::vector<core::Place> places;
  line::read_places({Reply::Type::array, 0, {}, words}, places);
  ASSERT_EQ(places.size(), 2U);
  EXPECT_EQ(places[0].before, 0);
  EXPECT_TRUE(places[0].free);
  EXPECT_EQ(places[0].due, std::chrono::milliseconds(250));
  EXPECT_EQ(places[0].greatest_ticket, 99U);
  EXPECT_EQ(places[1].before, 3);
  EXPECT_FALSE(places[1].free);
  EXPECT_EQ(places[0].holder, "");
  EXPECT_EQ(places[1].holder, "t0ken");
  words.pop_back();
  line::read_places({Reply::Type::array, 0, {}, words}, places);
  EXPECT_TRUE(places.empty());
  words.push_back(of(Reply::Type::string, "x"));
  line::read_places({Reply::Type::array, 0, {}, words}, places);
  EXPECT_TRUE(places.empty());
  EXPECT_EQ(vote_to(CommandKind::queue, of(Reply::Type::array)), Vote::granted);
  EXPECT_EQ(vote_to(CommandKind::queue, number(1)), Vote::failed);
}

TEST(Vote, AReleaseIsGrantedOrAbsent) {
  // The key is deleted, or there is no key of ours.
  EXPECT_EQ(vote_to(CommandKind::release, number(1)), Vote::granted);
  EXPECT_EQ(vote_to(CommandKind::release, number(0)), Vote::absent);
  EXPECT_EQ(vote_to(CommandKind::release, number(-1)), Vote::failed);
  EXPECT_EQ(vote_to(CommandKind::release, number(2)), Vote::failed);
  EXPECT_FALSE(answer_of(CommandKind::release, number(1)).first_in_line);
  EXPECT_FALSE(answer_of(CommandKind::release, number(1)).waited_for);
  // The line has waiters, and the one that was not woken is first in it.
  const core::Answer first = answer_to(CommandKind::release, {1, 1, 0});
  EXPECT_EQ(first.vote, Vote::granted);
  EXPECT_TRUE(first.first_in_line);
  EXPECT_TRUE(first.waited_for);
  EXPECT_EQ(first.greatest_ticket, 0U);
  // Others wait, with this greatest ticket.
  const core::Answer others = answer_to(CommandKind::release, {1, 0, 100});
  EXPECT_EQ(others.vote, Vote::granted);
  EXPECT_FALSE(others.first_in_line);
  EXPECT_TRUE(others.waited_for);
  EXPECT_EQ(others.greatest_ticket, 100U);
  EXPECT_EQ(answer_to(CommandKind::release, {1, 0}).vote, Vote::failed);
  EXPECT_EQ(answer_to(CommandKind::release, {0, 0, 100}).vote, Vote::failed);
  EXPECT_EQ(vote_to(CommandKind::release, of(Reply::Type::nil)), Vote::failed);
}

TEST(Vote, EachErrorHasItsVote) {
  // The errors of Redis 7, and their meaning for a lock.
  constexpr std::pair<std::string_view, Vote> table[] = {
      {"NOSCRIPT No matching script. Please use EVAL.", Vote::no_script},
      {"LOADING Redis is loading the dataset in memory", Vote::loading},
      {"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
       Vote::loading},
      {"BUSY Redis is busy running a script. You can only call SCRIPT KILL.", Vote::busy},
      {"READONLY You can't write against a read only replica.", Vote::refuses_writes},
      {"OOM command not allowed when used memory > 'maxmemory'.", Vote::refuses_writes},
      {"MISCONF Redis is configured to save RDB snapshots", Vote::refuses_writes},
      {"NOREPLICAS Not enough good replicas to write.", Vote::refuses_writes},
      {"NOAUTH Authentication required.", Vote::unauthorized},
      {"WRONGPASS invalid username-password pair or user is disabled.", Vote::unauthorized},
      {"NOPERM this user has no permissions to run the 'set' command", Vote::unauthorized},
      {"CLUSTERDOWN The cluster is down", Vote::not_standalone},
      {"MOVED 3999 127.0.0.1:6381", Vote::not_standalone},
      {"CROSSSLOT Keys in request don't hash to the same slot", Vote::not_standalone},
      {"WRONGTYPE Operation against a key holding the wrong kind of value", Vote::held},
      {"ERR unknown command 'SET'", Vote::refuses_writes},
      {"ERR unknown subcommand 'LOAD'", Vote::failed},
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

TEST(Vote, AnErrorInsideAScriptHasItsVoteToo) {
  // The server adds where in the script it was. A missing right has no code there.
  const auto inside = [&](std::string_view text) {
    return vote_of_error(std::string(text) + " script: 0123, on @user_script:3.");
  };
  EXPECT_EQ(inside("READONLY You can't write against a read only replica."), Vote::refuses_writes);
  EXPECT_EQ(inside("OOM command not allowed when used memory > 'maxmemory'."),
            Vote::refuses_writes);
  EXPECT_EQ(inside("WRONGTYPE Operation against a key holding the wrong kind of value"),
            Vote::held);
  EXPECT_EQ(inside("ERR The user executing the script can't access at least one of the keys "
                   "mentioned in the command arguments"),
            Vote::unauthorized);
  EXPECT_EQ(inside("ERR ACL failure in script: User u has no permissions to run the 'x' command"),
            Vote::unauthorized);
  EXPECT_EQ(inside("ERR Unknown Redis command called from script"), Vote::refuses_writes);
  EXPECT_EQ(inside("ERR something else"), Vote::failed);
}

TEST(Vote, AnotherKindOfValueIsNothingToRelease) {
  // The value under the key is not ours, so there is nothing to release.
  const Reply wrong_type = of(Reply::Type::error, "WRONGTYPE Operation against a key");
  EXPECT_EQ(vote_to(CommandKind::release, wrong_type), Vote::absent);
  EXPECT_EQ(vote_to(CommandKind::renew, wrong_type), Vote::held);
}

}  // namespace
}  // namespace quorumlock::redis
