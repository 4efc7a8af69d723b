#include "support/enrolment_driver.hpp"

// Whether the votes of one node count: from the greeting to the enrolment.
namespace quorumlock::test {
namespace {

using Driver = EnrolmentDriver;
using Errand = redis::Enrolment::Errand;
using Standing = redis::Enrolment::Standing;

TEST(Enrolment, ThisRunsRecordEnrolsAtOnce) {
  // The record names this run: nothing is asked, and nothing waited for.
  Driver driver;
  EXPECT_EQ(driver.it.standing(), Standing::unknown);
  driver.greet("run2:30000,a,86400:volatile");
  EXPECT_EQ(driver.it.standing(), Standing::enrolled);
  EXPECT_EQ(without_marks(driver.it.enrolled().record), "run2:30000,a,86400:volatile");
  EXPECT_EQ(driver.it.enrolled().floor, 0U);
  EXPECT_EQ(driver.asks(), "nothing");
  EXPECT_EQ(driver.it.deadline(), core::never);
}

TEST(Enrolment, ADurableNodeIsAdoptedWhenItRestarts) {
  // The node was durable in the earlier run and is now, so it remembers. The script changes the
  // record only if it is still the one that was read.
  Driver driver;
  driver.greet("run1:30000,d,86400:durable", true);
  driver.others_know_nothing();
  EXPECT_EQ(driver.asks(), "adopt run1:30000,d,86400:durable run2:30000,d,86400:durable");
  EXPECT_EQ(driver.it.standing(), Standing::unknown);
  driver.hear(1);
  EXPECT_EQ(driver.it.standing(), Standing::enrolled);
  EXPECT_EQ(without_marks(driver.it.enrolled().record), "run2:30000,d,86400:durable");
}

TEST(Enrolment, TheFloorIsKeptIfARecordIsAdopted) {
  // The floor's date is kept too: a restart does not make the floor depend less on clocks.
  Driver driver;
  driver.greet("run1:30000,d,86400:durable:1700:42", true);
  driver.others_know_nothing();
  EXPECT_EQ(driver.asks(),
            "adopt run1:30000,d,86400:durable:1700:42 run2:30000,d,86400:durable:1700:42");
  driver.hear(1);
  EXPECT_EQ(driver.it.enrolled().floor, 1700U);
  EXPECT_EQ(driver.it.enrolled().since, 42);
}

TEST(Enrolment, AnotherClientMayBeFirst) {
  // The record has changed in the meantime: it is read again and judged anew.
  Driver driver;
  driver.greet("run1:30000,d,86400:durable", true);
  driver.others_know_nothing();
  driver.asks();
  driver.hear(0);
  EXPECT_EQ(driver.asks(), "MGET quorumlock:enrolment quorumlock:members");
  driver.hear_record("run2:30000,d,86400:durable");
  EXPECT_EQ(driver.it.standing(), Standing::enrolled);
}

TEST(Enrolment, UnlessTheRecordTrustsTheDiskADurableNodeWaitsToo) {
  // A durable node waits whether the client names the same policy or none.
  for (const auto policy : {std::optional<Quarantine>(), std::optional(Quarantine::always)}) {
    Driver driver({.policy = policy});
    driver.greet("run1:30000,a,86400:durable", true);
    EXPECT_TRUE(driver.proposes().starts_with("run2:30000,a,86400:durable:"));
    EXPECT_EQ(driver.it.why(), "has been restarted");
  }
}

TEST(Enrolment, ANewNodeGetsThePolicyThatTheClientNames) {
  // Otherwise a new node gets the other nodes' policy, the standing candidate's, or `always`.
  const auto written = [](const redis::Enrolment::Config& config, std::optional<Quarantine> others,
                          std::string_view candidate) {
    Driver driver(config);
    redis::Enrolment::Others its = all_agree(driver.members);
    its.policy = others;
    driver.it.follow(driver.now, its);
    driver.greet(std::nullopt);
    std::string stands = driver.proposes();
    if (!candidate.empty()) stands = candidate;
    driver.hear(2, stands);
    driver.wait_to_repair(stands);
    driver.it.done(driver.now, redis::Enrolment::Repaired{0, 0, driver.members});
    if (driver.it.take_errand() == Errand::note)
      driver.it.done(driver.now, redis::Enrolment::ErrandEnd::good);
    const std::string said = driver.asks();
    return said.substr(0, said.find(' ', 6));
  };
  const std::string trusts = "run2:30000,d,86400:volatile:theirs";
  EXPECT_EQ(written({}, {}, ""), "enrol run2:30000,a,86400:volatile");
  EXPECT_EQ(written({}, Quarantine::trust_disk, ""), "enrol run2:30000,d,86400:volatile");
  EXPECT_EQ(written({}, {}, trusts), "enrol run2:30000,d,86400:volatile");
  EXPECT_EQ(written({}, Quarantine::always, trusts), "enrol run2:30000,a,86400:volatile");
  EXPECT_EQ(written({.policy = Quarantine::always}, {}, trusts),
            "enrol run2:30000,a,86400:volatile");
  EXPECT_EQ(written({.policy = Quarantine::trust_disk, .node = "n1"}, {}, ""),
            "enrol run2:30000,d,86400:volatile");
}

TEST(Enrolment, UnsafeNeverWaitsForNothing) {
  // A node that has forgotten everything is enrolled in one round trip, and an unreadable record is
  // replaced.
  for (const char* record : {"", "run1:30000,a,86400:volatile", "what"}) {
    Driver driver({.policy = Quarantine::unsafe_never});
    const std::string text = record;
    driver.greet(text.empty() ? std::nullopt : std::optional(text));
    EXPECT_EQ(driver.asks(),
              "adopt " + (text.empty() ? "''" : text) + " run2:30000,a,86400:volatile");
    driver.hear(1);
    EXPECT_EQ(driver.it.standing(), Standing::enrolled);
  }
}

TEST(Enrolment, ANodeThatMayHaveForgottenWaits) {
  // Each of these nodes may have forgotten locks, and each reports why it waits.
  struct Case {
    std::optional<std::string> record;
    std::optional<bool> durable;
    std::string why;
    std::string proposes;
  };
  const std::vector<Case> cases{
      {std::nullopt, true, "has no enrolment: it is new, or has forgotten everything",
       "run2:30000,a,86400:durable:"},
      {"what", true, "has an enrolment that cannot be read", "run2:30000,a,86400:durable:"},
      {"run1:30000,a,86400:volatile", true,
       "has been restarted, and does not write every change to its disk",
       "run2:30000,a,86400:durable:"},
      {"run1:30000,a,86400:volatile", false,
       "has been restarted, and does not write every change to its disk",
       "run2:30000,a,86400:volatile:"},
      {"run1:30000,d,86400:durable", false,
       "has been restarted, and is not known to write every change to its disk any more",
       "run2:30000,a,86400:volatile:"},
      {"run1:30000,d,86400:durable", std::nullopt,
       "has been restarted, and is not known to write every change to its disk any more",
       "run2:30000,a,86400:volatile:"},
  };
  for (const Case& one : cases) {
    Driver driver;
    driver.greet(one.record, one.durable);
    const std::string candidate = driver.proposes();
    EXPECT_TRUE(candidate.starts_with(one.proposes)) << candidate;
    EXPECT_EQ(candidate.size(), one.proposes.size() + 16) << candidate;
    EXPECT_EQ(driver.it.why(), one.why);
    EXPECT_EQ(driver.it.standing(), Standing::unknown);
    driver.hear(2, candidate);
    EXPECT_EQ(driver.it.standing(), Standing::waiting);
    EXPECT_EQ(driver.it.vote(), Vote::quarantined);
  }
}

TEST(Enrolment, TheWaitCountsFromItsOwnReply) {
  // The wait takes max_ttl and the margin from the reply that the candidate stands, not from the
  // question. The node is looked at every second; a nanosecond before the end nothing is claimed.
  Driver driver;
  driver.greet(std::nullopt);
  const std::string candidate = driver.proposes();
  driver.now += 5s;
  driver.hear(2, candidate);
  EXPECT_EQ(driver.it.candidacy().until(), driver.now + quarantine);
  EXPECT_EQ(driver.it.deadline(), driver.now + look);
  const core::Time until = driver.it.candidacy().until();
  driver.wait(until - 1ns, candidate);
  EXPECT_EQ(driver.it.candidacy().until(), until) << "looking at it does not prolong the wait";
  EXPECT_EQ(driver.it.standing(), Standing::waiting);
  EXPECT_EQ(driver.it.deadline(), until);
  driver.now = until;
  driver.it.advance(until);
  driver.asks();
  driver.hear(2, candidate);
  EXPECT_TRUE(driver.asks().starts_with("SET quorumlock:repairer "));
}

TEST(Enrolment, TheMarginIsTheConfiguredOne) {
  // The margin is five per cent of a minute, plus two milliseconds.
  Driver driver({.max_ttl = 60s, .drift_factor = 0.05});
  driver.greet(std::nullopt);
  const std::string candidate = driver.proposes();
  EXPECT_TRUE(candidate.starts_with("run2:60000,a,86400:volatile:"));
  driver.hear(2, candidate);
  EXPECT_EQ(driver.it.candidacy().until(), driver.now + 63s + 2ms);
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
  driver.it.done(driver.now, redis::Enrolment::Repaired{0, 0, driver.members});
  EXPECT_EQ(driver.asks(), "enrol run2:30000,a,86400:volatile " + candidate);
  EXPECT_EQ(driver.it.standing(), Standing::waiting);
  driver.hear(1);
  EXPECT_EQ(driver.it.standing(), Standing::enrolled);
  EXPECT_EQ(without_marks(driver.it.enrolled().record), "run2:30000,a,86400:volatile");
}

TEST(Enrolment, ARepairWithoutAQuorumLeavesAFloor) {
  // The record has the floor, for all clients, and the time since when it stands.
  Driver driver;
  driver.greet(std::nullopt, true);
  const std::string candidate = driver.proposes();
  driver.hear(2, candidate);
  ASSERT_NO_FATAL_FAILURE(driver.wait_to_repair(candidate));
  driver.it.done(driver.now, redis::Enrolment::Repaired{1700, 42, driver.members});
  EXPECT_EQ(driver.asks(), "enrol run2:30000,a,86400:durable:1700:42 " + candidate);
  driver.hear(1);
  EXPECT_EQ(driver.it.enrolled().floor, 1700U);
  EXPECT_EQ(driver.it.enrolled().since, 42);
  EXPECT_EQ(without_marks(driver.it.enrolled().record), "run2:30000,a,86400:durable:1700:42");
}

TEST(Enrolment, ACandidateOfAnotherClientIsAdopted) {
  // Another client was first: its candidate is waited for and enrolled, and the proposals that go
  // with each look are never written.
  Driver driver;
  driver.greet(std::nullopt);
  driver.proposes();
  driver.hear(2, "run2:30000,a,86400:volatile:theirs");
  ASSERT_NO_FATAL_FAILURE(driver.wait_to_repair("run2:30000,a,86400:volatile:theirs"));
  driver.it.done(driver.now, redis::Enrolment::Repaired{0, 0, driver.members});
  EXPECT_EQ(driver.asks(), "enrol run2:30000,a,86400:volatile run2:30000,a,86400:volatile:theirs");
}

TEST(Enrolment, AnotherClientMayFinishFirst) {
  // A look finds a record of this run.
  Driver driver;
  driver.greet(std::nullopt);
  driver.hear(2, driver.proposes());
  driver.now = driver.it.deadline();
  driver.it.advance(driver.now);
  driver.asks();
  driver.hear(1, "run2:30000,a,86400:volatile:1700:42");
  EXPECT_EQ(driver.it.standing(), Standing::enrolled);
  EXPECT_EQ(driver.it.enrolled().floor, 1700U);
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
  EXPECT_EQ(driver.it.candidacy().until(), driver.now + quarantine);
}

TEST(Enrolment, TheWaitGoesOnOverAReconnect) {
  // The connection breaks and comes back. If the same candidate stands, nothing was forgotten, and
  // the wait does not get longer. With another one the wait begins anew.
  for (const bool same : {true, false}) {
    Driver driver;
    driver.greet(std::nullopt);
    const std::string candidate = driver.proposes();
    driver.hear(2, candidate);
    const core::Time until = driver.it.candidacy().until();
    driver.now += 20s;
    driver.reconnect();
    driver.proposes();
    driver.hear(2, same ? candidate : "run2:30000,a,86400:volatile:other");
    EXPECT_EQ(driver.it.candidacy().until(), same ? until : driver.now + quarantine);
  }
}

TEST(Enrolment, AWaitThatIsOverAtTheReconnectIsOver) {
  // The connection was away when the wait ended.
  Driver driver;
  driver.greet(std::nullopt);
  const std::string candidate = driver.proposes();
  driver.hear(2, candidate);
  driver.now = driver.it.candidacy().until();
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
  driver.now = driver.it.candidacy().until();
  driver.it.advance(driver.now);
  driver.asks();
  driver.hear(2, candidate);
  const std::string mark = driver.asks();
  EXPECT_TRUE(mark.ends_with(" NX PX 10000")) << mark;
  driver.hear_nil();
  EXPECT_FALSE(driver.it.take_repair());
  EXPECT_EQ(driver.it.standing(), Standing::waiting);
  EXPECT_EQ(driver.it.deadline(), driver.now + look);
  driver.now += look;
  driver.it.advance(driver.now);
  driver.asks();
  driver.hear(2, candidate);
  EXPECT_NE(driver.asks(), mark) << "each claim has a mark of its own";
  driver.hear_ok();
  EXPECT_TRUE(driver.it.take_repair());
}

TEST(Enrolment, AClientThatFailsToRepairYields) {
  // The client releases its mark, so that another one may try; a second later it tries again.
  Driver driver;
  driver.greet(std::nullopt);
  const std::string candidate = driver.proposes();
  driver.hear(2, candidate);
  driver.now = driver.it.candidacy().until();
  driver.it.advance(driver.now);
  driver.asks();
  driver.hear(2, candidate);
  const std::string claim = driver.asks();
  const std::string mark = claim.substr(24, 16);
  driver.hear_ok();
  driver.it.take_repair();
  driver.it.done(driver.now, redis::Enrolment::RepairFailed());
  EXPECT_EQ(driver.asks(), "release quorumlock:repairer " + mark);
  EXPECT_EQ(driver.it.standing(), Standing::waiting);
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
  driver.it.done(driver.now, redis::Enrolment::Repaired{0, 0, driver.members});
  driver.asks();
  driver.hear(0);
  EXPECT_EQ(driver.it.standing(), Standing::waiting);
  const std::string second = driver.proposes();
  driver.hear(2, second);
  EXPECT_EQ(driver.it.candidacy().until(), driver.now + quarantine);
}

TEST(Enrolment, ALostConnectionEndsTheRepair) {
  // The result of the repair is not used any more.
  Driver driver;
  driver.greet(std::nullopt);
  const std::string candidate = driver.proposes();
  driver.hear(2, candidate);
  ASSERT_NO_FATAL_FAILURE(driver.wait_to_repair(candidate));
  driver.it.disconnected();
  driver.it.done(driver.now, redis::Enrolment::Repaired{0, 0, driver.members});
  EXPECT_EQ(driver.asks(), "nothing");
  driver.it.done(driver.now, redis::Enrolment::RepairFailed());
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
  driver.now = driver.it.candidacy().until();
  driver.it.advance(driver.now);
  driver.asks();
  driver.hear(2, candidate);
  driver.asks();
  driver.hear_ok();
  driver.it.disconnected();
  EXPECT_FALSE(driver.it.take_repair());
}

}  // namespace
}  // namespace quorumlock::test
