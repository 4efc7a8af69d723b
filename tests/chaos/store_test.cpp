#include "chaos/store.hpp"

#include <gtest/gtest.h>

#include "support/cluster.hpp"

namespace quorumlock::chaos {
namespace {

struct StoreFenced : testing::Test {
  test::TemporaryDirectory directory;
  Store store{directory.path() / "store", true};
  StoreClient early{directory.path() / "store"};
  StoreClient late{directory.path() / "store"};
};

TEST_F(StoreFenced, RefusesASmallerToken) {
  EXPECT_TRUE(early.write("r", "a", 0, 10));
  EXPECT_TRUE(late.write("r", "b", 1, 11));
  EXPECT_FALSE(early.write("r", "a", 0, 10));
  EXPECT_TRUE(late.write("r", "b", 1, 11));
}

TEST_F(StoreFenced, TakesAnEqualTokenFromItsOwnerOnly) {
  EXPECT_TRUE(early.write("r", "a", 0, 10));
  EXPECT_FALSE(late.write("r", "b", 1, 10));
  EXPECT_TRUE(early.write("r", "a", 0, 10));
}

TEST_F(StoreFenced, KeepsResourcesApart) {
  EXPECT_TRUE(early.write("r", "a", 0, 10));
  EXPECT_TRUE(late.write("s", "b", 1, 5));
}

TEST_F(StoreFenced, RemembersAllWritesInTheirOrder) {
  early.write("r", "a", 0, 10);
  late.write("r", "b", 1, 9);
  const std::vector<Write> writes = store.writes();
  ASSERT_EQ(writes.size(), 2U);
  EXPECT_TRUE(writes[0].accepted);
  EXPECT_FALSE(writes[1].accepted);
  EXPECT_EQ(writes[1].greatest, 10U);
  EXPECT_EQ(writes[1].worker, 1);
  EXPECT_LE(writes[0].at, writes[1].at);
}

TEST(StoreUnfenced, TakesEverything) {
  const test::TemporaryDirectory directory;
  Store store(directory.path() / "store", false);
  StoreClient client(directory.path() / "store");
  EXPECT_TRUE(client.write("r", "b", 1, 11));
  EXPECT_TRUE(client.write("r", "a", 0, 10));
}

}  // namespace
}  // namespace quorumlock::chaos
