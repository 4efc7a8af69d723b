#include "support/session_driver.hpp"

// The counters of a node that forgot, brought up from others before it votes again.
namespace quorumlock::test {
namespace {

const std::string scan = "SCAN 0 MATCH quorumlock:fence:* COUNT 200";
const std::string life = " 2592000000";

std::string array(const std::vector<std::string>& elements) {
  std::string text = "*" + std::to_string(elements.size()) + "\r\n";
  for (const std::string& element : elements) text += element;
  return text;
}
std::string bulks(const std::vector<std::string>& texts) {
  std::vector<std::string> elements;
  for (const std::string& text : texts) elements.push_back(LinkDriver::bulk(text));
  return array(elements);
}
/// One step of a SCAN.
std::string found(const std::string& cursor, const std::vector<std::string>& keys) {
  return array({LinkDriver::bulk(cursor), bulks(keys)});
}
std::string time(std::int64_t seconds) {
  return bulks({std::to_string(seconds), "250"});
}
/// This node has one counter, which is copied to `to`.
void copy_one(SessionDriver& driver, int from, int to, const std::string& value) {
  driver.reply(from, scan, found("0", {"quorumlock:fence:a"}));
  driver.reply(from, "MGET quorumlock:fence:a", bulks({value}));
  driver.reply(to, "EVAL repair 1 quorumlock:fence:a " + value + life, ":1\r\n");
}
/// And it still has its enrolment.
void copy_all(SessionDriver& driver, int from, int to, const std::string& value) {
  copy_one(driver, from, to, value);
  driver.reply(from, "GET quorumlock:enrolment",
               LinkDriver::bulk(*driver.servers[static_cast<std::size_t>(from)].enrolment));
}
/// Node n3 of three has forgotten everything, and its wait is over.
void forget_n3(SessionDriver& driver) {
  driver.servers[2].enrolment = "";
  driver.start();
  ASSERT_NO_FATAL_FAILURE(driver.wait_to_repair(2));
  driver.reply(2, "SET quorumlock:repairer ", "+OK\r\n");
}

TEST(Repair, CopiesFromAllOthersOfAQuorum) {
  // N - q + 1 = 2 others: every counter of both is brought over, where it is greater; each is asked
  // at its end whether it still remembers. Then the node is enrolled.
  SessionDriver driver(3);
  ASSERT_NO_FATAL_FAILURE(forget_n3(driver));
  driver.reply(1, scan, found("0", {"quorumlock:fence:a", "quorumlock:fence:b"}));
  driver.reply(1, "MGET quorumlock:fence:a quorumlock:fence:b", bulks({"41", "7"}));
  driver.reply(2, "EVAL repair 2 quorumlock:fence:a quorumlock:fence:b 41 7" + life, ":2\r\n");
  driver.reply(1, "GET quorumlock:enrolment", LinkDriver::bulk(SessionDriver::record(1)));
  copy_all(driver, 0, 2, "50");
  driver.reply(2,
               "EVAL enrol 3 quorumlock:enrolment quorumlock:candidate quorumlock:repairer "
               "run3:1000:volatile run3:1000:volatile:",
               ":1\r\n");
  EXPECT_EQ(driver.session.link(2).state(), LinkState::up);
  for (const int node : {0, 1, 2}) EXPECT_TRUE(driver.asked(node).empty());
}

TEST(Repair, GoesOnUntilTheScanIsThrough) {
  // A few hundred keys at a time; a step of the scan may find nothing, and a key may be gone before
  // its value is read.
  SessionDriver driver(3);
  ASSERT_NO_FATAL_FAILURE(forget_n3(driver));
  driver.reply(1, scan, found("17", {}));
  driver.reply(2, "PING", "+PONG\r\n");
  driver.reply(1, "SCAN 17 MATCH quorumlock:fence:* COUNT 200",
               found("5", {"quorumlock:fence:a", "quorumlock:fence:b"}));
  driver.reply(1, "MGET quorumlock:fence:a quorumlock:fence:b",
               array({"$-1\r\n", LinkDriver::bulk("7")}));
  driver.reply(2, "EVAL repair 1 quorumlock:fence:b 7" + life, ":1\r\n");
  driver.reply(1, "SCAN 5 MATCH", found("0", {"quorumlock:fence:c"}));
  driver.reply(1, "MGET quorumlock:fence:c", array({"$-1\r\n"}));
  driver.reply(2, "EVAL repair 0" + life, ":0\r\n");
  driver.reply(1, "GET quorumlock:enrolment", LinkDriver::bulk(SessionDriver::record(1)));
  EXPECT_EQ(driver.asked(0).size(), 1U);
}

TEST(Repair, OfFiveThreeOthersWillDo) {
  // N - q + 1 = 3: the fourth is not asked.
  SessionDriver driver(5);
  driver.servers[2].enrolment = "";
  driver.start();
  ASSERT_NO_FATAL_FAILURE(driver.wait_to_repair(2));
  driver.reply(2, "SET quorumlock:repairer ", "+OK\r\n");
  int copied = 0;
  for (const int node : {4, 3, 1, 0}) {
    if (driver.asked(node).empty()) continue;
    copy_all(driver, node, 2, "50");
    ++copied;
  }
  EXPECT_EQ(copied, 3);
  driver.reply(2, "EVAL enrol 3 ", ":1\r\n");
}

TEST(Repair, FloorsAreInherited) {
  // What the others don't have as counters they have as a floor: the greater of the two, with its
  // date.
  SessionDriver driver(3);
  driver.servers[0].enrolment = SessionDriver::record(0) + ":1700:42";
  driver.servers[1].enrolment = SessionDriver::record(1) + ":1600:41";
  ASSERT_NO_FATAL_FAILURE(forget_n3(driver));
  copy_all(driver, 1, 2, "9");
  copy_all(driver, 0, 2, "9");
  ASSERT_FALSE(driver.asked(2).empty());
  EXPECT_NE(driver.asked(2).front().find(" run3:1000:volatile:1700:42 run3"), std::string::npos)
      << driver.asked(2).front();
}

TEST(Repair, WithTooFewOthersItSetsAFloor) {
  // n2 is away. What n1 has is copied, and beyond that a floor is set, a minute above the greatest
  // clock of a node: every token that n2 may know of is smaller. Since when is the client's clock.
  SessionDriver driver(3);
  driver.away[1] = true;
  ASSERT_NO_FATAL_FAILURE(forget_n3(driver));
  copy_one(driver, 0, 2, "41");
  driver.reply(2, "TIME", time(1'700'000'100));
  driver.reply(0, "TIME", time(1'700'000'050));
  ASSERT_FALSE(driver.asked(2).empty());
  EXPECT_NE(
      driver.asked(2).front().find(" run3:1000:volatile:1700000160000250:1700000000000000 run3"),
      std::string::npos)
      << driver.asked(2).front();
}

TEST(Repair, AFloorIsAboveEveryCounterThatWasSeen) {
  // n1's counter is ahead of all clocks, and n1's floor further still.
  for (const bool floor : {false, true}) {
    SessionDriver driver(3);
    driver.away[1] = true;
    if (floor) driver.servers[0].enrolment = SessionDriver::record(0) + ":1900000000000000:42";
    ASSERT_NO_FATAL_FAILURE(forget_n3(driver));
    copy_one(driver, 0, 2, "1800000000000000");
    driver.reply(2, "TIME", time(1'700'000'000));
    driver.reply(0, "TIME", time(1'700'000'000));
    const std::string wanted = floor ? ":1900000000000000:" : ":1800000000000000:";
    ASSERT_FALSE(driver.asked(2).empty());
    EXPECT_NE(driver.asked(2).front().find("run3:1000:volatile" + wanted), std::string::npos)
        << driver.asked(2).front();
  }
}

TEST(Repair, AQuarantinedNodeIsASourceWhereThereIsNoQuorum) {
  // n2 and n3 have forgotten. What n2 still has is copied too; its own repair comes afterwards.
  SessionDriver driver(3);
  driver.servers[1].enrolment = "";
  driver.servers[2].enrolment = "";
  driver.start();
  ASSERT_NO_FATAL_FAILURE(driver.wait_to_repair(2));
  driver.reply(2, "SET quorumlock:repairer ", "+OK\r\n");
  // Its own looks are among what n2 is asked.
  driver.look(1);
  EXPECT_TRUE(driver.asked(2).empty());
  copy_one(driver, 0, 2, "41");
  driver.reply(2, "TIME", time(1'700'000'000));
  driver.reply(0, "TIME", time(1'700'000'000));
  driver.reply(2, "EVAL enrol 3 ", ":1\r\n");
}

TEST(Repair, ASourceThatHasForgottenIsNone) {
  // n2's enrolment is gone when its counters have been read: they were those of a node that had
  // forgotten. The repair fails and yields, and n2 is doubted.
  SessionDriver driver(3);
  ASSERT_NO_FATAL_FAILURE(forget_n3(driver));
  copy_one(driver, 1, 2, "41");
  driver.reply(1, "GET quorumlock:enrolment", "$-1\r\n");
  driver.reply(2, "EVAL release 1 quorumlock:repairer ", ":1\r\n");
  EXPECT_EQ(driver.session.link(1).state(), LinkState::quarantined);
  ASSERT_FALSE(driver.asked(1).empty());
  EXPECT_EQ(driver.asked(1).front(), "GET quorumlock:enrolment") << "of its own link, this time";
  EXPECT_TRUE(driver.asked(0).empty());
}

TEST(Repair, AnErrorFailsIt) {
  // Whoever says it, and at whatever step. The mark is taken back; in a second it is tried again.
  for (const int step : {0, 1, 2, 3}) {
    SessionDriver driver(3);
    ASSERT_NO_FATAL_FAILURE(forget_n3(driver));
    const std::string error = "-ERR what\r\n";
    driver.reply(1, scan, step == 0 ? error : found("0", {"quorumlock:fence:a"}));
    if (step > 0) driver.reply(1, "MGET", step == 1 ? error : bulks({"41"}));
    if (step > 1) driver.reply(2, "EVAL repair 1", step == 2 ? error : ":1\r\n");
    if (step > 2) driver.reply(1, "GET quorumlock:enrolment", error);
    driver.reply(2, "EVAL release 1 quorumlock:repairer ", ":1\r\n");
    driver.pass(1s);
    driver.look(2);
    driver.reply(2, "SET quorumlock:repairer ", "+OK\r\n");
    EXPECT_FALSE(driver.asked(0).empty() && driver.asked(1).empty()) << "step " << step;
  }
}

TEST(Repair, ASourceThatIsLateOrLostFailsIt) {
  // Nobody waits for it longer than node_timeout.
  for (const bool lost : {false, true}) {
    SessionDriver driver(3);
    ASSERT_NO_FATAL_FAILURE(forget_n3(driver));
    if (lost) {
      driver.close(1);
    } else {
      driver.pass(SessionDriver::node_timeout);
    }
    driver.reply(2, "EVAL release 1 quorumlock:repairer ", ":1\r\n");
    EXPECT_EQ(driver.session.link(2).state(), LinkState::quarantined);
  }
}

TEST(Repair, AnAnswerOfAnOlderRepairDoesNotCount) {
  // n2 was late and the repair has failed. Its answer comes during the next one, which is at
  // another node: nothing is concluded from it.
  SessionDriver driver(3);
  ASSERT_NO_FATAL_FAILURE(forget_n3(driver));
  driver.pass(SessionDriver::node_timeout);
  driver.reply(2, "EVAL release 1 quorumlock:repairer ", ":1\r\n");
  driver.pass(1s);
  driver.look(2);
  driver.reply(2, "SET quorumlock:repairer ", "+OK\r\n");
  ASSERT_EQ(driver.asked(0).size(), 1U) << "n2 is stalled, so n1 alone is asked";
  driver.reply(1, scan, found("0", {"quorumlock:fence:z"}));
  EXPECT_TRUE(driver.asked(1).empty());
  copy_one(driver, 0, 2, "41");
  EXPECT_EQ(driver.asked(2).front(), "TIME");
}

TEST(Repair, OneNodeAfterTheOther) {
  // Two of five have forgotten and their waits end at the same moment: the second one's turn comes
  // when the first is done.
  SessionDriver driver(5);
  driver.servers[1].enrolment = "";
  driver.servers[2].enrolment = "";
  driver.start();
  for (const int node : {1, 2}) driver.look(node);
  for (int look = 0; look < 2; ++look) {
    driver.pass(look == 0 ? 1s : 12ms);
    for (const int node : {1, 2}) driver.look(node);
  }
  for (const int node : {1, 2}) driver.reply(node, "SET quorumlock:repairer ", "+OK\r\n");
  for (const int target : {1, 2}) {
    const int other = 3 - target;
    EXPECT_TRUE(driver.asked(other).empty());
    for (const int node : {4, 3, 0}) copy_all(driver, node, target, "41");
    driver.reply(target, "EVAL enrol 3 ", ":1\r\n");
    EXPECT_EQ(driver.session.link(target).state(), LinkState::up);
  }
}

}  // namespace
}  // namespace quorumlock::test
