#include "members/members.hpp"

#include "support/session_driver.hpp"
#include "wire/client_name.hpp"

// What all links learn of the nodes that vote for our list.
namespace quorumlock::test {
namespace {

const std::string vote_for_us = "*2\r\n:1700000000000000\r\n:41\r\n";

/// Node n2 of three calls itself b, and so do the others.
class MembersCalledOtherwise : public ::testing::Test {
 protected:
  MembersCalledOtherwise() {
    const redis::NodeNames names = {"b", "n1", "n3"};
    driver.servers[0].members = SessionDriver::listed("n1", names);
    driver.servers[1].members = SessionDriver::listed("b", names);
    driver.servers[2].members = SessionDriver::listed("n3", names);
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
  // Two names are known and one is missing, which does not show that n2 is the missing one. But it
  // may be, so that the nodes that are there do not call the list wrong.
  driver.away[1] = true;
  driver.start();
  EXPECT_EQ(state(0), core::LinkState::quarantined);
  EXPECT_EQ(driver.session.link(0).reason(), Vote::quarantined);
  EXPECT_EQ(driver.session.link(0).trouble(driver.now),
            "votes for {b, n1 and n3} since epoch 0; our list has n2, and lacks b: that may be one "
            "node by two names, but only the node can say so, and it has not been reached: bring "
            "it back, or spell its address as the other clients do");
  driver.acquire();
  ASSERT_EQ(driver.refused.size(), 1U);
  EXPECT_EQ(driver.refused[0].why, Errc::no_quorum);
}

TEST_F(MembersCalledOtherwise, AnAcquisitionWaitsForTheNodeThatWasNeverReached) {
  driver.away[1] = true;
  driver.start();
  driver.acquire("key", 10s);
  EXPECT_TRUE(driver.refused.empty());
  driver.away[1] = false;
  for (int turn = 0; turn < 50 && state(1) != core::LinkState::up; ++turn) {
    for (const int node : {0, 2}) {  // they are read again meanwhile
      if (driver.asked(node).empty()) continue;
      const SessionDriver::Server& its = driver.servers[static_cast<std::size_t>(node)];
      driver.reply(node, "MGET", LinkDriver::both(*its.enrolment, *its.members));
    }
    driver.pass(100ms);
  }
  for (const int node : {0, 1, 2}) EXPECT_EQ(state(node), core::LinkState::up) << node;
  driver.reply(0, "EVALSHA", vote_for_us);
  driver.reply(2, "EVALSHA", vote_for_us);
  EXPECT_EQ(driver.acquired, 1);
}

TEST_F(MembersCalledOtherwise, ANodeThatWasRestartedSaysItsNameOnceItIsEnrolled) {
  // n2 remembers that it is b. A record of an earlier run may be a copy, so that we do not take the
  // name, but no node calls our list wrong.
  driver.servers[1].enrolment = "run9:abc";
  driver.start();
  for (const int node : {0, 1, 2}) {
    EXPECT_EQ(driver.session.link(node).reason(), Vote::quarantined) << node;
  }
}

TEST_F(MembersCalledOtherwise, ANodeThatAnotherClientIsEnrollingSaysItsNameThen) {
  // n2 has forgotten everything, and waits with another client's candidate for b.
  driver.servers[1].enrolment = "";
  driver.start();
  const std::string candidate = with_mark("run2:abc", *driver.servers[1].members);
  driver.reply(
      1, "EVAL candidate",
      "*3\r\n:2\r\n" + LinkDriver::bulk(as_it_stands(candidate)) + ":1700000000000000\r\n");
  for (const int node : {0, 1, 2}) {
    EXPECT_EQ(driver.session.link(node).reason(), Vote::quarantined) << node;
  }
}

TEST_F(MembersCalledOtherwise, ANodeOfNoListIsNotAMissingOne) {
  // n2 is there, and blank: nothing says that it is b. It waits with the candidate of our list.
  driver.servers[1].enrolment = "";
  driver.servers[1].members = SessionDriver::listed("n2", SessionDriver::names(3));
  driver.start();
  driver.look(1);
  driver.acquire();
  ASSERT_EQ(driver.refused.size(), 1U);
  EXPECT_EQ(driver.refused[0].why, Errc::misconfigured);
}

TEST(Members, AFoundingWaitsForTheMaxTtlThatEnoughNodesHad) {
  // All nodes forget. The client names a max_ttl of a second; what two of three nodes had before
  // that counts, and what one of them has made up does not.
  struct Case {
    std::vector<int> had_ms;
    core::Duration forgotten;
  };
  const Case cases[] = {{{5000, 5000, 1000}, 5s}, {{1000, 5000, 1000}, 1s}};
  for (const Case& one : cases) {
    SessionDriver driver(3);
    for (std::size_t node = 0; node < 3; ++node) {
      driver.servers[node].members->to_terms.max_ttl_ms = one.had_ms[node];
    }
    driver.start();
    for (const int node : {0, 1, 2}) {
      driver.servers[static_cast<std::size_t>(node)].enrolment = "";
      driver.close(node);
      driver.away[static_cast<std::size_t>(node)] = false;
    }
    driver.pass(1s);
    for (const int node : {0, 1, 2}) {
      const redis::Enrolment& its = driver.session.link(node).enrolment();
      EXPECT_TRUE(its.ruling().founds) << node;
      EXPECT_EQ(its.ruling().forgotten, one.forgotten) << node;
    }
  }
}

TEST(Members, ARecordThatContradictsTooFewVotersHasThemReadAgain) {
  // n1 was enrolled anew with another founding since we read its record; n2 and n3 come up with the
  // new one. n1 alone is not a quorum, so it is read again.
  SessionDriver driver(3);
  driver.slow[1] = driver.slow[2] = true;
  driver.start();
  redis::Membership anew = SessionDriver::listed("n2", SessionDriver::names(3));
  anew.founding = 9;
  driver.servers[1].members = anew;
  driver.open(1);
  ASSERT_FALSE(driver.asked(0).empty());
  EXPECT_EQ(driver.asked(0).front(), "MGET quorumlock:enrolment quorumlock:members");
}

TEST(Members, ANodeWithOtherTermsHasTheOthersReadAgain) {
  // fencing_memory, which this client does not name, has been changed while it was idle. It has
  // heard so of n1 only.
  SessionDriver driver(3);
  redis::Membership& its = *driver.servers[0].members;
  its.epoch = 1;
  its.to_terms.memory_s = 7200;
  driver.start();
  const auto all_are_read = [&driver] {
    for (const int node : {0, 1, 2}) {
      if (driver.asked(node).empty()) continue;
      driver.reply(node, "MGET",
                   LinkDriver::both(SessionDriver::record(node),
                                    *driver.servers[static_cast<std::size_t>(node)].members));
    }
  };
  all_are_read();  // they have come up one after the other
  EXPECT_EQ(driver.session.link(0).trouble(driver.now),
            "votes with other terms than the others of these nodes: quorumlock members");
  for (const int node : {1, 2}) {
    redis::Membership& now = *driver.servers[static_cast<std::size_t>(node)].members;
    now.epoch = 1;
    now.to_terms.memory_s = 7200;
  }
  driver.pass(1s);
  all_are_read();
  for (const int node : {0, 1, 2}) {
    EXPECT_EQ(driver.session.link(node).state(), LinkState::up) << node;
  }
}

TEST(Members, ANodeThatRefusesOurListIsReadAgain) {
  // Our list is about to be announced: n1 to n3 vote for a list without n4. Once ours has been
  // announced to them, they vote for it, too.
  SessionDriver driver(4);
  for (const int node : {0, 1, 2}) {
    driver.servers[static_cast<std::size_t>(node)].members =
        SessionDriver::listed(SessionDriver::name(node), SessionDriver::names(3));
  }
  driver.servers[3].enrolment = "";
  driver.start();
  driver.look(3);
  EXPECT_EQ(driver.session.link(0).reason(), Vote::nodes_differ);
  for (int turn = 0; driver.asked(0).empty() && turn < 10; ++turn) driver.pass(200ms);
  for (const int node : {0, 1, 2}) {
    redis::Membership now = SessionDriver::listed(SessionDriver::name(node), {});
    now.phase = ListPhase::announced;
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
  const redis::ClientName name{redis::list_mark(SessionDriver::names(3), {.max_ttl_ms = 1000}),
                               true, false};
  EXPECT_EQ(three.told[0], "CLIENT SETNAME " + name.to_string());
  EXPECT_EQ(three.told[0], three.told[2]);
  EXPECT_NE(three.told[0], four.told[0]);
  three.told[1].clear();
  three.close(1);
  three.away[1] = false;
  three.pass(2s);
  EXPECT_EQ(three.told[1], three.told[0]) << "a new connection is named anew";
}

TEST(Members, AConnectionSaysWhatItsClientHasSeenAndMayDo) {
  // n1 and n2 are new, and let this client enrol them; n3 is enrolled later, by another client.
  SessionDriver driver(3);
  for (auto& server : driver.servers) server.enrolment = "";
  driver.start();
  const auto name = [&](int node) {
    const std::string& told = driver.told[static_cast<std::size_t>(node)];
    return redis::ClientName::parse(told.substr(told.rfind(' ') + 1));
  };
  const std::string list = redis::list_mark(SessionDriver::names(3), {.max_ttl_ms = 1000});
  for (const int node : {0, 1}) {
    driver.look(node);
    EXPECT_EQ(name(node), (redis::ClientName{list, false, true})) << node;
  }
  driver.reply(2, "EVAL candidate ",
               "-NOPERM this user has no permissions to access one of the keys\r\n");
  driver.reply(2, "GET quorumlock:candidate", "$-1\r\n");
  EXPECT_EQ(name(2), (redis::ClientName{list, false, false}));
  driver.servers[2].enrolment = SessionDriver::record(2);
  driver.pass(1s);
  for (const int node : {0, 1}) driver.look(node);
  driver.reply(2, "MGET",
               LinkDriver::both(SessionDriver::record(2),
                                SessionDriver::listed("n3", SessionDriver::names(3))));
  EXPECT_EQ(name(0), (redis::ClientName{list, true, true}));
  EXPECT_EQ(name(2), (redis::ClientName{list, true, false}));
}

}  // namespace
}  // namespace quorumlock::test
