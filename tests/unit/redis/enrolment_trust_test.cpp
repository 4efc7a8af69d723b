#include "support/enrolment_driver.hpp"
#include "support/link_driver.hpp"
#include "support/session_driver.hpp"

// Nodes whose disk is trusted: what they must show, and what the other nodes note about them.
namespace quorumlock::test {
namespace {

using Driver = EnrolmentDriver;
using Errand = redis::Enrolment::Errand;
using End = redis::Enrolment::ErrandEnd;
using Standing = redis::Enrolment::Standing;
using Strings = std::vector<std::string>;

const redis::Enrolment::Config of_n1{.node = "n1"};
const std::string durable = "run1:30000,d,86400:durable";

TEST(EnrolmentTrust, ANodeWithTheMemoryOfAnotherNodeWaits) {
  // The node has a copy of a peer's directory, or was a replica before. Each such node is
  // quarantined, and reports why.
  struct Case {
    std::string named;
    bool promoted;
    std::string why;
  };
  for (const Case& one :
       {Case{"n2", false, "has the record of n2 and not its own: its data is a copy"},
        Case{"n1", true, "was a replica before: its data is a copy"}}) {
    Driver driver(of_n1);
    const redis::Membership its = driver.members.for_node(one.named);
    driver.it.greeted(driver.now, {"run2", true, one.promoted},
                      {with_mark(durable, its), its.text()});
    EXPECT_EQ(driver.it.take_errand(), Errand::suspect);
    driver.proposes();
    EXPECT_EQ(driver.it.why(), one.why);
  }
}

TEST(EnrolmentTrust, ANodeThatWasSeenNotToBeDurableIsQuarantined) {
  Driver driver(of_n1);
  driver.greet(durable, true);
  EXPECT_EQ(driver.it.take_errand(), Errand::look_up);
  EXPECT_TRUE(driver.it.remembers());
  driver.it.done(driver.now, End::refuted);
  EXPECT_FALSE(driver.it.remembers());
  driver.hear(2, driver.proposes());
  EXPECT_EQ(driver.it.why(),
            "has been restarted, and was seen not to write every change to its disk");
  driver.now += look;
  driver.it.advance(driver.now);
  EXPECT_FALSE(driver.it.take_check());
  EXPECT_NE(driver.proposes(), "") << "it only looks after its candidate";
}

TEST(EnrolmentTrust, ANodeThatTooFewVouchForIsAskedAboutAgain) {
  // The nodes that could vouch may have been away. Two nodes that were restarted at one time vouch
  // for each other, although each asks about itself while the other has stopped asking.
  Driver driver(of_n1);
  driver.greet(durable, true);
  EXPECT_EQ(driver.it.take_errand(), Errand::look_up);
  driver.it.done(driver.now, End::too_few);
  EXPECT_TRUE(driver.it.remembers());
  driver.hear(2, driver.proposes());
  EXPECT_EQ(driver.it.standing(), Standing::waiting);
  EXPECT_TRUE(driver.it.remembers());
  const core::Time until = driver.it.candidacy().until();
  driver.now += look;
  driver.it.advance(driver.now);
  EXPECT_TRUE(driver.it.take_check());
  EXPECT_EQ(driver.asks(), "MGET quorumlock:enrolment quorumlock:members");
  driver.hear_record(durable);
  driver.others_know_nothing();
  EXPECT_EQ(driver.it.candidacy().until(), until);
  EXPECT_EQ(driver.asks(), "adopt " + durable + " run2:30000,d,86400:durable");
  driver.hear(1);
  EXPECT_EQ(driver.it.standing(), Standing::enrolled);
}

TEST(EnrolmentTrust, ANodeThatRefusesItsCandidateIsNotCountedOn) {
  // A node's notes on others do not count while it refuses commands.
  Driver driver(of_n1);
  driver.greet(durable, true);
  EXPECT_EQ(driver.it.take_errand(), Errand::look_up);
  driver.it.done(driver.now, End::too_few);
  ASSERT_NE(driver.proposes(), "");
  EXPECT_TRUE(driver.it.remembers());
  driver.hear_error("NOPERM this user has no permissions to run the 'evalsha' command");
  EXPECT_EQ(driver.it.standing(), Standing::refused);
  EXPECT_FALSE(driver.it.remembers());
}

TEST(EnrolmentTrust, ALossOfDurabilityIsNotedBeforeTheRecordSaysSo) {
  // The node's facts are read every five seconds. The other nodes note the loss before the record
  // changes, since the next start may read an older file in which the record still says "durable".
  Driver driver(of_n1);
  driver.greet("run2:30000,d,86400:durable", true);
  ASSERT_EQ(driver.it.standing(), Standing::enrolled);
  EXPECT_EQ(driver.it.deadline(), driver.now + 5s);
  driver.now += 5s;
  driver.it.advance(driver.now);
  EXPECT_TRUE(driver.it.take_check());
  EXPECT_EQ(driver.asks(), "nothing");
  EXPECT_EQ(driver.it.standing(), Standing::enrolled) << "it votes meanwhile";
  driver.it.look_at(driver.now, {"run2", false});
  EXPECT_EQ(driver.it.take_errand(), Errand::note);
  EXPECT_EQ(driver.asks(), "nothing");
  driver.it.done(driver.now, End::good);
  EXPECT_EQ(driver.asks(), "adopt run2:30000,d,86400:durable run2:30000,d,86400:volatile");
  driver.hear(1);
  EXPECT_EQ(driver.it.standing(), Standing::enrolled);
  // The note is renewed for as long as the node is not durable.
  driver.now += 5s;
  driver.it.advance(driver.now);
  driver.it.look_at(driver.now, {"run2", false});
  EXPECT_EQ(driver.it.take_errand(), Errand::remind);
  EXPECT_EQ(driver.it.standing(), Standing::enrolled);
}

TEST(EnrolmentTrust, ANoteThatFailsIsTriedAgain) {
  // Until the note is made the node casts no vote.
  Driver driver(of_n1);
  driver.greet("run2:30000,d,86400:durable", false);
  EXPECT_EQ(driver.it.take_errand(), Errand::note);
  driver.it.done(driver.now, End::too_few);
  EXPECT_EQ(driver.it.standing(), Standing::refused);
  EXPECT_EQ(driver.it.vote(), Vote::quarantined);
  driver.now += look;
  driver.it.advance(driver.now);
  EXPECT_EQ(driver.asks(), "MGET quorumlock:enrolment quorumlock:members");
}

TEST(EnrolmentTrust, AfterItsQuarantineADurableNodeIsTrustedAgain) {
  // The node's new record says that it is durable.
  Driver driver(of_n1);
  driver.greet("run1:30000,d,86400:volatile", true);
  const std::string candidate = driver.proposes();
  driver.hear(2, candidate);
  ASSERT_NO_FATAL_FAILURE(driver.wait_to_repair(candidate));
  driver.it.done(driver.now, redis::Enrolment::Repaired{0, 0, driver.members});
  EXPECT_EQ(driver.asks(), "enrol run2:30000,a,86400:durable " + candidate);
  driver.hear(1);
  EXPECT_EQ(driver.it.take_errand(), Errand::none);
}

TEST(EnrolmentTrust, AfterItsQuarantineNothingIsHeldAgainstADurableNode) {
  // Because of the other nodes' notes on an earlier run, the node would have to wait after each
  // restart. The notes are erased if the node is durable by now, and stay if it is not.
  for (const bool is_durable : {true, false}) {
    redis::Enrolment::Config config = of_n1;
    config.policy = Quarantine::trust_disk;
    Driver driver(config);
    driver.greet("run1:30000,d,86400:volatile", is_durable);
    const std::string candidate = driver.proposes();
    driver.hear(2, candidate);
    ASSERT_NO_FATAL_FAILURE(driver.wait_to_repair(candidate));
    driver.it.done(driver.now, redis::Enrolment::Repaired{0, 0, driver.members});
    if (!is_durable) {
      EXPECT_EQ(driver.it.take_errand(), Errand::note);
      driver.it.done(driver.now, End::good);
    }
    EXPECT_TRUE(driver.asks().starts_with("enrol run2:30000,d,86400:"));
    EXPECT_EQ(driver.it.take_errand(), Errand::none);
    driver.hear(1);
    EXPECT_EQ(driver.it.standing(), Standing::enrolled);
    EXPECT_EQ(driver.it.take_errand(), is_durable ? Errand::erase : Errand::none);
  }
}

TEST(EnrolmentTrust, WithAlwaysNoOtherNodeIsAsked) {
  Driver driver(of_n1);
  driver.greet("run2:30000,a,86400:durable", true);
  EXPECT_EQ(driver.it.deadline(), core::never);
  driver.reconnect();
  driver.it.disconnected();
  driver.greet("run2:30000,a,86400:durable", false);
  EXPECT_EQ(driver.it.take_errand(), Errand::none);
  EXPECT_EQ(driver.asks(), "adopt run2:30000,a,86400:durable run2:30000,a,86400:volatile");
}

TEST(EnrolmentTrust, ALinkReportsReplicasAndPromotions) {
  // A node with a replica is not durable, since the replica may take its place. A node that was a
  // replica has the data of another node.
  for (const bool promoted : {false, true}) {
    LinkDriver driver;
    driver.come_up({.durable = true, .replicas = promoted ? 0 : 1, .promoted = promoted});
    EXPECT_EQ(driver.link.greeting().facts().durable, promoted);
    EXPECT_EQ(driver.link.greeting().facts().promoted, promoted);
  }
}

TEST(EnrolmentTrust, ALinkLooksAgain) {
  // The link looks every five seconds, with three commands, and reports nothing to its user.
  LinkDriver driver;
  const std::string record = "run1:30000,d,86400:durable";
  driver.come_up({.durable = true, .enrolment = record});
  driver.pass(5s);
  EXPECT_EQ(driver.greet({.durable = true}), (Strings{"INFO replication", "CONFIG GET append*",
                                                      "CONFIG GET no-appendfsync-on-rewrite"}));
  driver.pass(0s);
  EXPECT_EQ(driver.said(), Strings{});
  EXPECT_EQ(driver.link.state(), LinkState::up);
}

TEST(EnrolmentTrustCandidates, SayWhetherTheClusterWasEnrolled) {
  // A client that has seen an enrolment marks its own or another's candidate; the wait goes on.
  Driver driver;
  redis::Enrolment::Others others = all_agree(driver.members);
  others.ever = true;
  driver.it.follow(driver.now, others);
  driver.greet(std::nullopt);
  EXPECT_TRUE(driver.proposes().ends_with(":known"));
  EXPECT_TRUE(driver.it.was_enrolled());

  Driver other;
  other.greet(std::nullopt);
  const std::string candidate = other.proposes();
  EXPECT_FALSE(candidate.ends_with(":known"));
  other.hear(2, candidate);
  EXPECT_FALSE(other.it.was_enrolled());
  const core::Time until = other.it.candidacy().until();
  other.now += look;
  other.it.advance(other.now);
  other.proposes();
  other.hear(2, candidate + ":known");
  EXPECT_TRUE(other.it.was_enrolled());
  EXPECT_EQ(other.it.candidacy().until(), until);
}

TEST(EnrolmentTrustCandidates, DoNotLiveForEver) {
  // A candidate expires after twice the wait plus a minute since the last look.
  Driver driver;
  driver.greet(std::nullopt);
  driver.proposes();
  EXPECT_EQ(driver.life, "120000");
}

}  // namespace
}  // namespace quorumlock::test
