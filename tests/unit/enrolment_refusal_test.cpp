#include "support/enrolment_driver.hpp"

// Nodes that contradict the options or themselves: refusals, another max_ttl, doubt.
namespace quorumlock::test {
namespace {

using Driver = EnrolmentDriver;
using redis::EnrolmentRecord;
using Standing = redis::Enrolment::Standing;

TEST(EnrolmentRecords, AreReadAsTheyAreWritten) {
  // With and without a floor.
  for (const char* text : {"run1:30000:durable", "run1:1:volatile", "run1:30000:durable:1700:42",
                           "run1:30000:volatile:18446744073709551615:9"}) {
    const std::optional<EnrolmentRecord> record = EnrolmentRecord::parse(text);
    ASSERT_TRUE(record) << text;
    EXPECT_EQ(record->to_string(), text);
  }
}

TEST(EnrolmentRecords, WhatIsNoneIsNotRead) {
  // Whoever wrote that: it enrols nobody.
  for (const char* text :
       {"", "run1", "run1:30000", ":30000:durable", "run1::durable", "run1:0:durable",
        "run1:-5:durable", "run1:30000:", "run1:30000:Durable", "run1:30000:durable:",
        "run1:30000:durable:1700", "run1:30000:durable:1700:", "run1:30000:durable:x:42",
        "run1:30000:durable:1700:42:1", "run1: 30000:durable", "run1:30000s:durable"}) {
    EXPECT_FALSE(EnrolmentRecord::parse(text)) << text;
  }
}

TEST(EnrolmentRefusal, AnotherMaxTtlIsRefusedWithBoth) {
  // Whether of this run or of another: one sentence names both. It is looked at again, and as soon
  // as the record fits it is enrolled.
  for (const char* record : {"run2:60000:volatile", "run1:60000:durable"}) {
    Driver driver;
    driver.greet(record, true);
    EXPECT_EQ(driver.it.standing(), Standing::refused);
    EXPECT_EQ(driver.it.vote(), Vote::max_ttl_differs);
    EXPECT_EQ(
        driver.it.why(),
        "is enrolled with max_ttl 60000 ms, and ours is 30000 ms: it must be the same for all "
        "clients");
    EXPECT_EQ(driver.asks(), "nothing");
    EXPECT_EQ(driver.it.deadline(), driver.now + look);
    driver.now += look;
    driver.it.advance(driver.now);
    EXPECT_EQ(driver.asks(), "GET quorumlock:enrolment");
    driver.hear_record("run2:30000:durable");
    EXPECT_EQ(driver.it.standing(), Standing::enrolled);
    EXPECT_EQ(driver.it.deadline(), core::never);
  }
}

TEST(EnrolmentRefusal, ACandidateWithAnotherMaxTtlIsRefused) {
  // Somebody with other options is enrolling the node: not waited for, not overwritten.
  Driver driver;
  driver.greet(std::nullopt);
  driver.proposes();
  driver.hear(2, "run2:60000:volatile:theirs");
  EXPECT_EQ(driver.it.vote(), Vote::max_ttl_differs);
  EXPECT_EQ(driver.it.why(),
            "is being enrolled as run2:60000:volatile:theirs by a client with another max_ttl than "
            "our 30000 ms: it must be the same for all clients");
  EXPECT_EQ(driver.asks(), "nothing");
}

TEST(EnrolmentRefusal, ChangingMaxTtlWaitsForTheGreater) {
  // The record makes place for a candidate that says how long to wait, in one step; the wait is
  // that of the longer one, whichever it is.
  for (const bool longer : {true, false}) {
    Driver driver({.changes_terms = true});
    const std::string record = longer ? "run2:60000:volatile" : "run2:5000:volatile";
    driver.greet(record);
    const std::string said = driver.asks();
    const std::string asked = "replace quorumlock:enrolment " + record + " ";
    ASSERT_TRUE(said.starts_with(asked)) << said;
    const std::string candidate = said.substr(asked.size());
    EXPECT_EQ(candidate.ends_with(":60000"), longer) << candidate;
    EXPECT_TRUE(candidate.starts_with("run2:30000:volatile:"));
    driver.hear(1);
    EXPECT_EQ(driver.it.why(), "is being enrolled anew, with another max_ttl or for other groups");
    driver.proposes();
    driver.hear(2, candidate);
    EXPECT_EQ(driver.it.until(), driver.now + (longer ? core::Duration(60s + 602ms) : quarantine));
    ASSERT_NO_FATAL_FAILURE(driver.wait_to_repair(candidate));
    driver.it.repaired(0, 0);
    EXPECT_EQ(driver.asks(), "enrol run2:30000:volatile " + candidate);
    driver.hear(1);
    EXPECT_EQ(driver.it.standing(), Standing::enrolled);
  }
}

TEST(EnrolmentRefusal, SomebodyElseMayHaveChangedIt) {
  // The record is another than was read: it is read anew.
  Driver driver({.changes_terms = true});
  driver.greet("run2:60000:volatile");
  driver.asks();
  driver.hear(0);
  EXPECT_EQ(driver.asks(), "GET quorumlock:enrolment");
  driver.hear_record("run2:30000:volatile");
  EXPECT_EQ(driver.it.standing(), Standing::enrolled);
}

TEST(EnrolmentRefusal, ACandidateIsChangedLikeARecord) {
  // One with another max_ttl that nobody enrols any more makes place too, and what it had to wait
  // for is waited for.
  Driver driver({.changes_terms = true});
  driver.greet(std::nullopt);
  driver.proposes();
  driver.hear(2, "run2:5000:volatile:theirs:90000");
  const std::string said = driver.asks();
  const std::string asked = "replace quorumlock:candidate run2:5000:volatile:theirs:90000 ";
  ASSERT_TRUE(said.starts_with(asked)) << said;
  const std::string candidate = said.substr(asked.size());
  EXPECT_TRUE(candidate.ends_with(":90000")) << candidate;
  driver.hear(1);
  driver.asks();
  driver.hear(2, candidate);
  EXPECT_EQ(driver.it.until(), driver.now + 90s + 902ms);
}

TEST(EnrolmentRefusal, WhoAdoptsACandidateWaitsAsLongAsItSays) {
  // Somebody else has changed max_ttl from a longer one: the candidate says so.
  Driver driver;
  driver.greet(std::nullopt);
  driver.proposes();
  driver.hear(2, "run2:30000:volatile:theirs:60000");
  EXPECT_EQ(driver.it.until(), driver.now + 60s + 602ms);
}

TEST(EnrolmentRefusal, WhatIsNoCandidateIsRefused) {
  // Too few words, too many, or no numbers where there should be some.
  for (const char* text : {"run2", "run2:30000:volatile", "run2:x:volatile:n",
                           "run2:30000:volatile:n:x", "run2:30000:volatile:n:1:1"}) {
    Driver driver;
    driver.greet(std::nullopt);
    driver.proposes();
    driver.hear(2, text);
    EXPECT_EQ(driver.it.standing(), Standing::refused) << text;
    EXPECT_EQ(driver.it.vote(), Vote::max_ttl_differs) << text;
  }
}

TEST(EnrolmentRefusal, AnotherKindOfAnswerIsRefused) {
  // Not what the script says: a proxy's, perhaps. Nothing is concluded from it.
  Driver driver;
  driver.greet(std::nullopt);
  driver.proposes();
  driver.hear_ok();
  EXPECT_EQ(driver.it.vote(), Vote::failed);
  EXPECT_EQ(driver.it.why(), "cannot be enrolled: it answers with something else");
}

TEST(EnrolmentRefusal, AServerWithoutARunIdIsRefused) {
  // Without it nobody knows whether the node has forgotten: also where a record is there.
  Driver driver;
  driver.greet("run2:30000:volatile", false, "");
  EXPECT_EQ(driver.it.vote(), Vote::unauthorized);
  EXPECT_EQ(driver.it.why(), "does not tell its run id: let this user call INFO server");
  EXPECT_EQ(driver.it.deadline(), driver.now + look);
}

TEST(EnrolmentRefusal, ErrorsAreToldAndLookedAtAgain) {
  // At any step: the node's own words, and the vote that they are. The wait that was under way is
  // not lost over one.
  struct Case {
    std::string_view error;
    Vote vote;
  };
  for (const Case& one :
       {Case{"OOM command not allowed when used memory > 'maxmemory'.", Vote::out_of_memory},
        Case{"NOPERM this user has no permissions to run the 'eval' command", Vote::unauthorized},
        Case{"READONLY You can't write against a read only replica.", Vote::read_only},
        Case{"WRONGTYPE Operation against a key holding the wrong kind of value", Vote::failed},
        Case{"ERR what", Vote::failed}}) {
    Driver driver;
    driver.greet(std::nullopt);
    const std::string candidate = driver.proposes();
    driver.hear(2, candidate);
    const core::Time until = driver.it.until();
    driver.now = driver.it.deadline();
    driver.it.advance(driver.now);
    driver.asks();
    driver.hear_error(one.error);
    EXPECT_EQ(driver.it.standing(), Standing::refused);
    EXPECT_EQ(driver.it.vote(), one.vote);
    EXPECT_EQ(driver.it.why(), "cannot be enrolled: " + std::string(one.error));
    driver.now = driver.it.deadline();
    driver.it.advance(driver.now);
    EXPECT_EQ(driver.asks(), "GET quorumlock:enrolment");
    driver.hear_nil();
    driver.proposes();
    driver.hear(2, candidate);
    EXPECT_EQ(driver.it.standing(), Standing::waiting);
    EXPECT_EQ(driver.it.until(), until);
  }
}

TEST(EnrolmentRefusal, NoLongerDurableIsSaidInTheRecord) {
  // The same run, whose AOF was switched off: it is enrolled, at once, but as volatile, so that its
  // next restart is waited for. One whose durability is not known keeps its record.
  Driver driver;
  driver.greet("run2:30000:durable:1700:42", false);
  EXPECT_EQ(driver.asks(), "adopt run2:30000:durable:1700:42 run2:30000:volatile:1700:42");
  driver.hear(1);
  EXPECT_EQ(driver.it.standing(), Standing::enrolled);
  EXPECT_EQ(driver.it.floor(), 1700U);

  Driver unknown;
  unknown.greet("run2:30000:durable", std::nullopt);
  EXPECT_EQ(unknown.asks(), "nothing");
  EXPECT_EQ(unknown.it.standing(), Standing::enrolled);
}

TEST(EnrolmentRefusal, ItDoesNotBecomeDurableByItself) {
  // A volatile node of this run that is durable now may have lost something before: its record
  // stays, and its next restart is waited for.
  Driver driver;
  driver.greet("run2:30000:volatile", true);
  EXPECT_EQ(driver.asks(), "nothing");
  EXPECT_EQ(driver.it.record(), "run2:30000:volatile");
}

TEST(EnrolmentDoubt, TheRecordIsReadAgain) {
  // A vote script has found another one. Until it is read the node does not vote; what is found
  // decides: the same as before, or nothing, and then it waits.
  for (const bool forgotten : {false, true}) {
    Driver driver;
    driver.greet("run2:30000:volatile");
    driver.it.doubt();
    EXPECT_EQ(driver.it.standing(), Standing::unknown);
    EXPECT_EQ(driver.it.vote(), Vote::quarantined);
    EXPECT_EQ(driver.it.why(), "does not have the enrolment that it had");
    EXPECT_EQ(driver.asks(), "GET quorumlock:enrolment");
    driver.it.doubt();
    EXPECT_EQ(driver.asks(), "nothing") << "asked once, however many votes say so";
    if (forgotten) {
      driver.hear_nil();
      driver.hear(2, driver.proposes());
      EXPECT_EQ(driver.it.until(), driver.now + quarantine);
    } else {
      driver.hear_record("run2:30000:volatile:1700:42");
      EXPECT_EQ(driver.it.standing(), Standing::enrolled);
      EXPECT_EQ(driver.it.floor(), 1700U);
    }
  }
}

TEST(EnrolmentDoubt, IsNoneWhereTheNodeDoesNotVote) {
  // Late answers of before: the wait goes on, and who is not connected stays so.
  Driver driver;
  driver.it.doubt();
  EXPECT_EQ(driver.asks(), "nothing");
  driver.greet(std::nullopt);
  driver.hear(2, driver.proposes());
  driver.it.doubt();
  EXPECT_EQ(driver.asks(), "nothing");
  EXPECT_EQ(driver.it.standing(), Standing::waiting);
}

TEST(EnrolmentLook, IsNowWhereItIsAskedFor) {
  // A node that waits or is refused is looked at, and not in a second; an enrolled one is not, nor
  // one that is being looked at.
  Driver waiting;
  waiting.greet(std::nullopt);
  const std::string candidate = waiting.proposes();
  waiting.hear(2, candidate);
  waiting.it.look_again(waiting.now);
  waiting.proposes();
  waiting.it.look_again(waiting.now);
  EXPECT_EQ(waiting.asks(), "nothing");
  Driver refused;
  refused.greet("run2:60000:volatile");
  refused.it.look_again(refused.now);
  EXPECT_EQ(refused.asks(), "GET quorumlock:enrolment");
  Driver enrolled;
  enrolled.greet("run2:30000:volatile");
  enrolled.it.look_again(enrolled.now);
  EXPECT_EQ(enrolled.asks(), "nothing");
}

}  // namespace
}  // namespace quorumlock::test
