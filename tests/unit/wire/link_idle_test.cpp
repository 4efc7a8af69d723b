#include "support/session_driver.hpp"
#include "verbs/scripts.hpp"
#include "wire/back_off.hpp"

// Connections that were idle, and that a device on the path may have forgotten.
namespace quorumlock::test {
namespace {

using Strings = std::vector<std::string>;

constexpr core::Duration idle = redis::idle_may_be_forgotten;

TEST(LinkIdle, AForgottenConnectionIsReplacedAtOnce) {
  // The first command after an idle time has all of node_timeout. Then the next connection is made
  // without a pause, and kills the old one first.
  LinkDriver driver;
  driver.come_up();
  driver.pass(idle);
  driver.send(1);
  driver.pass(100ms);
  driver.send(2);
  driver.pass(LinkDriver::node_timeout - 100ms - 1ns);
  EXPECT_TRUE(driver.said().empty());
  driver.written();
  driver.pass(1ns);
  EXPECT_EQ(driver.said(), (Strings{"disconnect", "down: unreachable", "1 disconnected",
                                    "2 disconnected", "connect"}));
  EXPECT_NE(driver.link.trouble(driver.now).find("had been idle"), std::string::npos);
  driver.open();
  driver.greet({.client_id = 9});
  EXPECT_EQ(driver.written(), Strings{"CLIENT KILL ID 7"});
  driver.feed(":1\r\n");
  EXPECT_EQ(driver.said(), Strings{"up"});
}

TEST(LinkIdle, ANodeThatIsSilentOnTheNewConnectionIsStalled) {
  // The new connection was not idle: a node that is silent on it as well is stalled, and is not
  // reconnected to for ever.
  LinkDriver driver;
  driver.come_up();
  driver.pass(idle);
  driver.send(1);
  driver.pass(LinkDriver::node_timeout);
  driver.open();
  driver.greet();
  driver.feed(":1\r\n");
  driver.said();
  driver.send(2);
  driver.pass(LinkDriver::node_timeout);
  EXPECT_EQ(driver.said(), (Strings{"stalled", "2 late"}));
}

TEST(LinkIdle, ANodeThatIsGoneIsTriedAsUsual) {
  // If the new connection fails, the pauses begin with the shortest one.
  LinkDriver driver;
  driver.come_up();
  driver.pass(idle);
  driver.send(1);
  driver.pass(LinkDriver::node_timeout);
  driver.close("Connection refused");
  const core::Duration pause = driver.link.deadline() - driver.now;
  EXPECT_GE(pause, 10ms);
  EXPECT_LE(pause, 20ms);
}

TEST(LinkIdle, ANodeWhoseConnectionIsInUseIsStalled) {
  // An answer came a little less than the idle time before; or it came earlier, but after the
  // command that is overdue; or half of an answer came just now.
  LinkDriver short_pause;
  short_pause.come_up();
  short_pause.pass(1min);
  short_pause.send(1);
  short_pause.feed("+OK\r\n");
  short_pause.pass(idle - 1ns);
  short_pause.send(2);
  short_pause.pass(LinkDriver::node_timeout);
  EXPECT_EQ(short_pause.said(), (Strings{"1 granted", "stalled", "2 late"}));

  LinkDriver answered;
  answered.come_up();
  answered.pass(idle);
  answered.send(1);
  answered.send(2);
  answered.pass(100ms);
  answered.feed("+OK\r\n");
  answered.pass(LinkDriver::node_timeout);
  EXPECT_EQ(answered.said(), (Strings{"1 granted", "stalled", "2 late"}));

  LinkDriver half;
  half.come_up();
  half.pass(idle);
  half.send(1);
  half.feed("+O");
  half.pass(LinkDriver::node_timeout);
  EXPECT_EQ(half.said(), (Strings{"stalled", "1 late"}));
}

TEST(LinkIdle, AWaiterTriesAgainWhenTheNodesAreThere) {
  // All connections were forgotten. They are made anew at node_timeout. As soon as a quorum of them
  // is up a waiter in the line asks; one in no order asks after its pause.
  for (const bool ordered : {false, true}) {
    SCOPED_TRACE(ordered ? "in order" : "in no order");
    SessionDriver driver(3);
    driver.start();
    driver.pass(idle);
    driver.acquire("key", 5s, ordered);
    driver.pass(SessionDriver::node_timeout);
    for (const int node : {0, 1}) {
      EXPECT_EQ(driver.asked(node), std::deque<std::string>{"CLIENT KILL ID 7"});
      driver.reply(node, "CLIENT KILL", ":1\r\n");
    }
    driver.pass(ordered ? 0ms : 100ms);
    const std::string given_back = "EVALSHA " + std::string(redis::release_script.sha1);
    for (const int node : {0, 1}) {  // the release of the first attempt
      if (!driver.asked(node).empty() && driver.asked(node).front().starts_with(given_back)) {
        driver.reply(node, given_back, "*1\r\n:0\r\n");
      }
    }
    ASSERT_FALSE(driver.asked(0).empty());
    EXPECT_TRUE(driver.asked(0).front().starts_with("EVALSHA ")) << driver.asked(0).front();
    EXPECT_TRUE(driver.refused.empty());
    if (ordered) continue;  // the answer is that of its entry in the line
    for (const int node : {0, 1}) {
      driver.reply(node, "EVALSHA", "*2\r\n:1700000000000000\r\n:41\r\n");
    }
    EXPECT_EQ(driver.acquired, 1);
  }
}

}  // namespace
}  // namespace quorumlock::test
