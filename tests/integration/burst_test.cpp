#include <functional>
#include <set>
#include <string>
#include <vector>

#include "integration/fixture.hpp"

// The requests of one turn of the loop go to each node as one call of a script.
namespace quorumlock::test {
namespace {

class Burst : public FiveNodes {
 protected:
  void TearDown() override {
    cluster().raw_everywhere({"ACL", "SETUSER", cluster().user(), "allkeys"});
  }

  /// Acquires all of these in one turn, which begins with `first`, and returns the results.
  static std::vector<Result<Lease>> acquire(
      Coordinator& coordinator, const std::vector<std::string>& resources,
      const LockOptions& how = {}, const std::function<void()>& first = [] {}) {
    std::vector<Answer<Result<Lease>>> answers(resources.size());
    on_loop(coordinator, [&] {
      first();
      for (std::size_t i = 0; i < resources.size(); ++i) {
        coordinator.async_acquire(resources[i], how, {}, answers[i].handler());
      }
    });
    std::vector<Result<Lease>> results;
    for (Answer<Result<Lease>>& answer : answers) results.push_back(answer.get());
    return results;
  }
  [[nodiscard]] std::vector<std::string> names(int count) const {
    std::vector<std::string> resources;
    for (int i = 0; i < count; ++i) resources.push_back(key + "/" + std::to_string(i));
    return resources;
  }
  /// Counts the requests that were never sent, and expects `words` in the reason of each of them.
  static int unsent(const std::vector<Result<Lease>>& results, const std::string& words) {
    int found = 0;
    for (const Result<Lease>& result : results) {
      if (result || result.error().code() != Errc::timed_out) continue;
      const std::string sentence = result.error().what();
      if (sentence.find("not sent within") == sentence.npos) continue;
      ++found;
      EXPECT_NE(sentence.find(words), sentence.npos) << sentence;
      EXPECT_NE(sentence.find(": it waited for "), sentence.npos) << sentence;
      EXPECT_NE(sentence.find("; wait longer, or ask for fewer at once"), sentence.npos)
          << sentence;
      EXPECT_EQ(sentence.find("held by another"), sentence.npos) << sentence;
      EXPECT_TRUE(result.error().outcome().votes.empty()) << "no node was asked";
    }
    return found;
  }
  /// Returns how many scripts this node has run by name.
  static long scripts_run(int node) {
    const std::string stats = cluster().raw(node, {"INFO", "commandstats"}).text;
    const std::string_view name = "cmdstat_evalsha:calls=";
    const std::size_t at = stats.find(name);
    return at == stats.npos ? 0 : std::stol(stats.substr(at + name.size()));
  }
};

TEST_F(Burst, IsOneCallForManyLocks) {
  // Forty locks go out as one call of 32 and one of 8, in addition to the two calls of the lock in
  // whose handler they are requested.
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
  // The lock in whose handler they are released goes out in the same calls.
  EXPECT_EQ(scripts_run(0) - held, 3);
}

TEST_F(Burst, GetsTheOtherLocksIfOneIsHeld) {
  // The set also names one resource twice.
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

TEST_F(Burst, GetsTheOtherLocksIfOneIsForbidden) {
  // This user may not access all keys. A server refuses a call that names any other key.
  cluster().raw_everywhere(
      {"ACL", "SETUSER", cluster().user(), "resetkeys", "~" + key + "*", "~quorumlock:*"});
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

TEST_F(Burst, GetsAllOfManyFreeLocks) {
  // Ten times as many locks as may be in flight are requested, and each is granted at its first
  // attempt.
  Coordinator coordinator = connect();
  warm(coordinator);
  std::vector<Result<Lease>> leases = acquire(coordinator, names(10'000), {.wait = forever});
  for (const Result<Lease>& lease : leases) ASSERT_TRUE(ok(lease));
  on_loop(coordinator, [&] {
    for (Result<Lease>& lease : leases) lease->async_release([](const Result<void>&) {});
  });
  ASSERT_TRUE(eventually([&] { return cluster().keys().empty(); }));
}

TEST_F(Burst, ManyLocksThatAreGivenBackAtOnceAreHandedOver) {
  // One process waits for each lock that another one holds, gets all of them, and loses no other
  // lease meanwhile. How much of that may be under way at once is for the tests of Admission and
  // the simulator's focus hand_overs, whose nodes are slow enough to show it.
  constexpr int locks = 10'000;
  Options patient = options();
  patient.ttl = 30s;
  Coordinator holder = test::connect(patient);
  warm(holder);
  std::vector<Result<Lease>> held = acquire(holder, names(locks), {.wait = forever});
  for (const Result<Lease>& lease : held) ASSERT_TRUE(ok(lease));
  Coordinator waiter = test::connect(patient);
  Result<Lease> kept = waiter.acquire(key + "/kept");
  ASSERT_TRUE(ok(kept));
  std::vector<Answer<Result<Lease>>> answers(locks);
  on_loop(waiter, [&] {
    for (int i = 0; i < locks; ++i) {
      waiter.async_acquire(key + "/" + std::to_string(i), {.wait = forever}, {},
                           answers[static_cast<std::size_t>(i)].handler());
    }
  });
  const std::string last = "quorumlock:queue:" + key + "/" + std::to_string(locks - 1);
  ASSERT_TRUE(eventually([&] { return cluster().raw(0, {"ZCARD", last}).integer == 1; }));
  held.clear();
  for (Answer<Result<Lease>>& answer : answers) {
    const Result<Lease> lease = answer.get();
    ASSERT_TRUE(ok(lease));
  }
  EXPECT_TRUE(kept->is_valid());
}

TEST_F(Burst, RequestsNotSentInTimeSaySo) {
  // The nodes do not answer, so that all requests in flight stay there. Later requests are never
  // sent: each fails when its wait ends, or at node_timeout if it has no wait.
  Options hasty = options();
  hasty.node_timeout = 2s;
  Coordinator coordinator = test::connect(hasty);
  warm(coordinator);
  const auto fill = [&] {
    for (const int node : {0, 1, 2, 3, 4}) cluster().pause(node);
    for (int i = 0; i < 1024; ++i) {
      coordinator.async_acquire(key + "/out/" + std::to_string(i), {.wait = 1h}, {},
                                [](const Result<Lease>&) {});
    }
  };
  EXPECT_EQ(
      unsent(acquire(coordinator, names(100), {.wait = 50ms}, fill), "not sent within its wait: "),
      100);
  cluster().heal();
  warm(coordinator);
  EXPECT_GE(
      unsent(acquire(coordinator, names(100), {}, fill), "not sent within node_timeout (2s): "), 1);
  cluster().heal();
}

}  // namespace
}  // namespace quorumlock::test
