#include "redis/renewals.hpp"

#include <map>
#include <string>
#include <vector>

#include "redis/command.hpp"
#include "redis/scripts.hpp"
#include "support/engine_driver.hpp"
#include "support/session_driver.hpp"

// Many leases are renewed by few commands.
namespace quorumlock::test {
namespace {

using redis::Renewals;

core::Send renewal(std::string_view key, std::string_view token, std::uint64_t fence = 7) {
  core::Send send{};
  send.to = core::NodeSet::first(3);
  send.tag.kind = CommandKind::renew;
  send.key = key;
  send.token = token;
  send.ttl = 12345ms;
  send.fence = fence;
  send.replant = true;
  return send;
}

TEST(Renewals, AreOneCommand) {
  // The enrolment and each lock as keys, what all have in common once; two words are to follow.
  Renewals renewals;
  renewals.add(renewal("orders:42", "t0ken"));
  renewals.add(renewal("", "an0ther", 1'700'000'000'000'000));
  std::string bytes = "before";
  renewals.append_to(bytes);
  EXPECT_EQ(bytes, "before*15\r\n$7\r\nEVALSHA\r\n$40\r\n" + std::string(redis::renew_script.sha1) +
                       "\r\n$1\r\n3\r\n$20\r\nquorumlock:enrolment\r\n$9\r\norders:42\r\n$0\r\n\r\n"
                       "$5\r\n12345\r\n$1\r\n1\r\n$10\r\n2592000000\r\n$5\r\nt0ken\r\n$1\r\n7\r\n"
                       "$7\r\nan0ther\r\n$16\r\n1700000000000000\r\n");
  renewals.clear();
  EXPECT_TRUE(renewals.empty());
  core::Send whole = renewal("key", "t0ken");
  whole.tag.with_source = true;
  renewals.add(whole);
  bytes.clear();
  renewals.append_to(bytes);
  EXPECT_TRUE(bytes.starts_with("*12\r\n$4\r\nEVAL\r\n")) << bytes;
  EXPECT_NE(bytes.find(redis::renew_script.source), bytes.npos);
}

TEST(Renewals, GoTogetherWhereNothingElseDiffers) {
  // To the same nodes, with the same ttl, up to a hundred; plain ones, by their holder.
  const core::Send one = renewal("a", "t");
  Renewals renewals;
  EXPECT_TRUE(renewals.takes(one));
  renewals.add(one);
  EXPECT_TRUE(renewals.takes(renewal("b", "u", 8)));
  std::vector<core::Send> others(4, one);
  others[0].to.remove(2);
  others[1].ttl += 1ms;
  others[2].replant = false;
  others[3].tag.with_source = true;
  for (const core::Send& other : others) EXPECT_FALSE(renewals.takes(other));
  while (renewals.tags().size() < Renewals::most) {
    ASSERT_TRUE(renewals.takes(one));
    renewals.add(one);
  }
  EXPECT_FALSE(renewals.takes(one));

  EXPECT_TRUE(Renewals::can_be(one));
  const std::vector<std::string> more = {"c"};
  std::vector<core::Send> never(5, one);
  never[0].tag.kind = CommandKind::release;
  never[1].others = more;
  never[2].capacity = 3;
  never[3].shared = true;
  never[4].by_token = true;
  for (const core::Send& other : never) EXPECT_FALSE(Renewals::can_be(other));
}

TEST(Renewals, VotesAreDigits) {
  // One for each lock, whose clock is read once; what is not understood is no vote for anybody.
  redis::Reply words[2];
  words[0].type = redis::Reply::Type::integer;
  words[0].integer = 1700;
  words[1].type = redis::Reply::Type::string;
  redis::Reply reply;
  reply.type = redis::Reply::Type::array;
  reply.elements = words;
  const auto votes = [&](std::string_view digits, std::size_t renewals) {
    words[1].text = digits;
    redis::RenewalVotes read;
    read.read(redis::answer_of(CommandKind::renewals, reply), &reply, renewals);
    std::vector<core::Answer> answers;
    for (std::size_t i = 0; i < renewals; ++i) answers.push_back(read.of(i));
    return answers;
  };
  const std::vector<core::Answer> each = votes("102345", 6);
  EXPECT_EQ(each[0].vote, Vote::granted);
  EXPECT_EQ(each[0].node_time, 1700);
  EXPECT_EQ(each[1].vote, Vote::held);
  EXPECT_EQ(each[1].node_time, 0);
  EXPECT_EQ(each[2].vote, Vote::absent);
  EXPECT_TRUE(each[2].replanted);
  EXPECT_EQ(each[3].vote, Vote::absent);
  EXPECT_FALSE(each[3].replanted);
  EXPECT_EQ(each[4].vote, Vote::out_of_memory);
  EXPECT_EQ(each[5].vote, Vote::failed);
  for (const core::Answer& answer : votes("", 2)) EXPECT_EQ(answer.vote, Vote::not_enrolled);
  for (const std::string_view wrong : {"1", "111"}) {
    for (const core::Answer& answer : votes(wrong, 2)) EXPECT_EQ(answer.vote, Vote::failed);
  }
  words[1].type = redis::Reply::Type::integer;
  for (const core::Answer& answer : votes("11", 2)) EXPECT_EQ(answer.vote, Vote::failed);
}

TEST(Renewals, AreSpread) {
  // A thousand leases of one moment are renewed between a quarter and a third of their validity, in
  // about as many commands as there are 8 ms in that time: each moment has its few.
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

/// Three leases that are extended in one go.
class RenewedTogether : public ::testing::Test {
 protected:
  void SetUp() override {
    driver.start();
    for (const std::string_view key : {"a", "b", "c"}) {
      driver.acquire(key);
      for (const int node : {0, 1, 2}) {
        driver.reply(node, "EVALSHA", "*3\r\n:1\r\n:41\r\n:1700000000000000\r\n");
      }
    }
    driver.pass(100ms);
    driver.extend_all();
    for (const int node : {0, 1, 2}) {
      ASSERT_EQ(driver.asked(node).size(), 1U);
      EXPECT_NE(driver.asked(node).front().find(" 4 quorumlock:enrolment a b c 900 1 "),
                std::string::npos)
          << driver.asked(node).front();
    }
  }
  static std::string reply(std::string_view votes) {
    return "*2\r\n:1700000000100000\r\n" + LinkDriver::bulk(votes);
  }
  /// Whom an extend was refused, of users 1 to 3; all must have been answered.
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

TEST_F(RenewedTogether, EachHasVotesOfItsOwn) {
  // The second has been lost on two nodes.
  driver.reply(0, "EVALSHA", reply("101"));
  EXPECT_TRUE(driver.extended.empty());
  driver.reply(2, "EVALSHA", reply("101"));
  EXPECT_EQ(refused(), Users({2}));
  driver.reply(1, "EVALSHA", reply("111"));
  EXPECT_EQ(driver.extended.size(), 3U);
}

TEST_F(RenewedTogether, ANodeThatForgotVotesForNone) {
  driver.reply(0, "EVALSHA", reply(""));
  driver.reply(1, "EVALSHA", reply("111"));
  EXPECT_TRUE(driver.extended.empty());
  driver.reply(2, "EVALSHA", reply("111"));
  EXPECT_EQ(refused(), Users());
  EXPECT_EQ(driver.session.link(0).state(), LinkState::quarantined);
}

TEST_F(RenewedTogether, AScriptThatIsMissingIsSentOnceForAll) {
  driver.reply(0, "EVALSHA", "-NOSCRIPT No matching script.\r\n");
  ASSERT_EQ(driver.asked(0).size(), 1U);
  driver.reply(1, "EVALSHA", reply("111"));
  driver.reply(0, "EVAL ", reply("111"));
  EXPECT_EQ(refused(), Users());
}

TEST_F(RenewedTogether, ALostConnectionAnswersForAll) {
  driver.close(0);
  driver.reply(1, "EVALSHA", reply("111"));
  EXPECT_TRUE(driver.extended.empty());
  driver.close(2);
  EXPECT_EQ(refused(), Users({1, 2, 3}));
}

TEST_F(RenewedTogether, ALateNodeIsLateForAll) {
  // Two are late: no quorum for any of them. What they answer afterwards is understood still.
  driver.reply(1, "EVALSHA", reply("111"));
  driver.pass(SessionDriver::node_timeout);
  EXPECT_EQ(refused(), Users({1, 2, 3}));
  driver.reply(0, "EVALSHA", reply("111"));
  EXPECT_EQ(driver.extended.size(), 3U);
}

}  // namespace
}  // namespace quorumlock::test
