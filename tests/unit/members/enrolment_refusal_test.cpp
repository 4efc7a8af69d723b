#include "support/enrolment_driver.hpp"

// Nodes that contradict the options or themselves: refusals, other terms, doubt.
namespace quorumlock::test {
namespace {

using Driver = EnrolmentDriver;
using Standing = redis::Enrolment::Standing;

TEST(EnrolmentRefusal, ARestartedNodeWithOtherTermsIsRefusedWithBoth) {
  // Nobody lets it in, and its clients may go on with the terms that it remembers. If it is let in,
  // the terms are those of the others.
  for (const bool admitted : {false, true}) {
    Driver driver({.named = {.max_ttl_ms = 20'000}});
    redis::Ruling ruling = all_agree(driver.members);
    if (!admitted) ruling.admitted = nullptr;
    driver.it.follow(driver.now, ruling);
    driver.greet("run1:abc");
    const std::string said = driver.asks();
    if (admitted) {
      EXPECT_TRUE(said.starts_with("candidate ")) << said;
      continue;
    }
    EXPECT_EQ(said, "nothing");
    EXPECT_EQ(driver.it.vote(), Vote::max_ttl_differs);
    EXPECT_EQ(driver.it.candidacy().why(),
              "was restarted, and votes with max_ttl 30s since epoch 0, and ours is 20s: leave "
              "max_ttl out to follow the nodes; quorumlock members apply changes theirs");
  }
}

TEST(EnrolmentRefusal, ChangingGroupsWaitsForWhatWasGranted) {
  // One step replaces the record by a candidate that says how long to wait.
  Driver driver({.groups = "mark", .changes_groups = true});
  driver.members.to_terms.max_ttl_ms = 60'000;
  driver.it.follow(driver.now, all_agree(driver.members));
  const std::string record = "run2:abc";
  driver.greet(record);
  const std::string said = driver.asks();
  const std::string asked = "replace quorumlock:enrolment " + record + " ";
  ASSERT_TRUE(said.starts_with(asked)) << said;
  const std::string candidate = said.substr(asked.size());
  EXPECT_TRUE(candidate.ends_with("@mark:60000")) << candidate;
  driver.hear(1);
  EXPECT_EQ(driver.it.candidacy().why(), "is being enrolled anew, for other groups");
  driver.asks();
  driver.hear(2, candidate);
  EXPECT_EQ(driver.it.wait().until(), driver.now + 60s + 602ms);
  ASSERT_NO_FATAL_FAILURE(driver.wait_to_repair(candidate));
  driver.it.repaired(driver.members, 0, 0);
  EXPECT_EQ(driver.asks(), "enrol " + record_of(candidate) + " " + candidate);
  driver.hear(1);
  EXPECT_EQ(driver.it.standing(), Standing::enrolled);
}

TEST(EnrolmentRefusal, GroupsAreChangedOfTheOwnListAlone) {
  // Nodes of another list that this client does not know would keep their records, and a lease on
  // them would go on. A list that is being changed has such nodes, too.
  using Phase = ListPhase;
  const redis::NodeNames own{"n1", "n2", "n3"}, other{"n1", "n2", "n4"};
  for (const auto& [carried, why] :
       {std::pair(redis::Membership{1, 0, Phase::settled, "n1", {}, other},
                  "votes for {n1, n2 and n4} since epoch 0; our list has n3, which is not one of "
                  "them, and lacks n4: give all clients the same nodes"),
        std::pair(redis::Membership{1, 0, Phase::announced, "n1", own, other},
                  "is changing its list to {n1, n2 and n4}, which has to end before its groups are "
                  "changed: quorumlock members"),
        std::pair(redis::Membership{1, 1, Phase::unsettled, "n1", other, own},
                  "is changing its list to {n1, n2 and n3}, which has to end before its groups are "
                  "changed: quorumlock members")}) {
    Driver driver({.groups = "mark", .changes_groups = true});
    driver.members = carried;
    driver.greet("run2:abc");
    EXPECT_EQ(driver.asks(), "nothing");
    EXPECT_EQ(driver.it.vote(), Vote::nodes_differ);
    EXPECT_EQ(driver.it.candidacy().why(), why);
  }
}

TEST(EnrolmentRefusal, AnotherClientMayHaveChangedIt) {
  // The record has changed since it was read, so it is read again.
  Driver driver({.groups = "mark", .changes_groups = true});
  driver.greet("run2:abc");
  driver.asks();
  driver.hear(0);
  EXPECT_EQ(driver.asks(), "MGET quorumlock:enrolment quorumlock:members");
  driver.hear_record("run2:abc@mark");
  EXPECT_EQ(driver.it.standing(), Standing::enrolled);
}

TEST(EnrolmentRefusal, ACandidateIsChangedLikeARecord) {
  // A candidate for other groups that no client completes is replaced too, and its longer wait is
  // kept.
  Driver driver({.groups = "mark", .changes_groups = true});
  driver.greet(std::nullopt);
  driver.proposes();
  driver.hear(2, "run2:theirs:90000");
  const std::string said = driver.asks();
  const std::string asked = "replace quorumlock:candidate run2:theirs:90000 ";
  ASSERT_TRUE(said.starts_with(asked)) << said;
  const std::string candidate = said.substr(asked.size());
  EXPECT_TRUE(candidate.ends_with(":90000")) << candidate;
  driver.hear(1);
  driver.asks();
  driver.hear(2, candidate);
  EXPECT_EQ(driver.it.wait().until(), driver.now + 90s + 902ms);
}

TEST(EnrolmentRefusal, AnAdoptedCandidateTakesAsLongAsItSays) {
  // Another client has changed max_ttl from a longer one, as the candidate says.
  Driver driver;
  driver.greet(std::nullopt);
  driver.proposes();
  driver.hear(2, "run2:theirs:60000");
  EXPECT_EQ(driver.it.wait().until(), driver.now + 60s + 602ms);
}

TEST(EnrolmentRefusal, TextThatIsNotACandidateIsRefused) {
  // The candidate has too few words or too many, or no number in a number's place.
  for (const char* text : {"run2", "run2:x@1,2", "run2:x:n", "run2:n:x", "run2:n:1:1"}) {
    Driver driver;
    driver.greet(std::nullopt);
    driver.proposes();
    driver.hear(2, text);
    EXPECT_EQ(driver.it.standing(), Standing::refused) << text;
    EXPECT_EQ(driver.it.vote(), Vote::failed) << text;
  }
}

TEST(EnrolmentRefusal, AnotherKindOfAnswerIsRefused) {
  // The answer is not one of the script's; perhaps a proxy gave it. Nothing is concluded from it.
  Driver driver;
  driver.greet(std::nullopt);
  driver.proposes();
  driver.hear_ok();
  EXPECT_EQ(driver.it.vote(), Vote::failed);
  EXPECT_EQ(driver.it.candidacy().why(), "cannot be enrolled: it answers with something else");
}

/// Greets a node that was promoted in this run.
void greet_promoted(Driver& driver, const std::string& record) {
  redis::RecordTexts texts;
  if (!record.empty()) texts = {with_mark(record, driver.members), driver.members.text()};
  driver.it.greeted(driver.now, {"run2", "9abcdef0"}, texts);
}
/// The node refuses this command, and the record is read again a second later.
void refuses_and_has(Driver& driver, const std::string& record) {
  driver.hear_error("NOREPLICAS Not enough good replicas to write.");
  EXPECT_EQ(driver.it.standing(), Standing::refused);
  driver.now += look;
  driver.it.advance(driver.now);
  EXPECT_EQ(driver.asks(), "MGET quorumlock:enrolment quorumlock:members");
  driver.hear_record(record);
}

TEST(EnrolmentRefusal, ARecordOlderThanThePromotionIsRemovedOnceTheNodeTakesWrites) {
  // The node has no replica yet, and may grant nothing without one.
  Driver driver;
  const std::string record = "run2:abc";
  greet_promoted(driver, record);
  const std::string removes = "replace quorumlock:enrolment " + record;
  EXPECT_TRUE(driver.asks().starts_with(removes));
  refuses_and_has(driver, record);
  EXPECT_TRUE(driver.asks().starts_with(removes));
}

TEST(EnrolmentRefusal, ARecordOfAnotherPromotionIsRemovedOnceTheNodeHasBeenAskedAboutIt) {
  // The node may have been promoted again, and enrolled, since we greeted it.
  Driver driver;
  greet_promoted(driver, "");
  EXPECT_TRUE(driver.asks().starts_with("candidate run2+9abcdef0 "));
  const std::string record = "run2+12345678:abc";
  refuses_and_has(driver, record);
  EXPECT_TRUE(driver.it.take_check());
  EXPECT_TRUE(driver.asks().starts_with("candidate run2+9abcdef0 "));
  refuses_and_has(driver, record);
  EXPECT_TRUE(driver.asks().starts_with("replace quorumlock:enrolment " + record));
}

TEST(EnrolmentRefusal, ANodeThatWasRestartedIsEnrolledInNoOtherList) {
  // The node may have forgotten locks, but its record still says which list it belongs to. Clients
  // of that list, which it would count against, may not have seen the restart.
  Driver driver;
  const redis::Membership own = driver.members;
  driver.members = redis::Membership{1, 0, ListPhase::settled, "n1", {}, {"n1", "n4", "n5"}};
  redis::Ruling alone;
  alone.founded = std::make_shared<redis::Membership>(own);
  alone.founds = true;
  driver.it.follow(driver.now, alone);
  driver.greet("run1:abc");
  EXPECT_EQ(driver.asks(), "nothing") << "there is no candidate that others would wait for";
  EXPECT_EQ(driver.it.vote(), Vote::nodes_differ);
  EXPECT_EQ(driver.it.candidacy().why(),
            "was restarted, and votes for {n1, n4 and n5} since epoch 0; our list has n2 and n3, "
            "which are not of them, and lacks n4 and n5: give all clients the same nodes");
  ASSERT_TRUE(driver.it.wait().remembered());
  EXPECT_EQ(driver.it.wait().remembered()->to, driver.members.to);

  // The others of our list vouch for it: it has missed a change.
  alone.admitted = alone.founded;
  driver.it.follow(driver.now, alone);
  driver.now += look;
  driver.it.advance(driver.now);
  EXPECT_EQ(driver.asks(), "MGET quorumlock:enrolment quorumlock:members");
  driver.hear_record("run1:abc");
  EXPECT_TRUE(driver.asks().starts_with("candidate run2 "));
}

TEST(EnrolmentRefusal, ARecordOfAnotherDatabaseIsNoRecord) {
  // SWAPDB, or a copy, has put a record into this database that another one's clients believe in.
  for (const char* const name : {"n1", "n1/2"}) {
    Driver driver({.node = "n1/3"});
    driver.members = founded(name, {"n1/3", "n2", "n3"});
    driver.greet("run2:30000,86400");
    EXPECT_EQ(driver.it.standing(), Standing::unknown);
    EXPECT_TRUE(driver.asks().starts_with("replace quorumlock:enrolment run2:30000,86400 "))
        << name;
  }
}

TEST(EnrolmentRefusal, AServerWithoutARunIdIsRefused) {
  // Without a run id it is unknown whether the node has forgotten, even if it has a record.
  Driver driver;
  driver.greet("run2:abc", "");
  EXPECT_EQ(driver.it.vote(), Vote::unauthorized);
  EXPECT_EQ(driver.it.candidacy().why(),
            "does not tell its run id and its role: let this user call INFO");
  EXPECT_EQ(driver.it.deadline(), driver.now + look);
}

TEST(EnrolmentRefusal, ErrorsAreReportedAndTheNodeIsAskedAgain) {
  // An error at any step is reported in the node's own words, with the vote that it means. The wait
  // that was under way is kept.
  struct Case {
    std::string_view error;
    Vote vote;
  };
  for (const Case& one :
       {Case{"OOM command not allowed when used memory > 'maxmemory'.", Vote::refuses_writes},
        Case{"NOPERM this user has no permissions to run the 'eval' command", Vote::unauthorized},
        Case{"READONLY You can't write against a read only replica.", Vote::refuses_writes},
        Case{"WRONGTYPE Operation against a key holding the wrong kind of value", Vote::failed},
        Case{"ERR what", Vote::failed}}) {
    Driver driver;
    driver.greet(std::nullopt);
    const std::string candidate = driver.proposes();
    driver.hear(2, candidate);
    const core::Time until = driver.it.wait().until();
    driver.now = driver.it.deadline();
    driver.it.advance(driver.now);
    driver.asks();
    driver.hear_error(one.error);
    EXPECT_EQ(driver.it.standing(), Standing::refused);
    EXPECT_EQ(driver.it.vote(), one.vote);
    EXPECT_EQ(driver.it.candidacy().why(), "cannot be enrolled: " + std::string(one.error));
    driver.now = driver.it.deadline();
    driver.it.advance(driver.now);
    EXPECT_EQ(driver.asks(), "MGET quorumlock:enrolment quorumlock:members");
    driver.hear_nil();
    driver.proposes();
    driver.hear(2, candidate);
    EXPECT_EQ(driver.it.standing(), Standing::quarantined);
    EXPECT_EQ(driver.it.wait().until(), until);
  }
}

TEST(EnrolmentRefusalDoubt, TheRecordIsReadAgain) {
  // A vote script has found another record. The node does not vote until its record is read. If the
  // record still fits, the node is enrolled; if there is none, it waits.
  for (const bool forgotten : {false, true}) {
    Driver driver;
    driver.greet("run2:abc");
    driver.it.doubt();
    EXPECT_EQ(driver.it.standing(), Standing::unknown);
    EXPECT_EQ(driver.it.vote(), Vote::quarantined);
    EXPECT_EQ(driver.it.candidacy().why(), "does not have the enrolment that it had");
    EXPECT_EQ(driver.asks(), "MGET quorumlock:enrolment quorumlock:members");
    driver.it.doubt();
    EXPECT_EQ(driver.asks(), "nothing") << "asked once, however many votes say so";
    if (forgotten) {
      driver.hear_nil();
      driver.hear(2, driver.proposes());
      EXPECT_EQ(driver.it.wait().until(), driver.now + quarantine);
    } else {
      driver.hear_record("run2:abc:1700:42");
      EXPECT_EQ(driver.it.standing(), Standing::enrolled);
      EXPECT_EQ(driver.it.floor(), 1700U);
    }
  }
}

TEST(EnrolmentRefusalDoubt, DoesNotApplyToANodeThatDoesNotVote) {
  // Late answers of earlier votes do not matter: the wait goes on, or the node stays unconnected.
  Driver driver;
  driver.it.doubt();
  EXPECT_EQ(driver.asks(), "nothing");
  driver.greet(std::nullopt);
  driver.hear(2, driver.proposes());
  driver.it.doubt();
  EXPECT_EQ(driver.asks(), "nothing");
  EXPECT_EQ(driver.it.standing(), Standing::quarantined);
}

constexpr const char* keys_refused =
    "NOPERM this user has no permissions to access one of the keys used as arguments";
constexpr const char* awaits =
    ", and waits for a client with an operator's rights, which this user has not: quorumlock "
    "enroll --watch";

TEST(EnrolmentRefusal, AUserThatMayNotEnrolTriesItOnce) {
  // The first write is refused. After that the candidate and the record are only looked at, until
  // another client has enrolled the node.
  Driver driver;
  driver.greet(std::nullopt);
  driver.proposes();
  EXPECT_FALSE(driver.it.candidacy().awaits_operator());
  driver.hear_error(keys_refused);
  EXPECT_EQ(driver.asks(), "GET quorumlock:candidate");
  driver.hear_nil();
  EXPECT_EQ(driver.it.candidacy().why(),
            "has no enrolment: it is new, or has forgotten everything" + std::string(awaits));
  EXPECT_EQ(driver.it.vote(), Vote::quarantined);
  EXPECT_TRUE(driver.it.candidacy().awaits_operator());
  EXPECT_TRUE(driver.it.candidacy().nobody_enrols());
  EXPECT_FALSE(driver.it.candidacy().may_enrol());
  for (int again = 0; again < 3; ++again) {
    EXPECT_EQ(driver.asks(), "nothing");
    driver.now += look;
    driver.it.advance(driver.now);
    EXPECT_EQ(driver.it.standing(), Standing::quarantined);
    EXPECT_EQ(driver.asks(), "MGET quorumlock:enrolment quorumlock:members");
    driver.hear_nil();
    EXPECT_EQ(driver.asks(), "GET quorumlock:candidate");
    driver.hear_text("run2:theirs@#1.0s.2;17");
    EXPECT_FALSE(driver.it.candidacy().nobody_enrols());
    EXPECT_FALSE(driver.it.ripe());
  }
  driver.now += look;
  driver.it.advance(driver.now);
  driver.asks();
  driver.hear_record("run2:theirs");
  EXPECT_EQ(driver.it.standing(), Standing::enrolled);
  EXPECT_FALSE(driver.it.candidacy().awaits_operator());
  EXPECT_EQ(driver.it.candidacy().enrolments(), 0U);
}

TEST(EnrolmentRefusal, AUserThatMayNotEvenLookAtTheCandidateAsksOnce) {
  // Whether anybody enrols the node is then unknown.
  Driver driver;
  driver.greet(std::nullopt);
  driver.proposes();
  driver.hear_error(keys_refused);
  driver.asks();
  driver.hear_error("NOPERM User t has no permissions to access the 'quorumlock:candidate' key");
  EXPECT_EQ(driver.asks(), "nothing");
  EXPECT_TRUE(driver.it.candidacy().awaits_operator());
  EXPECT_FALSE(driver.it.candidacy().nobody_enrols());
  driver.now += look;
  driver.it.advance(driver.now);
  EXPECT_EQ(driver.asks(), "MGET quorumlock:enrolment quorumlock:members");
  driver.hear_nil();
  EXPECT_EQ(driver.asks(), "nothing");
  EXPECT_EQ(driver.it.standing(), Standing::quarantined);
}

TEST(EnrolmentRefusal, ARecordThatHasToGoStaysIfTheUserMayNotReplaceIt) {
  Driver driver;
  driver.greet("run2:no@1,2 record");
  EXPECT_TRUE(driver.asks().starts_with("replace quorumlock:enrolment "));
  driver.hear_error(keys_refused);
  EXPECT_EQ(driver.asks(), "GET quorumlock:candidate");
  driver.hear_nil();
  EXPECT_EQ(driver.it.candidacy().why(),
            "has an enrolment that cannot be read" + std::string(awaits));
  driver.now += look;
  driver.it.advance(driver.now);
  EXPECT_EQ(driver.asks(), "MGET quorumlock:enrolment quorumlock:members");
  driver.hear_record("run2:no@1,2 record");
  EXPECT_EQ(driver.asks(), "GET quorumlock:candidate");
}

TEST(EnrolmentRefusal, AnotherConnectionMayHaveOtherRights) {
  Driver driver;
  driver.greet(std::nullopt);
  driver.proposes();
  driver.hear_error(keys_refused);
  driver.reconnect();
  EXPECT_FALSE(driver.it.candidacy().awaits_operator());
  driver.hear(2, driver.proposes());
  EXPECT_TRUE(driver.it.candidacy().may_enrol());
}

}  // namespace
}  // namespace quorumlock::test
