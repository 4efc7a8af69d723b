#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "integration/fixture.hpp"

namespace quorumlock::test {
namespace {

constexpr const char* compare_and_delete =
    "if redis.call('get', KEYS[1]) == ARGV[1] then "
    "return redis.call('del', KEYS[1]) else return 0 end";

/// A client of the same algorithm as in other libraries: SET NX PX everywhere, a majority wins,
/// compare-and-delete everywhere.
class ForeignClient {
 public:
  explicit ForeignClient(const std::vector<std::string>& urls) {
    for (const std::string& url : urls) nodes_.push_back(std::make_unique<Redis>(url));
  }
  bool lock(const std::string& key, const std::string& token) {
    std::size_t granted = 0;
    for (auto& node : nodes_) {
      granted += (*node)({"SET", key, token, "NX", "PX", "10000"}).text == "OK" ? 1 : 0;
    }
    if (granted > nodes_.size() / 2) return true;
    (void)unlock(key, token);
    return false;
  }
  std::size_t unlock(const std::string& key, const std::string& token) {
    std::size_t deleted = 0;
    for (auto& node : nodes_) {
      deleted += (*node)({"EVAL", compare_and_delete, "1", key, token}).integer == 1 ? 1 : 0;
    }
    return deleted;
  }

 private:
  std::vector<std::unique_ptr<Redis>> nodes_;
};

class Foreign : public FiveNodes {};

TEST_F(Foreign, ClientsExcludeEachOther) {
  // Our client and a foreign one exclude each other, and each gets the lock after the other's
  // release.
  ForeignClient foreign(cluster().plain_urls());
  Coordinator coordinator = connect();
  Result<Lease> lease = coordinator.acquire(key);
  ASSERT_TRUE(ok(lease));
  ASSERT_TRUE(eventually([&] { return cluster().holders(key) == 5; }));
  EXPECT_FALSE(foreign.lock(key, "its token"));
  EXPECT_EQ(foreign.unlock(key, "its token"), 0U);
  EXPECT_EQ(cluster().holders(key, lease->owner_token()), 5);
  EXPECT_TRUE(ok(lease->release()));
  ASSERT_TRUE(eventually([&] { return cluster().holders(key) == 0; }));
  EXPECT_TRUE(foreign.lock(key, "its token"));
  EXPECT_TRUE(fails_with(coordinator.acquire(key), Errc::contended));
  EXPECT_EQ(foreign.unlock(key, "its token"), 5U);
  EXPECT_TRUE(ok(coordinator.acquire(key)));
}

TEST_F(Foreign, ClientsMayReleaseByOurToken) {
  // A client that has our token may compare and delete with it: our release then reports a lost
  // lease.
  ForeignClient foreign(cluster().plain_urls());
  Coordinator coordinator = connect();
  Lease lease = coordinator.acquire(key).value();
  ASSERT_TRUE(eventually([&] { return cluster().holders(key) == 5; }));
  EXPECT_EQ(foreign.unlock(key, lease.owner_token()), 5U);
  EXPECT_TRUE(fails_with(lease.release(), Errc::lost));
}

TEST_F(Foreign, ClientsShareACounterWithUs) {
  // A foreign client and ours, in two threads, take turns at a number that only the lock protects.
  std::atomic<int> number{0};
  const auto add = [&number] {
    const int read = number.load(std::memory_order_relaxed);
    std::this_thread::yield();
    number.store(read + 1, std::memory_order_relaxed);
  };
  std::thread other([&] {
    ForeignClient foreign(cluster().plain_urls());
    for (int i = 0; i < 100;) {
      const std::string token = "its token " + std::to_string(i);
      if (!foreign.lock(key, token)) continue;
      add();
      foreign.unlock(key, token);
      ++i;
    }
  });
  Coordinator coordinator = connect();
  for (int i = 0; i < 100; ++i) {
    Result<Lease> lease = coordinator.acquire(key, {.wait = forever});
    EXPECT_TRUE(ok(lease));
    add();
  }
  other.join();
  EXPECT_EQ(number, 200);
}

TEST_F(Foreign, AHashUnderTheKeyIsHeld) {
  // Redisson keeps a hash there: acquire finds the lock held, leaves the hash, and succeeds once it
  // is gone.
  Coordinator coordinator = connect();
  for (int node = 0; node < 5; ++node) cluster().raw(node, {"HSET", key, "thread", "1"});
  const Result<Lease> refused = coordinator.acquire(key);
  ASSERT_TRUE(fails_with(refused, Errc::contended));
  EXPECT_GE(refused.error().outcome().count(Vote::held), 3);
  EXPECT_TRUE(fails_with(coordinator.acquire(key, {.wait = 100ms}), Errc::timed_out));
  for (int node = 0; node < 5; ++node) {
    EXPECT_EQ(cluster().raw(node, {"HGET", key, "thread"}).text, "1");
    cluster().raw(node, {"DEL", key});
  }
  EXPECT_TRUE(ok(coordinator.acquire(key)));
}

TEST_F(Foreign, AHashInPlaceOfOursIsNotOurs) {
  // Hashes replaced our keys on two nodes, then on four: release succeeds, then reports a lost
  // lease, and leaves the hashes unchanged.
  Coordinator coordinator = connect();
  for (const int hashes : {2, 4}) {
    Lease lease = coordinator.acquire(key, {.wait = 20s}).value();
    ASSERT_TRUE(eventually([&] { return cluster().holders(key, lease.owner_token()) == 5; }));
    for (int node = 0; node < hashes; ++node) {
      cluster().raw(node, {"DEL", key});
      cluster().raw(node, {"HSET", key, "thread", "1"});
    }
    if (hashes == 2) {
      EXPECT_TRUE(ok(lease.extend(10s)));
      EXPECT_TRUE(ok(lease.release()));
    } else {
      EXPECT_TRUE(fails_with(lease.extend(10s), Errc::lost));
      EXPECT_TRUE(fails_with(lease.release(), Errc::lost));
    }
    EXPECT_TRUE(eventually([&] { return cluster().holders(key) == hashes; }));
    for (int node = 0; node < hashes; ++node) {
      EXPECT_EQ(cluster().raw(node, {"HGET", key, "thread"}).text, "1");
      cluster().raw(node, {"DEL", key});
    }
  }
}

TEST_F(Foreign, AnAcquireWithoutFencingIsOneSet) {
  // Without fencing an exclusive, unordered acquire is exactly SET key token NX PX ttl.
  Options plain = options();
  plain.fencing = false;
  Coordinator coordinator = test::connect(plain);
  warm(coordinator);
  Redis monitor(cluster().plain_urls().at(0));
  EXPECT_EQ(monitor({"MONITOR"}).text, "OK");
  const Result<Lease> lease = coordinator.acquire(key, {.ttl = 7s});
  ASSERT_TRUE(ok(lease));
  std::string line;
  while (line.find('"' + key + '"') == line.npos) line = monitor.read().text;
  EXPECT_TRUE(line.ends_with("\"SET\" \"" + key + "\" \"" + lease->owner_token() +
                             "\" \"NX\" \"PX\" \"7000\""))
      << line;
}

}  // namespace
}  // namespace quorumlock::test
