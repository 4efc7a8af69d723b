#include "loop/messages.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/links_driver.hpp"

// The messages of nodes, and the second connections that they come on.
namespace quorumlock::test {
namespace {

using detail::Messages;
using Strings = std::vector<std::string>;

std::string array_of(const Strings& words) {
  std::string bytes = "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string& word : words) bytes += LinkDriver::bulk(word);
  return bytes;
}

class MessagesTest : public ::testing::Test {
 protected:
  /// Returns the effects of the messages, until no subscriber is touched.
  Strings said() {
    Strings all;
    while (!driver.links.touched_subscribers().empty()) {
      const auto output = messages.next(driver.now);
      if (!output) continue;
      if (const auto* open = std::get_if<detail::OpenWire>(&*output)) {
        all.push_back("open " + std::to_string(open->wire));
      } else if (const auto* heard = std::get_if<Messages::Heard>(&*output)) {
        all.push_back("heard of " + heard->key);
      } else if (const auto* news = std::get_if<detail::News>(&*output)) {
        all.push_back("n" + std::to_string(news->node + 1) + " " + news->reason);
      } else {
        all.emplace_back("close");
      }
    }
    return all;
  }
  redis::Subscriber& subscriber(int node) { return driver.links.subscriber(node); }
  Strings written(int node) {
    Strings commands = LinkDriver::commands_in(subscriber(node).output());
    subscriber(node).wrote(subscriber(node).output().size());
    return commands;
  }
  void feed(int node, const Strings& words) {
    subscriber(node).on_bytes(array_of(words));
    driver.links.touched(detail::subscriber_of(node));
  }
  /// Listens to messages about a lock's leaders; the first node has confirmed it.
  void listen() {
    messages.listen(driver.now, "quorumlock:led:key", true);
    said();
    subscriber(0).on_open();
    written(0);
    subscriber(0).on_bytes("*3\r\n$9\r\nsubscribe\r\n$18\r\nquorumlock:led:key\r\n:1\r\n");
    driver.links.touched(detail::subscriber_of(0));
    EXPECT_EQ(said(), Strings{"heard of key"});  // one may have been lost until now
  }

  LinksDriver driver{2};
  Messages messages{driver.links, driver.engine};
};

TEST_F(MessagesTest, TheConnectionsAreOpenedWhenTheyAreFirstNeeded) {
  EXPECT_FALSE(messages.listens());
  EXPECT_EQ(messages.deadline(), core::never);
  messages.listen(driver.now, "quorumlock:led:key", true);
  EXPECT_TRUE(messages.listens());
  EXPECT_EQ(said(), (Strings{"open " + std::to_string(detail::subscriber_of(0)),
                             "open " + std::to_string(detail::subscriber_of(1))}));
  EXPECT_EQ(messages.deadline(), driver.now + LinkDriver::connect_timeout);
  driver.now = messages.deadline();
  messages.advance(driver.now);
  const Strings notes = said();
  EXPECT_EQ(std::count(notes.begin(), notes.end(), "close"), 2);
}

TEST_F(MessagesTest, TheEngineListensToItsOwnChannel) {
  messages.listen(driver.now, core::Listen{.process = "0123456789abcdef"});
  subscriber(0).on_open();
  EXPECT_EQ(written(0), Strings{"SUBSCRIBE quorumlock:wake:0123456789abcdef"});
}

TEST_F(MessagesTest, NewsOfALeaderAreHandedOn) {
  listen();
  feed(0, {"message", "quorumlock:led:key", "anything"});
  EXPECT_EQ(said(), Strings{"heard of key"});
}

TEST_F(MessagesTest, AWakeUpThatCannotBeReadIsIgnored) {
  listen();
  for (const char* text : {"", "x", "7x", "7.", "7.x", "7.3", "7"}) {
    feed(0, {"message", "quorumlock:wake:0123456789abcdef", text});
    EXPECT_EQ(said(), Strings()) << text;
  }
}

TEST_F(MessagesTest, TheConnectionsAreCheckedThreeTimesInTheLifeOfAnEntry) {
  listen();
  messages.ping_sometimes(driver.now, 3s);
  EXPECT_EQ(written(0), Strings{"PING"});
  subscriber(0).on_bytes(array_of({"pong", ""}));
  driver.links.touched(detail::subscriber_of(0));
  said();
  driver.now += 1s - 1ns;
  messages.ping_sometimes(driver.now, 3s);
  EXPECT_TRUE(written(0).empty());
  driver.now += 1ns;
  messages.ping_sometimes(driver.now, 3s);
  EXPECT_EQ(written(0), Strings{"PING"});
}

}  // namespace
}  // namespace quorumlock::test
