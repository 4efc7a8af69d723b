#include "wire/primary_poll.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "support/made_reply.hpp"

// What several Sentinels say about the primary of a service, and what follows from it.
namespace quorumlock::test {
namespace {

using redis::HostPort;
using redis::PrimaryPoll;
using redis::Reply;

class PrimaryPollTest : public ::testing::Test {
 protected:
  void reports(std::size_t sentinel, std::string_view host, std::string_view port) {
    const std::array<Reply, 2> words{made_reply(Reply::Type::string, host),
                                     made_reply(Reply::Type::string, port)};
    poll.on_reply(sentinel, {Reply::Type::array, 0, {}, words});
  }

  redis::Sentinels sentinels{.addresses = {{"a", 26379}, {"b", 26379}, {"c", 26379}},
                             .service = "locks"};
  PrimaryPoll poll{sentinels};
};

TEST_F(PrimaryPollTest, AsksForThePrimaryOfTheService) {
  std::string question;
  poll.append_question(question);
  EXPECT_EQ(question, "*3\r\n$8\r\nSENTINEL\r\n$23\r\nGET-MASTER-ADDR-BY-NAME\r\n$5\r\nlocks\r\n");
}

TEST_F(PrimaryPollTest, AMajorityDecides) {
  // One Sentinel that has not heard of the failover neither leads us astray nor is waited for.
  reports(2, "10.0.0.1", "6379");
  EXPECT_FALSE(poll.is_decided());
  reports(0, "10.0.0.2", "6380");
  EXPECT_FALSE(poll.is_decided());
  reports(1, "10.0.0.2", "6380");
  EXPECT_TRUE(poll.is_decided());
  EXPECT_EQ(poll.primary(), (HostPort{"10.0.0.2", 6380}));
}

TEST_F(PrimaryPollTest, WithoutAMajorityThereIsNoPrimaryAsSoonAsThatIsCertain) {
  reports(0, "10.0.0.1", "6379");
  poll.on_failed(1, "Connection refused");
  EXPECT_FALSE(poll.is_decided());
  poll.on_reply(2, {});
  EXPECT_TRUE(poll.is_decided());
  EXPECT_FALSE(poll.primary());
  EXPECT_EQ(poll.why_not(),
            "no majority of the Sentinels reports one primary of locks: a:26379 reports "
            "10.0.0.1:6379; b:26379 Connection refused; c:26379 does not know the service");
}

TEST_F(PrimaryPollTest, TwoThatAreAwayDecideWithoutTheThird) {
  poll.on_failed(0, "closed by the server");
  poll.on_reply(1, made_error("NOAUTH Authentication required."));
  EXPECT_TRUE(poll.is_decided());
  EXPECT_EQ(poll.why_not(),
            "no majority of the Sentinels reports one primary of locks: a:26379 closed by the "
            "server; b:26379 answers NOAUTH Authentication required.");
}

TEST_F(PrimaryPollTest, SaysWhomItWaitsFor) {
  poll.on_awaiting(0, "10.0.0.1 or 10.0.0.2");
  poll.on_failed(1, "Connection refused");
  poll.on_awaiting(1, "nobody any more");
  EXPECT_EQ(poll.awaited(),
            "a majority of its Sentinels: a:26379: waiting for 10.0.0.1 or 10.0.0.2; b:26379 "
            "Connection refused; c:26379: waiting for an answer");
}

TEST_F(PrimaryPollTest, ASentinelHasOneVote) {
  reports(0, "10.0.0.1", "6379");
  poll.on_failed(0, "closed");
  reports(0, "10.0.0.1", "6379");
  EXPECT_FALSE(poll.is_decided());
  reports(1, "10.0.0.1", "6379");
  EXPECT_EQ(poll.primary(), (HostPort{"10.0.0.1", 6379}));
}

TEST_F(PrimaryPollTest, AnAnswerThatIsNotAnAddressIsNotAVote) {
  for (const char* port : {"", "0", "65536", "6379/3", "x"}) {
    SCOPED_TRACE(port);
    poll = PrimaryPoll(sentinels);
    reports(0, "10.0.0.1", port);
    reports(1, "10.0.0.1", port);
    EXPECT_TRUE(poll.is_decided());
    EXPECT_FALSE(poll.primary());
    EXPECT_NE(poll.why_not().find("a:26379 answers with something that is no address"),
              std::string::npos);
  }
  for (const char* host : {"", "user:hunter2@h", "h o", "h/1"}) {
    SCOPED_TRACE(host);
    poll = PrimaryPoll(sentinels);
    reports(0, host, "6379");
    reports(1, host, "6379");
    EXPECT_FALSE(poll.primary());
  }
}

TEST_F(PrimaryPollTest, AnIpv6AddressIsOneAddressInAllItsSpellings) {
  reports(0, "0:0:0:0:0:0:0:1", "6379");
  reports(1, "::1", "6379");
  EXPECT_EQ(poll.primary(), (HostPort{"::1", 6379}));
}

}  // namespace
}  // namespace quorumlock::test
