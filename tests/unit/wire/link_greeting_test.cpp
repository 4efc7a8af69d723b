#include "support/link_driver.hpp"

// The link until it is up: connecting, the greeting, killing an old connection.
namespace quorumlock::test {
namespace {

using Strings = std::vector<std::string>;

TEST(LinkGreeting, LogsInAndAsksForTheServersIdentity) {
  // With an ACL user, a password and a database, one write logs in, chooses the database, asks the
  // questions and loads the scripts. The link is up after the last answer.
  LinkDriver driver({.host = "n1", .login = {"locker", "s3cret"}, .db = 3});
  driver.start();
  EXPECT_EQ(driver.said(), Strings{"connect"});
  EXPECT_TRUE(driver.written().empty());
  driver.open();
  EXPECT_EQ(driver.greet(),
            (Strings{"AUTH locker s3cret", "SELECT 3", "CLIENT ID", "INFO replication",
                     "SCRIPT LOAD", "SCRIPT LOAD", "SCRIPT LOAD", "SCRIPT LOAD", "SCRIPT LOAD",
                     "SCRIPT LOAD", "EVAL writable 0", "EVALSHA writable 0",
                     "CLIENT SETNAME quorumlock:", "MGET quorumlock:enrolment quorumlock:members",
                     "INFO server"}));
  EXPECT_EQ(driver.said(), Strings{"up"});
  EXPECT_EQ(driver.link.deadline(), core::never);
}

TEST(LinkGreeting, WithoutUserOrPasswordDoesNotLogIn) {
  // A password alone is the default user's; without both there is no AUTH.
  LinkDriver with_password({.host = "n1", .login = {.password = "s3cret"}});
  with_password.start();
  with_password.open();
  EXPECT_EQ(with_password.greet()[0], "AUTH s3cret");
  LinkDriver with_nothing;
  with_nothing.start();
  with_nothing.open();
  EXPECT_EQ(with_nothing.greet()[0], "CLIENT ID");
}

TEST(LinkGreeting, IsReadInAnyPieces) {
  // The server's answers arrive byte by byte.
  LinkDriver driver;
  driver.start();
  driver.open();
  const std::string answers = ":7\r\n" + driver.bulk("role:master\r\n") + driver.bulk("sha") +
                              driver.bulk("sha") + driver.bulk("sha") + driver.bulk("sha") +
                              driver.bulk("sha") + driver.bulk("sha") + ":1\r\n:1\r\n+OK\r\n" +
                              driver.both("x:abc") + driver.bulk("run_id:x\r\n");
  driver.said();
  for (std::size_t i = 0; i + 1 < answers.size(); ++i) driver.feed(answers.substr(i, 1));
  EXPECT_TRUE(driver.said().empty());
  driver.feed(answers.substr(answers.size() - 1));
  EXPECT_EQ(driver.said(), Strings{"up"});
}

/// Returns the link's reports on these answers to its greeting, up to the answer that decides.
Strings answered(const redis::Endpoint& endpoint, const Strings& answers) {
  LinkDriver driver(endpoint);
  driver.start();
  driver.open();
  driver.said();
  for (const std::string& answer : answers) driver.feed(answer);
  return driver.said();
}
const redis::Endpoint plain{.host = "n1"};
const Strings refused_unauthorized{"disconnect", "down: not authorized"};
const Strings refused_not_standalone{"disconnect", "down: not standalone"};

TEST(LinkGreeting, AWrongPasswordIsNotAuthorized) {
  // The login fails, whatever the error's words are.
  const redis::Endpoint endpoint{.host = "n1", .login = {.password = "wrong"}};
  for (const char* words : {"-WRONGPASS invalid username-password pair or user is disabled.\r\n",
                            "-ERR AUTH <password> called without any password configured\r\n"}) {
    EXPECT_EQ(answered(endpoint, {words}), refused_unauthorized) << words;
  }
}

TEST(LinkGreeting, AMissingPasswordIsNotAuthorized) {
  // A server that wants a password answers NOAUTH to the first command.
  const std::string noauth = "-NOAUTH Authentication required.\r\n";
  EXPECT_EQ(answered(plain, {noauth}), refused_unauthorized);
}

TEST(LinkGreeting, AMissingPasswordIsNotAuthorizedInAnyDatabase) {
  // The same holds if the first command is to choose a database.
  const std::string noauth = "-NOAUTH Authentication required.\r\n";
  EXPECT_EQ(answered({.host = "n1", .db = 3}, {noauth}), refused_unauthorized);
}

TEST(LinkGreeting, AMissingDatabaseIsAFailure) {
  // A lock in another database than all other clients' would exclude nobody.
  EXPECT_EQ(answered({.host = "n1", .db = 99}, {"-ERR DB index is out of range\r\n"}),
            (Strings{"disconnect", "down: failed"}));
}

TEST(LinkGreeting, AReplicaIsRefused) {
  // A promoted replica would lack every write that its master had not sent it.
  EXPECT_EQ(answered(plain, {":7\r\n", LinkDriver::bulk("# Replication\r\nrole:slave\r\n")}),
            refused_not_standalone);
}

TEST(LinkGreeting, AClusterNodeIsRefused) {
  // A cluster moves its keys.
  LinkDriver driver;
  driver.start();
  driver.open();
  driver.said();
  driver.greet({.mode = "cluster"});
  EXPECT_EQ(driver.said(), refused_not_standalone);
  EXPECT_NE(driver.link.trouble(driver.now).find("cluster"), std::string::npos);
}

TEST(LinkGreeting, AServerThatIsTooOldIsRefused) {
  LinkDriver driver;
  driver.start();
  driver.open();
  driver.said();
  driver.greet({.version = "6.2.14"});
  EXPECT_EQ(driver.said(), (Strings{"disconnect", "down: failed"}));
  EXPECT_EQ(driver.link.trouble(driver.now),
            "is Redis 6.2.14, which is too old: Redis 7.0 and Valkey 7.2 are the oldest that may "
            "vote");
}

TEST(LinkGreeting, AnswersThatThisUserMayNotGetStayUnknown) {
  // An ACL that forbids CLIENT and SCRIPT is no reason to refuse the node. INFO is needed:
  // without the run id and the role it is unknown whether the node has forgotten.
  const std::string no = "-NOPERM this user has no permissions to run this command\r\n";
  const std::string ran = ":1\r\n";
  const std::string record = LinkDriver::both("x:abc");
  const std::string role = LinkDriver::bulk("role:master\r\n");
  const std::string run = LinkDriver::bulk("run_id:x\r\n");
  EXPECT_EQ(answered(plain, {no, role, no, no, no, no, no, no, ran, ran, no, record, run}),
            Strings{"up"});
  for (const auto& [one, other] : {std::pair(role, no), std::pair(no, run)}) {
    EXPECT_EQ(answered(plain, {no, one, no, no, no, no, no, no, ran, ran, no, record, other}),
              Strings{"quarantined: not authorized"});
  }
}

TEST(LinkGreeting, ARefusedNodeIsTriedAgain) {
  // The operator may correct the password: the next try comes by itself.
  LinkDriver driver({.host = "n1", .login = {.password = "wrong"}});
  driver.start();
  driver.open();
  driver.feed("-WRONGPASS no\r\n");
  driver.said();
  driver.reconnect();
  EXPECT_EQ(driver.said(), Strings{"connect"});
  driver.greet();
  EXPECT_EQ(driver.said(), Strings{"up"});
}

TEST(LinkGreeting, GivesUpOnAServerThatSaysNothing) {
  // connect_timeout covers connecting and greeting together.
  LinkDriver driver;
  driver.start();
  EXPECT_EQ(driver.link.deadline(), driver.now + LinkDriver::connect_timeout);
  driver.pass(1s);
  driver.open();
  driver.said();
  driver.pass(999ms);
  EXPECT_TRUE(driver.said().empty());
  driver.pass(1ms);
  EXPECT_EQ(driver.said(), (Strings{"disconnect", "down: unreachable"}));
}

TEST(LinkGreeting, GivesUpOnASocketThatDoesNotOpen) {
  // The network drops all packets, so that not even a refusal comes.
  LinkDriver driver;
  driver.start();
  driver.said();
  driver.pass(LinkDriver::connect_timeout);
  EXPECT_EQ(driver.said(), (Strings{"disconnect", "down: unreachable"}));
}

TEST(LinkGreeting, GarbageIsRefused) {
  // The server is no Redis server at all.
  EXPECT_EQ(answered(plain, {"HTTP/1.1 400 Bad Request\r\n\r\n"}),
            (Strings{"disconnect", "down: failed"}));
}

TEST(LinkGreeting, FirstCommandsWaitForTheConnection) {
  // Commands that are sent while the first connection is being made are written after the greeting
  // has been answered, and their timeout starts then.
  LinkDriver driver;
  driver.start();
  driver.send(1);
  driver.pass(700ms);
  driver.open();
  driver.send(2);
  driver.said();
  driver.pass(700ms);
  for (const std::string& command : driver.greet()) EXPECT_FALSE(command.starts_with("PING"));
  EXPECT_EQ(driver.said(), Strings{"up"});
  EXPECT_EQ(driver.written(), (Strings{"PING 1", "PING 2"}));
  EXPECT_EQ(driver.link.deadline(), driver.now + LinkDriver::node_timeout);
  driver.feed("+OK\r\n$-1\r\n");
  EXPECT_EQ(driver.said(), (Strings{"1 granted", "2 held by another"}));
}

TEST(LinkGreeting, FirstCommandsAreAnsweredIfThereIsNoConnection) {
  // The first connection fails. The node is reported down before the commands are answered, so that
  // the user asks it nothing new because of those answers. From then on no command waits.
  LinkDriver driver;
  driver.start();
  driver.send(1);
  driver.send(2);
  driver.said();
  driver.close("connection refused");
  EXPECT_EQ(driver.said(),
            (Strings{"disconnect", "down: unreachable", "1 unreachable", "2 unreachable"}));
  driver.send(3);
  EXPECT_EQ(driver.said(), Strings{"3 unreachable"});
  driver.reconnect();
  driver.send(4);
  driver.said();
  driver.greet();
  EXPECT_EQ(driver.said(), Strings{"up"});
  EXPECT_TRUE(driver.written().empty());
}

TEST(LinkGreeting, ARefusalIsTheVoteOfWaitingCommands) {
  // A command that waited for a node that is a replica was never sent: its vote gives the reason.
  LinkDriver driver;
  driver.start();
  driver.send(1);
  driver.open();
  driver.said();
  driver.feed(":7\r\n" + LinkDriver::bulk("role:slave\r\n"));
  EXPECT_EQ(driver.said(), (Strings{"disconnect", "down: not standalone", "1 not standalone"}));
  driver.send(2);
  EXPECT_EQ(driver.said(), Strings{"2 not standalone"});
}

/// Comes up as client 7 of `before`, loses the connection with one command, unanswered unless the
/// flag says otherwise, and greets `after`. Returns what was written last.
Strings written_after_loss(LinkDriver& driver, const LinkDriver::Server& before,
                           const LinkDriver::Server& after, bool unanswered = true) {
  driver.come_up(before);
  driver.send(1);
  if (!unanswered) driver.feed("+OK\r\n");
  driver.written();
  driver.close();
  driver.reconnect();
  driver.greet(after);
  return driver.written();
}

TEST(LinkGreetingOrphan, IsKilledBeforeAnythingElse) {
  // It is the same run of the server, and one command was not answered: the old connection is
  // killed, and only then is the node up again.
  LinkDriver driver;
  EXPECT_EQ(written_after_loss(driver, {}, {.client_id = 9}), Strings{"CLIENT KILL ID 7"});
  EXPECT_EQ(driver.said(),
            (Strings{"disconnect", "down: unreachable", "1 disconnected", "connect"}));
  driver.feed(":1\r\n");
  EXPECT_EQ(driver.said(), Strings{"up"});
}

TEST(LinkGreetingOrphan, MayBeGoneAlready) {
  // The server has closed the old connection itself: the link comes up.
  for (const char* answer : {":0\r\n", "-ERR No such client\r\n"}) {
    LinkDriver driver;
    written_after_loss(driver, {}, {.client_id = 9});
    driver.said();
    driver.feed(answer);
    EXPECT_EQ(driver.said(), Strings{"up"}) << answer;
  }
}

TEST(LinkGreetingOrphan, GetsTimeToEndIfThisUserMayNotKillIt) {
  // Commands that were sent on the old connection may run until node_timeout has passed; only then
  // is anything sent on the new one. A note says so.
  LinkDriver driver;
  written_after_loss(driver, {}, {.client_id = 9});
  driver.said();
  driver.feed("-NOPERM this user has no permissions to run the 'client|kill' command\r\n");
  EXPECT_NE(driver.notes().back().find("kill a lost connection"), std::string::npos);
  driver.pass(LinkDriver::node_timeout - 1ms);
  driver.send(2);
  EXPECT_EQ(driver.said(), Strings{"2 unreachable"});
  EXPECT_TRUE(driver.written().empty());
  driver.pass(1ms);
  EXPECT_EQ(driver.said(), Strings{"up"});
}

TEST(LinkGreetingOrphan, GetsTimeToEndIfItsNumberIsUnknown) {
  // CLIENT ID was refused, so that there is nothing to kill by.
  LinkDriver driver;
  EXPECT_TRUE(written_after_loss(driver, {.client_id = -1}, {.client_id = -1}).empty());
  driver.said();
  driver.pass(LinkDriver::node_timeout - 1ms);
  EXPECT_EQ(driver.said(), Strings());
  driver.pass(1ms);
  EXPECT_EQ(driver.said(), Strings{"up"});
}

TEST(LinkGreetingOrphan, IsLeftAloneInAnotherRun) {
  // The server was restarted: its client 7 is somebody else.
  LinkDriver driver;
  EXPECT_TRUE(written_after_loss(driver, {.run_id = "run1"}, {.run_id = "run2"}).empty());
  EXPECT_EQ(driver.said().back(), "up");
}

TEST(LinkGreetingOrphan, IsLeftAloneInAnUnknownRun) {
  // Without a run id it is unknown whether it is the same run.
  LinkDriver driver;
  EXPECT_TRUE(written_after_loss(driver, {.run_id = ""}, {.run_id = ""}).empty());
}

TEST(LinkGreetingOrphan, IsNoneIfEverythingWasAnswered) {
  // Every command was answered, so none can run later.
  LinkDriver driver;
  EXPECT_TRUE(written_after_loss(driver, {}, {.client_id = 9}, false).empty());
  EXPECT_EQ(driver.said().back(), "up");
}

TEST(LinkGreetingOrphan, IsRememberedAcrossFailedTries) {
  // Two tries fail, one before the socket is open and one during the greeting.
  LinkDriver driver;
  driver.come_up();
  driver.send(1);
  driver.close();
  driver.pass(driver.link.deadline() - driver.now);
  driver.close("connection refused");
  driver.reconnect();
  driver.close("reset");
  driver.reconnect();
  driver.greet({.client_id = 12});
  EXPECT_EQ(driver.written(), Strings{"CLIENT KILL ID 7"});
}

TEST(LinkGreetingOrphan, IsRememberedIfTheKillWasNotAnswered) {
  // The connection breaks again before the kill is answered: the kill may not have run, so the next
  // connection repeats it.
  LinkDriver driver;
  EXPECT_EQ(written_after_loss(driver, {}, {.client_id = 9}), Strings{"CLIENT KILL ID 7"});
  driver.close("reset");
  driver.reconnect();
  driver.greet({.client_id = 10});
  EXPECT_EQ(driver.written(), Strings{"CLIENT KILL ID 7"});
}

TEST(LinkGreetingOrphan, IsForgottenOnceItIsKilled) {
  // A killed orphan is forgotten: a later loss with nothing unanswered kills no connection.
  LinkDriver driver;
  written_after_loss(driver, {}, {.client_id = 9});
  driver.feed(":1\r\n");
  driver.close();
  driver.reconnect();
  driver.greet({.client_id = 10});
  EXPECT_TRUE(driver.written().empty());
  driver.send(2);
  driver.close();
  driver.reconnect();
  driver.greet({.client_id = 11});
  EXPECT_EQ(driver.written(), Strings{"CLIENT KILL ID 10"});
}

}  // namespace
}  // namespace quorumlock::test
