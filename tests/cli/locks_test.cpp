#include "cli/fixture.hpp"

namespace quorumlock::test {
namespace {

class Locks : public CommandLine {
 protected:
  json listed(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"--json", "locks"});
    const Ended ended = run(more);
    EXPECT_EQ(ended.code, 0) << ended.err;
    return json::parse(ended.out);
  }
};

TEST_F(Locks, ListsWhatAQuorumHoldsAndForWhom) {
  EXPECT_EQ(listed().at("locks"), json::array());
  std::string token = run({"acquire", "--ttl", "20s", "orders:1"}).out;
  token.pop_back();
  ASSERT_EQ(run({"acquire", "--ttl", "20s", "stock:1"}).code, 0);
  cluster.plant(0, "minority");
  cluster.raw(1, {"SET", "cache", "of another program"});
  const json document = listed();
  EXPECT_TRUE(document.at("complete"));
  ASSERT_EQ(document.at("locks").size(), 2) << document.dump(2);
  const json& lock = document.at("locks")[0];
  EXPECT_EQ(lock.at("resource"), "orders:1");
  EXPECT_EQ(lock.at("mode"), "exclusive");
  EXPECT_EQ(lock.at("label"), token.substr(41));
  EXPECT_EQ(lock.at("token_begin"), token.substr(0, 8));
  EXPECT_EQ(lock.at("nodes"), 3);
  EXPECT_GE(lock.at("held_for_ms"), 0);
  EXPECT_GT(lock.at("expires_in_ms"), 0);
  EXPECT_EQ(lock.at("waiters"), 0);
  EXPECT_GT(lock.at("fencing_token"), 0);
  EXPECT_EQ(listed({"stock:*"}).at("locks").size(), 1);
  // People see the same, and nobody sees a whole token.
  const Ended table = run({"locks"});
  EXPECT_THAT(table.out, HasSubstr("orders:1  exclusive  " + token.substr(41) + " (" +
                                   token.substr(0, 8) + "...)"));
  EXPECT_THAT(table.out, HasSubstr("2 held"));
  EXPECT_THAT(table.out, testing::Not(HasSubstr(token.substr(0, 40))));
}

TEST_F(Locks, SaysIfThereAreMoreThanItLists) {
  for (const char* resource : {"a", "b", "c"}) {
    ASSERT_EQ(run({"acquire", "--ttl", "20s", resource}).code, 0);
  }
  const json document = listed({"--limit", "1"});
  EXPECT_FALSE(document.at("complete"));
  EXPECT_THAT(run({"locks", "--limit", "1"}).out,
              HasSubstr("there are more than 1: give a PATTERN"));
  EXPECT_EQ(run({"locks", "--limit", "0"}).code, 64);
}

TEST_F(Locks, FindsAKeyAmongThousands) {
  // Each node is looked at page by page.
  for (int node = 0; node < 3; ++node) {
    cluster.raw(node, {"EVAL",
                       "for i = 1, 3000 do redis.call('SET', 'cache:' .. i, string.rep('x', 50)) "
                       "end",
                       "0"});
  }
  ASSERT_EQ(run({"acquire", "--ttl", "20s", "orders"}).code, 0);
  EXPECT_EQ(listed().at("locks").size(), 1);
}

}  // namespace
}  // namespace quorumlock::test
