#include "support/session_driver.hpp"

// A session by itself: commands from the engine to the links, and answers back.
namespace quorumlock::test {
namespace {

using Strings = std::vector<std::string>;

const std::string not_enrolled = "*1\r\n:1700000000000000\r\n";
const std::string granted_vote = "*2\r\n:1700000000000000\r\n:41\r\n";
/// How long counters live, and for how long an absent one has not been written: a day.
const std::string memory = " 86400000 86400000";

TEST(Session, AVoteCarriesTheWallClockAndTheNodesEnrolment) {
  // All nodes get the same words, including the client's wall clock, followed by each node's own
  // record, its floor and how long its counters live.
  SessionDriver driver(3);
  driver.servers[1].enrolment = SessionDriver::record(1) + ":1700:42";
  driver.start();
  driver.acquire();
  for (const int node : {0, 1, 2}) {
    ASSERT_EQ(driver.asked(node).size(), 1U);
    const std::string& command = driver.asked(node).front();
    EXPECT_TRUE(command.starts_with("EVALSHA ")) << command;
    EXPECT_NE(command.find(" 0 900 1700000000000000 1 0 key "), std::string::npos) << command;
    const std::string own = SessionDriver::record(node) + (node == 1 ? ":1700:42 1700" : " 0");
    EXPECT_TRUE(command.ends_with(" " + own + memory)) << command;
  }
  driver.reply(0, "EVALSHA", granted_vote);
  driver.reply(2, "EVALSHA", granted_vote);
  EXPECT_EQ(driver.acquired, 1);
}

TEST(Session, AServerNamedTwiceHasOneVote) {
  // n1 and n2 are one server. The second link to it is barred, with a sentence that names the
  // first: it is not asked for votes, and the other two decide.
  SessionDriver driver(3);
  driver.servers[1] = driver.servers[0];
  driver.start();
  EXPECT_EQ(driver.session.link(0).state(), LinkState::up);
  EXPECT_EQ(driver.session.link(1).state(), LinkState::quarantined);
  EXPECT_EQ(driver.session.link(1).reason(), Vote::same_server);
  EXPECT_EQ(driver.session.link(1).trouble(driver.now),
            "is the same server as redis://n1:6379: name each server once");
  driver.acquire();
  EXPECT_TRUE(driver.asked(1).empty());
  driver.reply(0, "EVALSHA", granted_vote);
  EXPECT_EQ(driver.acquired, 0);
  driver.reply(2, "EVALSHA", granted_vote);
  EXPECT_EQ(driver.acquired, 1);
}

TEST(Session, TwoAddressesOfOneServerAreNotAQuorum) {
  // With n3 away there is one server, which is no quorum. With n3 back there would be one, so the
  // refusal does not blame the options, but the vote names the fault.
  SessionDriver driver(3);
  driver.servers[1] = driver.servers[0];
  driver.away[2] = true;
  driver.start();
  driver.acquire();
  EXPECT_EQ(driver.acquired, 0);
  driver.reply(0, "EVALSHA", granted_vote);
  EXPECT_EQ(driver.acquired, 0);
  ASSERT_EQ(driver.refused.size(), 1U);
  EXPECT_EQ(driver.refused[0].why, Errc::no_quorum);
  EXPECT_EQ(driver.refused[0].tally.vote(1), Vote::same_server);
}

TEST(Session, AServerThatMovedIsJudgedAgain) {
  // n2's name pointed at n1's server. It is corrected and the connection made again: n2 votes.
  SessionDriver driver(3);
  const SessionDriver::Server right = driver.servers[1];
  driver.servers[1] = driver.servers[0];
  driver.start();
  driver.servers[1] = right;
  driver.close(1);
  driver.away[1] = false;
  driver.pass(1s);
  EXPECT_EQ(driver.session.link(1).state(), LinkState::up);
}

TEST(Session, ServersWithoutARunIdAreNotTakenForOne) {
  // Servers without a run id do not vote, but because of that, and not as one server.
  SessionDriver driver(3);
  for (const std::size_t node : {0U, 1U}) driver.servers[node].run_id = "";
  driver.start();
  EXPECT_EQ(driver.session.link(1).reason(), Vote::unauthorized);
}

TEST(Session, ANodeThatForgotCastsNoVote) {
  // n1 and n2 answer "not enrolled": there is no quorum with n3 either, and both are looked at.
  SessionDriver driver(3);
  driver.start();
  driver.acquire();
  for (const int node : {0, 1}) {
    driver.reply(node, "EVALSHA", not_enrolled);
    driver.reply(node, "MGET", "*2\r\n$-1\r\n$-1\r\n");
    EXPECT_EQ(driver.session.link(node).state(), LinkState::quarantined);
  }
  driver.reply(2, "EVALSHA", granted_vote);
  EXPECT_EQ(driver.acquired, 0);
  ASSERT_EQ(driver.refused.size(), 1U);
  EXPECT_EQ(driver.refused[0].tally.vote(0), Vote::quarantined);
}

TEST(Session, AVoteIsAskedForAgainIfTheNodesRecordHasChanged) {
  // A change of the list was announced on all nodes. The acquisition goes on in the same round, and
  // asks each node again, also one whose record changes once more.
  SessionDriver driver(3);
  driver.start();
  driver.acquire();
  for (const int node : {0, 1, 2}) {
    redis::Membership now = SessionDriver::listed(SessionDriver::name(node), {});
    now.phase = ListPhase::announced;
    now.from = SessionDriver::names(3);
    now.to = SessionDriver::names(4);
    now.from_terms = now.to_terms;
    driver.reply(node, "EVALSHA", not_enrolled);
    driver.reply(node, "MGET", LinkDriver::both(SessionDriver::record(node), now));
    EXPECT_EQ(driver.session.link(node).state(), LinkState::up);
  }
  driver.reply(0, "EVALSHA", not_enrolled);
  EXPECT_TRUE(driver.refused.empty());
  driver.reply(1, "EVALSHA", granted_vote);
  driver.reply(2, "EVALSHA", granted_vote);
  EXPECT_EQ(driver.acquired, 1);
}

TEST(Session, AWrongClockIsReported) {
  // Which clock is wrong is reported, by how much, and in which direction.
  for (const bool ahead : {true, false}) {
    SessionDriver driver(3);
    driver.start();
    driver.acquire();
    for (const int node : {0, 1, 2}) driver.reply(node, "EVALSHA", granted_vote);
    driver.pass(300ms);  // until the renewal
    driver.reply(
        0, "EVALSHA",
        "*2\r\n:" + std::to_string(1'700'000'000'000'000 + (ahead ? 60'000'000 : -60'000'000)) +
            "\r\n$1\r\n1\r\n");
    ASSERT_EQ(driver.jumps.size(), 1U);
    const core::ClockJumped& jump = driver.jumps.front();
    EXPECT_EQ(jump.node, 0);
    EXPECT_GT(ahead ? jump.size : -jump.size, 59s);
    EXPECT_LT(ahead ? jump.size : -jump.size, 61s);
    EXPECT_EQ(driver.session.clock_jump(0).size, jump.size);
    EXPECT_EQ(driver.session.clock_jump(0).until, jump.until);
    EXPECT_EQ(driver.session.clock_jump(1).size, 0s);
  }
}

TEST(Session, OurOwnClockThatStoodStillIsReportedToo) {
  // A second node that is ahead explains the first one, whose reported jump is withdrawn.
  SessionDriver driver(3);
  driver.tells_time = true;
  driver.start();
  driver.acquire();
  for (const int node : {0, 1, 2}) driver.reply(node, "EVALSHA", granted_vote);
  driver.pass(300ms);
  const std::string minute_later = "*2\r\n:1700000060000000\r\n$1\r\n1\r\n";
  driver.reply(0, "EVALSHA", minute_later);
  EXPECT_GT(driver.session.clock_jump(0).size, 59s);
  // The other nodes are asked for the time at once: answers to earlier commands may lack it.
  driver.reply(1, "EVALSHA", "-LOADING Redis is loading the dataset in memory\r\n");
  driver.reply(1, "TIME", "*2\r\n$10\r\n1700000060\r\n$1\r\n0\r\n");
  ASSERT_EQ(driver.standstills.size(), 1U);
  EXPECT_GT(driver.standstills.front().size, 59s);
  EXPECT_EQ(driver.standstills.front().ahead.size(), 2);
  for (const int node : {0, 1, 2}) EXPECT_EQ(driver.session.clock_jump(node).size, 0s);
}

TEST(Session, ARenewalCarriesItsOwnEnd) {
  // The limit is by each node's own clock; n2's is a minute ahead, and n3's has not been seen.
  SessionDriver driver(3);
  driver.start();
  const core::Time begun = driver.now;
  driver.acquire();
  driver.reply(0, "EVALSHA", granted_vote);
  driver.reply(1, "EVALSHA", "*2\r\n:1700000060000000\r\n:41\r\n");
  ASSERT_EQ(driver.acquired, 1);
  driver.pass(300ms);
  // What is left of the 889 ms of validity, and each node's time by now, by the slowest clock.
  const core::Duration then =
      driver.session.engine().claim(driver.claims.at(0))->round.start() - begun;
  const auto slowest = [](core::Duration span) { return span * 100 / 101 / 1us; };
  for (const int node : {0, 1}) {
    const std::string& words = driver.asked(node).front();
    const std::int64_t clock = 1'700'000'000'000'000 + node * 60'000'000 + slowest(then);
    const std::string expected = " 41 " + std::to_string(slowest(889ms - then)) + " " +
                                 std::to_string(clock) + " " + SessionDriver::record(node) + " 0" +
                                 memory;
    EXPECT_TRUE(words.ends_with(expected)) << words << "\n" << expected;
  }
  const std::string& words = driver.asked(2).back();
  EXPECT_TRUE(words.ends_with(" 0 " + SessionDriver::record(2) + " 0" + memory)) << words;
}

TEST(Session, QuestionsOfTheDriverAreAnswered) {
  // Each question gets its reply, or is reported as late or lost.
  SessionDriver driver(1);
  driver.start();
  core::Tag tag;
  const std::string bytes = "*1\r\n$4\r\nPING\r\n";
  for (int i = 0; i < 2; ++i) {
    driver.session.ask(driver.now, 0, tag, bytes);
    driver.session.touched(0);
  }
  driver.pass(0s);
  driver.acquire();
  driver.reply(0, "PING", "+PONG\r\n");
  EXPECT_EQ(driver.answered, Strings{"n1 unanswered"});
  driver.pass(SessionDriver::node_timeout);
  EXPECT_EQ(driver.answered.back(), "n1 timed out");
  driver.close(0);
  EXPECT_EQ(driver.answered.back(), "n1 disconnected");
  driver.session.ask(driver.now, 0, tag, bytes);
  driver.pass(0s);
  driver.acquire();
  EXPECT_EQ(driver.answered.back(), "n1 unreachable");
}

}  // namespace
}  // namespace quorumlock::test
