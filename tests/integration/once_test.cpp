#include <array>
#include <atomic>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <thread>
#include <vector>

#include "integration/forgetful.hpp"
#include "integration/nodes_clocks.hpp"

// Coordinator::once(): each period of a name is done once.
namespace quorumlock::test {
namespace {

class OncePerPeriod : public FiveNodes {
 protected:
  Coordinator coordinator = connect();
  int runs = 0;
  const std::string done_key = "quorumlock:once:" + key;

  auto counted() {
    return [this] { ++runs; };
  }
  /// The number of nodes that have noted this period.
  int noted(const std::string& period) { return cluster().holders(done_key, period); }
};

TEST_F(OncePerPeriod, RunsAPeriodOnceAndASmallerOneNever) {
  // Also zero is a period, and another process sees what is done.
  Result<Once> first = coordinator.once(key, 0, counted());
  ASSERT_TRUE(ok(first));
  EXPECT_EQ(*first, Once::ran);
  Coordinator other = connect();
  EXPECT_EQ(other.once(key, 0, {.wait = 20s}, counted()).value(), Once::done_before);
  EXPECT_EQ(other.once(key, 7, {.wait = 20s}, counted()).value(), Once::ran);
  EXPECT_EQ(coordinator.once(key, 6, {.wait = 20s}, counted()).value(), Once::done_before);
  EXPECT_EQ(coordinator.once(key, 7, {.wait = 20s}, counted()).value(), Once::done_before);
  EXPECT_EQ(coordinator.once(key + "/other", 7, counted()).value(), Once::ran);
  EXPECT_EQ(runs, 3);
  EXPECT_TRUE(eventually([&] { return cluster().keys().empty(); }));
}

TEST_F(OncePerPeriod, TheFunctionMayTakeTheLeaseAndAStopTokenEndsTheWait) {
  const Result<Once> ran = coordinator.once(key, 1, [&](Lease& lease) {
    EXPECT_EQ(lease.resource(), key);
    EXPECT_GE(cluster().holders(key, lease.owner_token()), 3);
    EXPECT_TRUE(fails_with(connect().once(key, 1, counted()), Errc::contended));
    std::stop_source stop;
    stop.request_stop();
    EXPECT_TRUE(fails_with(connect().once(key, 1, {.wait = forever}, stop.get_token(), counted()),
                           Errc::cancelled));
  });
  EXPECT_TRUE(ok(ran));
  EXPECT_EQ(runs, 0);
}

TEST_F(OncePerPeriod, WhatFailsIsNotDone) {
  // An exception goes on to the caller, an error is the result; both leave the period to the next.
  EXPECT_THROW((void)coordinator.once(key, 3, [] { throw std::runtime_error("broken"); }),
               std::runtime_error);
  const auto fails = [](Lease&) -> Result<void> { return Error(Errc::timed_out, "no printer"); };
  const Result<Once> failed = coordinator.once(key, 3, {.wait = 20s}, fails);
  ASSERT_TRUE(fails_with(failed, Errc::timed_out));
  EXPECT_STREQ(failed.error().what(), "no printer");
  EXPECT_EQ(noted("3"), 0);
  const auto succeeds = [](Lease&) -> Result<int> { return 1; };
  EXPECT_EQ(coordinator.once(key, 3, {.wait = 20s}, succeeds).value(), Once::ran);
}

TEST_F(OncePerPeriod, ARunThatLosesItsLeaseIsRepeated) {
  const Result<Once> lost = coordinator.once(key, 3, {.ttl = 1500ms}, [&](Lease& lease) {
    EXPECT_TRUE(eventually([&] { return cluster().holders(key) == 5; }));
    for (int node = 0; node < 5; ++node) cluster().plant(node, key);
    EXPECT_TRUE(eventually([&] { return !lease.is_valid(); }));
  });
  EXPECT_TRUE(fails_with(lost, Errc::lost));
  EXPECT_EQ(noted("3"), 0);
  cluster().raw_everywhere({"DEL", key});
  EXPECT_EQ(coordinator.once(key, 3, {.wait = 20s}, counted()).value(), Once::ran);
}

TEST_F(OncePerPeriod, ARunWhoseLockWasReleasedByTokenIsRepeated) {
  // Nobody else has had the lock, so that the fencing counters do not show it.
  Coordinator other = connect();
  OnceOptions unrenewed;
  unrenewed.ttl = 20s;
  unrenewed.auto_extend = false;
  const Result<Once> lost = coordinator.once(key, 3, unrenewed, [&](Lease& lease) {
    EXPECT_TRUE(eventually([&] { return cluster().holders(key) == 5; }));
    EXPECT_TRUE(ok(other.release(key, lease.owner_token())));
    EXPECT_TRUE(eventually([&] { return cluster().holders(key, lease.owner_token()) == 0; }));
    EXPECT_TRUE(lease.is_valid());
  });
  EXPECT_TRUE(fails_with(lost, Errc::lost));
  EXPECT_EQ(noted("3"), 0);
  EXPECT_EQ(other.once(key, 3, {.wait = 20s}, counted()).value(), Once::ran);
}

TEST_F(OncePerPeriod, ARunThatHasBecomeAReaderCounts) {
  const Result<Once> ran =
      coordinator.once(key, 3, [](Lease& lease) { EXPECT_TRUE(ok(lease.downgrade())); });
  EXPECT_TRUE(ok(ran));
  EXPECT_EQ(connect().once(key, 3, {.wait = 20s}, counted()).value(), Once::done_before);
}

TEST_F(OncePerPeriod, ARunOfWhichNoQuorumTakesTheRecordIsLost) {
  // Most nodes have had a later holder, which this one has not noticed.
  const Result<Once> lost =
      coordinator.once(key, 3, {.ttl = 2s, .auto_extend = false}, [&](Lease& lease) {
        EXPECT_TRUE(eventually([&] { return cluster().holders(key) == 5; }));
        const std::string later = std::to_string(lease.fencing_token() + 1);
        for (int node = 0; node < 3; ++node) {
          cluster().raw(node, {"SET", "quorumlock:fence:" + key, later});
        }
        EXPECT_TRUE(lease.is_valid());
      });
  ASSERT_TRUE(fails_with(lost, Errc::lost));
  EXPECT_TRUE(eventually([&] { return noted("3") == 2; }));
  EXPECT_EQ(vote_of(lost, 0), Vote::absent);
}

TEST_F(OncePerPeriod, ARecordThatAQuorumTakesAfterTheLeasesEndOfBeforeIsLost) {
  // One node answers late, while the others renew the lease. A node that has noted the period may
  // have forgotten that by then.
  Options patient = options();
  patient.node_timeout = 60s;
  Coordinator other = test::connect(patient);
  std::jthread resumes;
  const Result<Once> lost = other.once(key, 3, {.ttl = 1500ms}, [&](Lease& lease) {
    EXPECT_TRUE(eventually([&] { return cluster().holders(key) == 5; }));
    const std::string later = std::to_string(lease.fencing_token() + 1);
    for (const int node : {3, 4}) cluster().raw(node, {"SET", "quorumlock:fence:" + key, later});
    cluster().pause(2);
    resumes = std::jthread([this] {
      EXPECT_TRUE(eventually([&] { return noted("3") == 2; }));
      const auto until = Clock::now() + 1500ms;
      EXPECT_TRUE(eventually([&] { return Clock::now() > until; }));
      cluster().resume(2);
    });
  });
  EXPECT_TRUE(fails_with(lost, Errc::lost));
}

TEST_F(OncePerPeriod, WhoSeesWhatAFewNodesHaveNotedHasItNotedOnAQuorum) {
  // Its holder died while it had that noted: whoever sees it says so for all who ask later.
  cluster().kill(3);
  cluster().kill(4);
  cluster().raw(0, {"SET", done_key, "9"});
  EXPECT_EQ(coordinator.once(key, 8, {.wait = 20s}, counted()).value(), Once::done_before);
  EXPECT_EQ(runs, 0);
  EXPECT_EQ(noted("9"), 3);
}

TEST_F(OncePerPeriod, AnotherProgramsValueStaysAndLeavesNoVote) {
  cluster().raw(0, {"HSET", done_key, "a", "b"});
  cluster().raw(1, {"SET", done_key, "12x"});
  EXPECT_EQ(coordinator.once(key, 1, {.wait = 20s}, counted()).value(), Once::ran);
  cluster().raw(2, {"SET", done_key, "9007199254740992"});
  const Result<Once> refused = coordinator.once(key, 1, {.wait = 20s}, counted());
  ASSERT_TRUE(fails_with(refused, Errc::no_quorum));
  const std::string why = refused.error().what();
  EXPECT_NE(why.find("quorumlock:once:" + key + " is another program's hash"), why.npos) << why;
  EXPECT_EQ(cluster().raw(0, {"HGET", done_key, "a"}).text, "b");
  EXPECT_EQ(cluster().value(1, done_key), "12x");
  EXPECT_EQ(cluster().value(2, done_key), "9007199254740992");
  EXPECT_EQ(runs, 1);
}

TEST_F(OncePerPeriod, TheNodesKeepItFromItsLastUseForAsLongAsIsAsked) {
  using std::chrono::hours;
  ASSERT_TRUE(ok(coordinator.once(key, 1, counted())));
  EXPECT_TRUE(eventually([&] { return noted("1") == 5; }));
  EXPECT_GT(cluster().pttl(0, done_key), hours(23));
  EXPECT_LE(cluster().pttl(0, done_key), hours(24));
  ASSERT_TRUE(ok(coordinator.once(key, 1, {.wait = 20s, .keep = hours(240)}, counted())));
  EXPECT_TRUE(eventually([&] { return cluster().pttl(0, done_key) > hours(239); }));
  ASSERT_TRUE(ok(coordinator.once(key, 1, {.wait = 20s}, counted())));
  EXPECT_TRUE(eventually([&] { return cluster().keys().empty(); }));
  EXPECT_GT(cluster().pttl(0, done_key), hours(239));
}

TEST_F(OncePerPeriod, WrongArgumentsAreRefusedBeforeAnythingIsSent) {
  const auto refused = [&](std::uint64_t period, const OnceOptions& options) {
    const Result<Once> result = coordinator.once(key, period, options, counted());
    EXPECT_TRUE(fails_with(result, Errc::invalid_argument));
    return std::string(result ? "" : result.error().what());
  };
  EXPECT_NE(refused(std::uint64_t{1} << 53U, {}).find("below 2^53"), std::string::npos);
  EXPECT_NE(refused(1, {.keep = 0s}).find("keep is 0s"), std::string::npos);
  EXPECT_NE(refused(1, {.keep = 1500ms}).find("whole seconds"), std::string::npos);
  EXPECT_NE(refused(1, {.keep = 1s}).find("four times max_ttl"), std::string::npos);
  EXPECT_NE(refused(1, {.mode = LockMode::shared}).find("mode is not exclusive"),
            std::string::npos);
  Options unfenced = options();
  unfenced.fencing = false;
  EXPECT_TRUE(fails_with(test::connect(unfenced).once(key, 1, counted()), Errc::invalid_argument));
  EXPECT_EQ(runs, 0);
}

TEST_F(OncePerPeriod, OnALoopsThreadItWouldDeadlock) {
  on_loop(coordinator, [&] {
    EXPECT_TRUE(fails_with(coordinator.once(key, 1, counted()), Errc::would_deadlock));
  });
}

/// Three nodes that forget when they are killed, one of which has a clock that is 20 s ahead.
class OnceThroughout : public testing::Test {
 protected:
  static constexpr auto max_ttl = 500ms;
  ClockedNodes nodes{{.size = 3, .enrolled = false, .max_ttl = max_ttl}};
  const std::string key = resource_of_this_test();

  OnceThroughout() {
    nodes.step({1}, 20s);
    for (int node = 0; node < 3; ++node) nodes.cluster.enrol(node);
  }
  [[nodiscard]] Options options() const {
    Options options = nodes.cluster.options();
    options.ttl = *options.max_ttl;
    return options;
  }
  static bool all_vote(Coordinator& coordinator) {
    const Result<ClusterStatus> status = coordinator.status();
    return status && std::ranges::all_of(status->nodes, [](const NodeStatus& node) {
             return node.state == NodeState::up;
           });
  }
  void restart(int node) {
    nodes.cluster.kill(node);
    nodes.cluster.restart(node);
  }
};

TEST_F(OnceThroughout, ANodeThatForgotIsGivenWhatIsDoneForAsLongAsItIsKept) {
  Coordinator coordinator = connect(options());
  const OnceOptions asked{.wait = 20s, .keep = 240h};
  const std::string done_key = "quorumlock:once:" + key;
  // On a busy machine a lease of max_ttl may be lost meanwhile.
  ASSERT_TRUE(eventually([&] { return coordinator.once(key, 41, asked, [] {}).has_value(); }));
  for (int node = 0; node < 3; ++node) {
    ASSERT_TRUE(eventually([&] { return all_vote(coordinator); }));
    restart(node);
    ASSERT_TRUE(eventually([&] { return nodes.cluster.value(node, done_key) == "41"; }));
    EXPECT_GT(nodes.cluster.pttl(node, done_key), 239h);
  }
  EXPECT_TRUE(eventually([&] {
    const Result<Once> again = coordinator.once(key, 41, asked, [] { ADD_FAILURE(); });
    return again && *again == Once::done_before;
  }));
}

TEST_F(OnceThroughout, ThreeReplicasDoEachPeriodOnceWhileNodesForget) {
  // The run of every tenth period goes on until the next node is killed, which happens as soon as
  // all nodes vote.
  const char* const asked = std::getenv("QUORUMLOCK_TEST_PERIODS");
  const std::uint64_t periods = asked != nullptr ? std::stoull(asked) : 40;
  std::vector<std::atomic<int>> completed(periods), counted(periods);
  std::atomic<int> kills{0}, lost{0};
  std::atomic<bool> over{false};
  const auto replica = [&] {
    Coordinator coordinator = connect(options());
    for (std::uint64_t period = 0; period < periods;) {
      const Result<Once> result = coordinator.once(key, period, {.wait = 20s}, [&] {
        const int before = kills;
        if (period % 10 == 0) {
          ASSERT_TRUE(eventually([&] { return kills > before; }));
        }
        ++completed[period];
      });
      if (result) {
        counted[period] += *result == Once::ran ? 1 : 0;
        ++period;
      } else if (result.error().code() == Errc::lost) {
        ++lost;
      }
    }
  };
  std::thread killer([&] {
    Coordinator watch = connect(options());
    for (int node = 0; !over; node = (node + 1) % 3) {
      if (!eventually([&] { return over || all_vote(watch); }) || over) break;
      restart(node);
      ++kills;
    }
  });
  std::array<std::thread, 3> replicas;
  for (std::thread& one : replicas) one = std::thread(replica);
  for (std::thread& one : replicas) one.join();
  over = true;
  killer.join();
  int without = 0, completions = 0;
  for (std::uint64_t period = 0; period < periods; ++period) {
    EXPECT_LE(counted[period], 1) << period;
    EXPECT_GE(completed[period], 1) << period;
    without += counted[period] == 0 ? 1 : 0;
    completions += completed[period];
  }
  // A quorum may have noted a run that was reported as lost.
  EXPECT_LE(without, lost);
  EXPECT_LE(completions, static_cast<int>(periods) + lost);
  EXPECT_GE(kills, static_cast<int>(periods) / 10);  // each of those runs has waited for one
  RecordProperty("kills", kills);
  RecordProperty("lost", lost);
}

}  // namespace
}  // namespace quorumlock::test
