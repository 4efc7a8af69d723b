#include "cli/fixture.hpp"

namespace quorumlock::test {
namespace {

class BenchCommand : public CommandLine {
 protected:
  /// The library's own keys, not counting the nodes' enrolments.
  long long keys_left() {
    long long left = 0;
    for (int node = 0; node < 3; ++node) {
      left += cluster.raw(node, {"DBSIZE"}).integer - 2;
    }
    return left;
  }
};

TEST_F(BenchCommand, MeasuresAndLeavesNothing) {
  // Each request has a key of its own: nobody waits.
  const Ended ended =
      run({"--json", "bench", "--seconds", "0.2", "--in-flight", "4", "--keys", "20"});
  ASSERT_EQ(ended.code, 0) << ended.out << ended.err;
  const json document = json::parse(ended.out);
  EXPECT_EQ(document.at("nodes"), 3);
  EXPECT_EQ(document.at("in_flight"), 4);
  EXPECT_EQ(document.at("keys"), 20);
  EXPECT_GT(document.at("cycles"), 0);
  EXPECT_GT(document.at("cycles_per_s"), 0);
  for (const char* what : {"acquire_us", "release_us"}) {
    const json us = document.at(what);
    EXPECT_GT(us.at("p50"), 0);
    EXPECT_LE(us.at("p50"), us.at("p99"));
    EXPECT_LE(us.at("p99"), us.at("p99_9"));
    EXPECT_LE(us.at("p99_9"), us.at("max"));
  }
  EXPECT_EQ(document.at("won_after").at("hand_over"), 0);
  EXPECT_EQ(keys_left(), 0);
}

TEST_F(BenchCommand, HandsOneKeyFromRequestToRequest) {
  // The lock is handed from one request to the next.
  const Ended ended = run({"bench", "--seconds", "0.2", "--in-flight", "8", "--shared-key"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("8 in flight on 1 key, 3 nodes"));
  EXPECT_THAT(ended.out, HasSubstr("by hand-over"));
  EXPECT_EQ(keys_left(), 0);
}

TEST_F(BenchCommand, AnInterruptedRunLeavesNothing) {
  // SIGINT comes in the middle.
  Program program = start({"bench", "--seconds", "600", "--in-flight", "8", "--shared-key"});
  const long long before = cluster.commands(0);
  ASSERT_TRUE(eventually([&] { return cluster.commands(0) > before + 500; }));
  program.signal(SIGINT);
  const Ended ended = program.finish();
  EXPECT_EQ(ended.code, 128 + SIGINT);
  EXPECT_THAT(ended.err, HasSubstr("SIGINT"));
  EXPECT_EQ(keys_left(), 0);
}

TEST_F(BenchCommand, FailsWithoutAQuorum) {
  // The command fails as every other one does.
  for (const int node : {0, 1}) cluster.kill(node);
  const Ended ended = run({"--json", "bench", "--seconds", "0.1"});
  EXPECT_EQ(ended.code, 69);
  EXPECT_EQ(json::parse(ended.out).at("error").at("code"), "no_quorum");
}

}  // namespace
}  // namespace quorumlock::test
