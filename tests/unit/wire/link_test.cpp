#include <algorithm>
#include <set>

#include "support/link_driver.hpp"

// The link while it is up and afterwards: answers, lateness, loss, the next try.
namespace quorumlock::test {
namespace {

using Strings = std::vector<std::string>;

/// Sorts events whose order does not matter.
Strings sorted(Strings said) {
  std::ranges::sort(said);
  return said;
}

TEST(Link, AnswersInOrder) {
  // Three commands of different kinds are answered in one read.
  LinkDriver driver;
  driver.come_up();
  driver.send(1);
  driver.send(2, CommandKind::renew);
  driver.send(3, CommandKind::release);
  EXPECT_EQ(driver.written(), (Strings{"PING 1", "PING 2 run1:abc 0 86400000 86400000", "PING 3"}));
  driver.feed("+OK\r\n*3\r\n:3\r\n:0\r\n:1700\r\n:0\r\n");
  EXPECT_EQ(driver.said(), (Strings{"1 granted", "2 absent", "3 absent"}));
}

TEST(Link, IsWrittenInPieces) {
  // The socket takes some bytes at a time; commands that are sent in between are appended.
  LinkDriver driver;
  driver.come_up();
  driver.send(1);
  const std::string first(driver.link.output());
  driver.link.wrote(3);
  EXPECT_EQ(driver.link.output(), std::string_view(first).substr(3));
  driver.send(2);
  EXPECT_TRUE(driver.link.output().starts_with(first.substr(3)));
  driver.link.wrote(driver.link.output().size());
  EXPECT_TRUE(driver.link.output().empty());
}

TEST(Link, ErrorsBecomeVotes) {
  // The latest error's own words are kept for trouble().
  LinkDriver driver;
  driver.come_up();
  for (int i = 1; i <= 4; ++i) driver.send(i);
  driver.feed("-LOADING Redis is loading the dataset in memory\r\n-BUSY Redis is busy\r\n");
  driver.feed("-READONLY You can't write against a read only replica.\r\n");
  EXPECT_EQ(driver.said(), (Strings{"1 loading", "2 busy", "3 refusing writes"}));
  EXPECT_EQ(driver.link.trouble(driver.now),
            "READONLY You can't write against a read only replica.");
  driver.feed("-OOM command not allowed\r\n");
  EXPECT_EQ(driver.said(), Strings{"4 refusing writes"});
}

TEST(Link, AReplicaIsGivenUpOnceItHasRefused) {
  // The node votes again as soon as it is a primary and has been greeted anew.
  LinkDriver driver;
  driver.come_up();
  for (int i = 1; i <= 2; ++i) driver.send(i);
  driver.written();
  for (int i = 1; i <= 2; ++i) {
    driver.feed("-READONLY You can't write against a read only replica.\r\n");
  }
  EXPECT_EQ(driver.said(), (Strings{"1 refusing writes", "2 refusing writes"}));
  EXPECT_EQ(driver.written(), LinkDriver::facts()) << "they are asked for once";
  driver.feed(LinkDriver::answer_to("INFO replication", {.role = "slave"}));
  EXPECT_EQ(driver.said(), (Strings{"disconnect", "down: not standalone"}));
}

const std::string no_room = "-OOM command not allowed when used memory > 'maxmemory'.\r\n";

TEST(Link, ANodeThatRefusesEveryWriteIsAskedEachSecondUntilItTakesThem) {
  // It goes on getting commands, since it may still renew and release.
  LinkDriver driver;
  driver.come_up();
  driver.written();
  EXPECT_EQ(driver.link.reason(), Vote::pending);
  for (int i = 1; i <= 3; ++i) driver.send(i);
  driver.written();
  driver.feed(no_room + no_room);
  EXPECT_EQ(driver.written(), LinkDriver::facts())
      << "a refusal is the sign, and they are asked once";
  EXPECT_EQ(driver.link.reason(), Vote::pending) << "one command says nothing of all writes";
  driver.feed("+OK\r\n" + LinkDriver::answer_to("INFO replication", {}) + no_room + no_room);
  EXPECT_EQ(driver.said(), (Strings{"1 refusing writes", "2 refusing writes", "3 granted"}));
  EXPECT_EQ(driver.link.state(), LinkState::up);
  EXPECT_EQ(driver.link.reason(), Vote::refuses_writes);
  EXPECT_EQ(driver.link.trouble(driver.now),
            "OOM command not allowed when used memory > 'maxmemory'.");
  EXPECT_EQ(driver.notes(), Strings{"refusing writes"});
  driver.send(4);
  driver.written();
  driver.feed(no_room);
  EXPECT_EQ(driver.written(), Strings{}) << "it was asked already";
  for (const std::string& answer : {no_room, std::string(":1\r\n")}) {
    driver.pass(999ms);
    EXPECT_EQ(driver.written(), Strings{});
    driver.pass(1ms);
    EXPECT_EQ(driver.written(), LinkDriver::facts());
    driver.feed(LinkDriver::answer_to("INFO replication", {}) + answer + answer);
  }
  EXPECT_EQ(driver.link.reason(), Vote::pending);
  EXPECT_EQ(driver.notes(), (Strings{"refusing writes", "unanswered"}));
  EXPECT_EQ(driver.link.deadline(), core::never) << "a node that is well is not asked again";
}

TEST(Link, ANodeThatRefusesSomeCommandIsAskedOnceASecond) {
  // It takes writes, but has no SET, so that every plain lock is refused.
  LinkDriver driver;
  driver.come_up();
  driver.written();
  driver.send(1);
  driver.written();
  driver.feed("-ERR unknown command 'SET'\r\n");
  EXPECT_EQ(driver.written(), LinkDriver::facts());
  const std::string well = LinkDriver::answer_to("INFO replication", {}) + ":1\r\n:1\r\n";
  driver.feed(well);
  driver.send(2);
  driver.written();
  driver.feed("-ERR unknown command 'SET'\r\n");
  EXPECT_EQ(driver.written(), Strings{});
  driver.pass(1s);
  EXPECT_EQ(driver.written(), LinkDriver::facts());
  driver.feed(well);
  EXPECT_EQ(driver.link.deadline(), core::never);
  EXPECT_EQ(driver.link.reason(), Vote::pending);
}

TEST(Link, ANodeThatIsLateIsNotAskedWhetherItTakesWrites) {
  LinkDriver driver;
  driver.come_up({.eval = no_room, .evalsha = no_room});
  EXPECT_EQ(driver.link.reason(), Vote::refuses_writes);
  driver.pass(800ms);
  driver.send(1);
  driver.written();
  driver.pass(1100ms);
  EXPECT_EQ(driver.link.state(), LinkState::stalled);
  EXPECT_EQ(driver.link.reason(), Vote::stalled);
  const Strings before = driver.written();
  EXPECT_EQ(before, LinkDriver::facts()) << "when it was not late yet";
  driver.pass(900ms);
  EXPECT_EQ(driver.written(), Strings{});
}

TEST(Link, AReplicaIsNotAskedWhileCommandsWaitForTheRecord) {
  // The questions would come before the commands that wait, and take their answers.
  LinkDriver driver;
  driver.come_up();
  for (int i = 1; i <= 2; ++i) driver.send(i, CommandKind::acquire);
  driver.feed("*3\r\n:-1\r\n:0\r\n:1700\r\n");
  driver.written();
  for (int i = 3; i <= 4; ++i) driver.send(i);
  driver.feed("-READONLY You can't write against a read only replica.\r\n");
  EXPECT_TRUE(driver.written().empty());
  driver.feed(LinkDriver::both("run1:abc"));
  EXPECT_EQ(driver.written(), (Strings{"PING 3", "PING 4"}));
  driver.said();
  driver.feed("+OK\r\n");
  EXPECT_EQ(driver.said(), Strings{"3 granted"});
}

TEST(Link, ANodeIsNotCheckedWhileCommandsWaitForOtherNodes) {
  // The node's record was read again, and the other nodes' are awaited, when the check of a node
  // that Sentinels may replace is due.
  LinkDriver driver({.host = "n1", .sentinels = redis::Sentinels()});
  const LinkDriver::Server server{.replicas = 1, .least_replicas = 1};
  driver.come_up(server);
  driver.compares = false;
  driver.doubt();
  driver.greet(server);
  driver.pass(4900ms);
  driver.send(1);
  driver.pass(200ms);
  EXPECT_EQ(driver.written(), Strings());
  driver.compare();
  EXPECT_EQ(driver.written(), Strings{"PING 1"});
  driver.feed("+OK\r\n");
  EXPECT_EQ(driver.said(), Strings{"1 granted"});
}

TEST(Link, ACommandIsLateAtItsTimeoutAndNotBefore) {
  // Each command has its own timeout. The first late one stalls the node; the answers still follow.
  LinkDriver driver;
  driver.come_up();
  driver.send(1);
  driver.pass(100ms);
  driver.send(2);
  driver.pass(399ms);
  EXPECT_TRUE(driver.said().empty());
  driver.pass(1ms);
  EXPECT_EQ(driver.said(), (Strings{"stalled", "1 late"}));
  driver.pass(100ms);
  EXPECT_EQ(driver.said(), Strings{"2 late"});
  driver.feed("+OK\r\n");
  EXPECT_EQ(driver.said(), Strings{"1 granted"});
  driver.feed("+OK\r\n");
  EXPECT_EQ(sorted(driver.said()), (Strings{"2 granted", "up"}));
  EXPECT_EQ(driver.link.deadline(), core::never);
}

TEST(Link, ManyLateCommandsCostFewTimers) {
  // A node stops with a thousand unanswered commands, all sent within ten milliseconds. The first
  // is reported at its exact moment, each other at most a little after its own, and the timer fires
  // only a few times.
  LinkDriver driver;
  driver.come_up();
  for (int i = 0; i < 1000; ++i) {
    driver.send(i);
    driver.now += 10us;
  }
  driver.now -= 10ms;
  driver.said();
  int timers = 0;
  const core::Time begun = driver.now;
  while (driver.link.deadline() <= begun + 600ms) {
    driver.pass(driver.link.deadline() - driver.now);
    const int due = static_cast<int>((driver.now - begun - LinkDriver::node_timeout) / 10us) + 1;
    const Strings said = driver.said();
    ASSERT_FALSE(said.empty());
    if (++timers == 1) {
      EXPECT_EQ(said, (Strings{"stalled", "0 late"}));
    } else {
      EXPECT_EQ(said.back(), std::to_string(std::min(due, 1000) - 1) + " late");
    }
    ASSERT_LT(timers, 1000);
  }
  EXPECT_LE(timers, 5);
}

TEST(Link, AStalledNodeStillTakesReleases) {
  // A release follows the earlier commands, and has its own timeout.
  LinkDriver driver;
  driver.come_up();
  driver.send(1);
  driver.pass(600ms);
  driver.written();
  driver.send(2, CommandKind::release);
  EXPECT_EQ(driver.written(), Strings{"PING 2"});
  driver.said();
  driver.feed("$-1\r\n");
  // No command is late any more, so the node is up again.
  EXPECT_EQ(sorted(driver.said()), (Strings{"1 held by another", "up"}));
  driver.pass(499ms);
  EXPECT_TRUE(driver.said().empty());
  driver.pass(1ms);
  EXPECT_EQ(driver.said(), (Strings{"stalled", "2 late"}));
}

TEST(Link, ANodeThatStaysStalledIsGivenUp) {
  // The node is late and then silent for connect_timeout: the connection is dropped, and its
  // commands are answered as disconnected, after the node was reported down.
  LinkDriver driver;
  driver.come_up();
  driver.send(1);
  driver.pass(LinkDriver::node_timeout);
  driver.send(2, CommandKind::release);
  driver.said();
  driver.pass(LinkDriver::connect_timeout - 1ns);
  EXPECT_EQ(driver.said(), Strings{"2 late"});
  driver.pass(1ns);
  EXPECT_EQ(driver.said(),
            (Strings{"disconnect", "down: unreachable", "1 disconnected", "2 disconnected"}));
}

TEST(Link, ANodeThatAnswersSlowlyIsNotGivenUp) {
  // Every answer takes longer than the timeout, but answers keep coming: the node is not dead.
  LinkDriver driver;
  driver.come_up();
  for (int i = 1; i <= 10; ++i) driver.send(i);
  driver.pass(LinkDriver::node_timeout);
  EXPECT_EQ(driver.said().size(), 11U);
  for (int i = 1; i <= 10; ++i) {
    driver.pass(LinkDriver::connect_timeout - 1ns);
    driver.feed("+OK\r\n");
    const Strings said = driver.said();
    ASSERT_FALSE(said.empty());
    EXPECT_EQ(std::ranges::find(said, "disconnect"), said.end());
    EXPECT_NE(std::ranges::find(said, std::to_string(i) + " granted"), said.end());
  }
}

TEST(Link, ABreakAnswersAllItsCommands) {
  // The commands are answered in order, late or not, sent or not; none is answered twice.
  LinkDriver driver;
  driver.come_up();
  driver.send(1);
  driver.pass(LinkDriver::node_timeout);
  driver.send(2);
  driver.said();
  driver.close("reset");
  EXPECT_EQ(driver.said(),
            (Strings{"disconnect", "down: unreachable", "1 disconnected", "2 disconnected"}));
  EXPECT_TRUE(driver.link.output().empty());
  EXPECT_NE(driver.link.trouble(driver.now).find("reset"), std::string::npos);
  driver.send(3);
  EXPECT_EQ(driver.said(), Strings{"3 unreachable"});
  // Bytes and a close that come after the loss have no effect.
  driver.feed("+OK\r\n");
  driver.close("again");
  EXPECT_TRUE(driver.said().empty());
}

TEST(Link, AnUnexpectedReplyEndsTheConnection) {
  // After such a reply it is unknown which answer belongs to which command.
  LinkDriver driver;
  driver.come_up();
  driver.send(1);
  driver.feed("+OK\r\n+OK\r\n");
  EXPECT_EQ(driver.said(), (Strings{"1 granted", "disconnect", "down: failed"}));
}

TEST(Link, GarbageEndsTheConnection) {
  // Answers before the garbage count; unanswered commands end as disconnected.
  LinkDriver driver;
  driver.come_up();
  driver.send(1);
  driver.send(2);
  driver.feed("+OK\r\nHello\r\n");
  EXPECT_EQ(driver.said(), (Strings{"1 granted", "disconnect", "down: failed", "2 disconnected"}));
}

TEST(Link, TheLastErrorOfAGreetingThatDoesNotFinishIsWhyTheNodeIsDown) {
  // A server that turns a connection away gives its reason before it hangs up.
  LinkDriver driver;
  driver.start();
  driver.open();
  driver.feed("-DENIED Redis is running in protected mode\r\n");
  driver.close("Connection reset by peer");
  EXPECT_EQ(driver.link.trouble(driver.now),
            "answered DENIED Redis is running in protected mode (then: Connection reset by peer)");
  // The next attempt has its own reason.
  driver.pass(1s);
  driver.close("Connection refused");
  EXPECT_EQ(driver.link.trouble(driver.now), "Connection refused");
  // A proxy says why, and keeps the connection open.
  driver.pass(1s);
  driver.open();
  driver.feed("-ERR no such backend\r\n");
  driver.pass(2s);
  EXPECT_EQ(driver.link.trouble(driver.now),
            "no answer within connect_timeout; it answered ERR no such backend");
}

TEST(Link, AnAttemptThatTakesTooLongSaysWhomItWaitedFor) {
  LinkDriver driver;
  driver.start();
  driver.link.on_awaiting("10.0.0.1 or 10.0.0.2");
  driver.pass(2s);
  EXPECT_EQ(driver.link.trouble(driver.now),
            "no answer within connect_timeout from 10.0.0.1 or 10.0.0.2");
}

TEST(Link, PausesLongerAfterEachTryUpToASecond) {
  // The pauses grow from 10..20 ms to 500..1000 ms, differ between clients, and begin anew after
  // the link was up for a while.
  std::set<core::Duration> firsts;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    LinkDriver driver({.host = "n1"}, seed);
    driver.start();
    for (int round = 0; round < 2; ++round) {
      core::Duration most = 20ms;
      for (int failures = 1; failures <= 12; ++failures) {
        driver.close("refused");
        const core::Duration pause = driver.link.deadline() - driver.now;
        ASSERT_GE(pause, most / 2) << "after " << failures;
        ASSERT_LE(pause, most) << "after " << failures;
        if (failures == 1) firsts.insert(pause);
        most = std::min<core::Duration>(2 * most, 1s);
        driver.pass(pause - 1ns);
        driver.said();
        driver.pass(1ns);
        ASSERT_EQ(driver.said(), Strings{"connect"});
      }
      driver.open();
      driver.greet();
      ASSERT_EQ(driver.said(), Strings{"up"});
      driver.pass(1s);
    }
  }
  EXPECT_GT(firsts.size(), 25U);
}

TEST(Link, StopsForGood) {
  // The link's commands are answered, nothing is tried again, and no new command is accepted.
  LinkDriver driver;
  driver.come_up();
  driver.send(1);
  driver.stop();
  EXPECT_EQ(driver.said(), (Strings{"disconnect", "down: unreachable", "1 disconnected"}));
  EXPECT_EQ(driver.link.deadline(), core::never);
  driver.pass(1h);
  driver.send(2);
  EXPECT_EQ(driver.said(), Strings{"2 unreachable"});
  driver.stop();
  EXPECT_TRUE(driver.said().empty());
}

TEST(Link, StopsDuringItsPause) {
  // Between two tries there is no connection to drop.
  LinkDriver driver;
  driver.start();
  driver.close("refused");
  driver.said();
  driver.stop();
  EXPECT_TRUE(driver.said().empty());
  EXPECT_EQ(driver.link.deadline(), core::never);
}

TEST(Link, ReportsOnceAMinuteThatANodeIsStillDown) {
  // The first refusal is a change of state. Another reason is reported at once, and of the hundreds
  // of refusals for the same reason one a minute.
  LinkDriver driver;
  driver.start();
  int attempts = 0;
  const auto fail_for = [&](core::Duration span, const char* why) {
    const core::Time end = driver.now + span;
    while (driver.now < end) {
      driver.close(why);
      ++attempts;
      driver.pass(driver.link.deadline() - driver.now);
    }
  };
  fail_for(59s, "Connection refused");
  EXPECT_EQ(driver.notes(), Strings{});
  EXPECT_GT(attempts, 59);
  driver.close("No route to host");
  EXPECT_EQ(driver.notes(), Strings{"still down"});
  EXPECT_EQ(driver.link.attempts().failures(), ++attempts);
  driver.pass(driver.link.deadline() - driver.now);
  fail_for(181s, "No route to host");
  EXPECT_EQ(driver.notes().size(), 4U);
  driver.open();
  driver.greet();
  EXPECT_EQ(driver.link.attempts().failures(), 0);
  driver.close("closed by the server");
  EXPECT_EQ(driver.notes().size(), 4U) << "a change of state";
  driver.pass(driver.link.deadline() - driver.now);
  driver.close("Connection refused");
  EXPECT_EQ(driver.notes().size(), 5U);
  driver.stop();
  EXPECT_EQ(driver.notes().size(), 5U);
}

TEST(Link, AnswersEveryCommandOnceWhateverHappens) {
  // Random walks of bytes, silences, losses and tries. Every command gets exactly one answer, in
  // order; it is late at most once, and before its answer.
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    SeededRandom random(seed);
    LinkDriver driver({.host = "n1"}, seed);
    driver.start();
    int sent = 0;
    for (int step = 0; step < 200; ++step) {
      switch (random.between(0, 9)) {
        case 0:
        case 1:
        case 2: driver.send(++sent); break;
        case 3:
        case 4: driver.pass(random.between(0, 700) * 1ms); break;
        case 5: driver.feed(random.one_in(20) ? "?" : "+OK\r\n"); break;
        case 6:
          if (random.one_in(4)) driver.close();
          break;
        default:
          driver.open();
          if (!random.one_in(5)) driver.greet({.client_id = step});
      }
    }
    driver.stop();
    int answered = 0;
    std::set<int> late;
    for (const std::string& what : driver.said()) {
      if (what.find_first_of("0123456789") != 0) continue;
      const int number = std::stoi(what);
      if (what.ends_with(" late")) {
        ASSERT_TRUE(late.insert(number).second);
        ASSERT_GT(number, answered);
      } else {
        ASSERT_EQ(number, ++answered);
      }
    }
    ASSERT_EQ(answered, sent);
  }
}

}  // namespace
}  // namespace quorumlock::test
