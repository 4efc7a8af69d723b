#include <gmock/gmock.h>

#include <string>

#include "integration/fixture.hpp"

// The label of a holder, which people read.
namespace quorumlock::test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

class Label : public FiveNodes {
 protected:
  static Coordinator labelled(std::string label) {
    Options its = options();
    its.label = std::move(label);
    return test::connect(std::move(its));
  }
  Coordinator other = connect();
};

TEST_F(Label, IsPartOfTheTokenOnEveryNode) {
  Coordinator web = labelled("web 3");
  const Lease lease = web.acquire(key).value();
  const std::string token = lease.owner_token();
  EXPECT_EQ(OwnerToken(token).label(), "web_3");
  EXPECT_TRUE(eventually([&] { return cluster().holders(key, token) == 5; }));
  const Inspection seen = other.inspect(key).value();
  EXPECT_EQ(seen.holder, token);
  EXPECT_EQ(seen.label, "web_3");
  EXPECT_TRUE(seen.held_for.has_value());
  EXPECT_TRUE(ok(other.release(key, OwnerToken(token))));
}

TEST_F(Label, OfTheHolderIsInTheErrorOfARefusedLock) {
  Coordinator web = labelled("web-3:812");
  const Lease lease = web.acquire(key).value();
  ASSERT_TRUE(eventually([&] { return cluster().holders(key, lease.owner_token()) == 5; }));
  const std::string named = "held by web-3:812 for [0-9]+ m?s";
  EXPECT_THAT(other.acquire(key).error().what(), ContainsRegex(named));
  EXPECT_THAT(other.acquire(key, {.mode = LockMode::shared}).error().what(), ContainsRegex(named));
  EXPECT_THAT(other.acquire_all({key, key + "/free"}).error().what(), ContainsRegex(named));
  const Error waited = other.acquire(key, {.wait = 1500ms}).error();
  EXPECT_EQ(waited.code(), Errc::timed_out);
  EXPECT_THAT(waited.what(), ContainsRegex("the wait ran out while the lock was " + named));
}

TEST_F(Label, OfManyRefusedAtOnceIsTheHolders) {
  // Refused attempts that come together go to the nodes in one command.
  Coordinator web = labelled("web-3:812");
  const Lease lease = web.acquire(key).value();
  ASSERT_TRUE(eventually([&] { return cluster().holders(key, lease.owner_token()) == 5; }));
  std::vector<Answer<Result<Lease>>> answers(20);
  on_loop(other, [&] {
    for (auto& answer : answers) other.async_acquire(key, {}, {}, answer.handler());
  });
  for (auto& answer : answers) {
    EXPECT_THAT(answer.get().error().what(), HasSubstr("held by web-3:812"));
  }
}

TEST_F(Label, IsNotRequired) {
  // A holder without a label is named by its first digits, which release nothing.
  Coordinator unnamed = labelled("");
  const Lease lease = unnamed.acquire(key).value();
  EXPECT_EQ(lease.owner_token().text().size(), 40U);
  ASSERT_TRUE(eventually([&] { return cluster().holders(key, lease.owner_token()) == 5; }));
  const std::string refused = other.acquire(key).error().what();
  EXPECT_THAT(refused,
              HasSubstr("held by the token " + lease.owner_token().text().substr(0, 8) + "..."));
  EXPECT_THAT(refused, Not(HasSubstr(lease.owner_token())));
}

TEST_F(Label, OfAnotherLibraryIsNeverShown) {
  for (int node = 0; node < 5; ++node) {
    cluster().raw(node, {"SET", key, "theirs", "NX", "PX", "60000"});
  }
  EXPECT_THAT(other.acquire(key).error().what(),
              HasSubstr("held by another program's value (a string of 6 bytes), which expires in"));
  EXPECT_EQ(other.inspect(key).value().label, "");
}

}  // namespace
}  // namespace quorumlock::test
