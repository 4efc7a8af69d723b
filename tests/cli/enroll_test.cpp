#include <fstream>

#include "cli/fixture.hpp"
#include "cli/notify_socket.hpp"
#include "support/users.hpp"

namespace quorumlock::test {
namespace {

constexpr const char* enrolment = "quorumlock:enrolment";

/// New nodes, whose clients' locks last for a second at most.
class Enroll : public CommandLine {
 protected:
  Enroll() : CommandLine({.size = 3, .enrolled = false}) { use_max_ttl("1s"); }

  void use_max_ttl(const std::string& max_ttl) {
    std::ofstream(config) << R"({"ttl": "900ms", "max_ttl": ")" << max_ttl << R"("})";
  }
  [[nodiscard]] std::vector<std::string> words(std::vector<std::string> more) const {
    more.insert(more.begin(), {"--config", config});
    return more;
  }
  [[nodiscard]] Ended quorumlock(std::vector<std::string> more) const {
    return run(words(std::move(more)));
  }
  int enrolled() { return cluster.holders(enrolment); }

  const std::string config = directory.path() / "config.json";
};

TEST_F(Enroll, WaitsForTheEndOfTheQuarantine) {
  // At first no node may vote, then all may; progress goes to standard error.
  EXPECT_EQ(quorumlock({"acquire", "orders"}).code, 69);
  const auto before = std::chrono::steady_clock::now();
  const Ended ended = quorumlock({"enroll"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_GE(std::chrono::steady_clock::now() - before, std::chrono::seconds(1));
  EXPECT_THAT(ended.out, HasSubstr("3 of 3 nodes may vote"));
  EXPECT_THAT(ended.err, HasSubstr("0 of 3 nodes may vote"));
  EXPECT_THAT(ended.err, HasSubstr("has no enrolment"));
  EXPECT_THAT(ended.err, HasSubstr("s left"));
  EXPECT_EQ(enrolled(), 3);
  EXPECT_EQ(quorumlock({"acquire", "orders"}).code, 0);
}

TEST_F(Enroll, WithJsonPrintsOnlyTheResult) {
  // There is one document, and standard error is empty.
  const Ended ended = quorumlock({"--json", "enroll"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(json::parse(ended.out).at("voters"), 3);
  EXPECT_THAT(ended.err, IsEmpty());
}

TEST_F(Enroll, WaitsForANodeThatIsDown) {
  // The node is started while enroll waits.
  ASSERT_EQ(quorumlock({"enroll"}).code, 0);
  cluster.kill(1);
  Program waiting = start(words({"enroll"}));
  ASSERT_TRUE(somebody_tries());
  cluster.restart(1);
  EXPECT_EQ(waiting.finish().code, 0);
  EXPECT_EQ(enrolled(), 3);
}

TEST_F(Enroll, WaitsForANodeThatRefusesWrites) {
  // The node has room again while enroll waits.
  ASSERT_EQ(quorumlock({"enroll", "--new"}).code, 0);
  cluster.raw(1, {"CONFIG", "SET", "maxmemory", "1mb"});
  Program waiting = start(words({"enroll"}));
  EXPECT_TRUE(waiting.says_on_error(": refuses writes: OOM command not allowed"));
  cluster.raw(1, {"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_EQ(waiting.finish().code, 0);
}

TEST_F(Enroll, EnrolsNoNewNodeIfOneRefusesWrites) {
  // It would not have the record, and nothing that may pass is a wrong configuration.
  cluster.raw(2, {"CONFIG", "SET", "min-replicas-to-write", "1"});
  const Ended ended = quorumlock({"--json", "enroll", "--new"});
  EXPECT_EQ(ended.code, 69);
  EXPECT_EQ(json::parse(ended.out).at("error").at("code"), "no_quorum");
  EXPECT_THAT(ended.out, HasSubstr("refuses writes: NOREPLICAS"));
  EXPECT_EQ(enrolled(), 0);
  cluster.raw(2, {"CONFIG", "SET", "min-replicas-to-write", "0"});
  EXPECT_EQ(quorumlock({"enroll", "--new"}).code, 0);
}

TEST_F(Enroll, IsEndedBySigint) {
  // The command ends in the middle of a long wait, and enrols no node.
  use_max_ttl("1h");
  Program waiting = start(words({"enroll"}));
  ASSERT_TRUE(eventually([&] { return cluster.holders("quorumlock:candidate") == 3; }));
  waiting.signal(SIGINT);
  const Ended ended = waiting.finish();
  EXPECT_EQ(ended.code, 128 + SIGINT);
  EXPECT_THAT(ended.err, HasSubstr("interrupted by SIGINT"));
  EXPECT_EQ(enrolled(), 0);
}

TEST_F(Enroll, DoesNotWaitForANodeThatNeverVotes) {
  // One node is a replica.
  cluster.raw(2, {"REPLICAOF", "127.0.0.1", "1"});
  const Ended ended = quorumlock({"--json", "enroll"});
  EXPECT_EQ(ended.code, 64);
  EXPECT_EQ(json::parse(ended.out).at("error").at("code"), "misconfigured");
  EXPECT_THAT(ended.out, HasSubstr("is a replica"));
}

TEST_F(Enroll, ChangesNoTermsAndNamesTheDifference) {
  // A file with another max_ttl cost every lease once, when it met this command.
  ASSERT_EQ(quorumlock({"enroll", "--new"}).code, 0);
  const std::string before = *cluster.value(0, enrolment);
  use_max_ttl("2s");
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"acquire", "orders"}, std::vector<std::string>{"enroll"}}) {
    const Ended ended = quorumlock(command);
    EXPECT_EQ(ended.code, 64);
    EXPECT_THAT(ended.err, HasSubstr("max_ttl 1s since epoch 0, and ours is 2s"));
    EXPECT_THAT(ended.err, HasSubstr("quorumlock members apply"));
  }
  EXPECT_EQ(*cluster.value(0, enrolment), before);
}

TEST_F(Enroll, ACandidateOfAClientWithAnotherMaxTtlGivesWay) {
  // A client with a wrong max_ttl looked at the new nodes first.
  ASSERT_EQ(quorumlock({"status"}).code, 69);
  ASSERT_EQ(cluster.holders("quorumlock:candidate"), 3);
  use_max_ttl("2s");
  ASSERT_EQ(quorumlock({"enroll"}).code, 0);
  EXPECT_THAT(*cluster.value(0, "quorumlock:members"), HasSubstr(" - 2000,86400"));
}

TEST_F(Enroll, NewEnrollsAtOnce) {
  // Even an hour is not waited for.
  use_max_ttl("1h");
  const Ended ended = quorumlock({"enroll", "--new"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("3 of 3 nodes may vote"));
  EXPECT_EQ(enrolled(), 3);
}

TEST_F(Enroll, NewIsRefusedIfANodeIsNotNew) {
  // A node was enrolled, has a fencing counter, or does not answer: the others are not changed.
  const auto refused = [&](const std::string& why, int code = 64) {
    const Ended ended = quorumlock({"--json", "enroll", "--new"});
    EXPECT_EQ(ended.code, code) << ended.out;
    const json error = json::parse(ended.out).at("error");
    EXPECT_EQ(error.at("code"), code == 64 ? "misconfigured" : "no_quorum");
    EXPECT_THAT(error.at("message"), HasSubstr(why));
  };
  cluster.raw(1, {"SET", enrolment, "0123:abc@"});
  refused("enrolled already");
  EXPECT_EQ(enrolled(), 1);
  cluster.raw(1, {"DEL", enrolment});
  cluster.raw(1, {"SET", "quorumlock:fence:orders", "7"});
  refused("quorumlock:fence:orders");
  EXPECT_EQ(enrolled(), 0);
  cluster.raw(1, {"DEL", "quorumlock:fence:orders"});
  cluster.kill(2);
  refused(cluster.shown_urls()[2], 69);  // it may be back soon
  EXPECT_EQ(enrolled(), 0);
}

TEST_F(Enroll, NewIsRefusedWhileAClientSaysThatTheyWereEnrolled) {
  // All nodes restart, and have forgotten everything; a client works on with a lock that no other
  // client may be given. The operator is not advised to enroll the nodes as new.
  std::ofstream(config) << R"({"ttl": "30m", "max_ttl": "1h"})";
  ASSERT_EQ(quorumlock({"enroll", "--new"}).code, 0);
  EXPECT_EQ(cluster.holders("quorumlock:candidate"), 0);
  Program holder = start(words({"run", "orders", "--", "sleep", "600"}));
  ASSERT_TRUE(eventually([&] { return cluster.holders("orders") == 3; }));
  for (int node = 0; node < 3; ++node) {
    cluster.kill(node);
    cluster.restart(node);
  }
  ASSERT_TRUE(eventually([&] {
    for (int node = 0; node < 3; ++node) {
      if (cluster.raw(node, {"CLIENT", "LIST"}).text.find(":knows") == std::string::npos)
        return false;
    }
    return true;
  }));
  const Ended refused = quorumlock({"enroll", "--new"});
  EXPECT_EQ(refused.code, 64);
  EXPECT_THAT(refused.err, HasSubstr("may hold locks"));
  EXPECT_EQ(enrolled(), 0);
  const Ended lost = quorumlock({"acquire", "orders"});
  EXPECT_EQ(lost.code, 69);
  EXPECT_THAT(lost.err, HasSubstr("quarantined"));
  EXPECT_EQ(quorumlock({"enroll", "--new", "--force"}).code, 0);
  EXPECT_EQ(cluster.holders("quorumlock:candidate"), 0);
  holder.signal(SIGTERM);
  holder.finish();
}

TEST_F(Enroll, WatchBringsNodesBackUntilItIsEnded) {
  // It enrols the new nodes and, later, one that has restarted, and prints a line for each. SIGTERM
  // ends it with 0.
  Program watching = start(words({"enroll", "--watch"}));
  for (int node = 0; node < 3; ++node) EXPECT_THAT(watching.line(), HasSubstr(" is enrolled: "));
  EXPECT_EQ(enrolled(), 3);
  const auto run_id = [&] {
    const std::string record = cluster.value(1, enrolment).value_or("");
    return record.substr(0, record.find(':'));
  };
  const std::string before = run_id();
  cluster.kill(1);
  cluster.restart(1);
  const std::string line = watching.line();
  EXPECT_TRUE(line.starts_with(cluster.shown_urls()[1] + " is enrolled: ")) << line;
  EXPECT_NE(run_id(), before);
  // A node that forgets does not end its connections.
  cluster.raw(2, {"FLUSHALL"});
  EXPECT_TRUE(watching.line().starts_with(cluster.shown_urls()[2]));
  watching.signal(SIGTERM);
  const Ended ended = watching.finish();
  EXPECT_EQ(ended.code, 0) << ended.err;
}

TEST_F(Enroll, WatchPrintsADocumentForEachNode) {
  Program watching = start(words({"--json", "enroll", "--watch"}));
  for (int node = 0; node < 3; ++node) {
    const json document = json::parse(watching.line());
    EXPECT_EQ(document.at("event"), "enrolled");
    EXPECT_EQ(document.at("nodes"), 3);
    EXPECT_THAT(cluster.shown_urls(), testing::Contains(document.at("node")));
  }
  watching.signal(SIGINT);
  EXPECT_EQ(watching.finish().code, 0);
  EXPECT_EQ(quorumlock({"enroll", "--watch", "--new"}).code, 64);
}

TEST_F(Enroll, WatchReportsToTheServiceManager) {
  // It is ready after its first look, alive while it waits, and says how many nodes vote.
  const NotifySocket manager("@quorumlock-test-enroll-" + std::to_string(::getpid()));
  Program watching({QUORUMLOCK_PROGRAM, "--config", config, "enroll", "--watch"},
                   {nodes(), manager.variable(), "WATCHDOG_USEC=200000"});
  const auto says = [&manager](const std::string& text) {
    std::string message = manager.message();
    while (message == "WATCHDOG=1") message = manager.message();
    EXPECT_THAT(message, HasSubstr(text));
  };
  says("READY=1");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(manager.message(), "WATCHDOG=1");
  std::string message = manager.message();
  while (message.find("3 of 3 nodes may vote") == message.npos) message = manager.message();
  watching.signal(SIGTERM);
  says("STOPPING=1");
  EXPECT_EQ(watching.finish().code, 0);
}

TEST_F(Enroll, AnOperatorsDoctorSeesWhetherAnybodyEnrols) {
  // The doctor's own client does not count, since it ends with the command.
  EXPECT_THAT(quorumlock({"--json", "doctor"}).out, HasSubstr("nobody_enrols"));
  EXPECT_THAT(quorumlock({"--json", "doctor"}).out, HasSubstr("nobody_enrols"));
  use_max_ttl("1h");
  cluster.raw_everywhere({"FLUSHALL"});
  Program watching = start(words({"enroll", "--watch"}));
  ASSERT_TRUE(eventually([&] {
    for (int node = 0; node < 3; ++node) {
      if (cluster.raw(node, {"CLIENT", "LIST"}).text.find(":enrols") == std::string::npos)
        return false;
    }
    return true;
  }));
  const std::string seen = quorumlock({"--json", "doctor"}).out;
  EXPECT_THAT(seen, Not(HasSubstr("nobody_enrols")));
  EXPECT_THAT(seen, HasSubstr("quarantined"));
  watching.signal(SIGTERM);
  watching.finish();
}

TEST_F(Enroll, TheWordThatDisksAreTrustedIsGone) {
  // It is refused with what happens instead, on the command line and in a configuration.
  const Ended refused = quorumlock({"enroll", "--trust-disk"});
  EXPECT_EQ(refused.code, 64);
  EXPECT_THAT(refused.err, HasSubstr("--trust-disk is gone"));
  EXPECT_THAT(refused.err, HasSubstr("casts no vote until max_ttl"));
  EXPECT_EQ(enrolled(), 0);
  EXPECT_THAT(quorumlock({"enroll", "--help"}).out, Not(HasSubstr("trust")));
  std::ofstream(config) << R"({"ttl": "900ms", "max_ttl": "1s", "quarantine": "always"})";
  const Ended configured = quorumlock({"enroll", "--new"});
  EXPECT_EQ(configured.code, 64);
  EXPECT_THAT(configured.err, HasSubstr("the key \"quarantine\" is gone"));
}

TEST_F(Enroll, ForceEnrollsNodesThatAreNotNew) {
  // The node keeps its counter. The second time max_ttl is another.
  cluster.raw(1, {"SET", "quorumlock:fence:orders", "7"});
  EXPECT_EQ(quorumlock({"enroll", "--new", "--force"}).code, 0);
  use_max_ttl("2s");
  ASSERT_EQ(quorumlock({"enroll", "--new", "--force"}).code, 0);
  EXPECT_THAT(*cluster.value(1, "quorumlock:members"), HasSubstr(" - 2000,86400"));
  EXPECT_EQ(cluster.value(1, "quorumlock:fence:orders"), "7");
  EXPECT_EQ(quorumlock({"enroll", "--force"}).code, 64);  // only with --new
}

TEST(EnrollAsTenant, AUserThatMayNotEnrolIsRefused) {
  // A doctor who may not enrol either finds out that nobody does.
  Cluster cluster({.size = 3, .tcp = true, .enrolled = false, .user = ""});
  std::vector<std::string> user = words_of_user("locker", "secret", "t:");
  user.insert(user.begin(), {"ACL", "SETUSER"});
  cluster.raw_everywhere(user);
  const TemporaryDirectory directory;
  const std::string config = directory.path() / "config.json";
  std::ofstream(config) << R"({"ttl": "900ms", "max_ttl": "1s", "key_prefix": "t:"})";
  std::string list = "QUORUMLOCK_NODES=";
  for (std::string url : cluster.urls()) {
    list += (list.ends_with('=') ? "" : ",") + url.insert(url.find("://") + 3, "locker:secret@");
  }
  const auto run = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {QUORUMLOCK_PROGRAM, "--config", config});
    return Program(words, {list}).finish();
  };
  for (const bool live : {false, true}) {
    const Ended ended = live ? run({"enroll", "--watch"}) : run({"enroll"});
    EXPECT_EQ(ended.code, 64);
    EXPECT_THAT(ended.err, HasSubstr("this user may not enrol "));
  }
  const Ended examined = run({"--json", "doctor"});
  EXPECT_EQ(examined.code, 1);
  EXPECT_THAT(examined.out, HasSubstr("nobody_enrols"));
  EXPECT_EQ(cluster.holders("quorumlock:candidate"), 0);
}

TEST(EnrollRenamed, NodesWithoutACommandAreNamedInTheirWords) {
  // Some providers rename commands; either of the two is needed.
  for (const std::string name : {"EVAL", "EVALSHA"}) {
    Cluster cluster({.size = 1, .more = {"--rename-command", name, ""}, .enrolled = false});
    const auto run = [&](std::vector<std::string> words) {
      words.insert(words.begin(), {QUORUMLOCK_PROGRAM, "--nodes", cluster.urls()[0]});
      return Program(words).finish();
    };
    const std::string unknown = "ERR unknown command '" + name + "'";
    const Ended enrolled = run({"enroll", "--new"});
    EXPECT_EQ(enrolled.code, 69) << enrolled.err;
    EXPECT_THAT(enrolled.err, HasSubstr("refuses writes: " + unknown));
    for (const bool is_new : {true, false}) {
      if (!is_new) cluster.enrol(0);
      const json node = json::parse(run({"--json", "status"}).out).at("nodes")[0];
      EXPECT_EQ(node.at("votes"), false);
      EXPECT_EQ(node.at("reason"), "refuses_writes");
      EXPECT_THAT(node.at("trouble"), HasSubstr(unknown));
      const Ended examined = run({"doctor"});
      EXPECT_EQ(examined.code, 1);
      EXPECT_THAT(examined.out, HasSubstr("refuses every write, and casts no vote: "));
      EXPECT_THAT(examined.out, HasSubstr(unknown));
    }
  }
}

TEST(EnrollRenamed, NodesWithoutACommandOfTheScriptsCastNoVote) {
  // Every attempt would be refused inside a script, so neither the status nor the doctor may say
  // that all is well.
  Cluster cluster({.size = 1, .more = {"--rename-command", "TIME", ""}, .enrolled = false});
  const auto run = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {QUORUMLOCK_PROGRAM, "--nodes", cluster.urls()[0]});
    return Program(words).finish();
  };
  const Ended as_new = run({"enroll", "--new"});
  EXPECT_EQ(as_new.code, 64) << as_new.out;
  EXPECT_THAT(as_new.err, HasSubstr(" does not let this user call time, and so grants no lock"));
  cluster.enrol(0);
  EXPECT_EQ(run({"acquire", "one"}).code, 69);
  const json status = json::parse(run({"--json", "status"}).out);
  EXPECT_EQ(status.at("voters"), 0);
  EXPECT_EQ(status.at("nodes")[0].at("votes"), false);
  EXPECT_THAT(status.at("nodes")[0].at("trouble"), HasSubstr("call time, and so grants no lock"));
  const Ended examined = run({"doctor"});
  EXPECT_EQ(examined.code, 1);
  EXPECT_THAT(examined.out, HasSubstr("does not let this user call time, and so grants no lock"));
  EXPECT_THAT(examined.out, HasSubstr("a command that was renamed needs its name again"));
  EXPECT_THAT(run({"enroll"}).err, HasSubstr("call time, and so grants no lock"));
}

TEST(EnrollRenamed, NodesWithoutInfoSayWhy) {
  // Without INFO a node has no run, so there is nothing to enrol.
  Cluster cluster({.size = 1, .more = {"--rename-command", "INFO", ""}, .enrolled = false});
  const auto run = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {QUORUMLOCK_PROGRAM, "--nodes", cluster.urls()[0]});
    return Program(words).finish();
  };
  const std::string why = "does not tell its run id and its role (ERR unknown command 'INFO'";
  const Ended enrolled = run({"enroll", "--new"});
  EXPECT_EQ(enrolled.code, 64) << enrolled.err;
  EXPECT_THAT(enrolled.err, HasSubstr(why));
  EXPECT_THAT(run({"acquire", "one"}).err, HasSubstr(why));
  EXPECT_THAT(run({"doctor"}).out, HasSubstr("call info, and so casts no vote"));
}

}  // namespace
}  // namespace quorumlock::test
