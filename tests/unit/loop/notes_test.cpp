#include "support/session_driver.hpp"

// What nodes whose disks are trusted note about one another, and how it is asked for.
namespace quorumlock::test {
namespace {

const std::string note_question = "GET quorumlock:node:n1";
const std::string no_note = "$-1\r\n";

/// The record of a durable node, written in this run.
std::string durable_record(const std::string& run) {
  return run + ":1000,d,86400:durable";
}

TEST(Notes, AnAnswerThatComesLateIsCountedOnce) {
  // n1 was restarted, and three of the four others have to vouch for it. n2 and n3 answer after
  // their timeouts: the question is still open until n4 and n5, which are being connected to, have
  // answered.
  SessionDriver driver(5);
  for (int node = 0; node < 5; ++node) {
    const auto i = static_cast<std::size_t>(node);
    driver.servers[i].durable = true;
    driver.servers[i].enrolment = durable_record(node == 0 ? "run0" : driver.servers[i].run_id);
  }
  driver.slow[3] = driver.slow[4] = true;
  driver.start();
  driver.pass(SessionDriver::node_timeout);
  driver.reply(1, note_question, no_note);
  driver.reply(2, note_question, no_note);
  EXPECT_TRUE(driver.asked(0).empty()) << driver.asked(0).front();
  driver.open(3);
  driver.reply(3, note_question, no_note);
  driver.reply(0,
               "EVAL adopt 3 quorumlock:enrolment quorumlock:candidate quorumlock:members " +
                   durable_record("run0"),
               ":1\r\n");
  EXPECT_EQ(driver.session.link(0).state(), LinkState::up);
}

TEST(Notes, AnswersToAnEarlierQuestionAreNotCounted) {
  // n1 was restarted, and its connection breaks before the others have answered: they are asked
  // once more, since they may have noted something in the meantime.
  SessionDriver driver(5);
  for (int node = 0; node < 5; ++node) {
    const auto i = static_cast<std::size_t>(node);
    driver.servers[i].durable = true;
    driver.servers[i].enrolment = durable_record(node == 0 ? "run0" : driver.servers[i].run_id);
  }
  driver.start();
  driver.close(0);
  driver.away[0] = false;
  driver.pass(100ms);
  for (const int node : {1, 2, 3, 4}) driver.reply(node, note_question, no_note);
  EXPECT_TRUE(driver.asked(0).empty()) << driver.asked(0).front();
  for (const int node : {1, 2, 3}) driver.reply(node, note_question, no_note);
  driver.reply(0, "EVAL adopt ", ":1\r\n");
  EXPECT_EQ(driver.session.link(0).state(), LinkState::up);
}

TEST(Notes, AreErasedAfterTheQuarantineOfADurableNode) {
  // n1 was not durable in its last run, and is now. The script erases the very note that was read;
  // a note about the present run stays, and a node without one is not asked.
  SessionDriver driver(4);
  for (int node = 0; node < 4; ++node) {
    const auto i = static_cast<std::size_t>(node);
    driver.servers[i].durable = true;
    driver.servers[i].enrolment = durable_record(driver.servers[i].run_id);
  }
  driver.servers[0].enrolment = "run0:1000,d,86400:volatile";
  driver.start();
  ASSERT_NO_FATAL_FAILURE(driver.wait_to_repair(0));
  driver.reply(0, "SET quorumlock:repairer ", "+OK\r\n");
  driver.reply(0, "EVAL repair ", ":0\r\n");
  for (const int node : {2, 1}) {
    driver.reply(node, "SCAN ", "*2\r\n$1\r\n0\r\n*0\r\n");
    driver.reply(node, "GET quorumlock:enrolment",
                 LinkDriver::bulk(driver.session.link(node).enrolment().enrolled().record));
  }
  driver.reply(0, "EVAL enrol ", ":1\r\n");
  EXPECT_EQ(driver.session.link(0).state(), LinkState::up);
  driver.reply(1, note_question, LinkDriver::bulk("run0:copy"));
  driver.reply(2, note_question, LinkDriver::bulk("run1"));
  driver.reply(3, note_question, no_note);
  driver.reply(1, "EVAL release 0 quorumlock:node:n1 run0:copy", ":1\r\n");
  for (int node = 0; node < 4; ++node) EXPECT_TRUE(driver.asked(node).empty()) << node;
}

}  // namespace
}  // namespace quorumlock::test
