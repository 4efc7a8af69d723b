#include "loop/sender.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "support/links_driver.hpp"

// The engine's commands on their way to the links, and the answers to batches on their way back.
namespace quorumlock::test {
namespace {

using detail::Sender;
using Strings = std::vector<std::string>;

class SenderTest : public ::testing::Test {
 protected:
  struct Wall final : core::WallClock {
    std::int64_t now_us() override { return us; }
    std::int64_t us = 1'700'000'000'000'000;
  };

  /// The engine's release of this key on all nodes.
  void release(const char* key) {
    core::Send send{};
    send.to = core::NodeSet::first(2);
    send.tag = LinkDriver::tag(7, CommandKind::release);
    send.lock.first = key;
    send.token = "t0ken";
    sender.send(driver.now, send);
  }
  /// The engine's acquisition of this key on all nodes.
  void acquire(const char* key, core::Time begun = {}, int again = 0) {
    core::Send send{};
    send.begun = begun;
    send.to = core::NodeSet::first(2);
    send.tag = LinkDriver::tag(7, CommandKind::acquire);
    send.tag.again = static_cast<std::uint8_t>(again);
    send.lock.first = key;
    send.token = "t0ken";
    send.ttl = 10s;
    sender.send(driver.now, send);
  }
  /// The events of a link, of which those of a batch are handed to the sender.
  int answers_to_batches(int node) {
    int count = 0;
    while (const redis::Link::Event* event = driver.links.link(node).next(driver.now)) {
      if (const auto* answer = std::get_if<redis::Link::Answered>(event)) {
        EXPECT_TRUE(Sender::is_batch(answer->tag.kind));
        slots.insert(answer->tag.claim.index);
        sender.on_answer(node, answer->tag, answer->answer, answer->reply);
      } else if (const auto* late = std::get_if<redis::Link::Late>(event)) {
        sender.on_late(node, late->tag);
      } else {
        continue;
      }
      EXPECT_TRUE(sender.has_answers());
      while (sender.hand_on(driver.now)) ++count;
      EXPECT_FALSE(sender.has_answers());
    }
    return count;
  }

  std::set<std::uint32_t> slots;  ///< those of the batches that were answered
  LinksDriver driver{2};
  Wall wall;
  Sender sender{driver.links, driver.engine, wall};
};

TEST_F(SenderTest, ReleasesOfOneTurnGoOutAsOneCommand) {
  release("a");
  release("b");
  EXPECT_TRUE(sender.holds_batch());
  EXPECT_TRUE(driver.written(0).empty());
  sender.flush(driver.now);
  EXPECT_FALSE(sender.holds_batch());
  for (const int node : {0, 1}) {
    const Strings commands = driver.written(node);
    ASSERT_EQ(commands.size(), 1U);
    EXPECT_NE(commands[0].find(" a "), std::string::npos) << commands[0];
    EXPECT_NE(commands[0].find(" b "), std::string::npos) << commands[0];
  }
}

TEST_F(SenderTest, AnotherCommandSendsTheBatchFirst) {
  // The commands for one lock have to stay in order.
  release("a");
  release("b");
  sender.send(driver.now, 0, {}, "*1\r\n$4\r\nPING\r\n");
  const Strings commands = driver.written(0);
  ASSERT_EQ(commands.size(), 2U);
  EXPECT_EQ(commands[1], "PING");
  EXPECT_EQ(driver.written(1).size(), 1U);
}

TEST_F(SenderTest, ASingleReleaseIsABatchOfOne) {
  release("a");
  sender.flush(driver.now);
  ASSERT_EQ(driver.written(0).size(), 1U);
  driver.links.link(0).on_bytes("*1\r\n:1\r\n");
  EXPECT_EQ(answers_to_batches(0), 1);
}

TEST_F(SenderTest, AnAcquisitionCarriesTheTimeAloneAndInABatch) {
  // A node's fencing counter begins at the time if the node has none.
  for (const int count : {2, 1}) {
    for (int i = 0; i < count; ++i) acquire(i == 0 ? "a" : "b");
    sender.flush(driver.now);
    const Strings commands = driver.written(0);
    ASSERT_EQ(commands.size(), 1U);
    EXPECT_NE(commands[0].find(" 1700000000000000 "), std::string::npos) << commands[0];
  }
}

TEST_F(SenderTest, AnAcquisitionThatIsSentAgainCarriesTheTimeOfTheFirst) {
  // Otherwise nodes whose records have changed would grant other numbers than the first ones, and a
  // round to raise them would follow. A clock that has been set is noticed by the next attempt.
  const auto sent = [this](core::Time begun, int again) {
    acquire("a", begun, again);
    sender.flush(driver.now);
    return driver.written(0).at(0);
  };
  const core::Time first = driver.now;
  EXPECT_NE(sent(first, 0).find(" 1700000000000000 "), std::string::npos);
  driver.now += 20ms;
  wall.us += 20'300;
  EXPECT_NE(sent(first, 1).find(" 1700000000000000 "), std::string::npos);
  EXPECT_NE(sent(driver.now, 0).find(" 1700000000020000 "), std::string::npos);
  wall.us -= 1'000'000;
  EXPECT_NE(sent(driver.now, 0).find(" 1699999999020300 "), std::string::npos);
}

TEST_F(SenderTest, TheAnswersToABatchAreHandedOnOneByOne) {
  release("a");
  release("b");
  release("c");
  sender.flush(driver.now);
  driver.links.link(0).on_bytes("*3\r\n:1\r\n:1\r\n:1\r\n");
  EXPECT_EQ(answers_to_batches(0), 3);
  // The other node is late first and answers later: both are handed on.
  driver.now += 500ms;
  driver.links.link(1).advance(driver.now);
  EXPECT_EQ(answers_to_batches(1), 3);
  driver.links.link(1).on_bytes("-ERR something else\r\n");
  EXPECT_EQ(answers_to_batches(1), 3);
}

TEST_F(SenderTest, ABatchThatAllNodesHaveAnsweredMakesRoomForTheNext) {
  // A process that runs for weeks needs no more memory for its batches than at first.
  for (int i = 0; i < 10; ++i) {
    release("a");
    release("b");
    sender.flush(driver.now);
    for (const int node : {0, 1}) {
      driver.links.link(node).on_bytes("*2\r\n:1\r\n:1\r\n");
      EXPECT_EQ(answers_to_batches(node), 2);
    }
  }
  EXPECT_EQ(slots.size(), 1U);
}

TEST_F(SenderTest, AllOtherNodesAreAskedForTheirTime) {
  sender.ask_clocks(driver.now, 0);
  EXPECT_TRUE(driver.written(0).empty());
  EXPECT_EQ(driver.written(1), Strings{"TIME"});
}

}  // namespace
}  // namespace quorumlock::test
