#include <set>
#include <string>
#include <vector>

#include "integration/fixture.hpp"

// What is asked for in one turn of the loop goes to each node as one call of a script.
namespace quorumlock::test {
namespace {

class Burst : public FiveNodes {
 protected:
  void TearDown() override { cluster().raw_everywhere({"ACL", "SETUSER", "default", "allkeys"}); }

  /// The results of acquiring all of these in one turn.
  static std::vector<Result<Lease>> acquire(Coordinator& coordinator,
                                            const std::vector<std::string>& resources) {
    std::vector<Answer<Result<Lease>>> answers(resources.size());
    on_loop(coordinator, [&] {
      for (std::size_t i = 0; i < resources.size(); ++i) {
        coordinator.async_acquire(resources[i], {}, {}, answers[i].handler());
      }
    });
    std::vector<Result<Lease>> results;
    for (Answer<Result<Lease>>& answer : answers) results.push_back(answer.get());
    return results;
  }
  /// How many scripts this node has run by name.
  static long scripts_run(int node) {
    const std::string stats = cluster().raw(node, {"INFO", "commandstats"}).text;
    const std::string_view name = "cmdstat_evalsha:calls=";
    const std::size_t at = stats.find(name);
    return at == stats.npos ? 0 : std::stol(stats.substr(at + name.size()));
  }
};

TEST_F(Burst, IsOneCallForManyLocks) {
  // Forty locks: 32 in one call and 8 in another, beside the two of the lock in whose handler they
  // are asked for.
  Coordinator coordinator = connect();
  warm(coordinator);
  std::vector<std::string> resources;
  for (int i = 0; i < 40; ++i) resources.push_back(key + "/" + std::to_string(i));
  const long before = scripts_run(0);
  std::vector<Result<Lease>> leases = acquire(coordinator, resources);
  for (const Result<Lease>& lease : leases) ASSERT_TRUE(ok(lease));
  const auto have_all = [&] {
    for (const std::string& resource : resources) {
      if (cluster().holders(resource) != 5) return false;
    }
    return cluster().holders(resource_of_this_test("door")) == 0;
  };
  ASSERT_TRUE(eventually(have_all));
  EXPECT_EQ(scripts_run(0) - before, 4);

  std::set<std::uint64_t> fences;
  for (const Result<Lease>& lease : leases) {
    EXPECT_GE(lease->outcome().count(Vote::granted), 3);
    fences.insert(lease->fencing_token());
  }
  EXPECT_FALSE(fences.contains(0));
  const long held = scripts_run(0);
  on_loop(coordinator, [&] {
    for (Result<Lease>& lease : leases) lease->async_release([](const Result<void>&) {});
  });
  ASSERT_TRUE(eventually([&] { return cluster().keys().empty(); }));
  // The lock in whose handler they are released goes with them; it is got without a script.
  EXPECT_EQ(scripts_run(0) - held, 2);
}

TEST_F(Burst, WithOneThatAnotherHasGetsTheOthers) {
  // Also with the same one twice.
  Coordinator other = connect();
  const Result<Lease> held = other.acquire(key + "/2");
  ASSERT_TRUE(ok(held));
  Coordinator coordinator = connect();
  const std::vector<Result<Lease>> got =
      acquire(coordinator, {key + "/1", key + "/2", key + "/3", key + "/3"});
  EXPECT_TRUE(ok(got[0]));
  EXPECT_TRUE(fails_with(got[1], Errc::contended));
  EXPECT_TRUE(ok(got[2]));
  EXPECT_TRUE(fails_with(got[3], Errc::contended));
  EXPECT_GT(got[2]->fencing_token(), 0U);
}

TEST_F(Burst, WithOneThatMayNotBeTouchedGetsTheOthers) {
  // This user has not all keys. A server refuses a call that names one of the others as a key.
  cluster().raw_everywhere(
      {"ACL", "SETUSER", "default", "resetkeys", "~" + key + "*", "~quorumlock:*"});
  Coordinator coordinator = connect();
  std::vector<Result<Lease>> got =
      acquire(coordinator, {key + "/1", "elsewhere", key + "/2", key + "/3"});
  ASSERT_TRUE(fails_with(got[1], Errc::no_quorum));
  EXPECT_GE(got[1].error().outcome().count(Vote::unauthorized), 3);
  got.erase(got.begin() + 1);
  for (const Result<Lease>& each : got) ASSERT_TRUE(ok(each));
  on_loop(coordinator, [&] {
    for (Result<Lease>& each : got) each->async_release([](const Result<void>&) {});
  });
  ASSERT_TRUE(eventually([&] { return cluster().keys().empty(); }));
}

}  // namespace
}  // namespace quorumlock::test
