#include "redis/native_acquire.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "redis/scripts.hpp"
#include "support/link_driver.hpp"

// An acquisition with commands of the server's own: what is said, and what the replies mean.
namespace quorumlock::test::native_acquire {
namespace {

using namespace std::chrono_literals;
using redis::Reply;
using Strings = std::vector<std::string>;

const std::string record = "run1:30000:durable";
constexpr std::uint64_t counter = 1'700'000'000'000'042;

Reply status(std::string_view text) {
  return {Reply::Type::status, 0, text, {}};
}
Reply error(std::string_view text) {
  return {Reply::Type::error, 0, text, {}};
}
Reply text(std::string_view text) {
  return {Reply::Type::string, 0, text, {}};
}
Reply number(std::int64_t value) {
  return {Reply::Type::integer, value, {}, {}};
}
const Reply nil;

/// The replies of a node that grants, of which a test changes some.
struct Replies {
  Reply set = status("OK");
  Reply enrolment = text(record);
  Reply line = number(0);
  Reply fence = number(static_cast<std::int64_t>(counter));
  Reply life = number(1);
  std::array<Reply, 2> time = {text("1700000000"), text("000077")};

  [[nodiscard]] core::Answer answer(std::uint64_t floor = 0) const {
    redis::NativeAcquireReplies replies;
    EXPECT_FALSE(replies.add(set, record, floor));
    EXPECT_FALSE(replies.add(enrolment, record, floor));
    EXPECT_FALSE(replies.add(line, record, floor));
    EXPECT_FALSE(replies.add(fence, record, floor));
    EXPECT_FALSE(replies.add(life, record, floor));
    EXPECT_TRUE(replies.add({Reply::Type::array, 0, {}, time}, record, floor));
    return replies.take();
  }
};

TEST(NativeAcquire, IsSixCommandsInThisOrder) {
  // The key is set before the counter grows: who held the lock until then has the smaller number.
  core::Send send{};
  send.tag.kind = CommandKind::acquire;
  send.tag.native = true;
  send.key = "orders:42";
  send.token = "t0ken";
  send.ttl = 10s;
  std::string bytes;
  redis::append_command(bytes, send, {});
  EXPECT_EQ(LinkDriver::commands_in(bytes),
            (Strings{"SET orders:42 t0ken NX PX 10000", "GET quorumlock:enrolment",
                     "EXISTS quorumlock:queue:orders:42", "INCR quorumlock:fence:orders:42",
                     "PEXPIRE quorumlock:fence:orders:42 2592000000", "TIME"}));
}

TEST(NativeAcquire, IsGrantedWithTheCounterAndTheTime) {
  const core::Answer answer = Replies().answer();
  EXPECT_EQ(answer.vote, Vote::granted);
  EXPECT_EQ(answer.fence, counter);
  EXPECT_FALSE(answer.behind);
  EXPECT_EQ(answer.node_time, 1'700'000'000'000'077);
}

TEST(NativeAcquire, IsRefusedWhereTheKeyIsAnothers) {
  const core::Answer answer = Replies{.set = nil}.answer();
  EXPECT_EQ(answer.vote, Vote::held);
  EXPECT_FALSE(answer.key_set);
}

TEST(NativeAcquire, IsRefusedWhereSomebodyWaitsAndTheKeyIsThereAllTheSame) {
  const core::Answer answer = Replies{.line = number(1)}.answer();
  EXPECT_EQ(answer.vote, Vote::held);
  EXPECT_TRUE(answer.key_set);
}

TEST(NativeAcquire, OfANodeThatForgotIsNoVote) {
  // Whatever else it says, and none of its numbers.
  for (const Reply& enrolment : {nil, text("run2:30000:durable"), text("")}) {
    const core::Answer answer = Replies{.enrolment = enrolment}.answer();
    EXPECT_EQ(answer.vote, Vote::not_enrolled);
    EXPECT_TRUE(answer.key_set);
    EXPECT_EQ(answer.fence, 0U);
  }
}

TEST(NativeAcquire, ACounterThatBeganOnANodeThatForgotIsToBeTakenBack) {
  // Only where it did: another is its node's, whoever reads it.
  EXPECT_TRUE((Replies{.enrolment = nil, .fence = number(1)}.answer().began));
  EXPECT_TRUE((Replies{.enrolment = nil, .fence = number(1)}.answer(counter).began)) << "a floor";
  EXPECT_FALSE((Replies{.enrolment = nil, .fence = number(2)}.answer().began));
  EXPECT_FALSE((Replies{.fence = number(1)}.answer().began));
  std::string bytes;
  redis::append_counter_taken_back(bytes, "orders:42");
  EXPECT_EQ(LinkDriver::commands_in(bytes),
            Strings{"EVALSHA " + std::string(redis::release_script.sha1) +
                    " 1 quorumlock:fence:orders:42 1"});
}

TEST(NativeAcquire, ACounterThatIsNotAboveTheFloorIsBehind) {
  // What it has to reach is told instead.
  EXPECT_FALSE(Replies().answer(counter - 1).behind);
  for (const std::uint64_t floor : {counter, counter + 5}) {
    const core::Answer answer = Replies().answer(floor);
    EXPECT_EQ(answer.vote, Vote::granted);
    EXPECT_TRUE(answer.behind);
    EXPECT_EQ(answer.fence, floor + 1);
  }
}

TEST(NativeAcquire, AnErrorOfAnyCommandIsNoVote) {
  // Where the key was set before it, that is not forgotten.
  EXPECT_EQ((Replies{.set = error("OOM command not allowed")}.answer().vote), Vote::out_of_memory);
  EXPECT_FALSE((Replies{.set = error("OOM command not allowed")}.answer().key_set));
  const core::Answer forbidden =
      Replies{.fence = error("NOPERM this user has no permissions to run the 'incr' command")}
          .answer();
  EXPECT_EQ(forbidden.vote, Vote::unauthorized);
  EXPECT_TRUE(forbidden.key_set);
  EXPECT_EQ((Replies{.fence = error("ERR value is not an integer or out of range")}.answer().vote),
            Vote::failed);
  EXPECT_EQ((Replies{.life = error("ERR unknown command 'PEXPIRE'")}.answer().vote), Vote::failed);
}

TEST(NativeAcquire, WhatIsNoAnswerToTheQuestionIsNoVote) {
  EXPECT_EQ((Replies{.set = status("QUEUED")}.answer().vote), Vote::failed);
  EXPECT_EQ((Replies{.enrolment = number(1)}.answer().vote), Vote::failed);
  EXPECT_EQ((Replies{.line = number(-1)}.answer().vote), Vote::failed);
  EXPECT_EQ((Replies{.fence = number(-7)}.answer().vote), Vote::failed);
  const core::Answer beyond = Replies{.fence = number(std::int64_t{1} << 53)}.answer();
  EXPECT_EQ(beyond.vote, Vote::failed);
  EXPECT_EQ(beyond.fence, 0U) << "nothing that a script would have to exceed";
  EXPECT_EQ((Replies{.time = {text("now"), text("0")}}.answer().vote), Vote::failed);
  EXPECT_EQ((Replies{.time = {text("1700000000"), text("1000000")}}.answer().vote), Vote::failed);
}

/// As the link of an enrolled node has it.
class NativeAcquireLink : public testing::Test {
 protected:
  void SetUp() override { driver.come_up({.enrolment = "run1:30000:volatile:1700:42"}); }

  /// With a number as LinkDriver::send.
  void ask(std::uint32_t number) {
    core::Tag tag{{number, 0}, 1, CommandKind::acquire};
    tag.native = true;
    driver.link.send(driver.now, tag, "*1\r\n$4\r\nPING\r\n");
  }

  const std::string all_but_the_last =
      "+OK\r\n$27\r\nrun1:30000:volatile:1700:42\r\n:0\r\n:1800\r\n:1\r\n";
  const std::string last = "*2\r\n$1\r\n1\r\n$1\r\n2\r\n";
  LinkDriver driver;
};

TEST_F(NativeAcquireLink, AnswersOnceAllRepliesAreThere) {
  // Nothing is put behind its words. Byte by byte, and the next command's reply is the next's.
  ask(1);
  driver.send(2);
  EXPECT_EQ(driver.written(), (Strings{"PING", "PING 2"}));
  for (const char byte : all_but_the_last) driver.feed(std::string(1, byte));
  EXPECT_TRUE(driver.said().empty());
  driver.feed(last + "+OK\r\n");
  EXPECT_EQ(driver.said(), (Strings{"1 granted", "2 granted"}));
}

TEST_F(NativeAcquireLink, IsLostWithTheConnectionAndBeginsAnewOnTheNext) {
  // Five of six replies are none.
  ask(1);
  driver.feed(all_but_the_last);
  driver.close();
  EXPECT_EQ(driver.said().back(), "1 disconnected");
  driver.reconnect();
  while (!driver.greet({.enrolment = "run1:30000:volatile:1700:42"}).empty()) continue;
  driver.said();
  ask(2);
  driver.feed(all_but_the_last + last);
  EXPECT_EQ(driver.said(), Strings{"2 granted"});
}

TEST_F(NativeAcquireLink, OfAnotherRecordMakesTheLinkDoubt) {
  ask(1);
  driver.feed("+OK\r\n$4\r\nrun2\r\n:0\r\n:1800\r\n:1\r\n" + last);
  const Strings said = driver.said();
  EXPECT_EQ(said.front(), "1 not enrolled");
  EXPECT_EQ(driver.link.state(), LinkState::quarantined);
}

TEST_F(NativeAcquireLink, IsLateAsAWhole) {
  ask(1);
  driver.feed(all_but_the_last);
  driver.pass(LinkDriver::node_timeout);
  EXPECT_EQ(driver.said(), (Strings{"stalled", "1 late"}));
  driver.feed(last);
  EXPECT_EQ(driver.said(), (Strings{"1 granted", "up"}));
}

}  // namespace
}  // namespace quorumlock::test::native_acquire
