#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <quorumlock/options.hpp>

#include "support/no_descriptors.hpp"
#include "unit/support/refusal.hpp"

namespace quorumlock {
namespace {

using namespace std::chrono_literals;

const std::string two_nodes = R"("nodes": ["redis://127.0.0.1:7101", "redis://u:hunter2@h:7102"])";

/// Gives each test a directory of its own, and an environment without our variables.
class Settings : public testing::Test {
 protected:
  Settings() {
    std::filesystem::create_directory(directory_);
    ::unsetenv("QUORUMLOCK_CONFIG");
    ::unsetenv("QUORUMLOCK_NODES");
  }
  ~Settings() override {
    std::filesystem::remove_all(directory_);
    ::unsetenv("QUORUMLOCK_CONFIG");
    ::unsetenv("QUORUMLOCK_NODES");
  }

  std::string file(const std::string& text) {
    std::ofstream(directory_ / "options.json") << text;
    return directory_ / "options.json";
  }

  const std::filesystem::path directory_ =
      std::filesystem::temp_directory_path() / ("quorumlock-test-" + std::to_string(::getpid()));
};

TEST_F(Settings, ReadsAFile) {
  // A file contains the same JSON object.
  EXPECT_EQ(Options::from_file(file("{" + two_nodes + R"(, "ttl": "5s"})")).value().ttl, 5s);
}

TEST_F(Settings, AFileIsNotToBlameIfThisProcessCanOpenNone) {
  const std::string path = file("{" + two_nodes + "}");
  const test::NoDescriptors none;
  const Result<Options> options = Options::from_file(path);
  ASSERT_FALSE(options);
  EXPECT_EQ(options.error().code(), std::errc::too_many_files_open);
  EXPECT_EQ(options.error().what(),
            "\"" + path + "\": the file cannot be read: Too many open files");
}

TEST_F(Settings, NamesAFileAndWhyItCannotBeUsed) {
  // The file does not exist, is a directory, is too large, or has bad contents.
  const std::string missing = directory_ / "missing.json";
  EXPECT_EQ(error_of(Options::from_file(missing)),
            "\"" + missing + "\": the file cannot be read: No such file or directory");
  EXPECT_EQ(error_of(Options::from_file(directory_)),
            "\"" + directory_.string() + "\": the file cannot be read: Is a directory");
  EXPECT_EQ(error_of(Options::from_file("/dev/zero")),
            "\"/dev/zero\": the file must not be larger than 1 MiB");
  const std::string most = "{" + two_nodes + "}";
  const std::string largest = file(most + std::string((1 << 20) - most.size(), ' '));
  EXPECT_EQ(error_of(Options::from_file(largest)), "no error");
  std::ofstream(largest, std::ios::app) << ' ';
  EXPECT_TRUE(contains(error_of(Options::from_file(largest)), "must not be larger than 1 MiB"));
  const std::string wrong = file("{" + two_nodes + R"(, "ttl": 5})");
  EXPECT_TRUE(starts(error_of(Options::from_file(wrong)), "\"" + wrong + "\": ttl is 5: "));
  EXPECT_TRUE(
      starts(error_of(Options::from_file(file("{}"))), "\"" + wrong + "\": nodes is missing"));
}

TEST_F(Settings, TakesTheFileThatTheEnvironmentNames) {
  // Only QUORUMLOCK_CONFIG is set.
  ::setenv("QUORUMLOCK_CONFIG", file("{" + two_nodes + R"(, "ttl": "5s"})").c_str(), 1);
  const Options options = Options::from_env().value();
  EXPECT_EQ(options.ttl, 5s);
  EXPECT_EQ(options.nodes.size(), 2U);
}

TEST_F(Settings, TakesTheNodesThatTheEnvironmentNames) {
  // Only QUORUMLOCK_NODES is set: every other option has its default.
  ::setenv("QUORUMLOCK_NODES", "redis://h1,redis://u:hunter2@h2:7,unix:///a", 1);
  const Options options = Options::from_env().value();
  EXPECT_EQ(options.nodes,
            (std::vector<std::string>{"redis://h1", "redis://u:hunter2@h2:7", "unix:///a"}));
  EXPECT_EQ(options.ttl, 10s);
}

TEST_F(Settings, LetsTheEnvironmentsNodesReplaceTheFiles) {
  // Both are set: the file's nodes are ignored and may be missing, but must not be invalid.
  ::setenv("QUORUMLOCK_NODES", "redis://h1", 1);
  for (const std::string& text :
       {"{" + two_nodes + R"(, "ttl": "5s"})", std::string(R"({"ttl": "5s"})")}) {
    ::setenv("QUORUMLOCK_CONFIG", file(text).c_str(), 1);
    const Options options = Options::from_env().value();
    EXPECT_EQ(options.nodes, (std::vector<std::string>{"redis://h1"}));
    EXPECT_EQ(options.ttl, 5s);
  }
  const std::string path = file(R"({"nodes": 5})");
  EXPECT_TRUE(
      starts(error_of(Options::from_env()), "QUORUMLOCK_CONFIG \"" + path + "\": nodes is 5:"));
}

TEST_F(Settings, NamesBothVariablesIfNeitherIsSet) {
  // A new user sees this error first.
  EXPECT_EQ(error_of(Options::from_env()),
            "neither QUORUMLOCK_CONFIG nor QUORUMLOCK_NODES is set: set the one to the path of a "
            "JSON file with the options, or the other to the nodes' URLs, separated by commas");
}

TEST_F(Settings, RefusesVariablesThatAreEmpty) {
  // An empty variable is more likely a mistake of a script than a wish for the default.
  ::setenv("QUORUMLOCK_NODES", "", 1);
  EXPECT_EQ(error_of(Options::from_env()),
            "QUORUMLOCK_NODES: the list is empty: name the nodes' URLs, or do not set it");
  ::unsetenv("QUORUMLOCK_NODES");
  ::setenv("QUORUMLOCK_CONFIG", "", 1);
  EXPECT_EQ(error_of(Options::from_env()),
            "QUORUMLOCK_CONFIG \"\": the file cannot be read: No such file or directory");
}

TEST_F(Settings, NamesTheVariableThatABadUrlCameFrom) {
  // The list is used without a file, and together with one.
  ::setenv("QUORUMLOCK_NODES", "redis://h1,redis://u:hunter2@h2:0", 1);
  EXPECT_TRUE(starts(error_of(Options::from_env()),
                     "QUORUMLOCK_NODES: nodes[1]: \"redis://***@h2:0\" has a bad port"));
  const std::string path = file("{}");
  ::setenv("QUORUMLOCK_CONFIG", path.c_str(), 1);
  EXPECT_TRUE(
      starts(error_of(Options::from_env()),
             "QUORUMLOCK_CONFIG \"" + path + "\" with the nodes of QUORUMLOCK_NODES: nodes[1]: "));
}

TEST_F(Settings, NeverTakesTheRestOfAPasswordForAUrl) {
  // A comma in the password splits it. Spaces and extra commas give the same error.
  for (const char* list :
       {"redis://u:a,hunter2@h", "redis://u:1,hunter2,b@h", "redis://h1, redis://h2", "redis://h1,",
        "redis://h1,,redis://h2", "redis://h1,h2:7101"}) {
    ::setenv("QUORUMLOCK_NODES", list, 1);
    EXPECT_EQ(error_of(Options::from_env()),
              "QUORUMLOCK_NODES: what stands behind comma 1 must be another URL, redis://host:port "
              "or unix:///path, without a space; a comma in a password is written %2C");
  }
  ::setenv("QUORUMLOCK_NODES", "127.0.0.1:7101", 1);
  EXPECT_TRUE(starts(error_of(Options::from_env()),
                     "QUORUMLOCK_NODES: nodes[0]: \"127.0.0.1:7101\" is not a node's URL"));
}

TEST_F(Settings, RefusesSentinelsWithoutAName) {
  for (const char* const list :
       {"redis://h1,redis+sentinel://a:1,b,[::1]:3/s", "rediss+sentinel://a:1,b/s"}) {
    ::setenv("QUORUMLOCK_NODES", list, 1);
    EXPECT_EQ(error_of(Options::from_env()),
              "QUORUMLOCK_NODES: a node that is found through Sentinels needs a name, since other "
              "Sentinels may call another service the same: give its URL and its name in a "
              "configuration file");
  }
}

TEST_F(Settings, HidesAUrlThatWasTakenForAFile) {
  // The two variables were confused.
  ::setenv("QUORUMLOCK_CONFIG", "redis://u:hunter2@h", 1);
  EXPECT_EQ(error_of(Options::from_env()),
            "QUORUMLOCK_CONFIG \"***\": the file cannot be read: No such file or directory");
}

}  // namespace
}  // namespace quorumlock
