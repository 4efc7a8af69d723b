#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include "cli/fixture.hpp"

namespace quorumlock::test {
namespace {

/// The codes of the findings about this node; if `node` is empty, about the nodes together.
std::vector<std::string> codes(const json& document, std::string node) {
  if (const std::size_t end = node.find('@'); end != node.npos) {  // a login is not shown
    const std::size_t begin = node.find("//") + 2;
    node.erase(begin, end + 1 - begin);
  }
  std::vector<std::string> found;
  for (const json& finding : document.at("findings")) {
    const bool here = finding.at("node").is_null() ? node.empty() : finding.at("node") == node;
    if (here) found.push_back(finding.at("code"));
  }
  return found;
}

class Doctor : public CommandLine {
 protected:
  Doctor() : CommandLine({.size = 3, .durable = true}) {}

  [[nodiscard]] json examine(const std::vector<std::string>& flags = {}, int code = 1) const {
    std::vector<std::string> words{"--json", "doctor"};
    words.insert(words.begin(), flags.begin(), flags.end());
    const Ended ended = run(words);
    EXPECT_EQ(ended.code, code) << ended.out << ended.err;
    return json::parse(ended.out);
  }
  [[nodiscard]] std::string url(std::size_t node) const { return cluster.urls().at(node); }
};

using testing::Contains;
using testing::ElementsAre;

TEST_F(Doctor, FindsNothingOnDurableNodes) {
  // There is nothing to do, and a sentence says so.
  const Ended ended = run({"doctor"});
  EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("nothing endangers locks"));
  EXPECT_THAT(examine({}, 0).at("findings"), IsEmpty());
}

TEST_F(Doctor, NamesWhatIsWrongWithANodeAndTheRemedy) {
  // Each setting is on a node of its own.
  cluster.raw(0, {"CONFIG", "SET", "appendfsync", "everysec"});
  cluster.raw(1, {"CONFIG", "SET", "maxmemory", "100mb", "maxmemory-policy", "allkeys-lru"});
  cluster.raw(2, {"CONFIG", "SET", "no-appendfsync-on-rewrite", "yes"});
  const json document = examine();
  EXPECT_THAT(codes(document, url(0)), Contains("no_fsync"));
  EXPECT_THAT(codes(document, url(1)), ElementsAre("eviction"));
  EXPECT_THAT(codes(document, url(2)), Contains("no_fsync"));
  const Ended shown = run({"doctor"});
  EXPECT_EQ(shown.code, 1);
  EXPECT_THAT(shown.out, HasSubstr("hint: " + url(0) + " has appendfsync everysec"));
  EXPECT_THAT(shown.out, HasSubstr("Remedy: set maxmemory-policy noeviction"));
}

TEST_F(Doctor, SaysOnceWhatIsTrueOfSeveralNodes) {
  for (const int node : {0, 2}) cluster.raw(node, {"CONFIG", "SET", "appendfsync", "everysec"});
  const std::string both = "hint: each of " + url(0) + " and " + url(2) + " has appendfsync";
  const Ended shown = run({"doctor"});
  EXPECT_THAT(shown.out, HasSubstr(both));
  EXPECT_EQ(std::ranges::count(shown.out, '\n'), 2) << shown.out;
  EXPECT_THAT(shown.out, HasSubstr("0 errors, 0 warnings, 2 hints"));
  for (const int node : {0, 2}) cluster.raw(node, {"CONFIG", "SET", "appendfsync", "always"});
}

TEST_F(Doctor, CountsNoNodeThatGrantsThisUserNothing) {
  // The node votes for others, and its INFO and its enrolment look well.
  for (const std::string command : {"set", "time"}) {
    cluster.raw(1, {"ACL", "SETUSER", cluster.user(), "-" + command});
    const json document = examine();
    EXPECT_THAT(codes(document, url(1)), ElementsAre("missing_right"));
    EXPECT_THAT(codes(document, ""), ElementsAre("no_spare_vote"));
    cluster.raw(1, {"ACL", "SETUSER", cluster.user(), "+" + command});
  }
  EXPECT_THAT(examine({}, 0).at("findings"), IsEmpty());
}

TEST_F(Doctor, HintsAtCountersThatTakeMuchOfTheMemory) {
  // 6,000 counters among the same number of other keys: near a megabyte, which is a large part of 8
  // and a small part of 16.
  const std::string fill =
      "for i = 1, 6000 do redis.call('SET', 'else:' .. i, i) "
      "redis.call('SET', string.format('quorumlock:fence:%032d', i), i, 'PX', 86400000) end";
  cluster.raw(0, {"EVAL", fill, "0"});
  cluster.raw(0, {"CONFIG", "SET", "maxmemory", "16mb"});
  EXPECT_THAT(codes(examine({}, 0), url(0)), IsEmpty());
  cluster.raw(0, {"CONFIG", "SET", "maxmemory", "8mb"});
  const json document = examine({}, 0);
  EXPECT_THAT(codes(document, url(0)), ElementsAre("many_counters"));
  const json node = json::parse(run({"--json", "status"}).out).at("nodes").at(0);
  EXPECT_NEAR(node.at("memory").at("fencing_counters").get<double>(), 6000, 1500);
  EXPECT_EQ(node.at("fences_by_clock"), false);
}

TEST_F(Doctor, NamesAReplica) {
  // A node is a replica of another one.
  cluster.raw(2, {"REPLICAOF", "127.0.0.1", "1"});
  EXPECT_THAT(codes(examine(), url(2)), ElementsAre("replica"));
}

TEST_F(Doctor, NamesAServerThatIsNamedTwice) {
  // The socket is given by its path, and by another path that leads to it.
  const std::string other = directory.path() / "again.sock";
  const std::string first = cluster.plain_urls()[0];
  std::filesystem::create_symlink(first.substr(std::string("unix://").size()), other);
  const json document = examine({"--nodes", first + "," + url(1) + ",unix://" + other});
  EXPECT_THAT(codes(document, first), Contains("same_server"));
  EXPECT_THAT(codes(document, "unix://" + other), Contains("same_server"));
  EXPECT_THAT(codes(document, url(1)), ElementsAre("nodes_differ"));
}

TEST_F(Doctor, NamesAUserWhoMayNotCallScripts) {
  // Without these commands no fenced vote can be requested.
  cluster.raw(1, {"ACL", "SETUSER", cluster.user(), "-eval", "-evalsha"});
  EXPECT_THAT(codes(examine(), url(1)), Contains("no_scripts"));
}

TEST_F(Doctor, HintsAtAnEvenNumberAndEndsWith0) {
  // Two nodes are no danger to a lock, but neither of them may fail.
  cluster.enrol_for({url(0), url(1)});
  const json two = examine({"--nodes", url(0) + "," + url(1)}, 0);
  EXPECT_THAT(codes(two, ""), ElementsAre("few_nodes"));
  EXPECT_EQ(two.at("errors"), 0);
  EXPECT_EQ(two.at("hints"), 1);
  cluster.enrol_for(cluster.urls());
}

TEST_F(Doctor, NamesNodesThatVoteForAnotherList) {
  // This client's list is shorter than the one that the nodes were enrolled for.
  const json two = examine({"--nodes", url(0) + "," + url(1)});
  EXPECT_THAT(codes(two, url(0)), Contains("nodes_differ"));
}

TEST_F(Doctor, WarnsIfNoVoteIsToSpareAndEndsWith1) {
  // The others still make a quorum, and none of them may fail.
  cluster.kill(0);
  const json away = examine();
  EXPECT_THAT(codes(away, ""), ElementsAre("no_spare_vote"));
  EXPECT_THAT(codes(away, url(0)), ElementsAre("unreachable"));
  EXPECT_EQ(away.at("errors"), 0);
  EXPECT_EQ(away.at("warnings"), 1);
  EXPECT_EQ(away.at("hints"), 1);
  EXPECT_EQ(away.at("findings")[0].at("severity"), "warning");
  const Ended shown = run({"doctor"});
  EXPECT_EQ(shown.code, 1);
  EXPECT_THAT(shown.out, HasSubstr("warning: only 2 of 3 nodes may vote"));
  EXPECT_THAT(shown.out, HasSubstr("0 errors, 1 warning, 1 hint"));
  cluster.restart(0);
  cluster.raw(1, {"FLUSHALL"});
  const json forgot = examine();
  EXPECT_THAT(codes(forgot, ""), ElementsAre("no_spare_vote"));
  EXPECT_THAT(codes(forgot, url(1)), ElementsAre("nobody_enrols"));
  cluster.kill(2);
  EXPECT_THAT(codes(examine(), ""), ElementsAre("no_quorum"));
}

TEST_F(Doctor, NamesANodeThatRefusesEveryWrite) {
  // The server's words are shown, and a remedy for each reason.
  for (const auto& [setting, value, usual, word, remedy] :
       {std::array{"maxmemory", "1mb", "0", "OOM command not allowed", "raise its maxmemory"},
        {"min-replicas-to-write", "1", "0", "NOREPLICAS Not enough", "min-replicas-to-write 0"}}) {
    cluster.raw(1, {"CONFIG", "SET", setting, value});
    const json document = examine();
    EXPECT_THAT(codes(document, url(1)), ElementsAre("refuses_writes"));
    EXPECT_THAT(codes(document, ""), ElementsAre("no_spare_vote"));
    const json& finding = document.at("findings")[0];
    EXPECT_EQ(finding.at("severity"), "error") << "the gravest comes first";
    EXPECT_THAT(finding.at("what"), HasSubstr(word));
    EXPECT_THAT(finding.at("remedy"), HasSubstr(remedy));
    EXPECT_THAT(run({"doctor"}).out, Not(HasSubstr(".. Remedy"))) << "the server's own dot";
    cluster.raw(1, {"CONFIG", "SET", setting, usual});
  }
  EXPECT_THAT(examine({}, 0).at("findings"), IsEmpty());
}

TEST_F(Doctor, NamesAnotherMaxTtl) {
  // The nodes were enrolled with a max_ttl of 30 s.
  const std::string config = directory.path() / "config.json";
  std::ofstream(config) << R"({"ttl": "2s", "max_ttl": "5s"})";
  EXPECT_THAT(codes(examine({"--config", config}), url(0)), ElementsAre("max_ttl_differs"));
}

TEST(DoctorOnPorts, NamesANodeWithoutAnyProtection) {
  // The node listens on all interfaces, without a password or protected-mode; a password changes
  // the finding.
  Cluster cluster({.size = 1, .durable = true, .tcp = true, .user = ""});
  const auto examine = [](const std::string& url) {
    return codes(
        json::parse(Program({QUORUMLOCK_PROGRAM, "--nodes", url, "--json", "doctor"}).finish().out),
        url.substr(0, url.find("//") + 2) + url.substr(url.find("127")));
  };
  const std::string url = cluster.urls()[0];
  std::string with_password = url;
  with_password.insert(url.find("//") + 2, ":secret@");
  EXPECT_THAT(examine(url), IsEmpty());
  cluster.raw(0, {"CONFIG", "SET", "protected-mode", "no", "bind", "*"});
  EXPECT_THAT(examine(url), ElementsAre("unprotected"));
  cluster.raw(0, {"CONFIG", "SET", "requirepass", "secret"});
  EXPECT_THAT(examine(with_password), IsEmpty());
  EXPECT_THAT(examine(url), ElementsAre("unauthorized"));
}

TEST(DoctorOnPorts, ANodeThatIsSpeltOtherwiseIsAnErrorAndCuredByItsReturn) {
  // The nodes were enrolled as 127.0.0.1, and this client calls them localhost. That works until a
  // node is down: a process that starts then cannot know its name.
  Cluster cluster({.size = 3, .durable = true, .tcp = true, .user = ""});
  std::string nodes;
  for (std::string url : cluster.urls()) {
    url.replace(url.find("127.0.0.1"), 9, "localhost");
    nodes += (nodes.empty() ? "" : ",") + url;
  }
  const auto run = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {QUORUMLOCK_PROGRAM, "--nodes", nodes});
    return Program(words).finish();
  };
  const Ended all_up = run({"doctor"});
  EXPECT_EQ(all_up.code, 1) << all_up.out;
  EXPECT_THAT(all_up.out, HasSubstr("error: " + nodes.substr(0, nodes.find(':')) + "://localhost"));
  EXPECT_EQ(run({"run", "orders", "--", "true"}).code, 0);
  cluster.kill(1);
  const Ended refused = run({"run", "orders", "--", "true"});
  EXPECT_EQ(refused.code, 69) << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("that may be one node by two names"));
  const Ended enrolled = run({"enroll", "--new"});
  EXPECT_EQ(enrolled.code, 64) << "the other nodes are enrolled: " << enrolled.err;
  const Ended planned = run({"members", "announce"});
  EXPECT_EQ(planned.code, 69) << planned.err;
  const Ended seen = run({"--json", "doctor"});
  EXPECT_EQ(seen.code, 1);
  EXPECT_THAT(seen.out, HasSubstr("nodes_differ"));
  Program waiting(
      {QUORUMLOCK_PROGRAM, "--nodes", nodes, "run", "--wait", "1m", "orders", "--", "true"});
  cluster.restart(1);
  cluster.enrol(1);
  EXPECT_EQ(waiting.finish().code, 0);
}

TEST(DoctorOnPorts, NamesPlainTextBeyondThisMachine) {
  // Linux takes 0.0.0.0 for this machine, and we take it for another one.
  const Cluster cluster(
      {.size = 1, .durable = true, .tcp = true, .enrolled = false, .plain = true});
  const std::string port = cluster.urls()[0].substr(cluster.urls()[0].rfind(':'));
  const auto examine = [](const std::string& url) {
    const Ended ended = Program({QUORUMLOCK_PROGRAM, "--nodes", url, "--json", "doctor"}).finish();
    return codes(json::parse(ended.out), url);
  };
  EXPECT_THAT(examine("redis://0.0.0.0" + port), Contains("plain_text"));
  EXPECT_THAT(examine("redis://127.0.0.1" + port), Not(Contains("plain_text")));
}

}  // namespace
}  // namespace quorumlock::test
