#include <vector>

#include "integration/fixture.hpp"

namespace quorumlock::test {
namespace {

/// Clusters of every common size, and of the even ones that are not advisable.
class SizesOfCluster : public ::testing::TestWithParam<int> {
 protected:
  Cluster cluster{{.size = GetParam()}};
  const std::string key = "resource";
};

TEST_P(SizesOfCluster, LocksAndReleases) {
  // The token is on all nodes, a second attempt is contended, and release deletes the keys.
  Coordinator coordinator = connect(cluster.options());
  Result<Lease> lease = coordinator.acquire(key);
  ASSERT_TRUE(ok(lease));
  EXPECT_TRUE(eventually([&] { return cluster.holders(key, lease->owner_token()) == GetParam(); }));
  EXPECT_TRUE(fails_with(coordinator.acquire(key), Errc::contended));
  EXPECT_TRUE(ok(lease->release()));
  EXPECT_TRUE(eventually([&] { return cluster.keys().empty(); }));
}

TEST_P(SizesOfCluster, SettlesForAnyNumberOfForeignValues) {
  // An even split is decided at once, too: the lock is contended, and our keys are deleted.
  Coordinator coordinator = connect(cluster.options());
  for (int foreign = 0; foreign <= GetParam(); ++foreign) {
    SCOPED_TRACE(foreign);
    if (foreign > 0) cluster.plant(foreign - 1, key);
    Result<Lease> lease = coordinator.acquire(key);
    if (GetParam() - foreign >= cluster.quorum()) {
      ASSERT_TRUE(ok(lease));
      EXPECT_TRUE(ok(lease->release()));
    } else {
      EXPECT_TRUE(fails_with(lease, Errc::contended));
      EXPECT_EQ(lease.error().outcome().quorum, GetParam() / 2 + 1);
    }
    EXPECT_TRUE(eventually([&] { return cluster.holders(key) == foreign; }));
  }
}

TEST_P(SizesOfCluster, NeedsMoreThanHalfOfTheConfiguredNodes) {
  // The quorum counts the configured nodes, not those that are up.
  for (int up = GetParam(); up >= 0; --up) {
    SCOPED_TRACE(up);
    Coordinator coordinator = connect(cluster.options());
    Result<Lease> lease = coordinator.acquire(key);
    if (up >= cluster.quorum()) {
      ASSERT_TRUE(ok(lease));
      EXPECT_TRUE(ok(lease->release()));
    } else {
      EXPECT_TRUE(fails_with(lease, Errc::no_quorum));
    }
    EXPECT_TRUE(eventually([&] { return cluster.keys().empty(); }));
    if (up > 0) cluster.kill(up - 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, SizesOfCluster, ::testing::Values(1, 2, 3, 4, 6, 7));

TEST(Sizes, ThirtyTwoNodesAreTheMaximum) {
  // 32 nodes are the maximum: with fifteen dead there are just enough; one node more is refused.
  Cluster cluster({.size = 17});
  Options options = cluster.options();
  while (options.nodes.size() < 32) {
    options.nodes.push_back("unix:///nowhere/" + std::to_string(options.nodes.size()));
  }
  cluster.enrol_for(options.nodes);
  Coordinator coordinator = connect(options);
  Result<Lease> lease = coordinator.acquire("resource");
  ASSERT_TRUE(ok(lease));
  EXPECT_EQ(lease->outcome().quorum, 17);
  EXPECT_TRUE(ok(lease->extend(20s)));
  EXPECT_TRUE(ok(lease->release()));
  options.nodes.push_back("unix:///nowhere/33");
  EXPECT_TRUE(fails_with(Coordinator::create(options), Errc::invalid_argument));
}

}  // namespace
}  // namespace quorumlock::test
