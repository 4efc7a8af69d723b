#include "support/enrolment_driver.hpp"

// Nodes of one of several quorum groups: their enrolment, and which nodes vouch for it.
namespace quorumlock::test {
namespace {

using Driver = EnrolmentDriver;
using Standing = redis::Enrolment::Standing;

const std::string our_mark = "89724ff9dd739524";
const std::string our_record = "run2:abc@" + our_mark;

redis::Enrolment::Config ours() {
  return {.groups = our_mark};
}

/// Waits until the candidate of a node without a record has stood for max_ttl; returns it.
std::string ripen(Driver& driver) {
  redis::Ruling ruling;
  ruling.founded = std::make_shared<redis::Membership>(driver.members);
  ruling.why_not = "is vouched for by no other node";
  driver.it.follow(driver.now, ruling);
  driver.greet(std::nullopt);
  std::string candidate = driver.proposes();
  driver.hear(2, candidate);
  driver.wait(driver.it.wait().until() - 1ns, candidate);
  EXPECT_FALSE(driver.it.ripe());
  driver.now = driver.it.deadline();
  driver.it.advance(driver.now);
  EXPECT_TRUE(driver.asks().starts_with("candidate "));
  driver.hear(2, candidate);
  return candidate;
}

TEST(EnrolmentGroups, ANodeOfOurGroupsIsEnrolled) {
  Driver driver(ours());
  driver.greet(our_record);
  EXPECT_EQ(driver.it.standing(), Standing::enrolled);
  EXPECT_EQ(without_marks(driver.it.record()), our_record);
  EXPECT_TRUE(driver.it.ripe());
}

TEST(EnrolmentGroups, ANodeOfOtherGroupsIsRefused) {
  // A node is refused even if one side has no groups, and whatever else the record contains.
  struct Case {
    std::string ours, record, why;
  };
  const std::string must = ": all clients must name the same groups, and each node in its own";
  for (const Case& it :
       {Case{our_mark, "run2:abc",
             "is enrolled for one group alone, and ours are groups with the mark " + our_mark +
                 must},
        Case{"", our_record,
             "is enrolled for groups with the mark " + our_mark + ", and ours are one group alone" +
                 must},
        Case{our_mark, "run1:abc@other",
             "is enrolled for groups with the mark other, and ours are groups with the mark " +
                 our_mark + must}}) {
    Driver driver({.groups = it.ours});
    driver.greet(it.record);
    EXPECT_EQ(driver.it.standing(), Standing::refused);
    EXPECT_EQ(driver.it.vote(), Vote::groups_differ);
    EXPECT_EQ(driver.it.candidacy().why(), it.why);
    EXPECT_EQ(driver.asks(), "nothing");
    EXPECT_FALSE(driver.it.ripe());
  }
}

TEST(EnrolmentGroups, ACandidateForOtherGroupsIsRefused) {
  // The candidate of a client with other groups is neither waited for nor overwritten.
  Driver driver(ours());
  driver.greet(std::nullopt);
  driver.proposes();
  driver.hear(2, "run2:theirs");
  EXPECT_EQ(driver.it.vote(), Vote::groups_differ);
  EXPECT_EQ(without_marks(driver.it.candidacy().why()),
            "is being enrolled as run2:theirs by a client with other groups than "
            "groups with the mark " +
                our_mark + ": all clients must name the same groups, and each node in its own");
  EXPECT_EQ(driver.asks(), "nothing");
}

TEST(EnrolmentGroups, ANodeWithoutARecordIsEnrolledOnlyIfTheOthersAdmitIt) {
  // A node without a record is not enrolled, however long it waits: locks of clients with other
  // groups may be elsewhere. The candidate stands.
  Driver driver(ours());
  const std::string candidate = ripen(driver);
  EXPECT_TRUE(driver.it.ripe());
  EXPECT_EQ(driver.it.standing(), Standing::quarantined);
  EXPECT_EQ(driver.it.vote(), Vote::quarantined);
  EXPECT_EQ(driver.it.candidacy().why(), "is vouched for by no other node");
  ASSERT_NO_FATAL_FAILURE(driver.wait(driver.now + 1min, candidate));
  EXPECT_EQ(driver.it.standing(), Standing::quarantined);
  driver.it.follow(driver.now, all_agree(driver.members));
  EXPECT_EQ(driver.it.deadline(), driver.now);
  driver.it.advance(driver.now);
  EXPECT_TRUE(driver.asks().starts_with("candidate "));
  driver.hear(2, candidate);
  EXPECT_TRUE(driver.asks().starts_with("SET quorumlock:repairer "));
}

TEST(EnrolmentGroups, ACandidateIsKnownByTheListThatItWasMadeFor) {
  // A list is founded only if the candidates on all its nodes are of the same founding.
  Driver driver(ours());
  EXPECT_EQ(driver.it.wait().mark(), std::nullopt);
  ripen(driver);
  EXPECT_EQ(driver.it.wait().mark(), driver.members.mark());
}

TEST(EnrolmentGroups, ARestartedNodeKnowsItsGroups) {
  // The record says for which groups the node was enrolled, though not which locks it granted.
  Driver driver(ours());
  EXPECT_FALSE(driver.it.knows_groups());
  driver.greet("run1:abc@" + our_mark);
  EXPECT_TRUE(driver.it.knows_groups());
}

TEST(EnrolmentGroups, AnotherCandidateWaitsAgain) {
  // The candidate was ripe; then the node forgot it, or a client with other groups replaced it.
  for (const std::string& other : {"run2:another@" + our_mark, std::string("run2:x")}) {
    Driver driver(ours());
    ripen(driver);
    driver.now = driver.it.deadline();
    driver.it.advance(driver.now);
    driver.asks();
    driver.hear(2, other);
    EXPECT_FALSE(driver.it.ripe());
  }
  Driver driver(ours());
  ripen(driver);
  driver.it.disconnected();
  EXPECT_FALSE(driver.it.ripe());
}

TEST(EnrolmentGroups, TheOperatorTakesNodesFromOtherGroups) {
  // A candidate replaces the record, and the wait is that of every such change.
  for (const std::string& record : {std::string("run2:abc"), std::string("run2:abc@other")}) {
    Driver driver({.groups = our_mark, .changes_groups = true});
    driver.greet(record);
    const std::string said = driver.asks();
    const std::string asked = "replace quorumlock:enrolment " + record + " ";
    ASSERT_TRUE(said.starts_with(asked)) << said;
    const std::string candidate = said.substr(asked.size());
    EXPECT_TRUE(candidate.ends_with("@" + our_mark + ":30000")) << candidate;
    driver.hear(1);
    driver.proposes();
    driver.hear(2, candidate);
    EXPECT_EQ(driver.it.wait().until(), driver.now + quarantine);
    ASSERT_NO_FATAL_FAILURE(driver.wait_to_repair(candidate));
    driver.it.repaired(driver.members, 0, 0);
    EXPECT_EQ(driver.asks(), "enrol " + record_of(candidate) + " " + candidate);
    driver.hear(1);
    EXPECT_EQ(driver.it.standing(), Standing::enrolled);
  }
}

}  // namespace
}  // namespace quorumlock::test
