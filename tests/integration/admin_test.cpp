#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include <quorumlock/admin.hpp>

#include "integration/fixture.hpp"

// What the operator's calls say when they cannot do what they are asked.

namespace quorumlock::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Admin : public FiveNodes {
 protected:
  /// The results of all calls that return nothing but success.
  static std::vector<Result<void>> all_calls(const Coordinator& coordinator) {
    const Result<LockList> list = list_locks(coordinator);
    return {vouch_for_nodes(coordinator), forget_counters(coordinator, {"x"}),
            enroll_new(coordinator), list ? Result<void>() : list.error()};
  }
};

TEST_F(Admin, NoCallWaitsForItsOwnThread) {
  Coordinator coordinator = connect();
  on_loop(coordinator, [&coordinator] {
    for (const Result<void>& result : all_calls(coordinator)) {
      EXPECT_TRUE(fails_with(result, Errc::would_deadlock));
    }
  });
}

TEST_F(Admin, NoCallSucceedsOnACoordinatorThatIsGone) {
  Coordinator closed = connect();
  closed.close();
  Coordinator moved = connect();
  const Coordinator to = std::move(moved);
  for (const Coordinator* const gone : {&closed, &moved}) {
    for (const Result<void>& result : all_calls(*gone)) {
      EXPECT_TRUE(fails_with(result, Errc::closed));
    }
  }
}

TEST_F(Admin, ANodeThatKeepsACounterIsNamed) {
  // The counters of a resource are deleted on the nodes that let us; one says no, and one is down.
  Coordinator coordinator = connect();
  const std::string counter = "quorumlock:fence:" + key;
  ASSERT_TRUE(ok(coordinator.acquire(key, {.wait = 20s}).value().release()));
  ASSERT_TRUE(eventually([&] { return cluster().holders(counter) == 5; }));
  cluster().raw(1, {"ACL", "SETUSER", "default", "-del"});
  const Result<void> refused = forget_counters(coordinator, {key});
  cluster().raw(1, {"ACL", "SETUSER", "default", "+del"});
  ASSERT_TRUE(fails_with(refused, Errc::misconfigured));
  EXPECT_THAT(refused.error().what(), AllOf(HasSubstr(cluster().urls()[1] + ": NOPERM"),
                                            ::testing::Not(HasSubstr(cluster().urls()[0]))));
  EXPECT_EQ(cluster().holders(counter), 1);

  EXPECT_TRUE(ok(forget_counters(coordinator, {key})));
  EXPECT_EQ(cluster().holders(counter), 0);

  cluster().kill(4);
  const Result<void> missed = forget_counters(coordinator, {key});
  ASSERT_TRUE(fails_with(missed, Errc::no_quorum));
  EXPECT_THAT(missed.error().what(), HasSubstr(cluster().urls()[4]));
}

}  // namespace
}  // namespace quorumlock::test
