#include "loop/members.hpp"

#include "support/session_driver.hpp"

// What all links learn of the nodes that vote for our list.
namespace quorumlock::test {
namespace {

/// Node n2 of three calls itself b, and so do the others.
class MembersCalledOtherwise : public ::testing::Test {
 protected:
  MembersCalledOtherwise() {
    const redis::NodeNames names = {"b", "n1", "n3"};
    driver.servers[0].members = founded("n1", names);
    driver.servers[1].members = founded("b", names);
    driver.servers[2].members = founded("n3", names);
  }
  [[nodiscard]] core::LinkState state(int node) const { return driver.session.link(node).state(); }

  SessionDriver driver{3};
};

TEST_F(MembersCalledOtherwise, NoNodeVotesBeforeEachHasSaidItsName) {
  // n2 is being connected to. It may be b, or it may be another node that has taken its place.
  driver.slow[1] = true;
  driver.start();
  EXPECT_EQ(state(0), core::LinkState::connecting);
  driver.open(1);
  for (const int node : {0, 1, 2}) EXPECT_EQ(state(node), core::LinkState::up) << node;
}

TEST_F(MembersCalledOtherwise, ANameHoldsWhileItsNodeIsAway) {
  // The connection to n2 is lost: the client still knows that b is meant.
  driver.start();
  driver.close(1);
  EXPECT_EQ(state(0), core::LinkState::up);
  EXPECT_EQ(state(2), core::LinkState::up);
}

TEST_F(MembersCalledOtherwise, ANodeThatWasNeverReachedIsNotGuessed) {
  // Two names are known and one is missing, which does not show that n2 is the missing one.
  driver.away[1] = true;
  driver.start();
  EXPECT_EQ(state(0), core::LinkState::quarantined);
  EXPECT_EQ(driver.session.link(0).reason(), Vote::nodes_differ);
}

TEST(Members, ARecordThatContradictsTooFewVotersHasThemReadAgain) {
  // n1 was enrolled anew with another founding since we read its record; n2 and n3 come up with the
  // new one. n1 alone is not a quorum, so it is read again.
  SessionDriver driver(3);
  driver.slow[1] = driver.slow[2] = true;
  driver.start();
  redis::Membership anew = founded("n2", SessionDriver::names(3));
  anew.founding = 9;
  driver.servers[1].members = anew;
  driver.open(1);
  ASSERT_FALSE(driver.asked(0).empty());
  EXPECT_EQ(driver.asked(0).front(), "MGET quorumlock:enrolment quorumlock:members");
}

TEST(Members, ANodeThatRefusesOurListIsReadAgain) {
  // Our list is about to be announced: n1 to n3 vote for a list without n4. Once ours has been
  // announced to them, they vote for it, too.
  SessionDriver driver(4);
  for (const int node : {0, 1, 2}) {
    driver.servers[static_cast<std::size_t>(node)].members =
        founded(SessionDriver::name(node), SessionDriver::names(3));
  }
  driver.servers[3].enrolment = "";
  driver.start();
  driver.look(3);
  EXPECT_EQ(driver.session.link(0).reason(), Vote::nodes_differ);
  for (int turn = 0; driver.asked(0).empty() && turn < 10; ++turn) driver.pass(200ms);
  for (const int node : {0, 1, 2}) {
    redis::Membership now = founded(SessionDriver::name(node), {});
    now.phase = redis::MembersPhase::announced;
    now.from = SessionDriver::names(3);
    now.to = SessionDriver::names(4);
    driver.reply(node, "MGET", LinkDriver::both(SessionDriver::record(node), now));
    EXPECT_EQ(driver.session.link(node).state(), core::LinkState::up) << node;
  }
}

TEST(Members, EachConnectionIsNamedAfterOurList) {
  // Clients with one list have one name, in whatever order they name the nodes, and clients with
  // another list have another.
  SessionDriver three(3), four(4);
  three.start();
  four.start();
  EXPECT_EQ(three.told[0], "CLIENT SETNAME " + redis::connection_name(SessionDriver::names(3)));
  EXPECT_EQ(three.told[0], three.told[2]);
  EXPECT_NE(three.told[0], four.told[0]);
  three.told[1].clear();
  three.close(1);
  three.away[1] = false;
  three.pass(2s);
  EXPECT_EQ(three.told[1], three.told[0]) << "a new connection is named anew";
}

}  // namespace
}  // namespace quorumlock::test
