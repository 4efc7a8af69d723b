#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "support/link_driver.hpp"
#include "support/seeded_random.hpp"
#include "wire/back_off.hpp"
#include "wire/subscriber.hpp"

// The second connection to a node, on which the node sends messages.
namespace quorumlock::test {
namespace {

using redis::Subscriber;
using Strings = std::vector<std::string>;

constexpr std::string_view subscribed = "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n";
constexpr std::string_view message = "*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$2\r\n17\r\n";

class SubscriberTest : public ::testing::Test {
 protected:
  /// The subscriber's events since the last call.
  Strings said() {
    Strings all;
    while (const std::optional<Subscriber::Event> event = subscriber.next(now)) {
      if (std::holds_alternative<Subscriber::Connect>(*event)) all.emplace_back("connect");
      if (std::holds_alternative<Subscriber::Disconnect>(*event)) all.emplace_back("disconnect");
      if (const auto* one = std::get_if<Subscriber::Listening>(&*event)) {
        all.push_back("listens to " + one->channel);
      }
      if (const auto* one = std::get_if<Subscriber::Message>(&*event)) {
        all.push_back(one->channel + ": " + one->text);
      }
      if (const auto* one = std::get_if<Subscriber::Note>(&*event)) notes.push_back(one->why);
    }
    return all;
  }
  Strings written() {
    Strings commands = LinkDriver::commands_in(subscriber.output());
    subscriber.wrote(subscriber.output().size());
    return commands;
  }
  void come_up() {
    subscriber.listen(now, "a");
    subscriber.on_open();
    subscriber.on_bytes("+OK\r\n");
    subscriber.on_bytes(subscribed);
    said();
    written();
  }

  static constexpr core::Duration node_timeout = std::chrono::milliseconds(500);
  SeededRandom random{1};
  core::Time now = core::Time(std::chrono::hours(1));
  Subscriber subscriber{
      {{.host = "n1", .login = {"u", "p"}}, std::chrono::seconds(2), node_timeout}, random};
  Strings notes;
};

TEST_F(SubscriberTest, ConnectsWhenThereIsSomethingToListenTo) {
  // Most processes never wait, so there is no earlier connection. No database is chosen.
  EXPECT_TRUE(said().empty());
  EXPECT_EQ(subscriber.deadline(), core::never);
  subscriber.listen(now, "a");
  EXPECT_EQ(said(), Strings{"connect"});
  subscriber.on_open();
  EXPECT_EQ(written(), (Strings{"AUTH u p", "SUBSCRIBE a"}));
  subscriber.on_bytes("+OK\r\n");
  subscriber.on_bytes(subscribed);
  EXPECT_EQ(said(), Strings{"listens to a"});
  subscriber.on_bytes(message);
  EXPECT_EQ(said(), Strings{"a: 17"});
  EXPECT_EQ(subscriber.deadline(), core::never);
}

TEST_F(SubscriberTest, AChannelIsLeftWithItsLastListener) {
  // A channel that was asked for twice is kept until both listeners have left.
  come_up();
  subscriber.listen(now, "b");
  subscriber.listen(now, "b");
  EXPECT_EQ(written(), Strings{"SUBSCRIBE b"});
  subscriber.leave("b");
  EXPECT_TRUE(written().empty());
  subscriber.leave("b");
  EXPECT_EQ(written(), Strings{"UNSUBSCRIBE b"});
  subscriber.leave("b");
  EXPECT_TRUE(written().empty());
}

TEST_F(SubscriberTest, ALostConnectionIsReplacedWithAllItsChannels) {
  // The new connection comes after a pause, and there is one note.
  come_up();
  subscriber.listen(now, "b");
  subscriber.on_closed(now, "reset");
  EXPECT_EQ(said(), Strings{"disconnect"});
  EXPECT_EQ(notes, Strings{"sends no wake-ups: reset"});
  EXPECT_GT(subscriber.deadline(), now);
  now = subscriber.deadline();
  subscriber.advance(now);
  EXPECT_EQ(said(), Strings{"connect"});
  subscriber.on_open();
  EXPECT_EQ(written(), (Strings{"AUTH u p", "SUBSCRIBE a", "SUBSCRIBE b"}));
}

TEST_F(SubscriberTest, ARefusedConnectionIsTriedSeldomAndReportedOnce) {
  // The user may not subscribe: waiting goes on without messages.
  subscriber.listen(now, "a");
  for (int i = 0; i < 20; ++i) {
    said();
    subscriber.on_open();
    subscriber.on_bytes("+OK\r\n-NOPERM this user has no permissions to access the channel\r\n");
    said();
    ASSERT_GT(subscriber.deadline(), now);
    ASSERT_LE(subscriber.deadline(), now + std::chrono::seconds(1));
    now = subscriber.deadline();
    subscriber.advance(now);
  }
  EXPECT_EQ(notes.size(), 1U);
}

TEST_F(SubscriberTest, AConnectionThatDoesNotAnswerIsGivenUp) {
  // A look sends PING unless one is unanswered; connect_timeout without an answer is the end.
  come_up();
  subscriber.ping(now);
  EXPECT_EQ(written(), Strings{"PING"});
  now += std::chrono::seconds(1);
  subscriber.ping(now);
  EXPECT_TRUE(written().empty());
  EXPECT_TRUE(said().empty());
  subscriber.on_bytes("*2\r\n$4\r\npong\r\n$0\r\n\r\n");
  EXPECT_TRUE(said().empty());
  subscriber.ping(now);
  now += std::chrono::seconds(2);
  subscriber.ping(now);
  EXPECT_EQ(said(), Strings{"disconnect"});
}

TEST_F(SubscriberTest, AnIdleConnectionIsReplacedAtOnce) {
  // Something on the path may have forgotten the connection. The first command after an idle time,
  // a PING or another channel, has node_timeout for an answer; anything that comes before that
  // counts as an answer.
  const std::vector<std::function<void()>> words = {[&] { subscriber.ping(now); },
                                                    [&] { subscriber.listen(now, "b"); }};
  for (const auto& say : words) {
    come_up();
    now += redis::idle_may_be_forgotten;
    say();
    EXPECT_EQ(subscriber.deadline(), now + node_timeout);
    subscriber.on_bytes(message);
    EXPECT_EQ(said(), Strings{"a: 17"});
    EXPECT_EQ(subscriber.deadline(), core::never);
    subscriber.on_closed(now, "reset");
    now = subscriber.deadline();
    subscriber.advance(now);
    come_up();
    now += redis::idle_may_be_forgotten;
    subscriber.ping(now);
    now += node_timeout;
    subscriber.advance(now);
    EXPECT_EQ(said(), (Strings{"disconnect", "connect"}));
    EXPECT_EQ(subscriber.deadline(), now + std::chrono::seconds(2));
    subscriber.on_open();
  }
}

TEST_F(SubscriberTest, AConnectionInUseHasAllOfConnectTimeout) {
  come_up();
  now += redis::idle_may_be_forgotten - std::chrono::nanoseconds(1);
  subscriber.ping(now);
  EXPECT_EQ(subscriber.deadline(), core::never);
}

TEST_F(SubscriberTest, OpeningEndsWithItsTimeout) {
  // A reply that is malformed ends the connection as well.
  subscriber.listen(now, "a");
  said();
  EXPECT_EQ(subscriber.deadline(), now + std::chrono::seconds(2));
  now += std::chrono::seconds(2);
  subscriber.advance(now);
  EXPECT_EQ(said(), Strings{"disconnect"});
  now = subscriber.deadline();
  subscriber.advance(now);
  said();
  subscriber.on_open();
  subscriber.on_bytes("nonsense\r\n");
  EXPECT_EQ(said(), Strings{"disconnect"});
  subscriber.stop();
  EXPECT_EQ(subscriber.deadline(), core::never);
}

TEST_F(SubscriberTest, AStoppedOneNeitherConnectsNorListens) {
  // The end of its connection is no news either.
  come_up();
  subscriber.stop();
  EXPECT_EQ(said(), Strings{"disconnect"});
  subscriber.listen(now, "b");
  subscriber.on_closed(now, "the node closed the connection");
  EXPECT_TRUE(said().empty());
  EXPECT_TRUE(notes.empty());
  EXPECT_EQ(subscriber.deadline(), core::never);

  Subscriber unused({{.host = "n2"}, std::chrono::seconds(2), node_timeout}, random);
  unused.stop();
  unused.listen(now, "a");
  EXPECT_FALSE(unused.next(now));
  EXPECT_EQ(unused.deadline(), core::never);
}

}  // namespace
}  // namespace quorumlock::test
