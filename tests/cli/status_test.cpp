#include <fstream>

#include "cli/fixture.hpp"

namespace quorumlock::test {
namespace {

class Status : public CommandLine {};

TEST_F(Status, ShowsEachNodeAndThatAQuorumMayVote) {
  // People get a line for each node; programs get the same with all numbers.
  const Ended shown = run({"status"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("3 of 3 nodes may vote; a quorum is 2"));
  for (const std::string& url : cluster.shown_urls()) EXPECT_THAT(shown.out, HasSubstr(url));

  const json document = json::parse(run({"--json", "status"}).out);
  EXPECT_EQ(document.at("voters"), 3);
  EXPECT_EQ(document.at("can_lock"), true);
  const json& node = document.at("nodes")[1];
  EXPECT_EQ(node.at("node"), cluster.shown_urls()[1]);
  EXPECT_EQ(node.at("state"), "up");
  EXPECT_EQ(node.at("role"), "master");
  EXPECT_TRUE(node.at("reason").is_null());
  EXPECT_GT(node.at("round_trip_ms"), 0);
  EXPECT_THAT(cluster.raw(1, {"INFO", "server"}).text, HasSubstr(node.at("run_id")));
  EXPECT_EQ(node.at("persistence").at("appendonly"), false);
  EXPECT_EQ(node.at("persistence").at("durable"), false);
  EXPECT_EQ(node.at("memory").at("maxmemory"), 0);
  EXPECT_EQ(node.at("access").at("scripts"), true);
  EXPECT_LT(std::abs(node.at("clock").at("offset_ms").get<double>()), 1000);
  EXPECT_EQ(node.at("enrolment").at("standing"), "enrolled");
  EXPECT_EQ(node.at("enrolment").at("max_ttl_ms"), 30'000);
}

TEST_F(Status, WithoutAQuorumEndsWith69) {
  // Nodes that are gone are named with the reason; the document has the error too.
  cluster.kill(0);
  EXPECT_EQ(run({"status"}).code, 0);
  cluster.kill(2);
  const Ended ended = run({"--json", "status"});
  EXPECT_EQ(ended.code, 69);
  const json document = json::parse(ended.out);
  EXPECT_EQ(document.at("error").at("code"), "no_quorum");
  EXPECT_EQ(document.at("can_lock"), false);
  EXPECT_EQ(document.at("nodes")[2].at("state"), "down");
  EXPECT_FALSE(document.at("nodes")[2].at("trouble").get<std::string>().empty());
}

TEST_F(Status, ANodeThatRefusesEveryWriteDoesNotVote) {
  // Nobody locks anything, and the servers answer everything else.
  cluster.raw(0, {"CONFIG", "SET", "maxmemory", "1mb"});
  const json document = json::parse(run({"--json", "status"}).out);
  EXPECT_EQ(document.at("voters"), 2);
  const json& node = document.at("nodes")[0];
  EXPECT_EQ(node.at("votes"), false);
  EXPECT_EQ(node.at("state"), "up");
  EXPECT_EQ(node.at("reason"), "refuses_writes");
  EXPECT_THAT(node.at("trouble"), HasSubstr("OOM command not allowed"));
  EXPECT_EQ(node.at("enrolment").at("standing"), "enrolled");
  const Ended shown = run({"status"});
  EXPECT_EQ(shown.code, 0);
  EXPECT_THAT(shown.out, HasSubstr("refusing writes: OOM command not allowed"));
  cluster.raw(1, {"CONFIG", "SET", "min-replicas-to-write", "1"});
  const Ended ended = run({"status"});
  EXPECT_EQ(ended.code, 69);
  EXPECT_THAT(ended.out, HasSubstr("1 of 3 nodes may vote"));
  EXPECT_THAT(ended.out, HasSubstr("refusing writes: NOREPLICAS"));
}

TEST_F(Status, AQuarantinedNodeSaysHowLongAndWhy) {
  // One node was flushed.
  cluster.raw(1, {"FLUSHALL"});
  const json node = json::parse(run({"--json", "status"}).out).at("nodes")[1];
  EXPECT_EQ(node.at("state"), "quarantined");
  EXPECT_EQ(node.at("votes"), false);
  EXPECT_THAT(node.at("enrolment").at("why"), HasSubstr("has no enrolment"));
  EXPECT_GT(node.at("enrolment").at("quarantined_for_ms"), 20'000);
  EXPECT_LT(node.at("enrolment").at("quarantined_for_ms"), 31'000);
  const Ended shown = run({"status"});
  EXPECT_EQ(shown.code, 0);
  EXPECT_THAT(shown.out, HasSubstr("quarantined: has no enrolment"));
  EXPECT_THAT(shown.out, HasSubstr("s left"));
}

TEST_F(Status, SaysWhyANodeDoesNotVoteInWordsAndInJsonByName) {
  // The node was enrolled with another max_ttl than that of this client.
  const std::string config = directory.path() / "config.json";
  std::ofstream(config) << R"({"max_ttl": "20s"})";
  const Ended shown = run({"--config", config, "status"});
  EXPECT_THAT(shown.out, HasSubstr("    enrolled with another max_ttl"));
  EXPECT_THAT(shown.out, Not(HasSubstr("max_ttl_differs")));
  const Ended told = run({"--config", config, "--json", "status"});
  EXPECT_EQ(json::parse(told.out).at("nodes")[0].at("reason"), "max_ttl_differs");
}

TEST_F(Status, ValuesThatANodeForbidsAreUnknown) {
  // A user who may do hardly more than lock.
  cluster.raw_everywhere(
      {"ACL", "SETUSER", "locker", "on", ">secret", "~*", "+@all", "-config", "-info|all"});
  cluster.raw_everywhere({"ACL", "SETUSER", cluster.user(), "-config"});
  const json node = json::parse(run({"--json", "status"}).out).at("nodes")[0];
  EXPECT_EQ(node.at("votes"), true);
  EXPECT_EQ(node.at("role"), "master");
  EXPECT_TRUE(node.at("persistence").at("appendfsync").is_null());
  EXPECT_TRUE(node.at("access").at("open_to_all").is_null());
}

TEST_F(Status, WatchGivesOneDocumentALineUntilSigint) {
  // Two looks, between which a node dies; SIGINT is the normal way to end it.
  Program watch = start({"--json", "status", "--watch"});
  EXPECT_EQ(json::parse(watch.line()).at("voters"), 3);
  cluster.kill(0);
  EXPECT_TRUE(eventually([&] { return json::parse(watch.line()).at("voters") == 2; }));
  watch.signal(SIGINT);
  const Ended ended = watch.finish();
  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(ended.err, IsEmpty());
}

TEST_F(Status, WatchShowsTheLocksThatAreMostWaitedForWithTheirHolders) {
  for (const char* resource : {"a", "b", "c", "d", "e", "orders:42"}) {
    ASSERT_EQ(run({"acquire", "--ttl", "30s", resource}).code, 0);
  }
  const Program waiting = start({"acquire", "--wait", "forever", "orders:42"});
  Program watch = start({"--json", "status", "--watch"});
  json locks;
  ASSERT_TRUE(eventually([&] {
    locks = json::parse(watch.line()).at("locks");
    return locks.is_object() && locks.value("waiting", 0) == 1;
  })) << locks;
  EXPECT_EQ(locks.at("held"), 6);
  EXPECT_EQ(locks.at("first").size(), 5);
  const json& first = locks.at("first")[0];
  EXPECT_EQ(first.at("resource"), "orders:42");
  EXPECT_EQ(locks.at("first")[1].at("resource"), "a") << "it has been held for the longest time";
  const std::string label = first.at("label");
  EXPECT_FALSE(label.empty());
  Program table = start({"status", "--watch"});
  EXPECT_TRUE(eventually(
      [&] { return table.line().starts_with("orders:42  exclusive  " + label + "  "); }));
}

TEST_F(Status, WatchGoesOnIfTheLocksCannotBeListed) {
  cluster.kill(0);
  cluster.kill(1);
  Program watch = start({"--json", "status", "--watch"});
  EXPECT_TRUE(eventually([&] {
    const json seen = json::parse(watch.line());
    return seen.at("voters") == 1 && seen.at("locks").contains("error");
  }));
  watch.signal(SIGTERM);
  EXPECT_EQ(watch.finish().code, 128 + SIGTERM);
}

TEST_F(Status, WatchEndsWhileANodeDoesNotAnswer) {
  // Nothing has been shown yet, and nothing is waited for.
  cluster.pause(1);
  Program watch = start({"status", "--watch"});
  watch.signal(SIGTERM);
  EXPECT_EQ(watch.finish().code, 128 + SIGTERM);
}

}  // namespace
}  // namespace quorumlock::test
