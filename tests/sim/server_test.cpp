#include "sim/server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "verbs/scripts.hpp"
#include "wire/words.hpp"

// Tests of what only the simulation can do to a server, and of what checkers see of a server.
namespace quorumlock::sim {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

std::string bytes_of(std::initializer_list<std::string_view> words) {
  std::string bytes;
  redis::append_command(bytes, words);
  return bytes;
}

/// One server and one client of it.
class ServerTest : public testing::Test {
 protected:
  std::string ask(std::initializer_list<std::string_view> words) {
    server.connections.feed(client, bytes_of(words));
    server.execute_next(client, now);
    return server.connections.take_output(client);
  }

  TrueTime now = 0s;
  Server server{{.durable = true}, WallClock(1000s)};
  int client = server.connections.open();
};

TEST_F(ServerTest, ExecutesCommandsOnlyWhenAsked) {
  const std::string ping = bytes_of({"PING"});
  server.connections.feed(client, ping + ping.substr(0, 5));
  ASSERT_NE(server.connections.next(client), nullptr);
  EXPECT_EQ(server.connections.take_output(client), "");
  EXPECT_TRUE(server.execute_next(client, now));
  EXPECT_EQ(server.connections.take_output(client), "+PONG\r\n");
  EXPECT_FALSE(server.execute_next(client, now));  // half a command
  server.connections.feed(client, ping.substr(5));
  EXPECT_TRUE(server.execute_next(client, now));
}

TEST_F(ServerTest, WritesAnErrorInOneLine) {
  const std::string said = ask({"NOTHING", "two\r\nlines"});
  EXPECT_EQ(said.find_first_of("\r\n"), said.size() - 2) << said;
}

TEST_F(ServerTest, ExecutesNothingWhilePaused) {
  server.connections.feed(client, bytes_of({"PING"}));
  server.pause();
  EXPECT_FALSE(server.execute_next(client, now));
  server.resume();
  EXPECT_TRUE(server.execute_next(client, now));
}

TEST_F(ServerTest, CommandsThatArrivedAreExecutedAfterTheClientHasHungUp) {
  server.connections.feed(client, bytes_of({"SET", "key", "1"}) + bytes_of({"SET", "key", "2"}));
  server.connections.hang_up(client);
  EXPECT_TRUE(server.execute_next(client, now));
  EXPECT_TRUE(server.execute_next(client, now));
  EXPECT_EQ(server.at(now).token_of("key"), "2");
  EXPECT_FALSE(server.connections.is_open(client));
}

TEST_F(ServerTest, ListsItsClientsByName) {
  ask({"CLIENT", "SETNAME", "first"});
  client = server.connections.open();
  const std::string list = ask({"CLIENT", "LIST"});
  EXPECT_NE(list.find(" name=first "), list.npos) << list;
  EXPECT_NE(list.find(" name= "), list.npos) << list;
}

TEST_F(ServerTest, ExecutesNothingMoreFromAKilledConnection) {
  const std::string id = ask({"CLIENT", "ID"});
  server.connections.feed(client, bytes_of({"SET", "key", "value"}));
  client = server.connections.open();
  EXPECT_NE(ask({"CLIENT", "ID"}), id);
  EXPECT_EQ(ask({"CLIENT", "KILL", "ID", id.substr(1, id.size() - 3)}), ":1\r\n");
  EXPECT_FALSE(server.connections.is_open(client - 1));
  EXPECT_FALSE(server.execute_next(client - 1, now));
  EXPECT_EQ(server.at(now).token_of("key"), std::nullopt);
}

TEST_F(ServerTest, KeysExpireByTheServersOwnClock) {
  ask({"SET", "key", "value", "PX", "1000"});
  server.clock.set_rate(1.25, now);
  now = 800ms;
  EXPECT_EQ(ask({"PTTL", "key"}), ":0\r\n");
  EXPECT_EQ(ask({"GET", "key"}), "$5\r\nvalue\r\n");
  now = 801ms;
  EXPECT_EQ(ask({"GET", "key"}), "$-1\r\n");
  server.clock.step(-1s);
  EXPECT_EQ(ask({"GET", "key"}), "$5\r\nvalue\r\n");  // the expired key has not been reaped
  now = 3s;
  server.reap(now);
  server.clock.step(-3s);
  EXPECT_EQ(ask({"GET", "key"}), "$-1\r\n");
}

TEST_F(ServerTest, ADurableServerKeepsItsDataOverARestart) {
  ask({"SET", "short", "value", "PX", "1000"});
  ask({"SET", "long", "value", "PX", "5000"});
  ask({"SCRIPT", "LOAD", redis::release_script.source});
  const std::string run = server.run().id();
  server.crash();
  EXPECT_FALSE(server.connections.is_open(client));
  now = 2s;
  server.restart(now);
  EXPECT_NE(server.run().id(), run);
  EXPECT_THAT(server.at(now).keys(), testing::ElementsAre(testing::Key("long")));
  client = server.connections.open();
  EXPECT_EQ(ask({"CLIENT", "ID"}), ":1\r\n");
  EXPECT_THAT(ask({"EVALSHA", redis::release_script.sha1, "1", "long", "value"}),
              HasSubstr("NOSCRIPT"));
  EXPECT_THAT(ask({"INFO", "server"}), HasSubstr("run_id:" + server.run().id()));
}

TEST_F(ServerTest, AVolatileServerForgetsAllItsData) {
  server = Server({.seed = 2});
  client = server.connections.open();
  ask({"SET", "key", "value"});
  server.crash();
  server.restart(now);
  EXPECT_THAT(server.at(now).keys(), testing::IsEmpty());
}

TEST_F(ServerTest, FailsOverToAnEarlierState) {
  ask({"SET", "key", "old"});
  const Server::Data snapshot = server.data;
  const std::string run = server.run().id();
  ask({"SET", "key", "new"});
  server.fail_over(snapshot, now);
  EXPECT_EQ(server.at(now).token_of("key"), "old");
  EXPECT_NE(server.run().id(), run);
  EXPECT_FALSE(server.connections.is_open(client));
}

TEST_F(ServerTest, ACopyIsIndependent) {
  Server copy = server;
  ask({"SET", "key", "value"});
  EXPECT_EQ(copy.at(now).token_of("key"), std::nullopt);
}

TEST_F(ServerTest, LosesKeysOneByOne) {
  ask({"SET", "a", "value"});
  ask({"SET", "quorumlock:fence:b", "17"});
  EXPECT_EQ(server.at(now).counter_of("b"), 17);
  EXPECT_EQ(server.data[0].evict(3), "quorumlock:fence:b");
  EXPECT_EQ(server.at(now).counter_of("b"), std::nullopt);
  EXPECT_EQ(server.data[0].evict(3), "a");
  EXPECT_EQ(server.data[0].evict(3), std::nullopt);
}

TEST_F(ServerTest, DatabasesAreSeparate) {
  ask({"SELECT", "5"});
  ask({"SET", "key", "value"});
  EXPECT_EQ(server.at(now).token_of("key"), std::nullopt);
  EXPECT_EQ(ask({"EXISTS", "key"}), ":1\r\n");
}

TEST_F(ServerTest, ScansInSteps) {
  for (const char* const key : {"a", "b", "c", "d", "e"}) ask({"SET", key, "value"});
  std::string cursor = "0";
  std::string found;
  do {
    const std::string reply = ask({"SCAN", cursor, "COUNT", "2"});
    const std::size_t begin = reply.find("\r\n", 4) + 2;
    cursor = reply.substr(begin, reply.find("\r\n", begin) - begin);
    found += reply.substr(reply.find('*', 1));
  } while (cursor != "0");
  for (const char* const key : {"a", "b", "c", "d", "e"}) {
    EXPECT_THAT(found, HasSubstr("\r\n" + std::string(key) + "\r\n"));
  }
}

// Scripts at a time of their own choice: a counter of fencing tokens against the clock of its node,
// which is at 1000 s.
constexpr std::string_view lock_counter = "quorumlock:fence:lock";

TEST_F(ServerTest, ACounterThatIsLessThanAnAbsentOneBeginsWithDoesNotCount) {
  // With a fencing_memory of 10 s it begins at 995 s. The client's clock is at 1 us.
  ask({"SET", "quorumlock:enrolment", "ours"});
  for (const bool is_there : {false, true}) {
    if (is_there) ask({"SET", lock_counter, "7"});
    EXPECT_THAT(ask({"EVAL", redis::acquire_script.source, "0", "1000", "1", "1", "0", "lock",
                     "mine", "0", "ours", "0", "10000", "10000"}),
                HasSubstr(":995000001\r\n"));
    ask({"DEL", "lock", lock_counter});
    if (is_there) ask({"SET", lock_counter, "7"});
    EXPECT_THAT(ask({"EVAL",       redis::acquire_all_script.source,
                     "2",          "lock",
                     lock_counter, "mine",
                     "1000",       "0",
                     "1",          "1",
                     "",           "0",
                     "0",          "w",
                     "0",          "0",
                     "ours",       "0",
                     "10000",      "10000"}),
                HasSubstr(":995000001\r\n"));
    ask({"DEL", "lock", lock_counter});
  }
}

TEST_F(ServerTest, ARaiseComparesTheFloor) {
  // The list has been settled since the lock was granted, and the node has a floor.
  ask({"SET", "quorumlock:enrolment", "ours"});
  ask({"SET", "lock", "mine"});
  ask({"SET", lock_counter, "7"});
  const auto raised_to = [&](std::string_view fence) {
    return ask({"EVAL", redis::raise_script.source, "2", "lock", lock_counter, "mine", fence,
                "ours", "20", "10000", "10000"});
  };
  for (const std::string_view low : {"8", "20"}) {
    EXPECT_THAT(raised_to(low), HasSubstr(":0\r\n:20\r\n"));
    EXPECT_THAT(ask({"GET", lock_counter}), HasSubstr("\r\n7\r\n"));
  }
  EXPECT_THAT(raised_to("21"), HasSubstr(":1\r\n:21\r\n"));
  EXPECT_THAT(ask({"GET", lock_counter}), HasSubstr("\r\n21\r\n"));
}

TEST_F(ServerTest, ARepairProlongsTheLifeOfACounterThatIsAsGreat) {
  const auto life_after = [&](std::string_view was, std::string_view life) {
    ask({"SET", lock_counter, was, "PX", "5000"});
    ask({"EVAL", redis::repair_script.source, "2", "quorumlock:repairer", lock_counter, "mark",
         "1000", life, "7"});
    return ask({"PTTL", lock_counter});
  };
  for (const std::string_view was : {"6", "7", "8"}) {
    EXPECT_EQ(life_after(was, "9000"), ":9000\r\n") << was;
  }
  EXPECT_EQ(life_after("8", "3000"), ":5000\r\n");
}

TEST_F(ServerTest, ARepairBringsPeriodZero) {
  const std::string done = "quorumlock:once:lock";
  ask({"EVAL", redis::repair_script.source, "2", "quorumlock:repairer", done, "mark", "1000",
       "9000", "0"});
  EXPECT_EQ(ask({"GET", done}), "$1\r\n0\r\n");
}

TEST_F(ServerTest, WorkIsOnlyNotedByANodeWithItsRecord) {
  const std::string done = "quorumlock:once:lock";
  const auto note = [&] {
    return ask({"EVAL", redis::once_script.source, "3", lock_counter, done, "lock", "7", "3",
                "9000", "token", "ours"});
  };
  ask({"SET", lock_counter, "7"});  // it was repaired, and not let in yet
  ask({"SET", "lock", "token"});
  EXPECT_THAT(note(), HasSubstr(":-1\r\n:0\r\n"));
  EXPECT_EQ(ask({"EXISTS", done}), ":0\r\n");
  ask({"SET", "quorumlock:enrolment", "ours"});
  ask({"SET", "lock", "another"});
  EXPECT_THAT(note(), HasSubstr(":3\r\n:0\r\n"));
  ask({"SET", "lock", "token"});
  EXPECT_THAT(note(), HasSubstr(":1\r\n:4\r\n"));
}

TEST_F(ServerTest, ACommandThatTheLibraryNeverSendsIsAnErrorOfTheTest) {
  EXPECT_THROW(ask({"EVAL", "return 1", "0"}), std::logic_error);
  EXPECT_THROW(server.connections.feed(client, "PING\r\n"), std::runtime_error);
}

}  // namespace
}  // namespace quorumlock::sim
