#include "support/session_driver.hpp"

// The repair: a node that forgot gets the counters of other nodes before it votes again.
namespace quorumlock::test {
namespace {

const std::string scan = "SCAN 0 MATCH quorumlock:*nce:* COUNT 500";
const std::string life = " 86400000";

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
/// A reply to one step of a SCAN.
std::string found(const std::string& cursor, const std::vector<std::string>& keys) {
  return array({LinkDriver::bulk(cursor), bulks(keys)});
}
std::string time(std::int64_t seconds) {
  return bulks({std::to_string(seconds), "250"});
}
/// Makes the client the one that repairs this node. Returns its mark.
std::string claim(SessionDriver& driver, int node) {
  driver.tell_facts(node);
  EXPECT_FALSE(driver.asked(node).empty());
  if (driver.asked(node).empty()) return {};
  const std::string command = driver.asked(node).front();
  const std::string set = "SET quorumlock:repairer ";
  driver.reply(node, set, "+OK\r\n");
  return command.substr(set.size(), command.find(" NX") - set.size());
}
/// Claims the node's repair, and starts it: the mark is still this client's.
void begin(SessionDriver& driver, int node) {
  const std::string mark = claim(driver, node);
  driver.reply(node, "EVAL repair 1 quorumlock:repairer " + mark + " 10000" + life, ":0\r\n");
}
/// Expects the command that writes these counters with these values to a node, and answers it.
void written(SessionDriver& driver, int to, const std::vector<std::string>& keys,
             const std::string& values) {
  const std::string count = std::to_string(keys.size() + 1);
  std::string begin = "EVAL repair " + count + " quorumlock:repairer";
  for (const std::string& key : keys) begin += " " + key;
  ASSERT_FALSE(driver.asked(to).empty());
  EXPECT_TRUE(driver.asked(to).front().ends_with(" 10000" + life + " " + values))
      << driver.asked(to).front();
  driver.reply(to, begin, ":" + std::to_string(keys.size()) + "\r\n");
}
/// Node `from` has one counter, which is copied to `to`.
void copy_one(SessionDriver& driver, int from, int to, const std::string& value) {
  driver.reply(from, scan, found("0", {"quorumlock:fence:a"}));
  driver.reply(from, "MGET quorumlock:fence:a", bulks({value}));
  written(driver, to, {"quorumlock:fence:a"}, value);
}
/// The answer of a node whose record is still the one that its link knows.
std::string still_enrolled(SessionDriver& driver, int node) {
  return LinkDriver::bulk(driver.session.link(node).enrolment().record());
}
/// Copies one counter as copy_one() does, and `from` still has its enrolment.
void copy_all(SessionDriver& driver, int from, int to, const std::string& value) {
  copy_one(driver, from, to, value);
  driver.reply(from, "GET quorumlock:enrolment", still_enrolled(driver, from));
}
/// Node n3 of three has forgotten everything, and its wait is over.
void forget_n3(SessionDriver& driver) {
  driver.servers[2].enrolment = "";
  driver.start();
  ASSERT_NO_FATAL_FAILURE(driver.wait_to_repair(2));
  driver.tells_time = true;
  begin(driver, 2);
}

TEST(Repair, CopiesFromAllOthersOfAQuorum) {
  // N - q + 1 = 2 other nodes are read: every counter of theirs that is greater is copied, and each
  // of them is asked at its end whether it still remembers. Then the node is enrolled.
  SessionDriver driver(3);
  ASSERT_NO_FATAL_FAILURE(forget_n3(driver));
  driver.reply(1, scan, found("0", {"quorumlock:fence:a", "quorumlock:fence:b"}));
  driver.reply(1, "MGET quorumlock:fence:a quorumlock:fence:b", bulks({"41", "7"}));
  written(driver, 2, {"quorumlock:fence:a", "quorumlock:fence:b"}, "41 7");
  driver.reply(1, "GET quorumlock:enrolment", still_enrolled(driver, 1));
  copy_all(driver, 0, 2, "50");
  driver.reply(2,
               "EVAL enrol 4 quorumlock:enrolment quorumlock:candidate quorumlock:repairer "
               "quorumlock:members 0 run3:",
               ":1\r\n");
  EXPECT_EQ(driver.session.link(2).state(), LinkState::up);
  for (const int node : {0, 1, 2}) EXPECT_TRUE(driver.asked(node).empty());
}

TEST(Repair, CopiesWhatIsDoneOnceWithTheTimeThatIsLeftOfIt) {
  // What the pattern also finds is left alone, and so is what is no number, or about to expire.
  SessionDriver driver(3);
  ASSERT_NO_FATAL_FAILURE(forget_n3(driver));
  driver.reply(1, scan,
               found("0", {"quorumlock:once:a", "quorumlock:fence:a", "quorumlock:once:b",
                           "quorumlock:queue:bounce:1", "quorumlock:once:c", "quorumlock:once:d"}));
  driver.reply(1, "MGET quorumlock:fence:a", bulks({"41"}));
  written(driver, 2, {"quorumlock:fence:a"}, "41");
  driver.reply(1,
               "EVAL periods 4 quorumlock:once:a quorumlock:once:b quorumlock:once:c "
               "quorumlock:once:d",
               array({LinkDriver::bulk("7"), ":5000\r\n", LinkDriver::bulk("0"), ":9000\r\n",
                      LinkDriver::bulk("x"), ":90000\r\n", "$-1\r\n", ":-2\r\n"}));
  ASSERT_FALSE(driver.asked(2).empty());
  EXPECT_TRUE(driver.asked(2).front().ends_with(" 10000 9000 7 0")) << driver.asked(2).front();
  driver.reply(2, "EVAL repair 3 quorumlock:repairer quorumlock:once:a quorumlock:once:b",
               ":2\r\n");
  driver.reply(1, "GET quorumlock:enrolment", still_enrolled(driver, 1));
}

TEST(Repair, GoesOnUntilTheScanIsComplete) {
  // A step of the scan finds some hundred keys, or none, and a key may be gone before its value is
  // read. The next step is asked for before the values of the current one have come.
  SessionDriver driver(3);
  ASSERT_NO_FATAL_FAILURE(forget_n3(driver));
  driver.reply(1, scan, found("17", {}));
  driver.reply(1, "SCAN 17 MATCH quorumlock:*nce:* COUNT 500",
               found("5", {"quorumlock:fence:a", "quorumlock:fence:b"}));
  ASSERT_EQ(driver.asked(1).size(), 2U);
  driver.reply(1, "MGET quorumlock:fence:a quorumlock:fence:b",
               array({"$-1\r\n", LinkDriver::bulk("7")}));
  driver.reply(1, "SCAN 5 MATCH", found("0", {"quorumlock:fence:c"}));
  written(driver, 2, {"quorumlock:fence:b"}, "7");
  driver.reply(1, "MGET quorumlock:fence:c", array({"$-1\r\n"}));
  driver.reply(1, "GET quorumlock:enrolment", still_enrolled(driver, 1));
  EXPECT_EQ(driver.asked(0).size(), 1U);
}

TEST(Repair, AFewCallsAreUnderWayAtATime) {
  // If a step of the scan finds many keys, they are read in several short calls; the next step
  // waits until most of those are done.
  SessionDriver driver(3);
  ASSERT_NO_FATAL_FAILURE(forget_n3(driver));
  std::vector<std::string> many;
  for (int i = 0; i < 3'000; ++i) many.push_back("quorumlock:fence:" + std::to_string(i));
  driver.reply(1, scan, found("17", many));
  ASSERT_EQ(driver.asked(1).size(), 12U);
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(std::ranges::count(driver.asked(1).front(), ' '), 250);
    driver.reply(1, "MGET ", bulks(std::vector<std::string>(250, "41")));
    EXPECT_TRUE(driver.asked(1).empty() || driver.asked(1).back().starts_with("MGET"));
  }
  ASSERT_EQ(driver.asked(2).size(), 12U);
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(driver.asked(1).empty());
    driver.reply(2, "EVAL repair 251 ", ":250\r\n");
  }
  ASSERT_EQ(driver.asked(1).size(), 1U);
  EXPECT_TRUE(driver.asked(1).front().starts_with("SCAN 17"));
  EXPECT_EQ(driver.session.repair().counters_read(2), 3'000U);
}

TEST(Repair, TheMarkIsRefreshedWhileItScans) {
  // Two seconds into a scan that finds no counters, the mark's life is extended.
  SessionDriver driver(3);
  ASSERT_NO_FATAL_FAILURE(forget_n3(driver));
  for (int cursor = 1; cursor <= 6; ++cursor) {
    driver.pass(400ms);
    const std::string& asked = driver.asked(1).front();
    driver.reply(1, asked.substr(0, 5), found(std::to_string(cursor), {}));
    EXPECT_EQ(driver.asked(2).size(), cursor < 5 ? 0U : 1U);
  }
  driver.reply(2, "EVAL repair 1 quorumlock:repairer ", ":0\r\n");
  EXPECT_TRUE(driver.asked(2).empty());
}

TEST(Repair, EndsIfAnotherClientHasTheMark) {
  // This client was paused for so long that its mark expired: nothing more is read.
  SessionDriver driver(3);
  ASSERT_NO_FATAL_FAILURE(forget_n3(driver));
  driver.reply(1, scan, found("17", {"quorumlock:fence:a"}));
  driver.reply(1, "MGET quorumlock:fence:a", bulks({"41"}));
  driver.reply(2, "EVAL repair 2 quorumlock:repairer quorumlock:fence:a ", ":-1\r\n");
  driver.reply(2, "EVAL release 0 quorumlock:repairer ", ":0\r\n");
  driver.reply(1, "SCAN 17", found("19", {"quorumlock:fence:b"}));
  EXPECT_TRUE(driver.asked(1).empty());
  EXPECT_EQ(driver.session.link(2).state(), LinkState::quarantined);
}

/// Answers n3 and the others when they are asked for the time; returns n3's command to enrol.
std::string enrolled_by_clock(SessionDriver& driver) {
  driver.reply(2, "TIME", time(1'700'000'000));
  driver.reply(1, "TIME", time(1'700'000'200));
  driver.reply(0, "TIME", time(1'700'000'100));
  return driver.asked(2).empty() ? "nothing" : driver.asked(2).front();
}
const std::string above_all_clocks = ":1700000260000250:1700000000000000 run3";

TEST(Repair, ACounterThatIsNotANumberNeedsAFloor) {
  // Values that are numbers are copied. The floor is a minute above the nodes' greatest clock.
  for (const std::string odd : {"x", "", "-1", "1e9", "nan", "9007199254740992", "41 "}) {
    SessionDriver driver(3);
    ASSERT_NO_FATAL_FAILURE(forget_n3(driver));
    driver.reply(1, scan, found("0", {"quorumlock:fence:a", "quorumlock:fence:b"}));
    driver.reply(1, "MGET quorumlock:fence:a quorumlock:fence:b", bulks({odd, "41"}));
    written(driver, 2, {"quorumlock:fence:b"}, "41");
    driver.reply(1, "GET quorumlock:enrolment", still_enrolled(driver, 1));
    copy_all(driver, 0, 2, "50");
    const std::string enrolled = enrolled_by_clock(driver);
    EXPECT_NE(enrolled.find(above_all_clocks), std::string::npos) << odd << ": " << enrolled;
  }
}

TEST(Repair, ThreeOthersOfFiveAreEnough) {
  // N - q + 1 = 3: the fourth other node is not asked.
  SessionDriver driver(5);
  driver.servers[2].enrolment = "";
  driver.start();
  ASSERT_NO_FATAL_FAILURE(driver.wait_to_repair(2));
  begin(driver, 2);
  int copied = 0;
  for (const int node : {4, 3, 1, 0}) {
    if (driver.asked(node).empty()) continue;
    copy_all(driver, node, 2, "50");
    ++copied;
  }
  EXPECT_EQ(copied, 3);
  driver.reply(2, "EVAL enrol 4 ", ":1\r\n");
}

TEST(Repair, ASourceWithTooManyOddCountersIsNoSource) {
  // They would have to be kept until the others are read. The fourth other node takes its place.
  SessionDriver driver(5);
  driver.servers[2].enrolment = "";
  driver.start();
  ASSERT_NO_FATAL_FAILURE(driver.wait_to_repair(2));
  begin(driver, 2);
  const std::vector<std::string> odd(250, "9000000000000000");
  const std::size_t most = detail::Repair::most_doubts;
  for (std::size_t scanned = 0; scanned <= most; scanned += 2 * odd.size()) {
    std::vector<std::string> keys;
    for (std::size_t i = 0; i < 2 * odd.size(); ++i) {
      keys.push_back("quorumlock:fence:" + std::to_string(scanned + i));
    }
    driver.reply(3, "SCAN ", found(scanned + keys.size() > most ? "0" : "1", keys));
    for (int half = 0; half < 2; ++half) driver.reply(3, "MGET ", bulks(odd));
  }
  driver.reply(3, "GET quorumlock:enrolment", still_enrolled(driver, 3));
  for (const int node : {1, 0, 4}) copy_all(driver, node, 2, "50");
  driver.reply(2, "EVAL enrol 4 ", ":1\r\n");
  EXPECT_EQ(driver.session.link(2).state(), LinkState::up);
}

TEST(Repair, FloorsAreInherited) {
  // Numbers that the others do not have as counters are below their floors: the node gets the
  // greater of those, with its date.
  SessionDriver driver(3);
  driver.servers[0].enrolment = SessionDriver::record(0) + ":1700:42";
  driver.servers[1].enrolment = SessionDriver::record(1) + ":1600:41";
  ASSERT_NO_FATAL_FAILURE(forget_n3(driver));
  copy_all(driver, 1, 2, "9");
  copy_all(driver, 0, 2, "9");
  ASSERT_FALSE(driver.asked(2).empty());
  EXPECT_NE(driver.asked(2).front().find(":1700:42 run3"), std::string::npos)
      << driver.asked(2).front();
}

TEST(Repair, WithTooFewOthersItSetsAFloor) {
  // n2 is away, and the operator vouches for n3. n1's counter is copied, and a floor is set a
  // minute above the greatest clock of a node: every token that n2 may know of is smaller. The
  // floor's date is from the client's clock.
  SessionDriver driver(3);
  driver.session.vouch(driver.now);
  driver.away[1] = true;
  ASSERT_NO_FATAL_FAILURE(forget_n3(driver));
  copy_one(driver, 0, 2, "41");
  driver.reply(2, "TIME", time(1'700'000'100));
  driver.reply(0, "TIME", time(1'700'000'050));
  ASSERT_FALSE(driver.asked(2).empty());
  EXPECT_NE(driver.asked(2).front().find(":1700000160000250:1700000000000000 run3"),
            std::string::npos)
      << driver.asked(2).front();
}

TEST(Repair, AFloorIsAboveEveryCounterThatWasSeen) {
  // n1's counter is ahead of all clocks, by less than fencing_memory, and n1's floor further still.
  for (const bool floor : {false, true}) {
    SessionDriver driver(3);
    driver.session.vouch(driver.now);
    driver.away[1] = true;
    if (floor) driver.servers[0].enrolment = SessionDriver::record(0) + ":1700085000000000:42";
    ASSERT_NO_FATAL_FAILURE(forget_n3(driver));
    copy_one(driver, 0, 2, "1700080000000000");
    driver.reply(2, "TIME", time(1'700'000'000));
    driver.reply(0, "TIME", time(1'700'000'000));
    const std::string wanted = floor ? ":1700085000000000:" : ":1700080000000000:";
    ASSERT_FALSE(driver.asked(2).empty());
    EXPECT_NE(driver.asked(2).front().find(wanted), std::string::npos) << driver.asked(2).front();
  }
}

TEST(Repair, AQuarantinedNodeIsASourceIfThereIsNoQuorum) {
  // n2 and n3 have forgotten, and the operator vouches for them. n2's remaining counters are copied
  // too; its own repair comes later.
  SessionDriver driver(3);
  driver.session.vouch(driver.now);
  driver.servers[1].enrolment = "";
  driver.servers[2].enrolment = "";
  driver.start();
  ASSERT_NO_FATAL_FAILURE(driver.wait_to_repair(2));
  begin(driver, 2);
  // look() also answers what n2's own wait asks.
  driver.look(1);
  EXPECT_TRUE(driver.asked(2).empty());
  driver.reply(0, scan, found("0", {"quorumlock:fence:a"}));
  driver.tells_time = true;
  driver.reply(0, "MGET quorumlock:fence:a", bulks({"41"}));
  written(driver, 2, {"quorumlock:fence:a"}, "41");
  driver.reply(2, "TIME", time(1'700'000'000));
  driver.reply(0, "TIME", time(1'700'000'000));
  driver.reply(2, "EVAL enrol 4 ", ":1\r\n");
}

TEST(Repair, ANodeThatHasForgottenIsNotASource) {
  // n2's enrolment is gone when its counters have been read, so they were those of a node that had
  // forgotten. The repair fails and its mark is released, and n2 is doubted.
  SessionDriver driver(3);
  ASSERT_NO_FATAL_FAILURE(forget_n3(driver));
  copy_one(driver, 1, 2, "41");
  driver.reply(1, "GET quorumlock:enrolment", "$-1\r\n");
  driver.reply(2, "EVAL release 0 quorumlock:repairer ", ":1\r\n");
  ASSERT_FALSE(driver.asked(1).empty());
  EXPECT_EQ(driver.asked(1).front(), "MGET quorumlock:enrolment quorumlock:members")
      << "of its own link, this time";
  driver.reply(1, "MGET", "*2\r\n$-1\r\n$-1\r\n");
  EXPECT_EQ(driver.session.link(1).state(), LinkState::quarantined);
  // n3 now has too few nodes to vouch for it, so n1 is looked at, too.
  ASSERT_FALSE(driver.asked(0).empty());
  EXPECT_EQ(driver.asked(0).front(), "MGET quorumlock:enrolment quorumlock:members");
}

TEST(Repair, ARecordThatIsReadMeanwhileDoesNotCount) {
  // n2 forgets while it is a source, and another client has it enrolled again. Our link reads its
  // new record before the answer to our own question comes, which is the same new record.
  SessionDriver driver(3);
  ASSERT_NO_FATAL_FAILURE(forget_n3(driver));
  copy_one(driver, 1, 2, "41");
  redis::EnrolmentRecord anew =
      *redis::EnrolmentRecord::parse(driver.session.link(1).enrolment().record());
  anew.nonce = "another";
  driver.session.doubt(driver.now, 1);
  driver.reply(1, "GET quorumlock:enrolment", LinkDriver::bulk(anew.to_string()));
  driver.reply(2, "EVAL release 0 quorumlock:repairer ", ":1\r\n");
}

TEST(Repair, AnErrorFailsIt) {
  // An error of any node at any step releases the mark; a second later the repair is retried.
  for (const int step : {0, 1, 2, 3}) {
    SessionDriver driver(3);
    ASSERT_NO_FATAL_FAILURE(forget_n3(driver));
    const std::string error = "-ERR what\r\n";
    driver.reply(1, scan, step == 0 ? error : found("0", {"quorumlock:fence:a"}));
    if (step > 0) driver.reply(1, "MGET", step == 1 ? error : bulks({"41"}));
    if (step > 1) driver.reply(2, "EVAL repair 2", step == 2 ? error : ":1\r\n");
    if (step > 2) driver.reply(1, "GET quorumlock:enrolment", error);
    driver.reply(2, "EVAL release 0 quorumlock:repairer ", ":1\r\n");
    driver.pass(1s);
    driver.look(2);
    begin(driver, 2);
    EXPECT_FALSE(driver.asked(0).empty() && driver.asked(1).empty()) << "step " << step;
  }
}

TEST(Repair, IsLeftToOthersIfThisUserMayNotReadOrWriteCounters) {
  // No floor takes the place of the counters. The mark is released, so that a client with more
  // rights can repair the node, and this client does not try again.
  const std::string refused = "-NOPERM this user has no permissions to run the 'scan' command\r\n";
  for (const int step : {0, 1, 2}) {
    SessionDriver driver(3);
    ASSERT_NO_FATAL_FAILURE(forget_n3(driver));
    driver.reply(1, scan, step == 0 ? refused : found("0", {"quorumlock:fence:a"}));
    if (step > 0) driver.reply(1, "MGET", step == 1 ? refused : bulks({"41"}));
    if (step > 1) driver.reply(2, "EVAL repair 2", refused);
    driver.tell_facts(2);
    driver.reply(2, "EVAL release 0 quorumlock:repairer ", ":1\r\n");
    EXPECT_TRUE(driver.session.link(2).enrolment().candidacy().awaits_operator());
    driver.pass(1s);
    driver.reply(2, "MGET quorumlock:enrolment", "*2\r\n$-1\r\n$-1\r\n");
    driver.reply(2, "GET quorumlock:candidate", "$-1\r\n");
    EXPECT_TRUE(driver.session.link(2).enrolment().candidacy().nobody_enrols());
    EXPECT_TRUE(driver.asked(2).empty());
  }
}

TEST(Repair, ValuesThatAreNotOneForEachKeyFailIt) {
  for (const std::vector<std::string>& values : {{}, std::vector<std::string>{"41", "42"}}) {
    SessionDriver driver(3);
    ASSERT_NO_FATAL_FAILURE(forget_n3(driver));
    driver.reply(1, scan, found("0", {"quorumlock:fence:a"}));
    driver.reply(1, "MGET quorumlock:fence:a", bulks(values));
    driver.reply(2, "EVAL release 0 quorumlock:repairer ", ":1\r\n");
    EXPECT_EQ(driver.session.link(2).state(), LinkState::quarantined);
  }
}

TEST(Repair, ASourceThatIsLateOrLostFailsIt) {
  // The repair waits for a source for at most node_timeout.
  for (const bool lost : {false, true}) {
    SessionDriver driver(3);
    ASSERT_NO_FATAL_FAILURE(forget_n3(driver));
    if (lost) {
      driver.close(1);
    } else {
      driver.pass(SessionDriver::node_timeout);
    }
    driver.reply(2, "EVAL release 0 quorumlock:repairer ", ":1\r\n");
    EXPECT_EQ(driver.session.link(2).state(), LinkState::quarantined);
  }
}

TEST(Repair, WaitsWhileNodesThatVouchAreOverdue) {
  // n2 is late and the repair fails. The next one would have n1 alone to read, and so the clocks
  // for what n2 knows of tokens, and nothing for what it knows to be done once. Once n2 has
  // answered, to the repair that has failed, its answer proves nothing else: both are read.
  SessionDriver driver(3);
  ASSERT_NO_FATAL_FAILURE(forget_n3(driver));
  driver.pass(SessionDriver::node_timeout);
  driver.reply(2, "EVAL release 0 quorumlock:repairer ", ":1\r\n");
  driver.pass(1s);
  driver.look(2);
  claim(driver, 2);
  driver.reply(2, "EVAL release 0 quorumlock:repairer ", ":1\r\n");
  EXPECT_EQ(driver.session.link(2).state(), LinkState::quarantined);
  EXPECT_TRUE(driver.asked(0).empty());
  driver.reply(1, scan, found("0", {"quorumlock:fence:z"}));
  EXPECT_TRUE(driver.asked(1).empty());
  driver.pass(1s);
  driver.look(2);
  begin(driver, 2);
  copy_all(driver, 1, 2, "41");
  copy_all(driver, 0, 2, "50");
  driver.reply(2, "EVAL enrol 4 ", ":1\r\n");
  EXPECT_EQ(driver.session.link(2).state(), LinkState::up);
}

TEST(Repair, AnAnswerOfAnOlderRepairDoesNotCount) {
  // n2 of five was late and the repair has failed. Its answer comes during the next repair, which
  // reads other nodes: nothing is concluded from it.
  SessionDriver driver(5);
  driver.servers[2].enrolment = "";
  driver.start();
  ASSERT_NO_FATAL_FAILURE(driver.wait_to_repair(2));
  driver.tells_time = true;
  begin(driver, 2);
  int late = -1;
  for (const int node : {0, 1, 3, 4}) {
    if (!driver.asked(node).empty()) late = node;
  }
  ASSERT_GE(late, 0);
  driver.pass(SessionDriver::node_timeout);
  driver.reply(2, "EVAL release 0 quorumlock:repairer ", ":1\r\n");
  driver.pass(1s);
  driver.look(2);
  begin(driver, 2);
  driver.reply(late, scan, found("0", {"quorumlock:fence:z"}));
  EXPECT_TRUE(driver.asked(late).empty());
}

TEST(Repair, NodesAreRepairedOneAfterTheOther) {
  // Two of five nodes have forgotten and their waits end at the same moment: the second one is
  // repaired after the first.
  SessionDriver driver(5);
  driver.servers[1].enrolment = "";
  driver.servers[2].enrolment = "";
  driver.start();
  for (const int node : {1, 2}) driver.look(node);
  for (int look = 0; look < 2; ++look) {
    driver.pass(look == 0 ? 1s : 12ms);
    for (const int node : {1, 2}) driver.look(node);
  }
  for (const int node : {1, 2}) claim(driver, node);
  for (const int target : {1, 2}) {
    const int other = 3 - target;
    driver.reply(target, "EVAL repair 1 quorumlock:repairer ", ":0\r\n");
    EXPECT_TRUE(driver.asked(other).empty());
    for (const int node : {4, 3, 0}) copy_all(driver, node, target, "41");
    driver.reply(target, "EVAL enrol 4 ", ":1\r\n");
    EXPECT_EQ(driver.session.link(target).state(), LinkState::up);
  }
}

}  // namespace
}  // namespace quorumlock::test
