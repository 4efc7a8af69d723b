#include "verbs/dispatch.hpp"

#include <map>
#include <string>
#include <vector>

#include "support/engine_driver.hpp"
#include "support/session_driver.hpp"
#include "verbs/acquire.hpp"
#include "verbs/renew.hpp"

// Batches: few commands acquire, renew and release many locks.
namespace quorumlock::test {
namespace {

redis::Reply number(std::int64_t value) {
  return {redis::Reply::Type::integer, value, {}, {}};
}
redis::Reply word(std::string_view text, redis::Reply::Type type = redis::Reply::Type::string) {
  return {type, 0, text, {}};
}
redis::Reply list(const std::vector<redis::Reply>& elements) {
  return {redis::Reply::Type::array, 0, {}, elements};
}
redis::Reply error(std::string_view text) {
  return word(text, redis::Reply::Type::error);
}

/// The answers that a batch's reply of these words gives to `locks` locks.
std::vector<core::Answer> read(CommandKind kind, const std::vector<redis::Reply>& words,
                               std::size_t locks) {
  redis::Reply reply;
  reply.type = redis::Reply::Type::array;
  reply.elements = words;
  redis::BatchAnswers votes;
  core::Answer said = redis::answer_of(kind, reply);
  said.asked = at(5ms);
  votes.read(kind, said, &reply, locks);
  std::vector<core::Answer> answers;
  for (std::size_t i = 0; i < locks; ++i) answers.push_back(votes.of(i));
  for (const core::Answer& answer : answers) EXPECT_EQ(answer.asked, at(5ms));
  return answers;
}

TEST(DispatchAnswers, OfAcquisitions) {
  // The reply has the node's time, then for each lock the four words of a single acquisition, or an
  // error; then the holders, since a lock was refused.
  const std::vector<redis::Reply> holders = {word(""), word("t0ken"), word(""), word("t0ken")};
  const std::vector<core::Answer> each =
      read(CommandKind::acquisitions,
           {number(1700), number(1), number(41), number(0), number(0), number(0), number(42),
            number(300), number(17), error("OOM command not allowed"), number(0), number(0),
            number(0), number(2), number(1), number(0), number(0), list(holders)},
           4);
  EXPECT_EQ(each[0].vote, Vote::granted);
  EXPECT_EQ(each[0].fence, 41U);
  EXPECT_EQ(each[0].node_time, 1700);
  EXPECT_EQ(each[1].vote, Vote::held);
  EXPECT_EQ(each[1].fence, 42U);
  EXPECT_EQ(each[1].greatest_ticket, 17U);
  EXPECT_EQ(each[1].holder, "t0ken");
  EXPECT_EQ(each[1].node_time, 0);
  EXPECT_EQ(each[2].vote, Vote::refuses_writes);
  EXPECT_EQ(each[3].vote, Vote::failed);
  EXPECT_EQ(each[3].holder, "");
  // The time alone means "not enrolled". A reply of the wrong length is a vote for no lock.
  for (const core::Answer& answer : read(CommandKind::acquisitions, {number(1700)}, 2)) {
    EXPECT_EQ(answer.vote, Vote::not_enrolled);
  }
  // All were granted, with one fence.
  for (const core::Answer& answer : read(CommandKind::acquisitions, {number(1), number(2)}, 2)) {
    EXPECT_EQ(answer.vote, Vote::granted);
    EXPECT_EQ(answer.fence, 2U);
  }
  const std::vector<redis::Reply> nobody = {word("")};
  const std::vector<redis::Reply> one = {number(1700), number(1), number(41),
                                         number(0),    number(0), list(nobody)};
  for (const core::Answer& answer : read(CommandKind::acquisitions, one, 2)) {
    EXPECT_EQ(answer.vote, Vote::failed);
  }
  EXPECT_EQ(read(CommandKind::acquisitions, one, 1).front().vote, Vote::granted);
  for (const core::Answer& answer : read(CommandKind::acquisitions, {number(1), word("")}, 1)) {
    EXPECT_EQ(answer.vote, Vote::failed);
  }
  // The reply has an answer for every lock, and one word too many.
  std::vector<redis::Reply> and_a_word = one;
  and_a_word.push_back(number(0));
  EXPECT_EQ(read(CommandKind::acquisitions, and_a_word, 1).front().vote, Vote::failed);
}

TEST(DispatchAnswers, OfReleases) {
  const std::vector<redis::Reply> words = {number(1), number(0), number(17)};
  const redis::Reply waited_for{redis::Reply::Type::array, 0, {}, words};
  const std::vector<core::Answer> each =
      read(CommandKind::releases,
           {number(1), number(0), waited_for, error("NOPERM this user"), number(2)}, 5);
  EXPECT_EQ(each[0].vote, Vote::granted);
  EXPECT_EQ(each[1].vote, Vote::absent);
  EXPECT_EQ(each[2].vote, Vote::granted);
  EXPECT_EQ(each[2].greatest_ticket, 17U);
  EXPECT_EQ(each[3].vote, Vote::unauthorized);
  EXPECT_EQ(each[4].vote, Vote::failed);
  for (const core::Answer& answer : read(CommandKind::releases, {number(1)}, 2)) {
    EXPECT_EQ(answer.vote, Vote::failed);
  }
}

TEST(DispatchAnswers, OfRenewalsAreDigits) {
  // The reply has one digit for each lock, and the node's time once; an unreadable reply votes for
  // no lock.
  redis::Reply words[2];
  words[0].type = redis::Reply::Type::integer;
  words[0].integer = 1700;
  words[1].type = redis::Reply::Type::string;
  redis::Reply reply;
  reply.type = redis::Reply::Type::array;
  reply.elements = words;
  const auto votes = [&](std::string_view digits, std::size_t renewals) {
    words[1].text = digits;
    redis::BatchAnswers read;
    read.read(CommandKind::renewals, redis::answer_of(CommandKind::renewals, reply), &reply,
              renewals);
    std::vector<core::Answer> answers;
    for (std::size_t i = 0; i < renewals; ++i) answers.push_back(read.of(i));
    return answers;
  };
  const std::vector<core::Answer> each = votes("1023456", 7);
  EXPECT_EQ(each[0].vote, Vote::granted);
  EXPECT_EQ(each[0].node_time, 1700);
  EXPECT_EQ(each[1].vote, Vote::held);
  EXPECT_EQ(each[1].node_time, 0);
  EXPECT_EQ(each[2].vote, Vote::absent);
  EXPECT_TRUE(each[2].replanted);
  EXPECT_EQ(each[3].vote, Vote::absent);
  EXPECT_FALSE(each[3].replanted);
  EXPECT_EQ(each[4].vote, Vote::timed_out);
  EXPECT_EQ(each[5].vote, Vote::refuses_writes);
  EXPECT_EQ(each[6].vote, Vote::failed);
  for (const core::Answer& answer : votes("", 2)) EXPECT_EQ(answer.vote, Vote::not_enrolled);
  for (const std::string_view wrong : {"1", "111"}) {
    for (const core::Answer& answer : votes(wrong, 2)) EXPECT_EQ(answer.vote, Vote::failed);
  }
  words[1].type = redis::Reply::Type::integer;
  for (const core::Answer& answer : votes("11", 2)) EXPECT_EQ(answer.vote, Vote::failed);
}

TEST(DispatchAnswersRenewals, AreSpread) {
  // A thousand leases won at one moment are renewed between a quarter and a third of their
  // validity, in about as many commands as that time has steps of 8 ms, only a few at each.
  EngineDriver driver(1);
  constexpr core::UserId leases = 1000;
  for (core::UserId user = 1; user <= leases; ++user) {
    driver.acquire(user, ten_seconds, 0s, "key" + std::to_string(user));
    driver.answer_all();
  }
  std::map<core::Time, int> renewals;
  driver.forget_seen();
  while (driver.engine().deadline() <= at(third)) {
    driver.pass_until(driver.engine().deadline());
    for (const Sent& sent : driver.all<Sent>()) renewals[driver.now] += sent.to.size();
    driver.forget_seen();
    driver.answer_all();
  }
  int all = 0;
  for (const auto& [when, how_many] : renewals) {
    EXPECT_GE(when, at(validity / 4 - 8ms));
    EXPECT_EQ(when.time_since_epoch() % 8ms, 0ms);
    EXPECT_LE(how_many, 20);
    all += how_many;
  }
  EXPECT_EQ(all, static_cast<int>(leases));
  EXPECT_LE(renewals.size(), 104U);
  EXPECT_GE(renewals.size(), 90U);
}

/// Three leases whose extends go out as one batch.
class DispatchAnswersRenewedTogether : public ::testing::Test {
 protected:
  void SetUp() override {
    driver.start();
    for (const std::string_view key : {"a", "b", "c"}) {
      driver.acquire(key);
      for (const int node : {0, 1, 2}) {
        driver.reply(node, "EVALSHA", "*2\r\n:1700000000000000\r\n:41\r\n");
      }
    }
    driver.pass(100ms);
    driver.extend_all();
    for (const int node : {0, 1, 2}) {
      ASSERT_EQ(driver.asked(node).size(), 1U);
      EXPECT_NE(driver.asked(node).front().find(" 3 a b c 900 1 "), std::string::npos)
          << driver.asked(node).front();
    }
  }
  static std::string reply(std::string_view votes) {
    return "*2\r\n:1700000000100000\r\n" + LinkDriver::bulk(votes);
  }
  /// The users (1 to 3) whose extend was refused; all three must have been answered.
  std::vector<core::UserId> refused() {
    EXPECT_EQ(driver.extended.size(), 3U);
    std::vector<core::UserId> users;
    for (const core::Extended& each : driver.extended) {
      if (each.why) users.push_back(each.user);
    }
    return users;
  }
  using Users = std::vector<core::UserId>;
  SessionDriver driver{3};
};

TEST_F(DispatchAnswersRenewedTogether, EachHasVotesOfItsOwn) {
  // Two nodes have lost the second lock.
  driver.reply(0, "EVALSHA", reply("101"));
  EXPECT_TRUE(driver.extended.empty());
  driver.reply(2, "EVALSHA", reply("101"));
  EXPECT_EQ(refused(), Users({2}));
  driver.reply(1, "EVALSHA", reply("111"));
  EXPECT_EQ(driver.extended.size(), 3U);
}

TEST_F(DispatchAnswersRenewedTogether, ANodeThatForgotVotesForNone) {
  driver.reply(0, "EVALSHA", reply(""));
  driver.reply(0, "MGET", "*2\r\n$-1\r\n$-1\r\n");
  driver.reply(1, "EVALSHA", reply("111"));
  EXPECT_TRUE(driver.extended.empty());
  driver.reply(2, "EVALSHA", reply("111"));
  EXPECT_EQ(refused(), Users());
  EXPECT_EQ(driver.session.link(0).state(), LinkState::quarantined);
}

TEST_F(DispatchAnswersRenewedTogether, AScriptThatIsMissingIsSentOnceForAll) {
  driver.reply(0, "EVALSHA", "-NOSCRIPT No matching script.\r\n");
  ASSERT_EQ(driver.asked(0).size(), 1U);
  driver.reply(1, "EVALSHA", reply("111"));
  driver.reply(0, "EVAL ", reply("111"));
  EXPECT_EQ(refused(), Users());
}

TEST_F(DispatchAnswersRenewedTogether, ALostConnectionAnswersForAll) {
  driver.close(0);
  driver.reply(1, "EVALSHA", reply("111"));
  EXPECT_TRUE(driver.extended.empty());
  driver.close(2);
  EXPECT_EQ(refused(), Users({1, 2, 3}));
}

TEST_F(DispatchAnswersRenewedTogether, ALateNodeIsLateForAll) {
  // Two nodes are late: no lock has a quorum. Their late answers are still understood.
  driver.reply(1, "EVALSHA", reply("111"));
  driver.pass(SessionDriver::node_timeout);
  EXPECT_EQ(refused(), Users({1, 2, 3}));
  driver.reply(0, "EVALSHA", reply("111"));
  EXPECT_EQ(driver.extended.size(), 3U);
}

}  // namespace
}  // namespace quorumlock::test
