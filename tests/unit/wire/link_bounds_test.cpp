#include "support/link_driver.hpp"

// Bounds on what a node can make the link store or report, whatever the node does.
namespace quorumlock::test {
namespace {

using Strings = std::vector<std::string>;

TEST(LinkBounds, LongErrorsAreReportedInPart) {
  // An error text of the maximum length is reported in part, after a command and in the greeting.
  const std::string error = "-ERR " + std::string(redis::ReplyReader::max_line - 4, 'x') + "\r\n";
  LinkDriver driver;
  driver.come_up();
  driver.send(1);
  driver.feed(error);
  EXPECT_EQ(driver.said(), Strings{"1 failed"});
  EXPECT_LT(driver.link.trouble(driver.now).size(), 300U);

  LinkDriver refused({.host = "n1", .login = {.password = "secret"}});
  refused.start();
  refused.open();
  refused.feed(error);
  EXPECT_EQ(refused.said(), (Strings{"connect", "disconnect", "down: not authorized"}));
  EXPECT_LT(refused.link.trouble(driver.now).size(), 300U);
}

TEST(LinkBounds, ControlCharactersInErrorsAreEscaped) {
  // A node's words cannot end our line or colour the terminal.
  LinkDriver driver;
  driver.come_up();
  driver.send(1);
  driver.feed("-ERR \x1b[31mred\tand more\r\n");
  EXPECT_EQ(driver.link.trouble(driver.now), "ERR \\u001b[31mred\\u0009and more");

  LinkDriver other;  // hiredis 1.1 and later refuses a line feed itself
  other.come_up();
  other.send(1);
  other.feed("-ERR red\nand more\r\n");
  const std::string trouble = other.link.trouble(other.now);
  EXPECT_TRUE(trouble == "ERR red\\u000aand more" ||
              trouble.starts_with("sent what is not a reply"))
      << trouble;
}

TEST(LinkBounds, ANodeThatDoesNotReadIsGivenUp) {
  // The node answers commands that it cannot have read, so it is never late. The output for it
  // piles up until the connection is given up.
  LinkDriver driver;
  driver.come_up();
  const std::string command(1 << 20, 'x');
  int sent = 0;
  const auto send = [&] {
    driver.link.send(driver.now, LinkDriver::tag(++sent, CommandKind::set), command);
    driver.feed("+OK\r\n");
  };
  while (sent < 64) send();
  EXPECT_EQ(driver.link.output().size(), std::size_t{64} << 20);
  driver.said();
  send();
  EXPECT_EQ(driver.said(), Strings{"65 granted"});
  send();
  EXPECT_EQ(driver.said(), (Strings{"disconnect", "down: unreachable", "66 unreachable"}));
  EXPECT_EQ(driver.link.trouble(driver.now), "does not read what it is sent");
  EXPECT_TRUE(driver.link.output().empty());
}

TEST(LinkBounds, WrittenOutputIsNotKeptForASlowNode) {
  // Some output is always left to be written, but the written part is not kept.
  LinkDriver driver;
  driver.come_up();
  const std::string command(1000, 'x');
  driver.link.send(driver.now, LinkDriver::tag(0, CommandKind::set), command);
  for (int i = 1; i <= 1000; ++i) {
    driver.link.send(driver.now, LinkDriver::tag(i, CommandKind::set), command);
    driver.link.wrote(command.size());
    ASSERT_EQ(driver.link.output().size(), command.size());
    ASSERT_EQ(driver.link.output(), command);
  }
}

}  // namespace
}  // namespace quorumlock::test
