#include <cctype>
#include <fstream>
#include <set>
#include <sstream>

#include "cli/fixture.hpp"

// The ways out of what `members` and `doctor` name, as docs/runbook.md has them: each test brings
// nodes into a state, runs the commands of its row, and sees the state leave.
// tests/docs/runbook_test.py checks that each name has a row.
namespace quorumlock::test {
namespace {

/// The commands of one way out, in their order.
using WayOut = std::vector<std::string>;

/// Returns what a text has in backticks and is a command of the program or of the server; other
/// code is a name or a setting.
WayOut commands_in(const std::string& text) {
  WayOut commands;
  for (std::size_t at = text.find('`'); at != text.npos; at = text.find('`', at + 1)) {
    const std::size_t begin = at + 1;
    at = text.find('`', begin);
    const std::string code = text.substr(begin, at - begin);
    const bool of_server = std::isupper(code[0]) != 0 && code.find(' ') != code.npos;
    if (of_server || code.starts_with("quorumlock ")) commands.push_back(code);
  }
  return commands;
}

/// Returns the ways out in the row of this name; its last cell has them, with "; or" between them.
std::vector<WayOut> ways_out_of(const std::string& name) {
  std::ifstream page(QUORUMLOCK_RUNBOOK);
  for (std::string line; std::getline(page, line);) {
    const std::string first = line.substr(0, line.find(" | "));
    if (!first.starts_with("| `") || first.find("`" + name + "`") == first.npos) continue;
    const std::string cell = line.substr(line.rfind(" | "));
    std::vector<WayOut> ways;
    for (std::size_t begin = 0, end = 0; end != cell.npos; begin = end + 1) {
      end = cell.find("; or", begin);
      ways.push_back(commands_in(cell.substr(begin, end - begin)));
    }
    return ways;
  }
  throw std::runtime_error("docs/runbook.md has no row for " + name);
}

/// Six nodes, of which "old" names the first five; "new" has the sixth in place of the fifth.
class Runbook : public testing::Test {
 protected:
  Runbook() {
    write("old", {0, 1, 2, 3, 4});
    write("new", {0, 1, 2, 3, 5});
    EXPECT_EQ(run("old", {"enroll", "--new"}).code, 0);
  }
  void write(const std::string& name, const std::vector<int>& nodes) const {
    json urls = json::array();
    for (const int node : nodes) urls.push_back(cluster.urls()[static_cast<std::size_t>(node)]);
    std::ofstream(directory.path() / name)
        << json{{"ttl", "400ms"}, {"max_ttl", "500ms"}, {"nodes", urls}};
  }
  [[nodiscard]] Program start(const std::string& config, std::vector<std::string> words) const {
    words.insert(words.begin(), {QUORUMLOCK_PROGRAM, "--config", directory.path() / config});
    return Program(words);
  }
  [[nodiscard]] Ended run(const std::string& config, std::vector<std::string> words) const {
    return start(config, std::move(words)).finish();
  }

  /// All that `members` and `doctor` name with this configuration.
  [[nodiscard]] std::set<std::string> named(const std::string& config) const {
    std::set<std::string> names;
    const json found = json::parse(run(config, {"--json", "doctor"}).out);
    for (const json& finding : found.at("findings")) names.insert(finding.at("code"));
    const json members = json::parse(run(config, {"--json", "members"}).out);
    if (!members.contains("groups")) return names;  // no node answers
    for (const json& group : members.at("groups")) {
      names.insert(group.at("stage"));
      for (const json& member : group.at("members")) names.insert(member.at("state"));
    }
    return names;
  }

  /// Runs the commands of a way out: the program's with this configuration, and a server's on this
  /// node.
  void follow(const std::string& name, const std::string& config, int node, std::size_t way) {
    const std::vector<WayOut> ways = ways_out_of(name);
    ASSERT_GT(ways.size(), way) << name;
    EXPECT_FALSE(ways[way].empty()) << name << " has no command";
    for (const std::string& command : ways[way]) {
      SCOPED_TRACE(name + ": " + command);
      std::istringstream text(command);
      std::vector<std::string> words;
      for (std::string word; text >> word;) {
        if (word == "USER") word = cluster.user();
        if (word == "+RIGHT") word = "+publish";
        words.push_back(word);
      }
      if (words[0] != "quorumlock") {
        EXPECT_NE(cluster.raw(node, words).type, Reply::Type::error);
        continue;
      }
      words.erase(words.begin());
      Program program = start(config, words);
      if (words.back() == "--watch") {  // it ends when it is told to
        EXPECT_THAT(program.line(), HasSubstr(" is enrolled: "));
        program.signal(SIGTERM);
      }
      const Ended ended = program.finish();
      EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
    }
  }
  void leaves(const std::string& name, const std::string& config, int node = 0,
              std::size_t way = 0) {
    const std::set<std::string> before = named(config);
    EXPECT_THAT(before, testing::Contains(name));
    follow(name, config, node, way);
    EXPECT_THAT(named(config), Not(testing::Contains(name)));
  }
  /// All nodes of this configuration vote for it.
  void all_is_well(const std::string& config) const {
    EXPECT_EQ(run(config, {"members"}).code, 0);
    EXPECT_EQ(run(config, {"doctor"}).code, 0);
  }

  TemporaryDirectory directory;
  Cluster cluster{{.size = 6, .durable = true, .tcp = true, .enrolled = false, .user = "operator"}};
};

TEST_F(Runbook, ANodesSettings) {
  cluster.raw(1, {"CONFIG", "SET", "appendfsync", "everysec"});
  leaves("no_fsync", "old", 1);
  cluster.raw(2, {"CONFIG", "SET", "maxmemory", "100mb", "maxmemory-policy", "allkeys-lru"});
  leaves("eviction", "old", 2);
  cluster.raw(2, {"CONFIG", "SET", "maxmemory", "1mb"});
  leaves("refuses_writes", "old", 2);
  cluster.raw(3, {"ACL", "SETUSER", cluster.user(), "-publish"});
  leaves("missing_right", "old", 3);
  cluster.raw(3, {"ACL", "SETUSER", cluster.user(), "-eval", "-evalsha"});
  leaves("no_scripts", "old", 3);
  cluster.raw(4, {"REPLICAOF", "127.0.0.1", "1"});
  leaves("replica", "old", 4, 1);
  all_is_well("old");
}

TEST_F(Runbook, NodesThatForgot) {
  cluster.raw(1, {"FLUSHALL"});
  leaves("nobody_enrols", "old");
  cluster.raw(1, {"FLUSHALL"});
  leaves("waiting", "old");
  for (const int node : {1, 2, 3}) cluster.raw(node, {"FLUSHALL"});  // too few remember
  leaves("waiting", "old");
  all_is_well("old");
  cluster.raw_everywhere({"FLUSHALL"});
  leaves("unknown", "old", 0, 1);
  all_is_well("old");
}

TEST_F(Runbook, NodesThatAreDown) {
  for (const std::string name : {"no_spare_vote", "no_quorum", "unreachable"}) {
    const int down = name == "no_quorum" ? 3 : 2;
    for (int node = 0; node < down; ++node) cluster.kill(node);
    EXPECT_THAT(named("old"), testing::Contains(name));
    for (int node = 0; node < down; ++node) cluster.restart(node);
    follow(name, "old", 0, 0);
    all_is_well("old");
  }
  cluster.kill(4);
  EXPECT_THAT(named("old"), testing::Contains("unreachable"));
  follow("unreachable", "new", 0, 1);
  all_is_well("new");
  for (const int node : {0, 1, 2}) cluster.kill(node);
  write("rest", {3, 5});
  EXPECT_THAT(named("new"), testing::Contains("unreachable"));
  follow("unreachable", "rest", 0, 2);
  all_is_well("rest");
}

TEST_F(Runbook, AChangeThatWasLeft) {
  ASSERT_EQ(run("new", {"members", "announce"}).code, 0);
  leaves("other", "old", 0, 1);
  ASSERT_EQ(run("new", {"members", "announce"}).code, 0);
  leaves("change_unfinished", "old", 0, 1);
  ASSERT_EQ(run("new", {"members", "announce"}).code, 0);
  leaves("announced", "new", 0, 1);
  ASSERT_EQ(run("new", {"members", "announce"}).code, 0);
  leaves("announced", "new");
  all_is_well("new");
  // An operator is killed between the decision and its end.
  ASSERT_EQ(run("old", {"members", "announce"}).code, 0);
  Program operators = start("old", {"members", "commit"});
  // The decision is made once three of the four nodes of both lists have heard of it.
  EXPECT_TRUE(eventually([&] {
    int decided = 0;
    for (const int node : {0, 1, 2, 3}) {
      const std::string list = cluster.value(node, "quorumlock:members").value_or("");
      if (list.find(" u ") != list.npos) ++decided;
    }
    return decided >= 3;
  }));
  operators.signal(SIGKILL);
  operators.finish();
  leaves("committed", "old");
  all_is_well("old");
}

TEST_F(Runbook, ListsThatDiffer) {
  leaves("new", "new");
  leaves("removed", "old", 0, 1);
  leaves("differs", "new", 0, 1);
  leaves("nodes_differ", "old", 0, 1);
  write("four", {0, 1, 2, 3});
  ASSERT_EQ(run("four", {"members", "apply"}).code, 0);
  EXPECT_THAT(named("four"), testing::Contains("even_nodes"));
  follow("even_nodes", "old", 0, 0);
  all_is_well("old");
}

TEST_F(Runbook, NodesThatStandElsewhere) {
  // Somebody has written a later epoch on a node.
  std::string record = cluster.value(4, "quorumlock:enrolment").value_or("");
  const std::size_t epoch = record.find(".0s.");
  ASSERT_NE(epoch, record.npos) << record;
  cluster.raw(4, {"SET", "quorumlock:enrolment", record.replace(epoch, 4, ".9s.")});
  leaves("apart", "old");
  all_is_well("old");
  // A node is stopped while the list changes.
  cluster.pause(3);
  ASSERT_EQ(run("new", {"members", "apply", "--wait", "20s"}).code, 0);
  cluster.resume(3);
  leaves("behind", "new");
  all_is_well("new");
}

}  // namespace
}  // namespace quorumlock::test
