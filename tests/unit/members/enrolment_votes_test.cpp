#include "members/enrolment.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "support/link_driver.hpp"
#include "support/made_reply.hpp"

// Whether a node's votes count.
namespace quorumlock::test {
namespace {

using redis::Reply;

class EnrolmentVotes : public ::testing::Test {
 protected:
  /// The node of a connection has a record of this very run.
  void connect() {
    right.begin();
    const redis::Membership its = LinkDriver::members();
    right.greeted(now, {.run_id = "run1"}, {with_mark("run1:abc", its), its.text()});
  }
  void follow(const std::string& refusal = {}, bool undecided = false) {
    redis::Ruling ruling = all_agree(LinkDriver::members(), refusal);
    ruling.undecided = undecided;
    right.follow(now, std::move(ruling));
  }
  /// A command of this kind as it is sent.
  std::string command(CommandKind kind) {
    std::string out = "*1\r\n";
    right.append(out, kind, "bytes");
    return out.substr(4);
  }

  SeededRandom random{1};
  redis::Enrolment right{{.node = "n1"}, random};
  core::Time now = core::Time(1h);
};

TEST_F(EnrolmentVotes, ANodeVotesOnceItsRecordHasBeenComparedWithTheOthers) {
  connect();
  EXPECT_TRUE(right.update());  // the others have to know
  EXPECT_TRUE(right.is_enrolled());
  EXPECT_FALSE(right.is_known());
  EXPECT_FALSE(right.votes());
  follow("", true);
  EXPECT_FALSE(right.is_known());
  follow();
  EXPECT_FALSE(right.update());
  EXPECT_TRUE(right.is_known());
  EXPECT_TRUE(right.votes());
  right.disconnected();
  EXPECT_FALSE(right.votes());
}

TEST_F(EnrolmentVotes, OnlyANodeThatVotesIsAskedForAVote) {
  connect();
  right.update();
  EXPECT_FALSE(right.allows(CommandKind::set));
  EXPECT_FALSE(right.allows(CommandKind::acquire));
  EXPECT_TRUE(right.allows(CommandKind::release));
  follow();
  EXPECT_TRUE(right.allows(CommandKind::set));
  EXPECT_TRUE(right.allows(CommandKind::acquire));
}

TEST_F(EnrolmentVotes, ItsOwnWordsFollowTheCommandsThatSayTheEnrolment) {
  connect();
  right.update();
  follow();
  right.update();
  EXPECT_EQ(command(CommandKind::set), "bytes");
  const std::string words = command(CommandKind::acquire);
  EXPECT_TRUE(words.starts_with("bytes$")) << words;
  EXPECT_NE(words.find("\r\nrun1:abc"), words.npos) << words;
  EXPECT_TRUE(words.ends_with("\r\n$1\r\n0\r\n$8\r\n86400000\r\n$8\r\n86400000\r\n"))
      << words << " has the floor, and twice fencing_memory";
}

TEST_F(EnrolmentVotes, ARefusalIsNamedWithItsVote) {
  connect();
  right.update();
  follow("is of another list");
  EXPECT_TRUE(right.is_known());
  EXPECT_FALSE(right.votes());
  EXPECT_EQ(right.vote(), Vote::nodes_differ);
  EXPECT_EQ(right.why(now), "is of another list");
  // The first error of a client with such a list is made while the record is read again.
  right.doubt();
  right.update();
  EXPECT_EQ(right.why(now), "is of another list");
}

TEST_F(EnrolmentVotes, ABarLastsUntilTheNextConnection) {
  connect();
  right.update();
  follow();
  right.bar(Vote::same_server);
  EXPECT_TRUE(right.barred());
  EXPECT_FALSE(right.votes());
  EXPECT_EQ(right.vote(), Vote::same_server);
  right.disconnected();
  connect();
  EXPECT_FALSE(right.barred());
}

TEST_F(EnrolmentVotes, ADoubtLastsUntilTheRecordIsReadAndComparedAgain) {
  connect();
  right.update();
  follow();
  right.update();
  EXPECT_FALSE(right.end_reading());
  right.doubt();
  EXPECT_TRUE(right.is_reading_again());
  right.update();
  EXPECT_FALSE(right.end_reading());
  std::string out;
  ASSERT_TRUE(right.take_command(now, out));
  const redis::Membership its = LinkDriver::members();
  const std::string record = with_mark("run1:abc", its), members = its.text();
  const std::vector<Reply> both = {made_reply(Reply::Type::string, record),
                                   made_reply(Reply::Type::string, members)};
  right.on_reply(now, {Reply::Type::array, 0, {}, both});
  EXPECT_TRUE(right.update());
  EXPECT_FALSE(right.end_reading());  // the others have not been compared yet
  follow();
  right.update();
  EXPECT_TRUE(right.end_reading());
  EXPECT_FALSE(right.is_reading_again());
  EXPECT_FALSE(right.end_reading());
}

TEST_F(EnrolmentVotes, AWaitIsReportedWithTheTimeLeft) {
  right.begin();
  right.greeted(now, {.run_id = "run1"}, {});
  follow();
  right.update();
  EXPECT_EQ(right.vote(), Vote::quarantined);
  EXPECT_NE(right.why(now).find("has no enrolment"), std::string::npos) << right.why(now);
}

}  // namespace
}  // namespace quorumlock::test
