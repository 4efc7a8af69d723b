#include "redis/scripts.hpp"
#include "redis/verbs/release.hpp"
#include "support/session_driver.hpp"

// Without waiters (Options::wake off) a release is the server's own compare-and-delete, on nodes
// that offer it: DELEX of Redis 8.4, DELIFEQ of Valkey 9.
namespace quorumlock::test {
namespace {

using redis::Deletion;
using Strings = std::vector<std::string>;

const std::string granted_reply = "*3\r\n:1\r\n:41\r\n:1700000000000000\r\n";
constexpr const char* none = LinkDriver::Server::unknown;

/// How the link deletes on a node that answers so in its greeting.
Deletion learnt(const std::string& delex, const std::string& delifeq) {
  LinkDriver driver({.host = "n1"}, 1, false);
  LinkDriver::Server server;
  server.delex = delex;
  server.delifeq = delifeq;
  driver.come_up(server);
  EXPECT_EQ(driver.link.state(), LinkState::up);
  return driver.link.greeting().deletion();
}

TEST(LinkDeletion, IsLearntInTheGreeting) {
  // The greeting tries the commands on a key that never exists, in the same write as the rest. A
  // command that this user may not call counts as missing; Valkey 9.2 has both commands.
  const std::string denied = "-NOPERM this user has no permissions to run the 'delex' command\r\n";
  EXPECT_EQ(learnt(none, none), Deletion::script);
  EXPECT_EQ(learnt(":0\r\n", none), Deletion::delex);
  EXPECT_EQ(learnt(none, ":0\r\n"), Deletion::delifeq);
  EXPECT_EQ(learnt(":0\r\n", ":0\r\n"), Deletion::delex);
  EXPECT_EQ(learnt(denied, denied), Deletion::script);
  EXPECT_EQ(learnt(denied, ":0\r\n"), Deletion::delifeq);
}

TEST(LinkDeletion, IsNotAskedForIfReleasesWake) {
  // The script also wakes a waiter, so it is used whatever the server offers.
  LinkDriver driver;
  driver.start();
  driver.open();
  for (const std::string& greeting : driver.greet()) {
    EXPECT_FALSE(greeting.starts_with("DEL")) << greeting;
  }
  EXPECT_EQ(driver.link.greeting().deletion(), Deletion::script);
}

TEST(LinkDeletion, IsLearntAgainFromTheNextServer) {
  // After a reconnection the same name may lead to another version.
  LinkDriver driver({.host = "n1"}, 1, false);
  LinkDriver::Server server;
  server.delex = ":0\r\n";
  driver.come_up(server);
  EXPECT_EQ(driver.link.greeting().deletion(), Deletion::delex);
  driver.close();
  driver.reconnect();
  driver.greet();
  EXPECT_EQ(driver.link.greeting().deletion(), Deletion::script);
}

/// Three nodes, the first with DELEX and the second with DELIFEQ; a lock is held on all of them.
struct Nodes {
  Nodes() : driver(3, false) {
    driver.servers[0].delex = ":0\r\n";
    driver.servers[1].delifeq = ":0\r\n";
    driver.start();
    driver.acquire();
    token = driver.asked(0).front();
    token = token.substr(token.find("enrolment ") + 10);
    token = token.substr(0, token.find(' '));
    for (const int node : {0, 1, 2}) driver.reply(node, "EVALSHA", granted_reply);
  }
  SessionDriver driver;
  std::string token;
};

TEST(LinkDeletion, EachNodeGetsTheCommandThatItOffers) {
  // The replies 1 and 0 mean the same as the script's, so that two of three are a quorum.
  Nodes nodes;
  ASSERT_EQ(nodes.driver.acquired, 1);
  nodes.driver.release();
  EXPECT_EQ(nodes.driver.asked(0), (std::deque<std::string>{"DELEX key IFEQ " + nodes.token}));
  EXPECT_EQ(nodes.driver.asked(1), (std::deque<std::string>{"DELIFEQ key " + nodes.token}));
  ASSERT_EQ(nodes.driver.asked(2).size(), 1U);
  EXPECT_EQ(nodes.driver.asked(2).front(),
            "EVALSHA " + std::string(redis::release_script.sha1) + " 1 key " + nodes.token);
  nodes.driver.reply(0, "DELEX", ":1\r\n");
  nodes.driver.reply(1, "DELIFEQ", ":0\r\n");
  EXPECT_TRUE(nodes.driver.released.empty());
  nodes.driver.reply(2, "EVALSHA", ":1\r\n");
  ASSERT_EQ(nodes.driver.released.size(), 1U);
  EXPECT_EQ(nodes.driver.released[0].why, std::nullopt);
  EXPECT_EQ(nodes.driver.released[0].tally.vote(1), Vote::absent);
}

TEST(LinkDeletion, AnotherKindOfValueIsNotOurs) {
  // As with the script, nothing is deleted, and the link keeps using the command.
  Nodes nodes;
  nodes.driver.release();
  nodes.driver.reply(0, "DELEX",
                     "-ERR Key should be of string type if conditions are specified\r\n");
  nodes.driver.reply(1, "DELIFEQ",
                     "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n");
  nodes.driver.reply(2, "EVALSHA", ":1\r\n");
  ASSERT_EQ(nodes.driver.released.size(), 1U);
  EXPECT_EQ(nodes.driver.released[0].tally.vote(0), Vote::absent);
  EXPECT_EQ(nodes.driver.released[0].tally.vote(1), Vote::absent);
  EXPECT_EQ(nodes.driver.session.link(0).greeting().deletion(), Deletion::delex);
}

TEST(LinkDeletion, AUserWithoutTheRightFallsBackToTheScript) {
  // The user's rights have changed since the greeting. The release is tried again with the script.
  Nodes nodes;
  nodes.driver.release();
  nodes.driver.reply(0, "DELEX", "-NOPERM this user has no permissions to run 'delex'\r\n");
  nodes.driver.reply(1, "DELIFEQ", ":1\r\n");
  nodes.driver.reply(2, "EVALSHA", ":1\r\n");
  EXPECT_EQ(nodes.driver.session.link(0).greeting().deletion(), Deletion::script);
  nodes.driver.pass(200ms);
  ASSERT_EQ(nodes.driver.asked(0).size(), 1U);
  nodes.driver.reply(
      0, "EVALSHA " + std::string(redis::release_script.sha1) + " 1 key " + nodes.token, ":1\r\n");
}

TEST(LinkDeletion, IsUsedOnlyForReleasesOfOneKey) {
  // Releases of readers, of several keys, of permits and of entries in a line, and those by token,
  // keep their scripts.
  core::Send release;
  release.tag.kind = CommandKind::release;
  EXPECT_TRUE(redis::release::only_deletes(release));
  const std::vector<std::string> others = {"other"};
  const auto but = [&release](auto&& change) {
    core::Send send = release;
    change(send);
    return redis::release::only_deletes(send);
  };
  EXPECT_FALSE(but([](core::Send& send) { send.tag.kind = CommandKind::renew; }));
  EXPECT_FALSE(but([](core::Send& send) { send.lock.mode = LockMode::shared; }));
  EXPECT_FALSE(but([](core::Send& send) { send.lock.by_token = true; }));
  EXPECT_FALSE(but([](core::Send& send) { send.place.number = 1; }));
  EXPECT_FALSE(but([](core::Send& send) { send.not_woken.number = 1; }));
  EXPECT_FALSE(but([](core::Send& send) { send.lock.permit.capacity = 2; }));
  EXPECT_FALSE(but([&others](core::Send& send) { send.lock.others = others; }));
}

}  // namespace
}  // namespace quorumlock::test
