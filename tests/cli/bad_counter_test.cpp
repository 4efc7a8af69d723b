#include <fstream>

#include "cli/fixture.hpp"

namespace quorumlock::test {
namespace {

constexpr auto made_up = "9007199254740000";

/// Five nodes, one of which somebody has given a number that no clock explains.
class BadCounter : public testing::Test {
 protected:
  BadCounter() : cluster({.size = 5, .enrolled = false}) {
    const json options{{"ttl", "1s"}, {"max_ttl", "2s"}, {"nodes", cluster.urls()}};
    std::ofstream(config) << options;
    EXPECT_EQ(quorumlock({"enroll", "--new"}).code, 0);
  }

  [[nodiscard]] Ended quorumlock(std::vector<std::string> words) const {
    words.insert(words.begin(), {QUORUMLOCK_PROGRAM, "--config", config});
    return Program(words, {}).finish();
  }
  /// Runs a command under the lock, and returns the fencing token.
  [[nodiscard]] std::uint64_t token_of(const std::string& resource) const {
    const Ended ended =
        quorumlock({"run", resource, "--", "sh", "-c", "echo $QUORUMLOCK_FENCING_TOKEN"});
    EXPECT_EQ(ended.code, 0) << ended.err;
    return ended.code == 0 ? std::stoull(ended.out) : 0;
  }
  /// Follows the remedy of the only finding with the code bad_counter, which is about the last
  /// node.
  void follow_the_remedy() {
    const Ended doctor = quorumlock({"--json", "doctor"});
    EXPECT_EQ(doctor.code, 1);
    std::string remedy;
    const json document = json::parse(doctor.out);
    for (const json& finding : document.at("findings")) {
      if (finding.at("code") != "bad_counter") continue;
      EXPECT_EQ(finding.at("node"), cluster.shown_urls()[4]);
      EXPECT_EQ(finding.at("severity"), "error");
      EXPECT_THAT(finding.at("what").get<std::string>(), HasSubstr("90071992547400"));
      EXPECT_TRUE(remedy.empty());
      remedy = finding.at("remedy");
    }
    const std::size_t begin = remedy.find("redis-cli ");
    ASSERT_NE(begin, remedy.npos) << doctor.out;
    const std::string command = remedy.substr(begin, remedy.find(';', begin) - begin);
    EXPECT_EQ(Program({"sh", "-c", command}, {}).finish().code, 0) << command;
  }
  /// Waits until all nodes vote.
  void expect_all_to_vote() const {
    const Ended enrolled = quorumlock({"enroll"});
    EXPECT_EQ(enrolled.code, 0) << enrolled.out << enrolled.err;
    const json document = json::parse(quorumlock({"--json", "doctor"}).out);
    for (const json& finding : document.at("findings")) {
      EXPECT_NE(finding.at("code"), "bad_counter") << finding;
    }
  }

  TemporaryDirectory directory;
  std::string config = directory.path() / "config.json";
  Cluster cluster;
};

TEST_F(BadCounter, OfOneLockCostsItsNodesVoteForThatLockAndIsForgottenByTheRemedy) {
  const std::uint64_t before = token_of("it's");
  const std::string key = "quorumlock:fence:it's";
  cluster.raw(4, {"SET", key, made_up});
  std::uint64_t last = before;
  for (int i = 0; i < 14; ++i) {
    const std::uint64_t next = token_of("it's");
    EXPECT_GT(next, last);
    last = next;
  }
  EXPECT_LT(last, before + 3'600'000'000) << "tokens are times, in us";
  for (int node = 0; node < 4; ++node) {
    EXPECT_LE(std::stoull(cluster.value(node, key).value_or("0")), last) << "node " << node;
  }
  follow_the_remedy();
  expect_all_to_vote();
  EXPECT_GE(std::stoull(cluster.value(4, key).value_or("0")), before)
      << "it has the others' counter";
  EXPECT_GT(token_of("it's"), last);
}

TEST_F(BadCounter, IsNamedInAnErrorIfTheVoteIsNeeded) {
  cluster.raw(4, {"SET", "quorumlock:fence:orders", made_up});
  cluster.kill(0);
  cluster.kill(1);
  const Ended refused = quorumlock({"--json", "acquire", "orders"});
  EXPECT_EQ(refused.code, 69) << refused.out;
  EXPECT_THAT(refused.out, HasSubstr("\"bad_counter\""));
  EXPECT_THAT(refused.out, HasSubstr("quorumlock doctor says what to do"));
  EXPECT_EQ(quorumlock({"run", "another", "--", "true"}).code, 0);
}

TEST_F(BadCounter, AsAFloorCostsItsNodesVoteForAllLocksAndIsForgottenByTheRemedy) {
  const std::uint64_t before = token_of("orders");
  const std::string record = cluster.value(4, "quorumlock:enrolment").value_or("");
  cluster.raw(4, {"SET", "quorumlock:enrolment", record + ":" + made_up + ":1"});
  for (const char* resource : {"orders", "new", "orders"}) {
    EXPECT_LT(token_of(resource), before + 3'600'000'000) << resource;
  }
  const json status = json::parse(quorumlock({"--json", "status"}).out);
  EXPECT_EQ(status.at("voters"), 4);
  EXPECT_EQ(status.at("nodes")[4].at("reason"), "bad_counter");
  follow_the_remedy();
  expect_all_to_vote();
  EXPECT_THAT(cluster.value(4, "quorumlock:enrolment").value_or(""), Not(HasSubstr(made_up)));
  EXPECT_LT(token_of("orders"), before + 3'600'000'000);
}

}  // namespace
}  // namespace quorumlock::test
