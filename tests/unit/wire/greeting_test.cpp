#include "wire/greeting.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/link_driver.hpp"
#include "support/made_reply.hpp"
#include "verbs/rights.hpp"

// What a server is asked on a new connection, and what follows from its answers.
namespace quorumlock::test {
namespace {

using redis::Greeting;
using Strings = std::vector<std::string>;

class GreetingTest : public ::testing::Test {
 protected:
  Strings written() {
    Strings commands = LinkDriver::commands_in(out.unwritten());
    out.clear();
    return commands;
  }
  /// Takes this answer of a server, as bytes.
  std::optional<Greeting::Trouble> hear(const std::string& bytes) {
    reader.reset();
    reader.feed(bytes);
    return greeting.on_reply(*reader.next());
  }
  /// Greets this server; returns the first trouble with it.
  std::optional<Greeting::Trouble> greet(const LinkDriver::Server& server) {
    greeting.begin(out);
    for (const std::string& question : written()) {
      EXPECT_TRUE(greeting.is_asking());
      if (auto trouble = hear(LinkDriver::answer_to(question, server))) return trouble;
      EXPECT_FALSE(greeting.is_silent());
    }
    EXPECT_FALSE(greeting.is_asking());
    return std::nullopt;
  }
  /// Answers the questions on a connection that is up as this server would. Returns the trouble.
  std::optional<Greeting::Trouble> answer_later(const LinkDriver::Server& server) {
    for (const std::string& question : written()) {
      const redis::Pipeline::Command asked = pipeline.answer(now);
      EXPECT_TRUE(asked.own);
      EXPECT_TRUE(Greeting::is_later_question(asked.tag));
      reader.reset();
      reader.feed(LinkDriver::answer_to(question, server));
      if (auto trouble = greeting.on_later_reply(asked.tag, *reader.next())) return trouble;
      complete = greeting.completes_facts(asked.tag);
    }
    EXPECT_TRUE(pipeline.empty());
    return std::nullopt;
  }

  Greeting greeting{{.login = {"locker", "hunter2"}, .db = 3}};
  redis::WriteBuffer out;
  redis::ReplyReader reader;
  redis::Pipeline pipeline{500ms, 2s};
  core::Time now = core::Time(1h);
  bool complete = false;
};

TEST_F(GreetingTest, TheLoginComesFirstAndTheServersNameLast) {
  greeting.begin(out);
  const Strings questions = written();
  EXPECT_EQ(questions.front(), "AUTH locker hunter2");
  EXPECT_EQ(questions[1], "SELECT 3");
  EXPECT_EQ(questions.back(), "INFO server");
  EXPECT_TRUE(greeting.is_silent());
}

TEST_F(GreetingTest, TheServerIsIdentified) {
  EXPECT_FALSE(greet({.run_id = "run9", .client_id = 12}));
  EXPECT_EQ(greeting.facts().run_id, "run9");
  EXPECT_EQ(greeting.client_id(), 12);
  EXPECT_EQ(greeting.role(), "master");
  EXPECT_EQ(greeting.mode(), "standalone");
  EXPECT_TRUE(greeting.texts().record.has_value());
  greeting.end();
  EXPECT_EQ(greeting.facts().run_id, "");
}

TEST_F(GreetingTest, ARunIdThatARecordCannotHaveIsNotTaken) {
  EXPECT_FALSE(greet({.run_id = "run:9"}));
  EXPECT_EQ(greeting.facts().run_id, "");
}

TEST_F(GreetingTest, AServerThatCannotBeUsedIsRefusedWithAReason) {
  const auto replica = greet({.role = "slave"});
  ASSERT_TRUE(replica);
  EXPECT_EQ(replica->vote, Vote::not_standalone);
  const auto cluster = greet({.mode = "cluster"});
  ASSERT_TRUE(cluster);
  EXPECT_EQ(cluster->vote, Vote::not_standalone);
  const auto sentinel = greet({.mode = "sentinel"});
  ASSERT_TRUE(sentinel);
  EXPECT_EQ(sentinel->vote, Vote::not_standalone);
  EXPECT_EQ(sentinel->why,
            "is a Sentinel: name what it watches, as in redis+sentinel://host:port/service");
  greeting.begin(out);
  const auto wrong = hear("-WRONGPASS invalid hunter2\r\n");
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->vote, Vote::unauthorized);
  EXPECT_EQ(wrong->why, "refused to log us in: WRONGPASS invalid ***");
}

TEST_F(GreetingTest, SomeErrorsAreReasonsAtAnyQuestion) {
  greeting.begin(out);
  EXPECT_FALSE(greeting.refusal_in(made_error("NOAUTH Authentication required.")));  // said to AUTH
  hear("+OK\r\n");
  ASSERT_TRUE(greeting.refusal_in(made_error("NOAUTH Authentication required.")));
  EXPECT_EQ(greeting.refusal_in(made_error("LOADING the dataset"))->vote, Vote::loading);
  EXPECT_EQ(greeting.refusal_in(made_error("BUSY running a script"))->vote, Vote::busy);
  EXPECT_FALSE(greeting.refusal_in(made_error("NOPERM this user has no permissions")));
}

TEST_F(GreetingTest, ARecordThatMayNotBeReadIsNamedAndTheGreetingGoesOn) {
  greeting.begin(out);
  for (const std::string& question : written()) {
    const bool is_record = question.starts_with("MGET");
    const auto trouble =
        hear(is_record ? "-NOPERM no access to that key\r\n" : LinkDriver::answer_to(question, {}));
    ASSERT_EQ(trouble.has_value(), is_record);
    EXPECT_EQ(trouble.value_or(Greeting::Trouble()).vote, Vote::pending);
  }
  EXPECT_FALSE(greeting.texts().record);
}

TEST_F(GreetingTest, TheFactsAreAskedForAgain) {
  greet({});
  for (int time = 0; time < 2; ++time) {
    greeting.ask_facts(now, out, pipeline);
    EXPECT_FALSE(pipeline.empty());
    complete = false;
    EXPECT_FALSE(answer_later({}));
    EXPECT_TRUE(complete);
  }
  EXPECT_EQ(greeting.facts().run_id, "run1");
}

const std::string oom = "-OOM command not allowed when used memory > 'maxmemory'.\r\n";
TEST_F(GreetingTest, KeepsTheWordsOfAServerThatRefusesInfo) {
  // A proxy or rename-command has taken INFO away; without the words nobody would look there.
  greeting.begin(out);
  for (const std::string& question : written()) {
    const bool info = question.starts_with("INFO ");
    hear(info ? "-ERR unknown command 'INFO'\r\n" : LinkDriver::answer_to(question, {}));
  }
  EXPECT_TRUE(greeting.facts().no_info.starts_with("ERR unknown command 'INFO'"));
  EXPECT_EQ(greeting.facts().run_id, "");
  greeting.end();
  EXPECT_EQ(greeting.facts().no_info, "") << "of the next connection nothing is known";
}

const std::string no_eval = "-ERR unknown command 'EVAL', with args beginning with: '#!lua\r\n";
const std::string no_evalsha = "-NOPERM hunter2 may not run the 'evalsha' command\r\n";

TEST_F(GreetingTest, ARefusalOfEveryWriteIsNotedInTheServersWords) {
  EXPECT_FALSE(greet({}));
  EXPECT_FALSE(greeting.writes_refused());
  EXPECT_FALSE(greet({.eval = oom, .evalsha = oom})) << "the connection is of use";
  ASSERT_TRUE(greeting.writes_refused());
  EXPECT_EQ(greeting.writes_refused()->vote, Vote::refuses_writes);
  EXPECT_EQ(greeting.writes_refused()->why,
            "OOM command not allowed when used memory > 'maxmemory'.");
  EXPECT_FALSE(greet({.eval = no_eval}));
  ASSERT_TRUE(greeting.writes_refused());
  EXPECT_EQ(greeting.writes_refused()->vote, Vote::refuses_writes);
  EXPECT_EQ(greeting.writes_refused()->why,
            "ERR unknown command 'EVAL', which rename-command or a proxy may have taken away");
  EXPECT_FALSE(greet({.evalsha = no_evalsha}));
  ASSERT_TRUE(greeting.writes_refused());
  EXPECT_EQ(greeting.writes_refused()->vote, Vote::unauthorized);
  EXPECT_EQ(greeting.writes_refused()->why, "NOPERM *** may not run the 'evalsha' command");
  greeting.begin(out);
  EXPECT_FALSE(greeting.writes_refused()) << "of the connection before";
}

TEST_F(GreetingTest, ARightThatEveryLockNeedsIsAskedForWithWrites) {
  greeting = Greeting({.login = {}, .needs = redis::needs_of_every_lock("locks:", true)});
  const auto greet_with = [this](const std::string& answer) {
    greeting.begin(out);
    int asked = 0;
    for (const std::string& question : written()) {
      const bool would_write = question.find(" writable 0 ") != question.npos;
      if (would_write) {
        ++asked;
        EXPECT_THAT(question, testing::EndsWith(
                                  " quorumlock:released:locks:-:- set time exists type getrange "
                                  "~locks:* ~quorumlock:fence:locks:* ~quorumlock:queue:locks:*"));
      }
      hear(would_write ? answer : LinkDriver::answer_to(question, {}));
    }
    EXPECT_EQ(asked, 2) << "by EVAL and by EVALSHA";
    return greeting.writes_refused();
  };
  EXPECT_FALSE(greet_with(":1\r\n"));
  EXPECT_FALSE(greet_with("$3\r\nfoo\r\n")) << "nothing that was asked for";
  const auto lacks = greet_with("$4\r\ntime\r\n");
  ASSERT_TRUE(lacks);
  EXPECT_EQ(lacks->vote, Vote::unauthorized);
  EXPECT_EQ(lacks->why, "does not let this user call time, and so grants no lock");
  EXPECT_EQ(greet_with("$8\r\n~locks:*\r\n").value_or(Greeting::Trouble()).why,
            "does not let this user use the keys locks:*, and so grants no lock");
  EXPECT_EQ(redis::needs_of_every_lock("", false),
            (std::vector<std::string>{"quorumlock:released:-:-", "set"}));
}

TEST_F(GreetingTest, AnAnswerThatSaysNothingAboutWritesIsNoRefusal) {
  // The script may have been flushed between the two commands, and another kind of server may not
  // read its first line.
  EXPECT_FALSE(greet({.eval = "-ERR Error compiling script\r\n",
                      .evalsha = "-NOSCRIPT No matching script. Please use EVAL.\r\n"}));
  EXPECT_FALSE(greeting.writes_refused());
}

TEST_F(GreetingTest, ARefusalLastsUntilTheServerIsAskedAgain) {
  greet({});
  const auto ask_again = [this](const LinkDriver::Server& now_is) {
    greeting.ask_facts(now, out, pipeline);
    EXPECT_FALSE(answer_later(now_is));
    return greeting.writes_refused().has_value();
  };
  const std::string busy = "-BUSY Redis is busy running a script.\r\n";
  EXPECT_FALSE(ask_again({.eval = busy, .evalsha = busy}));
  EXPECT_TRUE(ask_again({.eval = oom, .evalsha = oom}));
  EXPECT_TRUE(ask_again({.eval = busy, .evalsha = busy})) << "it did not say";
  EXPECT_FALSE(ask_again({}));
  EXPECT_TRUE(ask_again({.evalsha = no_evalsha}));
}

TEST_F(GreetingTest, APromotionIsPartOfTheRunsName) {
  EXPECT_FALSE(greet({}));
  EXPECT_EQ(greeting.facts().run(), "run1");
  EXPECT_FALSE(greet({.promoted = true, .history = "9abcdef0"}));
  EXPECT_EQ(greeting.facts().run(), "run1+9abcdef0");
  EXPECT_EQ(greeting.facts().run_id, "run1");
}

TEST_F(GreetingTest, AConnectionDoesNotOutliveItsServersData) {
  // The node is a replica, or was one since it was greeted. That it no longer reports a promotion
  // means nothing.
  const auto look = [this](const LinkDriver::Server& before, const LinkDriver::Server& now_is) {
    pipeline.end();
    while (!pipeline.empty()) pipeline.drop();
    greet(before);
    greeting.ask_facts(now, out, pipeline);
    greeting.ask_facts(now, out, pipeline);  // the question is under way already
    return answer_later(now_is).value_or(Greeting::Trouble()).vote;
  };
  EXPECT_EQ(look({}, {}), Vote::pending);
  EXPECT_EQ(look({}, {.role = "slave"}), Vote::not_standalone);
  EXPECT_EQ(look({}, {.promoted = true}), Vote::not_standalone);
  EXPECT_EQ(look({.promoted = true}, {.promoted = true}), Vote::pending);
  EXPECT_EQ(look({.promoted = true}, {.promoted = true, .history = "9abcdef0"}),
            Vote::not_standalone);
  EXPECT_EQ(look({.promoted = true}, {}), Vote::pending);
  EXPECT_EQ(greeting.facts().run(), "run1");
  greet({.promoted = true});
  greeting.ask_facts(now, out, pipeline);
  written();
  const redis::Pipeline::Command asked = pipeline.answer(now);
  EXPECT_FALSE(greeting.on_later_reply(asked.tag, made_error("BUSY running a script")));
  EXPECT_EQ(greeting.facts().run(), "run1+12345678") << "it did not say";
}

/// A server that Sentinels may replace.
class GreetingFailedOver : public GreetingTest {
 protected:
  GreetingFailedOver() { greeting = Greeting({.login = {}, .fails_over = true}); }
};

TEST_F(GreetingFailedOver, AServerThatGrantsWithoutItsReplicasIsRefused) {
  // Both this server and the replica that is promoted in its place would cast the node's vote.
  const auto unfenced = greet({.replicas = 1, .least_replicas = 0});
  ASSERT_TRUE(unfenced);
  EXPECT_EQ(unfenced->vote, Vote::not_standalone);
  EXPECT_EQ(
      unfenced->why,
      "may be failed over, and would go on granting locks after that: set its "
      "min-replicas-to-write to 1 (it is 0) and its min-replicas-max-lag to 10 or less (it is "
      "10)");
  // The replica that is left would still be counted.
  EXPECT_TRUE(greet({.replicas = 2, .least_replicas = 1}));
  EXPECT_TRUE(greet({.replicas = 1, .least_replicas = 1, .most_lag_s = 0}));
  EXPECT_TRUE(greet({.replicas = 0, .least_replicas = 0}));
  EXPECT_FALSE(greet({.replicas = 2, .least_replicas = 2}));
  EXPECT_FALSE(greet({.replicas = 0, .least_replicas = 1}));  // it grants nothing until one is back
}

TEST_F(GreetingFailedOver, TheSettingIsAskedForAgain) {
  EXPECT_FALSE(greet({.replicas = 1, .least_replicas = 1}));
  greeting.ask_facts(now, out, pipeline);
  EXPECT_FALSE(answer_later({.replicas = 1, .least_replicas = 1}));
  greeting.ask_facts(now, out, pipeline);
  const auto more = answer_later({.replicas = 2, .least_replicas = 1});
  ASSERT_TRUE(more);
  EXPECT_EQ(more->vote, Vote::not_standalone);
}

TEST_F(GreetingFailedOver, AUserWhoMayNotReadTheSettingIsRefused) {
  greeting.begin(out);
  std::optional<Greeting::Trouble> trouble;
  for (const std::string& question : written()) {
    const bool is_fence = question.starts_with("CONFIG GET min");
    trouble = hear(is_fence ? "-NOPERM no\r\n" : LinkDriver::answer_to(question, {}));
    if (trouble) break;
  }
  ASSERT_TRUE(trouble);
  EXPECT_NE(trouble->why.find("let this user call CONFIG GET"), std::string::npos);
}

TEST_F(GreetingFailedOver, TheTimeForWhichItOutlivesAFailoverIsAFact) {
  greet({.replicas = 1, .least_replicas = 1, .most_lag_s = 5});
  EXPECT_EQ(greeting.facts().outlives_failover, core::Duration(7s));
}

TEST_F(GreetingTest, ANodeWithoutSentinelsIsNotAskedForThatSetting) {
  EXPECT_FALSE(greet({.replicas = 2}));
  EXPECT_FALSE(greeting.facts().outlives_failover);
}

TEST_F(GreetingTest, ANewLoginIsSentOnceOnTheConnectionThatIsThere) {
  greet({});
  greeting.log_in_again(now, out, pipeline);
  EXPECT_TRUE(written().empty());  // the login is the present one
  greeting.set_login({"locker", "newer"}, true);
  greeting.log_in_again(now, out, pipeline);
  greeting.log_in_again(now, out, pipeline);
  EXPECT_EQ(written(), (Strings{"AUTH locker newer", "PING quorumlock:login"}));
  ASSERT_TRUE(Greeting::is_login(pipeline.answer(now).tag));
  const auto refused = greeting.on_login_reply(now, made_error("WRONGPASS newer"), pipeline);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->find("newer"), std::string::npos);
  EXPECT_FALSE(pipeline.empty()) << "the mark has no answer yet";
  greeting.set_login({"locker", "newest"}, false);
  greeting.log_in_again(now, out, pipeline);
  EXPECT_TRUE(written().empty());  // the next connection begins with this login
}

}  // namespace
}  // namespace quorumlock::test
