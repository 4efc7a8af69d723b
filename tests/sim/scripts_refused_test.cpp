#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/cluster.hpp"
#include "verbs/scripts.hpp"

// A real server refuses the last command of a script to its user. The keys that this leaves must
// expire, even if no client releases them.
namespace quorumlock::sim {
namespace {

using Words = std::vector<std::string>;

class ScriptsRefused : public testing::Test {
 protected:
  void SetUp() override {
    (void)control_({"ACL", "SETUSER", "hasty", "on", "nopass", "~*", "+@all", "-pexpire"});
    ASSERT_FALSE(hasty_({"AUTH", "hasty", "any"}).is_error());
    (void)control_({"SET", "quorumlock:enrolment", "ours"});
  }
  /// `rest` has the arguments after the token.
  void expect_nothing_left(const redis::Script& script, const Words& locks, const Words& rest) {
    Words words = {"EVAL", std::string(script.source)};
    words.push_back(std::to_string(2 * locks.size()));
    words.insert(words.end(), locks.begin(), locks.end());
    for (const std::string& lock : locks) words.push_back(lock + "/counter");
    words.emplace_back("mine");
    words.insert(words.end(), rest.begin(), rest.end());
    EXPECT_TRUE(hasty_(words).is_error());
    for (const std::string& lock : locks) EXPECT_EQ(readers(lock), Words{});

    // A user with all rights gets the lock with the same words, and keeps it.
    Words others = words;
    others[words.size() - rest.size() - 1] = "other";
    others[words.size() - rest.size()] = "5000";
    const test::Reply granted = control_(others);
    ASSERT_FALSE(granted.elements.empty()) << granted.text;
    EXPECT_EQ(granted.elements[0].integer, 1);
    EXPECT_TRUE(hasty_(words).is_error());
    for (const std::string& lock : locks) EXPECT_EQ(readers(lock), Words{"other"});
  }

 private:
  Words readers(const std::string& lock) {
    Words found;
    for (const test::Reply& each :
         control_({"ZRANGE", "quorumlock:readers:" + lock, "0", "-1"}).elements) {
      found.push_back(each.text);
    }
    return found;
  }

  test::Cluster cluster_{{.size = 1, .enrolled = false}};
  test::Redis control_{cluster_.server(0).url()};
  test::Redis hasty_{cluster_.server(0).url()};  ///< its user may not set expiries
};

TEST_F(ScriptsRefused, AReaderLeavesNoKeyWithoutExpiry) {
  expect_nothing_left(
      redis::acquire_all_script, {"lock"},
      {"30000", "0", "0", "0", "", "0", "0", "r", "0", "0", "ours", "0", "9000", "9000"});
}

TEST_F(ScriptsRefused, AReaderOfSeveralLeavesNoKeyWithoutExpiry) {
  expect_nothing_left(
      redis::acquire_all_script, {"one", "two"},
      {"30000", "0", "0", "0", "", "0", "0", "r", "0", "0", "ours", "0", "9000", "9000"});
}

}  // namespace
}  // namespace quorumlock::sim
