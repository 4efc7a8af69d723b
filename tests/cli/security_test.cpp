#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "cli/fixture.hpp"
#include "support/users.hpp"

// What docs/security.md says, on servers whose default user is switched off.
namespace quorumlock::test {
namespace {

std::vector<std::string> line_for(const std::string& user) {
  std::vector<std::string> words = words_of_user(user, "s3cret", "locks:");
  words.insert(words.begin(), {"ACL", "SETUSER"});
  return words;
}

/// A row of the page's table of rights.
struct Row {
  std::string right, severity, lost;
};
std::vector<Row> rows_of_rights() {
  std::ifstream page(QUORUMLOCK_SECURITY_PAGE);
  std::vector<Row> rows;
  bool here = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("## ")) here = line == "## If a right is missing";
    if (!here || !line.starts_with("| `")) continue;
    Row row;
    const std::size_t end = line.find("` | ");
    const std::size_t next = line.find(" | ", end + 4);
    row.severity = line.substr(end + 4, next - end - 4);
    row.lost = line.substr(next + 3, line.rfind(" |") - next - 3);
    std::istringstream rights(line.substr(3, end - 3));
    for (std::string code; std::getline(rights, code, '`');) {
      if (code == ", ") continue;  // between two rights
      row.right.clear();
      for (const char c : code) {
        if (c != '\\') row.right += c;  // a pipe is escaped in a table
      }
      rows.push_back(row);
    }
  }
  return rows;
}

/// The ACL SETUSER command that takes this right from the user.
std::vector<std::string> without(const std::string& user, const std::string& right) {
  std::vector<std::string> words{"ACL", "SETUSER", user};
  if (right.starts_with('&')) {
    words.emplace_back("resetchannels");
  } else if (right.find('~') == right.npos) {
    words.push_back("-" + right);
  } else {
    words.emplace_back("resetkeys");
    for (const std::string& word : line_for(user)) {
      if (word.find('~') != word.npos && word != right) words.push_back(word);
    }
  }
  return words;
}

class Security : public CommandLine {
 protected:
  Security() : CommandLine({.size = 3, .durable = true, .tcp = true, .user = ""}) {
    cluster.raw_everywhere({"ACL", "SETUSER", "test", "on", ">s3cret", "+@all", "~*", "&*"});
    cluster.raw_everywhere({"AUTH", "test", "s3cret"});
    cluster.raw_everywhere({"ACL", "SETUSER", "default", "off"});
    std::ofstream(password) << "s3cret\n";
  }
  ~Security() override { allow_default(); }
  void allow_default() { cluster.raw_everywhere({"ACL", "SETUSER", "default", "on"}); }

  void make(const std::string& user) { cluster.raw_everywhere(line_for(user)); }
  [[nodiscard]] Program start_as(const std::string& user, std::vector<std::string> words,
                                 json more = json::object()) const {
    json nodes = json::array();
    for (const std::string& url : cluster.urls()) {
      nodes.push_back({{"url", url}, {"user", user}, {"password_file", password}});
    }
    more["nodes"] = nodes;
    more["key_prefix"] = "locks:";
    const std::string config = directory.path() / (user + ".json");
    std::ofstream(config + ".new") << more;
    std::filesystem::rename(config + ".new", config);  // another program may read it now
    words.insert(words.begin(), {QUORUMLOCK_PROGRAM, "--config", config});
    return Program(words);
  }
  Ended as(const std::string& user, std::vector<std::string> words,
           json more = json::object()) const {
    Ended ended = start_as(user, std::move(words), std::move(more)).finish();
    EXPECT_THAT(ended.out + ended.err, Not(HasSubstr("s3cret")));
    return ended;
  }
  /// The commands that nodes have refused, and to whom.
  std::string refused() {
    std::string all;
    for (int node = 0; node < 3; ++node) {
      for (const Reply& entry : cluster.raw(node, {"ACL", "LOG"}).elements) {
        for (const Reply& word : entry.elements) all += word.text + " ";
      }
    }
    return all;
  }

  const std::string password = directory.path() / "password";
};

TEST_F(Security, APlainUserLocksWithoutWaitingInOrder) {
  // The user acquires, extends, is refused what another holds, waits unordered and releases.
  make("plain");
  const json unordered = {{"order", "unordered"}};
  const Ended acquired = as("plain", {"acquire", "--ttl", "20s", "one"}, unordered);
  ASSERT_EQ(acquired.code, 0) << acquired.err;
  const std::string token = acquired.out.substr(0, acquired.out.find('\n'));
  EXPECT_EQ(as("plain", {"acquire", "one"}, unordered).code, 75);
  EXPECT_EQ(as("plain", {"extend", "--token", token, "--ttl", "25s", "one"}, unordered).code, 0);
  Program waits = start_as("plain", {"run", "--wait", "20s", "one", "--", "true"}, unordered);
  EXPECT_EQ(as("plain", {"release", "--token", token, "one"}, unordered).code, 0);
  EXPECT_EQ(waits.finish().code, 0);
}

TEST_F(Security, AUserWithEveryKindOfLockIsRefusedNothing) {
  // The user waits in order, reads, looks and calls the doctor: no node refuses a command or a key.
  make("locker");
  Program holds = start_as("locker", {"run", "one", "--", "sh", "-c", "echo held; read line"});
  holds.signal(SIGTERM);
  holds.finish();
  const Ended acquired = as("locker", {"acquire", "--ttl", "20s", "one"});
  ASSERT_EQ(acquired.code, 0) << acquired.err;
  Program waits = start_as("locker", {"run", "--wait", "20s", "one", "--", "true"});
  EXPECT_TRUE(eventually([&] {
    return cluster.raw(0, {"ZCARD", "quorumlock:queue:locks:one"}).integer == 1;
  }));
  EXPECT_EQ(as("locker", {"inspect", "one"}).code, 0);
  const std::string token = acquired.out.substr(0, acquired.out.find('\n'));
  EXPECT_EQ(as("locker", {"release", "--token", token, "one"}).code, 0);
  EXPECT_EQ(waits.finish().code, 0);
  EXPECT_EQ(as("locker", {"run", "--shared", "two", "--", "true"}).code, 0);
  EXPECT_EQ(refused(), "");
  // How many counters the nodes have is shown to operators only, and a doctor needs no such right.
  const Ended doctor = as("locker", {"doctor"});
  EXPECT_EQ(doctor.code, 0) << doctor.out;
}

TEST_F(Security, AnOperatorLooksAfterTheNodes) {
  // The user enrols nodes, and shows their members and health.
  make("operator");
  for (const char* command : {"enroll", "status", "doctor", "members"}) {
    const Ended ended = as("operator", {command});
    EXPECT_EQ(ended.code, 0) << command << ": " << ended.out << ended.err;
  }
  EXPECT_EQ(refused(), "");
}

TEST_F(Security, TheDoctorSaysWhatEachMissingRightCosts) {
  // Each right of the page's table is taken from the user of one node, three at a time.
  const std::vector<Row> rows = rows_of_rights();
  ASSERT_GE(rows.size(), 35U);
  for (std::size_t first = 0; first < rows.size(); first += 3) {
    std::map<std::string, Row> taken;
    for (std::size_t node = 0; node < 3; ++node) {
      cluster.raw(static_cast<int>(node), line_for("locker"));
      if (first + node >= rows.size()) continue;
      const Row& row = rows[first + node];
      cluster.raw(static_cast<int>(node), without("locker", row.right));
      taken[cluster.urls()[node]] = row;
    }
    const Ended ended = as("locker", {"--json", "doctor"});
    const json document = json::parse(ended.out);
    for (const auto& [url, row] : taken) {
      // A right to keys that is missing is not taken for one to commands.
      const bool mistaken = std::ranges::any_of(document.at("findings"), [&](const json& finding) {
        return row.right.find('~') != row.right.npos && finding.at("node") == url &&
               finding.at("what").get<std::string>().find("this user call") != std::string::npos;
      });
      EXPECT_FALSE(mistaken) << row.right << " of " << url << " in\n" << document.dump(1);
      const bool found = std::ranges::any_of(document.at("findings"), [&](const json& finding) {
        return finding.at("node") == url && finding.at("severity") == row.severity &&
               finding.at("what").get<std::string>().find(row.lost) != std::string::npos;
      });
      EXPECT_TRUE(found) << row.right << " of " << url << " in\n" << document.dump(1);
    }
  }
}

TEST_F(Security, WithoutSubscribeAWaiterLooksForItself) {
  make("locker");
  cluster.raw_everywhere(without("locker", "subscribe"));
  const Ended acquired = as("locker", {"acquire", "--ttl", "20s", "one"});
  ASSERT_EQ(acquired.code, 0) << acquired.err;
  Program waits = start_as("locker", {"--verbose", "run", "--wait", "20s", "one", "--", "true"});
  EXPECT_TRUE(waits.says_on_error("sends no wake-ups: NOPERM"));
  const std::string token = acquired.out.substr(0, acquired.out.find('\n'));
  EXPECT_EQ(as("locker", {"release", "--token", token, "one"}).code, 0);
  EXPECT_EQ(waits.finish().code, 0);
}

TEST_F(Security, WithoutSelectANodeWithADatabaseSaysSo) {
  make("locker");
  cluster.raw_everywhere(without("locker", "select"));
  EXPECT_EQ(as("locker", {"run", "one", "--", "true"}).code, 0);
  std::ofstream(directory.path() / "db.json") << json{
      {"nodes",
       {{{"url", cluster.urls()[0] + "/1"}, {"user", "locker"}, {"password_file", password}}}}};
  const Ended doctor =
      Program({QUORUMLOCK_PROGRAM, "--config", directory.path() / "db.json", "doctor"}).finish();
  EXPECT_EQ(doctor.code, 1);
  EXPECT_THAT(doctor.out, HasSubstr("refused SELECT: NOPERM"));
}

TEST_F(Security, AManagedServicesUserLocks) {
  // The user may call neither CONFIG nor CLIENT KILL: the nodes vote, and the doctor says what is
  // lost.
  cluster.raw_everywhere(
      {"ACL", "SETUSER", "managed", "on", ">s3cret", "+@all", "-@dangerous", "+info", "~*", "&*"});
  EXPECT_EQ(as("managed", {"run", "one", "--", "true"}).code, 0);
  const Ended doctor = as("managed", {"doctor"});
  EXPECT_EQ(doctor.code, 0) << doctor.out;
  EXPECT_THAT(doctor.out, HasSubstr("does not let this user call config|get"));
  EXPECT_THAT(doctor.out, HasSubstr("does not let this user call client|kill"));
}

}  // namespace
}  // namespace quorumlock::test
