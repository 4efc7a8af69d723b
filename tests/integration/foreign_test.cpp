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

/// A foreign client that compares and deletes by each node's own command if it has one: DELEX on
/// Redis 8.4, DELIFEQ on Valkey 9. tools/servers runs this on such servers.
class ForeignNative : public Foreign {
 protected:
  void SetUp() override {
    for (int node = 0; node < 5; ++node) {
      std::string its = "evalsha";
      for (const char* name : {"delex", "delifeq"}) {
        const Reply known = cluster().raw(node, {"COMMAND", "INFO", name});
        if (known.elements.at(0).type == Reply::Type::array) its = name;
      }
      deletes_by_.push_back(its);
    }
  }
  int native_delete_everywhere(const std::string& token) {
    int deleted = 0;
    for (int node = 0; node < 5; ++node) {
      const std::string& its = deletes_by_.at(static_cast<std::size_t>(node));
      std::vector<std::string> words = {"DELIFEQ", key, token};
      if (its == "delex") words = {"DELEX", key, "IFEQ", token};
      if (its == "evalsha") words = {"EVAL", compare_and_delete, "1", key, token};
      deleted += static_cast<int>(cluster().raw(node, words).integer);
    }
    return deleted;
  }
  /// How often each node has executed its command.
  std::vector<long long> calls() {
    std::vector<long long> each;
    for (int node = 0; node < 5; ++node) {
      each.push_back(cluster().calls(node, deletes_by_.at(static_cast<std::size_t>(node))));
    }
    return each;
  }

 private:
  std::vector<std::string> deletes_by_;
};

TEST_F(ForeignNative, AClientMayReleaseByOurToken) {
  // Another token deletes nothing; ours does, and our release then reports a lost lease.
  for (const bool fenced : {true, false}) {
    Options fenced_or_not = options();
    fenced_or_not.fencing = fenced;
    Coordinator coordinator = test::connect(fenced_or_not);
    Lease lease = coordinator.acquire(key, {.wait = 20s}).value();
    ASSERT_TRUE(eventually([&] { return cluster().holders(key, lease.owner_token()) == 5; }));
    EXPECT_EQ(native_delete_everywhere(lease.owner_token() + "x"), 0);
    EXPECT_TRUE(ok(lease.extend(10s)));
    EXPECT_EQ(native_delete_everywhere(lease.owner_token()), 5);
    EXPECT_TRUE(fails_with(lease.release(), Errc::lost));
  }
}

TEST_F(ForeignNative, OurReleaseUsesItAndLeavesAnotherClientsKey) {
  // Without fencing and waiters a release is the server's own command if it has one. An attempt
  // that is refused takes back what it was granted by the same command.
  Options simple = options();
  simple.order = WaitOrder::unordered;
  simple.wake = false;
  simple.fencing = false;
  Coordinator coordinator = test::connect(simple);
  warm(coordinator);
  const std::vector<long long> before = calls();
  Lease lease = coordinator.acquire(key).value();
  ASSERT_TRUE(eventually([&] { return cluster().holders(key, lease.owner_token()) == 5; }));
  EXPECT_TRUE(ok(lease.release()));
  EXPECT_TRUE(eventually([&] { return cluster().holders(key) == 0; }));
  const std::vector<long long> after = calls();
  for (std::size_t node = 0; node < 5; ++node) EXPECT_GT(after[node], before[node]);

  for (int node = 0; node < 3; ++node) cluster().plant(node, key, "its token");
  EXPECT_TRUE(fails_with(coordinator.acquire(key), Errc::contended));
  EXPECT_TRUE(eventually([&] { return cluster().holders(key) == 3; }));
  EXPECT_EQ(cluster().holders(key, "its token"), 3);
  EXPECT_EQ(native_delete_everywhere("its token"), 3);

  // A key of another type is not ours: there is nothing to release.
  Lease lost = coordinator.acquire(key, {.wait = 20s}).value();
  ASSERT_TRUE(eventually([&] { return cluster().holders(key, lost.owner_token()) == 5; }));
  for (int node = 0; node < 5; ++node) {
    cluster().raw(node, {"DEL", key});
    cluster().raw(node, {"HSET", key, "thread", "1"});
  }
  EXPECT_TRUE(fails_with(lost.release(), Errc::lost));
  EXPECT_EQ(cluster().raw(0, {"HGET", key, "thread"}).text, "1");
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
