#include "support/link_driver.hpp"

// The link of a node whose votes do not count, or not yet.
namespace quorumlock::test {
namespace {

using Strings = std::vector<std::string>;

constexpr core::Duration quarantine = 30s + 302ms;
const std::string run1_record = "run1:abc";

/// The candidate script's answer {2, the candidate that stands, TIME}.
std::string standing(const std::string& candidate) {
  return "*3\r\n:2\r\n" +
         LinkDriver::bulk(as_it_stands(with_mark(candidate, LinkDriver::members()))) +
         ":1700000000000000\r\n";
}
/// Expects that the only command written is a call of this script. Returns its last argument; for
/// "candidate", the one before that, since the last one is the candidate's life.
std::string last_word(LinkDriver& driver, const std::string& script) {
  const Strings written = driver.written();
  EXPECT_EQ(written.size(), 1U);
  if (written.size() != 1) return {};
  EXPECT_TRUE(written[0].starts_with("EVAL " + script + " ")) << written[0];
  std::string text = written[0];
  if (script == "candidate") text.resize(text.rfind(' '));
  return text.substr(text.rfind(' ') + 1);
}
/// Connects to a server without an enrolment, which then waits. Returns the candidate.
std::string come_up_waiting(LinkDriver& driver) {
  driver.start();
  driver.open();
  driver.greet({.enrolment = ""});
  const std::string candidate = last_word(driver, "candidate");
  driver.feed(standing(candidate));
  EXPECT_EQ(driver.said().back(), "quarantined: quarantined");
  return candidate;
}
/// Lets the time pass while the candidate stands and is looked at each second.
void wait(LinkDriver& driver, core::Duration span, const std::string& candidate) {
  const core::Time then = driver.now + span;
  while (driver.link.deadline() <= then && !testing::Test::HasFailure()) {
    driver.pass(driver.link.deadline() - driver.now);
    last_word(driver, "candidate");
    driver.feed(standing(candidate));
  }
  driver.pass(then - driver.now);
}
/// At the end of the wait the node is asked for its facts again before the repairer's mark is set.
void expect_claim(LinkDriver& driver) {
  const Strings written = driver.greet();
  ASSERT_EQ(written.size(), 4U);
  EXPECT_EQ(Strings(written.begin(), written.end() - 1), LinkDriver::facts());
  EXPECT_TRUE(written[3].starts_with("SET quorumlock:repairer ")) << written[3];
}
/// Takes a link from the candidate to the moment when the counters are to be repaired.
void wait_to_repair(LinkDriver& driver, const std::string& candidate) {
  wait(driver, quarantine, candidate);
  ASSERT_NO_FATAL_FAILURE(expect_claim(driver));
  ASSERT_EQ(driver.said(), Strings{"repair"});
}

TEST(LinkEnrolment, AnErrorIsShownWithoutThePassword) {
  // The server quotes the password as it refuses the candidate.
  LinkDriver driver({.host = "n1", .login = {"locker", "s3cret"}});
  driver.start();
  driver.open();
  driver.greet({.enrolment = ""});
  last_word(driver, "candidate");
  driver.feed("-ERR not for s3cret\r\n");
  EXPECT_EQ(driver.link.trouble(driver.now), "cannot be enrolled: ERR not for ***");
}

TEST(LinkEnrolment, TheNodesOwnWordsFollowEveryVote) {
  // The record and the floor of this node follow the arguments that all nodes share, in votes and
  // in nothing else.
  LinkDriver driver;
  driver.come_up({.enrolment = run1_record + ":1700:42"});
  driver.send(1, CommandKind::acquire);
  driver.send(2, CommandKind::raise);
  driver.send(3, CommandKind::renew);
  driver.send(4, CommandKind::set);
  driver.send(5, CommandKind::release);
  const std::string own = " " + run1_record + ":1700:42 1700 86400000 86400000";
  EXPECT_EQ(driver.written(),
            (Strings{"PING 1" + own, "PING 2" + own, "PING 3" + own, "PING 4", "PING 5"}));
}

TEST(LinkEnrolment, AQuarantinedNodeTakesReleasesAndNoVotes) {
  // The link itself answers commands that ask for a vote; releases and queries go to the node.
  LinkDriver driver;
  come_up_waiting(driver);
  driver.send(1, CommandKind::set);
  driver.send(2, CommandKind::acquire);
  driver.send(3, CommandKind::raise);
  driver.send(4, CommandKind::renew);
  EXPECT_EQ(driver.said(),
            (Strings{"1 quarantined", "2 quarantined", "3 quarantined", "4 quarantined"}));
  EXPECT_TRUE(driver.written().empty());
  driver.send(5, CommandKind::release);
  driver.send(6, CommandKind::query);
  EXPECT_EQ(driver.written(), (Strings{"PING 5", "PING 6"}));
  driver.feed(":0\r\n+PONG\r\n");
  EXPECT_EQ(driver.said(), (Strings{"5 absent", "6 unanswered"}));
}

TEST(LinkEnrolment, SaysWhyAndHowLong) {
  // The reason is in trouble(), together with the time left.
  LinkDriver driver;
  const std::string candidate = come_up_waiting(driver);
  EXPECT_EQ(driver.link.trouble(driver.now),
            "has no enrolment: it is new, or has forgotten everything; at most 31 s left");
  wait(driver, 20s, candidate);
  EXPECT_EQ(driver.link.trouble(driver.now),
            "has no enrolment: it is new, or has forgotten everything; at most 11 s left");
}

TEST(LinkEnrolment, TheWaitIsFollowedByTheFirstVote) {
  // After the wait, the repair by the user and the record the node is up, and its own words are the
  // new ones.
  LinkDriver driver;
  const std::string candidate = come_up_waiting(driver);
  ASSERT_NO_FATAL_FAILURE(wait_to_repair(driver, candidate));
  driver.repaired(1700, 42);
  EXPECT_EQ(last_word(driver, "enrol"), candidate);
  EXPECT_TRUE(driver.said().empty());
  driver.feed(":1\r\n");
  EXPECT_EQ(driver.said(), Strings{"up"});
  EXPECT_EQ(driver.link.trouble(driver.now), "");
  driver.send(1, CommandKind::acquire);
  EXPECT_EQ(driver.written(),
            Strings{"PING 1 " + record_of(candidate) + ":1700:42 1700 86400000 86400000"});
}

TEST(LinkEnrolment, ARepairThatFailsYields) {
  // The mark is released, and the repair is tried again in a second.
  LinkDriver driver;
  const std::string candidate = come_up_waiting(driver);
  ASSERT_NO_FATAL_FAILURE(wait_to_repair(driver, candidate));
  driver.repair_failed();
  last_word(driver, "release");
  driver.feed(":1\r\n");
  EXPECT_EQ(driver.link.deadline(), driver.now + 1s);
  EXPECT_TRUE(driver.said().empty());
}

TEST(LinkEnrolment, WaitingCommandsGetTheWordsThatAreFoundOut) {
  // The commands were sent before the node's own words were known: the link appends those later.
  LinkDriver driver;
  driver.start();
  driver.send(1, CommandKind::acquire);
  driver.send(2, CommandKind::release);
  driver.open();
  driver.greet({.enrolment = run1_record + ":7:42"});
  EXPECT_EQ(driver.written(),
            (Strings{"PING 1 " + run1_record + ":7:42 7 86400000 86400000", "PING 2"}));
}

TEST(LinkEnrolment, CommandsThatWaitedForAQuarantinedNodeAreAnswered) {
  // The vote is answered by the link and never asked for; the release is sent.
  LinkDriver driver;
  driver.start();
  driver.send(1, CommandKind::acquire);
  driver.send(2, CommandKind::release);
  driver.open();
  driver.greet({.enrolment = ""});
  EXPECT_EQ(driver.said(), Strings{"connect"}) << "not known yet";
  driver.feed(standing(last_word(driver, "candidate")));
  EXPECT_EQ(driver.said(), (Strings{"quarantined: quarantined", "1 quarantined"}));
  EXPECT_EQ(driver.written(), Strings{"PING 2"});
}

TEST(LinkEnrolment, ACommandWaitsWhileTheRecordIsReadAgain) {
  // A vote script finds another record than ours: that is not a vote, and the record is read.
  // Commands that come meanwhile are sent with the new record, in their order. One that is on its
  // way gets its own answer.
  LinkDriver driver;
  driver.come_up();
  driver.send(1, CommandKind::acquire);
  driver.send(2, CommandKind::acquire);
  driver.written();
  driver.feed("*3\r\n:-1\r\n:0\r\n:1700\r\n");
  EXPECT_EQ(driver.said(), Strings{"1 not enrolled"});
  EXPECT_EQ(driver.written(), Strings{"MGET quorumlock:enrolment quorumlock:members"});
  driver.send(3, CommandKind::acquire);
  driver.send(4, CommandKind::release);
  driver.feed("*3\r\n:-1\r\n:0\r\n:1700\r\n");
  EXPECT_EQ(driver.said(), Strings{"2 not enrolled"});
  EXPECT_TRUE(driver.written().empty()) << "asked once";
  driver.feed(LinkDriver::both(run1_record + ":9:42"));
  EXPECT_EQ(driver.written(),
            (Strings{"PING 3 " + run1_record + ":9:42 9 86400000 86400000", "PING 4"}));
  driver.send(5, CommandKind::acquire);
  EXPECT_EQ(driver.written(), Strings{"PING 5 " + run1_record + ":9:42 9 86400000 86400000"});
  EXPECT_TRUE(driver.said().empty());
}

TEST(LinkEnrolment, ARecordThatIsBeingReadIsNotReadTwice) {
  // The second doubt comes when the record has been read, and before all nodes have been compared:
  // what waited was not sent yet, so the answer to another question would be taken for its own.
  LinkDriver driver;
  driver.come_up();
  driver.compares = false;
  driver.doubt();
  driver.send(1, CommandKind::acquire);
  driver.written();
  driver.feed(LinkDriver::both(run1_record));
  driver.doubt();
  EXPECT_TRUE(driver.written().empty());
  driver.compare();
  EXPECT_EQ(driver.written(), Strings{"PING 1 " + run1_record + " 0 86400000 86400000"});
}

TEST(LinkEnrolment, ANodeThatForgotIsDoubted) {
  // The node has no record any more: the vote that waited is refused, and the release is sent.
  LinkDriver driver;
  driver.come_up();
  driver.doubt();
  driver.written();
  driver.send(1, CommandKind::acquire);
  driver.send(2, CommandKind::release);
  driver.send(3, CommandKind::acquire);
  EXPECT_TRUE(driver.written().empty());
  driver.feed("*2\r\n$-1\r\n$-1\r\n");
  EXPECT_EQ(driver.said(), (Strings{"quarantined: quarantined", "1 quarantined", "3 quarantined"}));
  EXPECT_EQ(driver.written().front(), "PING 2");
}

TEST(LinkEnrolment, ACommandThatWaitsForTheRecordMayBeLate) {
  // The node is silent. Both commands are reported late, once, and answered when it speaks again.
  LinkDriver driver;
  driver.come_up();
  driver.doubt();
  driver.send(1, CommandKind::acquire);
  driver.send(2, CommandKind::release);
  driver.written();
  driver.pass(LinkDriver::node_timeout);
  driver.pass(50ms);
  EXPECT_EQ(driver.said(), (Strings{"stalled", "1 late", "2 late"}));
  driver.feed(LinkDriver::both(run1_record));
  EXPECT_EQ(driver.written(),
            (Strings{"PING 1 " + run1_record + " 0 86400000 86400000", "PING 2"}));
  driver.feed("-ERR one\r\n-ERR two\r\n");
  EXPECT_EQ(driver.said(), (Strings{"1 failed", "2 failed", "up"}));
}

TEST(LinkEnrolment, ADoubtMakesTheLinkLookAgain) {
  // A repair has read another record from the node.
  LinkDriver driver;
  driver.come_up();
  driver.doubt();
  EXPECT_EQ(driver.written(), Strings{"MGET quorumlock:enrolment quorumlock:members"});
}

TEST(LinkEnrolment, ANodeThatIsAwayIsNotDoubted) {
  // The node will be greeted anyway.
  LinkDriver driver;
  driver.come_up();
  driver.close();
  driver.said();
  driver.doubt();
  driver.look_again();
  driver.repaired();
  driver.repair_failed();
  EXPECT_TRUE(driver.said().empty());
  driver.reconnect();
  driver.greet();
  EXPECT_EQ(driver.said().back(), "up");
}

TEST(LinkEnrolment, ItsOwnCommandsAreOverdueLikeOthers) {
  // The look at the candidate is not answered: the node is stalled, and given up in the end. No
  // command is reported to the user, since the user has sent none.
  LinkDriver driver;
  come_up_waiting(driver);
  driver.pass(1s);
  last_word(driver, "candidate");
  driver.pass(LinkDriver::node_timeout);
  EXPECT_EQ(driver.said(), Strings{"stalled"});
  driver.pass(LinkDriver::connect_timeout);
  const Strings said = driver.said();
  ASSERT_GE(said.size(), 2U);
  EXPECT_EQ(said[0], "disconnect");
  EXPECT_EQ(said[1], "down: unreachable");
}

TEST(LinkEnrolment, AfterAReconnectTooASilentNodeIsGivenUp) {
  // Whether the wait goes on depends on the candidate that stands. The question for it is not
  // answered, and that is noticed as with any other command.
  LinkDriver driver;
  come_up_waiting(driver);
  driver.close();
  driver.reconnect();
  driver.greet({.enrolment = ""});
  last_word(driver, "candidate");
  driver.said();
  driver.pass(LinkDriver::node_timeout + LinkDriver::connect_timeout);
  EXPECT_EQ(driver.said().at(0), "disconnect");
}

TEST(LinkEnrolment, TheWaitGoesOnOverAReconnect) {
  // The same candidate stands: only the rest of the wait is left.
  LinkDriver driver;
  const std::string candidate = come_up_waiting(driver);
  const core::Time begun = driver.now;
  wait(driver, 20s, candidate);
  driver.close();
  driver.reconnect();
  driver.greet({.enrolment = ""});
  last_word(driver, "candidate");
  driver.feed(standing(candidate));
  wait(driver, begun + quarantine - driver.now, candidate);
  expect_claim(driver);
}

TEST(LinkEnrolment, AServerNamedTwiceHasOneVote) {
  // The node is barred: it gets releases and no votes, for this reason only and as long as this
  // connection lasts; the next connection is judged anew.
  LinkDriver driver;
  driver.bars = true;
  driver.start();
  driver.open();
  driver.greet();
  EXPECT_EQ(driver.said(), (Strings{"connect", "quarantined: the same server twice"}));
  EXPECT_EQ(driver.link.trouble(driver.now), "is the same server as n2");
  driver.send(1, CommandKind::acquire);
  driver.send(2, CommandKind::release);
  EXPECT_EQ(driver.said(), Strings{"1 the same server twice"});
  EXPECT_EQ(driver.written(), Strings{"PING 2"});
  driver.bars = false;
  driver.close();
  driver.reconnect();
  driver.greet({.run_id = "run9"});
  EXPECT_EQ(driver.said().back(), "up");
  EXPECT_EQ(driver.link.trouble(driver.now), "");
}

TEST(LinkEnrolment, ANodeThatIsNotReadyHasNotForgotten) {
  // BUSY or LOADING anywhere in the greeting, even as the answer to the question for the record,
  // does not mean "I have no enrolment". The node is tried again.
  for (const char* answer : {"-BUSY Redis is busy running a script.\r\n",
                             "-LOADING Redis is loading the dataset in memory\r\n"}) {
    LinkDriver driver;
    driver.start();
    driver.open();
    const Strings greetings = driver.written();
    driver.said();
    for (const std::string& greeting : greetings) {
      if (greeting == "MGET quorumlock:enrolment quorumlock:members") break;
      driver.feed(greeting.starts_with("CONFIG") ? "*0\r\n" : "+OK\r\n");
    }
    driver.feed(answer);
    const std::string vote = answer[1] == 'B' ? "busy" : "loading";
    EXPECT_EQ(driver.said(), (Strings{"disconnect", "down: " + vote}));
    EXPECT_TRUE(driver.link.trouble(driver.now).starts_with("is not ready: "));
    EXPECT_TRUE(driver.written().empty()) << "no candidate";
    driver.reconnect();
    driver.greet();
    EXPECT_EQ(driver.said().back(), "up");
  }
}

TEST(LinkEnrolment, LooksAgainIfAsked) {
  // Another client has enrolled the node: this is known without waiting for the next second. An
  // enrolled node is not looked at, nor one that is being looked at.
  LinkDriver driver;
  come_up_waiting(driver);
  driver.look_again();
  last_word(driver, "candidate");
  driver.look_again();
  EXPECT_TRUE(driver.written().empty());
  driver.feed("*2\r\n:1\r\n" + LinkDriver::bulk(run1_record));
  EXPECT_EQ(driver.written(), Strings{"MGET quorumlock:enrolment quorumlock:members"});
  driver.feed(LinkDriver::both(run1_record));
  EXPECT_EQ(driver.said(), Strings{"up"});
  driver.look_again();
  EXPECT_TRUE(driver.written().empty());
}

}  // namespace
}  // namespace quorumlock::test
