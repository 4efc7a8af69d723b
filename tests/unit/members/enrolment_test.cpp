#include "support/enrolment_driver.hpp"

// Whether the votes of one node count: from the greeting to the enrolment.
namespace quorumlock::test {
namespace {

using Driver = EnrolmentDriver;
using Standing = redis::Enrolment::Standing;

TEST(Enrolment, ThisRunsRecordEnrolsAtOnce) {
  // The record names this run: nothing is asked, and nothing waited for.
  Driver driver;
  EXPECT_EQ(driver.it.standing(), Standing::unknown);
  driver.greet("run2:abc");
  EXPECT_EQ(driver.it.standing(), Standing::enrolled);
  EXPECT_EQ(without_marks(driver.it.record()), "run2:abc");
  EXPECT_EQ(driver.it.floor(), 0U);
  EXPECT_EQ(driver.asks(), "nothing");
  EXPECT_EQ(driver.it.deadline(), core::never);
}

TEST(Enrolment, ANodeThatMayHaveForgottenWaits) {
  // Each of these nodes may have forgotten locks, and each reports why it waits. A record of an
  // earlier build is no record.
  struct Case {
    std::optional<std::string> record;
    std::string why;
  };
  const std::vector<Case> cases{
      {std::nullopt, "has no enrolment: it is new, or has forgotten everything"},
      {"what", "has an enrolment that cannot be read"},
      {"run1:30000,a,86400@#0000000000000001.0s.0000000000000002:durable",
       "has an enrolment that cannot be read"},
      {"run1:abc", "has been restarted"},
  };
  for (const Case& one : cases) {
    Driver driver;
    driver.greet(one.record);
    const std::string candidate = driver.proposes();
    EXPECT_EQ(candidate.size(), std::string("run2:").size() + 16) << candidate;
    EXPECT_EQ(driver.it.candidacy().why(), one.why);
    EXPECT_EQ(driver.it.standing(), Standing::unknown);
    driver.hear(2, candidate);
    EXPECT_EQ(driver.it.standing(), Standing::quarantined);
    EXPECT_EQ(driver.it.vote(), Vote::quarantined);
  }
}

TEST(Enrolment, ARecordOfThisRunThatCannotBeReadIsRemoved) {
  // Other clients might believe it. This one is of an earlier build.
  const std::string old = "run2:30000,a,86400@#0000000000000001.0s.0000000000000002:volatile";
  Driver driver;
  driver.greet(old);
  EXPECT_TRUE(driver.asks().starts_with("replace quorumlock:enrolment " + without_marks(old)));
  driver.hear(1);
  driver.hear(2, driver.proposes());
  EXPECT_EQ(driver.it.standing(), Standing::quarantined);
  EXPECT_EQ(driver.it.wait().until(), driver.now + quarantine);
}

TEST(Enrolment, TheWaitCountsFromItsOwnReply) {
  // The wait takes max_ttl and the margin from the reply that the candidate stands, not from the
  // question. The node is looked at every second; a nanosecond before the end nothing is claimed.
  Driver driver;
  driver.greet(std::nullopt);
  const std::string candidate = driver.proposes();
  driver.now += 5s;
  driver.hear(2, candidate);
  EXPECT_EQ(driver.it.wait().until(), driver.now + quarantine);
  EXPECT_EQ(driver.it.deadline(), driver.now + look);
  const core::Time until = driver.it.wait().until();
  driver.wait(until - 1ns, candidate);
  EXPECT_EQ(driver.it.wait().until(), until) << "looking at it does not prolong the wait";
  EXPECT_EQ(driver.it.standing(), Standing::quarantined);
  EXPECT_EQ(driver.it.deadline(), until);
  driver.now = until;
  driver.it.advance(until);
  driver.asks();
  driver.hear(2, candidate);
  EXPECT_TRUE(driver.asks().starts_with("SET quorumlock:repairer "));
}

TEST(Enrolment, TheMarginIsTheConfiguredOne) {
  // The margin is five per cent of a minute, plus two milliseconds.
  Driver driver({.drift_factor = 0.05});
  driver.members.to_terms.max_ttl_ms = 60'000;
  driver.it.follow(driver.now, all_agree(driver.members));
  driver.greet(std::nullopt);
  const std::string candidate = driver.proposes();
  driver.hear(2, candidate);
  EXPECT_EQ(driver.it.wait().until(), driver.now + 63s + 2ms);
}

TEST(Enrolment, TheWaitIsFollowedByTheRepairAndTheRecord) {
  // This is the whole way: the candidate stands, the mark of the repairer is ours, the counters are
  // repaired, and the record is written for exactly this candidate.
  Driver driver;
  driver.greet(std::nullopt);
  const std::string candidate = driver.proposes();
  driver.hear(2, candidate);
  ASSERT_NO_FATAL_FAILURE(driver.wait_to_repair(candidate));
  EXPECT_FALSE(driver.it.take_repair()) << "once";
  EXPECT_EQ(driver.asks(), "nothing");
  EXPECT_EQ(driver.it.deadline(), core::never);
  driver.it.repaired(driver.members, 0, 0);
  EXPECT_EQ(driver.asks(), "enrol " + record_of(candidate) + " " + candidate);
  EXPECT_EQ(driver.it.standing(), Standing::quarantined);
  driver.hear(1);
  EXPECT_EQ(driver.it.standing(), Standing::enrolled);
  EXPECT_EQ(without_marks(driver.it.record()), record_of(candidate));
}

TEST(Enrolment, ALongerWaitThatIsLearntDuringTheRepairIsWaitedFor) {
  // Meanwhile the others have committed a list with a greater max_ttl.
  Driver driver;
  driver.greet(std::nullopt);
  const std::string candidate = driver.proposes();
  driver.hear(2, candidate);
  ASSERT_NO_FATAL_FAILURE(driver.wait_to_repair(candidate));
  driver.members.to_terms.max_ttl_ms = 60'000;
  driver.it.follow(driver.now, all_agree(driver.members));
  driver.it.repaired(driver.members, 0, 0);
  EXPECT_TRUE(driver.asks().starts_with("release quorumlock:repairer "));
  driver.hear(1);
  EXPECT_EQ(driver.it.standing(), Standing::quarantined);
  EXPECT_FALSE(driver.it.wait().ripe());
}

TEST(Enrolment, ARepairWithoutAQuorumLeavesAFloor) {
  // The record has the floor, for all clients, and the time since when it stands.
  Driver driver;
  driver.greet(std::nullopt);
  const std::string candidate = driver.proposes();
  driver.hear(2, candidate);
  ASSERT_NO_FATAL_FAILURE(driver.wait_to_repair(candidate));
  driver.it.repaired(driver.members, 1700, 42);
  EXPECT_EQ(driver.asks(), "enrol " + record_of(candidate) + ":1700:42 " + candidate);
  driver.hear(1);
  EXPECT_EQ(driver.it.floor(), 1700U);
  EXPECT_EQ(driver.it.since(), 42);
  EXPECT_EQ(without_marks(driver.it.record()), record_of(candidate) + ":1700:42");
}

TEST(Enrolment, ACandidateOfAnotherClientIsAdopted) {
  // Another client was first: its candidate is waited for and enrolled, and the proposals that go
  // with each look are never written.
  Driver driver;
  driver.greet(std::nullopt);
  driver.proposes();
  driver.hear(2, "run2:theirs");
  ASSERT_NO_FATAL_FAILURE(driver.wait_to_repair("run2:theirs"));
  driver.it.repaired(driver.members, 0, 0);
  EXPECT_EQ(driver.asks(), "enrol run2:theirs run2:theirs");
}

TEST(Enrolment, AnotherClientMayFinishFirst) {
  // A look finds a record of this run.
  Driver driver;
  driver.greet(std::nullopt);
  driver.hear(2, driver.proposes());
  driver.now = driver.it.deadline();
  driver.it.advance(driver.now);
  driver.asks();
  driver.hear(1, "run2:abc:1700:42");
  EXPECT_EQ(driver.it.standing(), Standing::enrolled);
  EXPECT_EQ(driver.it.floor(), 1700U);
}

TEST(Enrolment, TheWaitBeginsAgainIfTheCandidateIsAnother) {
  // The node forgets again in the middle of the wait, so that another candidate stands.
  Driver driver;
  driver.greet(std::nullopt);
  const std::string first = driver.proposes();
  driver.hear(2, first);
  driver.wait(driver.now + 20s, first);
  driver.now = driver.it.deadline();
  driver.it.advance(driver.now);
  const std::string second = driver.proposes();
  EXPECT_NE(first, second) << "a nonce is used once";
  driver.hear(2, second);
  EXPECT_EQ(driver.it.wait().until(), driver.now + quarantine);
}

TEST(Enrolment, TheWaitGoesOnOverAReconnect) {
  // The connection breaks and comes back. If the same candidate stands, nothing was forgotten, and
  // the wait does not get longer. With another one the wait begins anew.
  for (const bool same : {true, false}) {
    Driver driver;
    driver.greet(std::nullopt);
    const std::string candidate = driver.proposes();
    driver.hear(2, candidate);
    const core::Time until = driver.it.wait().until();
    driver.now += 20s;
    driver.reconnect();
    driver.proposes();
    driver.hear(2, same ? candidate : "run2:other");
    EXPECT_EQ(driver.it.wait().until(), same ? until : driver.now + quarantine);
  }
}

TEST(Enrolment, AWaitThatIsOverAtTheReconnectIsOver) {
  // The connection was away when the wait ended.
  Driver driver;
  driver.greet(std::nullopt);
  const std::string candidate = driver.proposes();
  driver.hear(2, candidate);
  driver.now = driver.it.wait().until();
  driver.reconnect();
  driver.proposes();
  driver.hear(2, candidate);
  EXPECT_TRUE(driver.asks().starts_with("SET quorumlock:repairer "));
}

TEST(Enrolment, OneClientRepairsAndTheOthersLook) {
  // The mark belongs to another client: this one looks again in a second and claims it anew.
  Driver driver;
  driver.greet(std::nullopt);
  const std::string candidate = driver.proposes();
  driver.hear(2, candidate);
  driver.now = driver.it.wait().until();
  driver.it.advance(driver.now);
  driver.asks();
  driver.hear(2, candidate);
  const std::string mark = driver.asks();
  EXPECT_TRUE(mark.ends_with(" NX PX 10000")) << mark;
  driver.hear_nil();
  EXPECT_FALSE(driver.it.take_repair());
  EXPECT_EQ(driver.it.standing(), Standing::quarantined);
  EXPECT_EQ(driver.it.deadline(), driver.now + look);
  driver.now += look;
  driver.it.advance(driver.now);
  driver.asks();
  driver.hear(2, candidate);
  EXPECT_NE(driver.asks(), mark) << "each claim has a mark of its own";
  driver.hear_ok();
  EXPECT_TRUE(driver.it.take_repair());
}

TEST(Enrolment, ANodeThatTheOthersDoNotLetInIsLookedAtEverySecond) {
  // What the others say comes after each look, since the end of the wait is news to them. Only
  // another wait is a reason to look sooner.
  Driver driver;
  driver.greet(std::nullopt);
  const std::string candidate = driver.proposes();
  driver.hear(2, candidate);
  auto ruling = all_agree(driver.members);
  ruling.admitted = nullptr;
  driver.it.follow(driver.now, ruling);
  driver.now = driver.it.wait().until();
  driver.it.advance(driver.now);
  driver.asks();
  driver.hear(2, candidate);
  driver.it.follow(driver.now, ruling);
  EXPECT_EQ(driver.it.deadline(), driver.now + look);
  redis::Membership shorter = driver.members;
  shorter.to_terms.max_ttl_ms = 20'000;
  ruling.founded = std::make_shared<redis::Membership>(shorter);
  driver.it.follow(driver.now, ruling);
  EXPECT_EQ(driver.it.deadline(), driver.now);
}

TEST(Enrolment, AClientThatFailsToRepairYields) {
  // The client releases its mark, so that another one may try; a second later it tries again.
  Driver driver;
  driver.greet(std::nullopt);
  const std::string candidate = driver.proposes();
  driver.hear(2, candidate);
  driver.now = driver.it.wait().until();
  driver.it.advance(driver.now);
  driver.asks();
  driver.hear(2, candidate);
  const std::string claim = driver.asks();
  const std::string mark = claim.substr(24, 16);
  driver.hear_ok();
  driver.it.take_repair();
  driver.it.repair_failed(false, "");
  EXPECT_EQ(driver.asks(), "release quorumlock:repairer " + mark);
  EXPECT_EQ(driver.it.standing(), Standing::quarantined);
  driver.hear(1);
  EXPECT_EQ(driver.it.deadline(), driver.now + look);
  driver.now += look;
  driver.it.advance(driver.now);
  driver.asks();
  driver.hear(2, candidate);
  EXPECT_TRUE(driver.asks().starts_with("SET quorumlock:repairer "));
}

TEST(Enrolment, ACandidateThatIsGoneEnrolsNoNode) {
  // Between the repair and the record the node has forgotten again, or another client was first.
  // The candidate is asked for anew; the one that comes back is waited for from the beginning.
  Driver driver;
  driver.greet(std::nullopt);
  const std::string candidate = driver.proposes();
  driver.hear(2, candidate);
  ASSERT_NO_FATAL_FAILURE(driver.wait_to_repair(candidate));
  driver.it.repaired(driver.members, 0, 0);
  driver.asks();
  driver.hear(0);
  EXPECT_EQ(driver.it.standing(), Standing::quarantined);
  // The mark must not keep this client and others from the next try.
  EXPECT_TRUE(driver.asks().starts_with("release quorumlock:repairer "));
  driver.hear(1);
  driver.now += look;
  driver.it.advance(driver.now);
  const std::string second = driver.proposes();
  driver.hear(2, second);
  EXPECT_EQ(driver.it.wait().until(), driver.now + quarantine);
}

TEST(Enrolment, ALostConnectionEndsTheRepair) {
  // The result of the repair is not used any more.
  Driver driver;
  driver.greet(std::nullopt);
  const std::string candidate = driver.proposes();
  driver.hear(2, candidate);
  ASSERT_NO_FATAL_FAILURE(driver.wait_to_repair(candidate));
  driver.it.disconnected();
  driver.it.repaired(driver.members, 0, 0);
  EXPECT_EQ(driver.asks(), "nothing");
  driver.it.repair_failed(false, "");
  EXPECT_EQ(driver.asks(), "nothing");
  EXPECT_EQ(driver.it.standing(), Standing::unknown);
  EXPECT_EQ(driver.it.deadline(), core::never);
}

TEST(Enrolment, ARepairThatNobodyTookIsForgotten) {
  // The connection breaks before the user has taken the repair.
  Driver driver;
  driver.greet(std::nullopt);
  const std::string candidate = driver.proposes();
  driver.hear(2, candidate);
  driver.now = driver.it.wait().until();
  driver.it.advance(driver.now);
  driver.asks();
  driver.hear(2, candidate);
  driver.asks();
  driver.hear_ok();
  driver.it.disconnected();
  EXPECT_FALSE(driver.it.take_repair());
}

TEST(Enrolment, TheClusterWasEnrolledIfThisClientHasSeenIt) {
  Driver driver;
  EXPECT_FALSE(driver.it.was_enrolled());
  redis::Ruling ruling = all_agree(driver.members);
  ruling.ever = true;
  driver.it.follow(driver.now, ruling);
  driver.it.follow(driver.now, all_agree(driver.members));
  EXPECT_TRUE(driver.it.was_enrolled());
}

TEST(Enrolment, AFoundingWaitsForWhatTheNodesForgot) {
  // The nodes had a longer max_ttl than the list is founded with: we wait that long for any
  // candidate, and so does a client that adopts ours.
  Driver driver;
  redis::Ruling ruling = all_agree(driver.members);
  ruling.forgotten = 90s;
  driver.it.follow(driver.now, ruling);
  driver.greet(std::nullopt);
  const std::string candidate = driver.proposes();
  EXPECT_TRUE(candidate.ends_with(":90000")) << candidate;
  driver.hear(2, "run2:theirs");
  EXPECT_EQ(driver.it.wait().until(), driver.now + 90s + 902ms);
}

TEST(Enrolment, ACandidateLivesForAWeek) {
  // Since the last look, so that it is there still for clients that come rarely. One for another
  // list is replaced if nobody has looked at it for twice the wait plus a minute.
  Driver driver;
  driver.greet(std::nullopt);
  driver.proposes();
  EXPECT_EQ(driver.life, "604800000");
  EXPECT_EQ(driver.patience, "120000");
}

}  // namespace
}  // namespace quorumlock::test
