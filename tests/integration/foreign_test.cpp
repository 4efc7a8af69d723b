#include <algorithm>
#include <atomic>
#include <memory>
#include <sstream>
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

TEST_F(Foreign, BigValuesAreHeldAndCostNobodyElseAnything) {
  // Another program has 1.1 MB under one lock's name, and 40 KB under 64 others. Whoever wants
  // these locks is refused or waits; a lease of the same process and its connections stay.
  const std::string secret = "secret";
  const std::string big = key + "/big";
  cluster().raw_everywhere({"SET", big, secret + std::string(1'100'000, 'x')});
  std::vector<std::string> many;
  for (int i = 0; i < 64; ++i) {
    many.push_back(key + "/" + std::to_string(i));
    cluster().raw_everywhere({"SET", many.back(), secret + std::string(40'000, 'x')});
  }
  Options options = this->options();
  options.node_timeout = 10s;  // a busy machine may be late, and no vote is lost by that here
  Coordinator coordinator = test::connect(options);
  // All nodes are connected and have each script by now, also that of a reader's release: a node
  // without it is asked twice, the second time with its text, and a busy machine is late then.
  warm(coordinator);
  const std::string read = key + "/read";
  Result<Lease> reader = coordinator.acquire(read, {.wait = 20s, .mode = LockMode::shared});
  ASSERT_TRUE(ok(reader));
  ASSERT_TRUE(eventually([&] { return cluster().holders(read) == 5; }));
  ASSERT_TRUE(ok(reader->release()));
  ASSERT_TRUE(eventually([&] { return cluster().holders(read) == 0; }));
  Result<Lease> lease = coordinator.acquire(key, {.ttl = 20s});
  ASSERT_TRUE(ok(lease));
  const auto connections = [this] {
    std::vector<std::string> all;
    for (int node = 0; node < 5; ++node) {
      std::istringstream lines(cluster().raw(node, {"CLIENT", "LIST"}).text);
      for (std::string line; std::getline(lines, line);) {
        if (line.find("name=quorumlock") == line.npos) continue;
        all.push_back(std::to_string(node) + " " + line.substr(0, line.find(' ')));
      }
    }
    return all;
  };
  const std::vector<std::string> before = connections();
  const Result<Lease> refused = coordinator.acquire(big);
  ASSERT_TRUE(fails_with(refused, Errc::contended));
  const std::string said = refused.error().what();
  EXPECT_NE(said.find("another program's value (a string of 1100006 bytes), which never expires"),
            said.npos)
      << said;
  std::vector<Answer<Result<Lease>>> answers(2 * many.size() + 1);
  coordinator.async_acquire(big, {.wait = 500ms}, {}, answers.back().handler());
  for (std::size_t i = 0; i < many.size(); ++i) {
    coordinator.async_acquire(many[i], {}, {}, answers[2 * i].handler());
    coordinator.async_acquire(many[i], {.wait = 500ms, .mode = LockMode::shared}, {},
                              answers[2 * i + 1].handler());
  }
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const Result<Lease> answer = answers[i].get();
    const bool waits = i % 2 == 1 || i + 1 == answers.size();
    EXPECT_TRUE(fails_with(answer, waits ? Errc::timed_out : Errc::contended));
    ASSERT_FALSE(answer);
    EXPECT_EQ(std::string(answer.error().what()).find(secret), std::string::npos);
  }
  const Result<Inspection> seen = coordinator.inspect(big);
  ASSERT_TRUE(ok(seen));
  EXPECT_EQ(seen->nodes.at(0).token, "");
  EXPECT_EQ(seen->nodes.at(0).detail, "another program's value (a string of 1100006 bytes)");
  EXPECT_TRUE(lease->is_valid());
  // A waiter's connection for wake-ups may have come, and none has gone.
  const std::vector<std::string> after = connections();
  for (const std::string& one : before) {
    EXPECT_NE(std::ranges::find(after, one), after.end()) << one;
  }
  EXPECT_EQ(cluster().raw(0, {"STRLEN", big}).integer, 1'100'006);
}

TEST_F(Foreign, AHashUnderTheKeyIsHeld) {
  // Redisson keeps a hash there: acquire finds the lock held, leaves the hash, and succeeds once it
  // is gone.
  Coordinator coordinator = connect();
  for (int node = 0; node < 5; ++node) cluster().raw(node, {"HSET", key, "thread", "1"});
  const Result<Lease> refused = coordinator.acquire(key);
  ASSERT_TRUE(fails_with(refused, Errc::contended));
  EXPECT_GE(refused.error().outcome().count(Vote::held), 3);
  EXPECT_TRUE(fails_with(coordinator.acquire(key, {.wait = 1s}), Errc::timed_out));
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
  EXPECT_TRUE(line.ends_with("\"SET\" \"" + key + "\" \"" + lease->owner_token().text() +
                             "\" \"NX\" \"PX\" \"7000\""))
      << line;
}

}  // namespace
}  // namespace quorumlock::test
