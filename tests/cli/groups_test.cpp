#include <fstream>

#include "cli/fixture.hpp"

namespace quorumlock::test {
namespace {

constexpr const char* its_record = "quorumlock:enrolment";

/// Two quorum groups of new nodes, whose clients' locks last for a second at most.
class Groups : public testing::Test {
 protected:
  Groups() {
    write("one", R"("nodes": )" + json(north.urls()).dump());
    write("two", R"("groups": )" + json{{"north", north.urls()}, {"south", south.urls()}}.dump());
  }

  void write(const std::string& name, const std::string& nodes) const {
    std::ofstream(directory.path() / name)
        << R"({"ttl": "900ms", "max_ttl": "1s", )" << nodes << "}";
  }
  [[nodiscard]] Program start(const std::string& config, std::vector<std::string> words) const {
    words.insert(words.begin(), {QUORUMLOCK_PROGRAM, "--config", directory.path() / config});
    return Program(words, {});
  }
  [[nodiscard]] Ended run(const std::string& config, std::vector<std::string> words) const {
    return start(config, std::move(words)).finish();
  }
  /// With two groups this resource belongs to the south; see docs/scaling.md.
  const std::string of_south = "seat/3";

  TemporaryDirectory directory;
  Cluster north{{.size = 3, .enrolled = false}};
  Cluster south{{.size = 3, .enrolled = false}};
};

TEST_F(Groups, AddingAGroupGivesNoLockTwice) {
  // A client that knows one group holds a lock whose resource will belong to the new one. A client
  // that names both groups cannot get it, even after the new nodes have waited for max_ttl, before
  // enroll has let all earlier leases expire; then the earlier client is refused.
  ASSERT_EQ(run("one", {"enroll", "--new"}).code, 0);
  Program holder = start("one", {"run", of_south, "--", "sh", "-c", "sleep 60"});
  ASSERT_TRUE(eventually([&] { return north.holders(of_south) == 3; }));
  Program waiter = start("two", {"acquire", "--wait", "forever", of_south});
  ASSERT_TRUE(eventually([&] { return south.holders("quorumlock:candidate") == 3; }));
  const Ended early = run("two", {"acquire", "--wait", "5s", of_south});
  EXPECT_EQ(early.code, 69) << early.err;
  EXPECT_THAT(early.err, HasSubstr("run quorumlock enroll"));
  EXPECT_EQ(run("two", {"acquire", "seat/1"}).code, 64);
  EXPECT_EQ(north.holders(of_south), 3);
  EXPECT_EQ(south.holders(of_south), 0);

  const Ended ended = run("two", {"enroll"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out,
              HasSubstr("group north: 3 of 3 nodes may vote; a quorum is 2; group south: 3 "
                        "of 3 nodes may vote; a quorum is 2"));
  EXPECT_EQ(holder.finish().code, 76);  // the lease was lost in time
  EXPECT_EQ(waiter.finish().code, 0);
  EXPECT_EQ(north.holders(of_south), 0);
  const Ended refused = run("one", {"--json", "acquire", of_south});
  EXPECT_EQ(refused.code, 64);
  EXPECT_THAT(refused.out, HasSubstr("all clients must name the same groups"));
}

TEST_F(Groups, NewGroupsAreEnrolledTogetherOrNotAtAll) {
  // If one node of either group is not new, nothing is changed in the other group.
  south.raw(1, {"SET", "quorumlock:fence:orders", "7"});
  const Ended refused = run("two", {"enroll", "--new"});
  EXPECT_EQ(refused.code, 64);
  EXPECT_THAT(refused.err, HasSubstr("quorumlock:fence:orders"));
  EXPECT_EQ(north.holders(its_record) + south.holders(its_record), 0);
  south.raw(1, {"DEL", "quorumlock:fence:orders"});
  ASSERT_EQ(run("two", {"enroll", "--new"}).code, 0);
  EXPECT_THAT(*south.value(0, its_record), HasSubstr("@dfcde0e221b25a22#"));
  EXPECT_EQ(run("two", {"acquire", of_south}).code, 0);
}

TEST_F(Groups, AreDistinguishedByStatusInspectAndDoctor) {
  ASSERT_EQ(run("two", {"enroll", "--new"}).code, 0);
  const json status = json::parse(run("two", {"--json", "status"}).out);
  EXPECT_EQ(status.at("voters"), 6);
  EXPECT_TRUE(status.at("quorum").is_null());
  EXPECT_EQ(status.at("can_lock"), true);
  EXPECT_EQ(status.at("nodes")[4].at("group"), "south");
  EXPECT_EQ(
      status.at("groups")[1],
      (json{{"group", "south"}, {"nodes", 3}, {"voters", 3}, {"quorum", 2}, {"can_lock", true}}));
  EXPECT_THAT(run("two", {"status"}).out, HasSubstr("GROUP"));
  EXPECT_EQ(json::parse(run("two", {"--json", "inspect", of_south}).out).at("group"), "south");
  EXPECT_THAT(run("two", {"inspect", of_south}).out, HasSubstr("; group south"));

  south.kill(0);
  south.kill(1);
  EXPECT_EQ(run("two", {"status"}).code, 69);
  EXPECT_THAT(run("two", {"doctor"}).out, HasSubstr("group south: only 1 of 3 nodes may vote"));
  EXPECT_THAT(run("one", {"doctor"}).out, HasSubstr("groups in the configuration of all clients"));
  EXPECT_EQ(run("two", {"acquire", "seat/1"}).code, 0);  // a resource of the north
}

TEST_F(Groups, AreMeasuredByBenchOnSeveralLoops) {
  ASSERT_EQ(run("two", {"enroll", "--new"}).code, 0);
  write("loops", R"("loops": 2, "groups": )" +
                     json{{"north", north.urls()}, {"south", south.urls()}}.dump());
  const Ended ended = run("loops", {"--json", "bench", "--seconds", "0.2", "--keys", "50"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  const json seen = json::parse(ended.out);
  EXPECT_EQ(seen.at("nodes"), 6);
  EXPECT_EQ(seen.at("groups"), 2);
  EXPECT_EQ(seen.at("loops"), 2);
  EXPECT_GT(seen.at("cycles"), 0);
  EXPECT_TRUE(north.keys().empty());
  EXPECT_TRUE(south.keys().empty());
}

}  // namespace
}  // namespace quorumlock::test
