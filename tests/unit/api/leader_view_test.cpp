#include "api/leader_view.hpp"

#include <gtest/gtest.h>

#include "support/reply_bytes.hpp"
#include "wire/reply.hpp"

// The leader according to the nodes' answers to leader.lua.
namespace quorumlock::detail {
namespace {

using namespace std::chrono_literals;
using test::bulk;

std::string says(const std::string& token, int version, int fence, const std::string& value,
                 int pttl = 1000) {
  return "*5\r\n" + bulk(token) + ":" + std::to_string(pttl) + "\r\n" +
         bulk(std::to_string(version)) + bulk(std::to_string(fence)) + bulk(value);
}
const std::string nobody = "*0\r\n";

class LeaderViewTest : public testing::Test {
 protected:
  LeaderViewTest() { view.begin(core::NodeSet::first(5)); }
  bool note(int node, const std::string& bytes) {
    redis::ReplyReader reader;
    reader.feed(bytes);
    return view.note(node, reader.next());
  }
  LeaderView view;
};

TEST_F(LeaderViewTest, ThreeNodesOfFiveDecide) {
  // A view is known with the third answer; the leader has three nodes, whatever the others answer.
  EXPECT_TRUE(note(0, says("a", 1, 7, "here")));
  EXPECT_TRUE(note(1, says("b", 1, 9, "there", 400)));
  EXPECT_TRUE(note(2, says("a", 1, 7, "here")));
  EXPECT_TRUE(view.known());
  EXPECT_FALSE(view.leader().has_value());
  EXPECT_TRUE(note(3, says("a", 1, 7, "here")));
  EXPECT_EQ(view.leader(), (Leader{"here", 7, OwnerToken("a")}));
  EXPECT_EQ(view.version(), 1U);
  EXPECT_EQ(view.first_expiry(), 400ms);
  EXPECT_FALSE(view.complete());
}

TEST_F(LeaderViewTest, TheLastProclamationCounts) {
  // The latest announcement counts: two nodes have forgotten it, and one has an older one.
  note(0, says("a", 0, 7, ""));
  note(1, says("a", 3, 7, "newer"));
  note(2, says("a", 2, 7, "older"));
  note(3, says("a", 0, 7, ""));
  EXPECT_EQ(view.leader(), (Leader{"newer", 7, OwnerToken("a")}));
  EXPECT_EQ(view.version(), 3U);
}

TEST_F(LeaderViewTest, AHolderThatProclaimsNothingLeadsToo) {
  // The fencing token is the one that a quorum has. If the nodes do not agree it is not known.
  note(0, says("a", 0, 7, ""));
  note(1, says("a", 0, 9, ""));
  note(2, says("a", 0, 7, ""));
  EXPECT_EQ(view.leader(), (Leader{"", 0, OwnerToken("a")}));
  note(3, says("a", 0, 7, ""));
  EXPECT_EQ(view.leader(), (Leader{"", 7, OwnerToken("a")}));
  EXPECT_EQ(view.version(), 0U);
}

TEST_F(LeaderViewTest, NobodyLeads) {
  // The lock is free on a quorum; a node that does not answer is counted once.
  note(0, nobody);
  note(1, nobody);
  EXPECT_FALSE(view.known());
  EXPECT_TRUE(view.note(2, nullptr));
  EXPECT_FALSE(view.note(2, nullptr));
  EXPECT_FALSE(view.known());
  note(3, nobody);
  EXPECT_TRUE(view.known());
  EXPECT_FALSE(view.leader().has_value());
  note(4, "-NOPERM no\r\n");
  EXPECT_TRUE(view.complete());
  EXPECT_EQ(view.answered(), 3);
}

}  // namespace
}  // namespace quorumlock::detail
