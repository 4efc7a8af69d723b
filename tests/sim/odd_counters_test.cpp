#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "redis/scripts.hpp"
#include "support/cluster.hpp"

// Runs each script that reads a fencing counter on a real server, with a counter that is not a
// number, or is one that no script writes.
namespace quorumlock::sim {
namespace {

using Words = std::vector<std::string>;

struct Call {
  const char* name;
  const redis::Script& script;
  Words keys;
  Words arguments;
};

const std::vector<Call>& calls() {
  const Words one = {"lock", "quorumlock:fence:lock", "terms"};
  const Words two = {"other", "lock", "quorumlock:fence:other", "quorumlock:fence:lock", "terms"};
  const Words permit = {"quorumlock:semaphore:lock", "quorumlock:fence:lock", "terms"};
  const Words slot = {"quorumlock:permit:1:lock", "quorumlock:fence:lock", "terms",
                      "quorumlock:semaphore:lock"};
  static const std::vector<Call> all = {
      {"acquire", redis::acquire_script, one, {"mine", "9000", "0", "7", "9000", "ours", "0"}},
      {"acquire of several, one after another",
       redis::acquire_script,
       {"terms"},
       {"9000", "7", "9000", "lock", "mine", "0", "ours", "0"}},
      {"acquire_ordered",
       redis::acquire_ordered_script,
       one,
       {"mine", "9000", "0", "7", "9000", "w1234567890123456.1", "1", "9000", "ours", "0"}},
      {"acquire_shared",
       redis::acquire_shared_script,
       one,
       {"mine", "9000", "0", "7", "9000", "", "0", "9000", "ours", "0"}},
      {"acquire_all",
       redis::acquire_all_script,
       two,
       {"mine", "9000", "0", "7", "9000", "", "0", "9000", "w", "ours", "0"}},
      {"acquire_permit",
       redis::acquire_permit_script,
       permit,
       {"mine", "9000", "0", "7", "9000", "1", "", "0", "9000", "1", "2", "ours", "0"}},
      {"raise", redis::raise_script, one, {"mine", "7", "9000", "ours", "0"}},
      {"raise_all", redis::raise_all_script, two, {"mine", "7", "9000", "ours", "0"}},
      {"renew_shared",
       redis::renew_shared_script,
       one,
       {"mine", "9000", "7", "1", "9000", "9000000000000000", "ours", "0"}},
      {"renew_all",
       redis::renew_all_script,
       two,
       {"mine", "9000", "7", "1", "9000", "w", "9000000000000000", "ours", "0"}},
      {"renew_permit",
       redis::renew_permit_script,
       slot,
       {"mine", "9000", "7", "1", "9000", "2", "9000000000000000", "ours", "0"}}};
  return all;
}

class OddCounters : public testing::TestWithParam<const char*> {
 protected:
  void begin() {
    (void)server_({"FLUSHALL"});
    (void)server_({"SET", "terms", "ours"});
    (void)server_({"SET", "quorumlock:fence:lock", GetParam()});
  }
  test::Reply call(const redis::Script& script, const Words& keys, const Words& arguments) {
    Words words = {"EVAL", std::string(script.source), std::to_string(keys.size())};
    words.insert(words.end(), keys.begin(), keys.end());
    words.insert(words.end(), arguments.begin(), arguments.end());
    return server_(words);
  }
  /// Expects that only the keys that begin() has set are there.
  void expect_nothing_was_done() {
    EXPECT_EQ(server_({"DBSIZE"}).integer, 2);
    EXPECT_EQ(server_({"GET", "quorumlock:fence:lock"}).text, GetParam());
  }

 private:
  test::Cluster cluster_{{.size = 1, .enrolled = false}};
  test::Redis server_{cluster_.server(0).url()};
};

TEST_P(OddCounters, ScriptsReturnAnErrorAndNoTokenOrLock) {
  for (const Call& each : calls()) {
    SCOPED_TRACE(each.name);
    begin();
    test::Reply reply = call(each.script, each.keys, each.arguments);
    if (!reply.is_error() && reply.elements.size() > 1) reply = test::Reply(reply.elements[1]);
    EXPECT_TRUE(reply.is_error());
    EXPECT_EQ(reply.text, "ERR quorumlock: the fencing counter is not a whole number below 2^53");
    expect_nothing_was_done();
  }
}

TEST_P(OddCounters, NoRenewalSetsTheLockAnew) {
  // A renewal of several locks goes on with the others: the lock is gone from this node.
  begin();
  const test::Reply reply =
      call(redis::renew_script, {"terms", "lock"},
           {"9000", "1", "9000", "mine", "7", "9000000", "9000000000000000", "ours", "0"});
  ASSERT_EQ(reply.elements.size(), 2U) << reply.text;
  EXPECT_EQ(reply.elements[1].text, "3");
  expect_nothing_was_done();
}

INSTANTIATE_TEST_SUITE_P(Each, OddCounters,
                         testing::Values("nan", "-nan", "inf", "-inf", "-1", "1e300", "1.5", "x",
                                         "", "9007199254740992"));

}  // namespace
}  // namespace quorumlock::sim
