#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "integration/fixture.hpp"
#include "support/process.hpp"
#include "support/proxy.hpp"

// Renewals that the network delays: after the end of the lease they do nothing, and a key that they
// set again after another client's hold is not extended by token. Nor is one that a late request to
// acquire sets.
namespace quorumlock::test {
namespace {

class LateRenewal : public FiveNodes {
 public:
  /// The nodes have unix sockets only; clients reach them over TCP through a proxy.
  static void SetUpTestSuite() { start({.plain = true}); }

 protected:
  void SetUp() override {
    // From here on a quorum of the nodes knows the scripts, so a delayed call runs when it arrives.
    Coordinator coordinator = connect();
    Result<Lease> one = coordinator.acquire(key);
    ASSERT_TRUE(ok(one));
    ASSERT_TRUE(ok(one->extend(10s)));
    ASSERT_TRUE(ok(coordinator.extend(key, OwnerToken(one->owner_token()), 10s)));
    ASSERT_TRUE(ok(one->release()));
    Result<Lease> both = coordinator.acquire_all({key, other});
    ASSERT_TRUE(ok(both));
    ASSERT_TRUE(ok(both->extend(10s)));
    ASSERT_TRUE(ok(both->release()));
    ASSERT_TRUE(eventually([] { return cluster().keys().empty(); }));
  }

  /// Returns options that reach the nodes through the proxy.
  static Options held_up(const Proxy& proxy) {
    Options options = FiveNodes::options();
    options.nodes = proxy.urls();
    return options;
  }
  void weather(const Weather& weather) {
    for (std::size_t node = 0; node < 5; ++node) proxy_.set(node, weather);
  }
  static std::vector<std::filesystem::path> sockets() {
    std::vector<std::filesystem::path> paths;
    for (int node = 0; node < 5; ++node) {
      paths.push_back(cluster().server(node).settings().dir / "redis.sock");
    }
    return paths;
  }
  static bool everywhere(const std::string& name, const std::string& token) {
    return eventually([&] { return cluster().holders(name, token) == 5; });
  }
  /// Returns true once a renewal has set the key again on a quorum: on the nodes that know the
  /// script.
  static bool again(const std::string& name, const std::string& token) {
    return eventually([&] { return cluster().holders(name, token) >= 3; });
  }
  /// All nodes lose the locks, another client holds them for a moment, and the holder's renewals
  /// arrive after that. The holder does not hear their replies.
  void others_hold(const std::vector<std::string>& names, const std::function<void()>& renew) {
    weather({.to_node = {.held = true}, .from_node = {.held = true}});
    renew();
    for (const std::string& name : names) cluster().raw_everywhere({"DEL", name});
    Coordinator another = connect();
    Result<Lease> theirs = another.acquire_all(names, {.wait = 20s});
    ASSERT_TRUE(ok(theirs));
    ASSERT_TRUE(ok(theirs->release()));
    ASSERT_TRUE(eventually([&] { return cluster().holders(names[0]) == 0; }));
    weather({.from_node = {.held = true}});
  }

  static constexpr Weather held{.to_node = {.held = true}};
  const std::string other = key + "/other";
  Proxy proxy_{sockets()};
};

TEST_F(LateRenewal, DoesNotBringBackTheLockOfADeadProcess) {
  // A process is cut off from the nodes and killed, with a renewal on its way. The renewal arrives
  // when the process's lock has expired everywhere.
  std::string urls;
  for (const std::string& url : proxy_.urls()) urls += (urls.empty() ? "" : ",") + url;
  const auto scripts = [] {
    long long calls = 0;
    for (int node = 0; node < 5; ++node) calls += cluster().calls(node, "evalsha");
    return calls;
  };
  bool arrived = false;
  // On a busy machine the process may be killed before it has sent a renewal.
  for (int attempt = 0; attempt < 5 && !arrived; ++attempt) {
    weather({});
    Process holder({QUORUMLOCK_TEST_WORKER, "hold", urls, key, "2000"});
    const std::string token = holder.line().substr(5);
    ASSERT_TRUE(everywhere(key, token));
    weather(held);
    const long long before = scripts();
    ASSERT_TRUE(eventually([&] { return cluster().pttl(0, key) < 1100ms; }));
    holder.signal(SIGKILL);
    holder.wait();
    ASSERT_TRUE(eventually([&] { return cluster().holders(key) == 0; }));
    weather({});
    ASSERT_TRUE(eventually([&] {
      std::size_t connections = 0;
      for (std::size_t node = 0; node < 5; ++node) connections += proxy_.connections(node);
      return connections == 0;
    }));
    EXPECT_EQ(cluster().holders(key), 0);
    arrived = scripts() >= before + 3;
  }
  EXPECT_TRUE(arrived);
}

TEST_F(LateRenewal, ATokenIsNotExtendedAfterAnotherClientsHold) {
  // All nodes have the token again, and the same counter: only the mark shows that another client
  // held the lock.
  Coordinator coordinator = test::connect(held_up(proxy_));
  Result<Lease> lease = coordinator.acquire(key, {.ttl = 20s, .auto_extend = false});
  ASSERT_TRUE(ok(lease));
  ASSERT_TRUE(everywhere(key, lease->owner_token()));
  others_hold({key}, [&] { lease->async_extend(20s, [](const Result<void>&) {}); });
  ASSERT_TRUE(again(key, lease->owner_token()));
  EXPECT_TRUE(
      fails_with(connect().extend(key, OwnerToken(lease->owner_token()), 10s), Errc::not_held));
  weather({});
}

TEST_F(LateRenewal, ATokenOfSeveralLocksIsNotExtendedAfterAnotherClientsHold) {
  Coordinator coordinator = test::connect(held_up(proxy_));
  Result<Lease> lease = coordinator.acquire_all({key, other}, {.ttl = 20s, .auto_extend = false});
  ASSERT_TRUE(ok(lease));
  ASSERT_TRUE(everywhere(other, lease->owner_token()));
  others_hold({key, other}, [&] { lease->async_extend(20s, [](const Result<void>&) {}); });
  for (const std::string& name : {key, other}) {
    ASSERT_TRUE(again(name, lease->owner_token()));
    EXPECT_TRUE(
        fails_with(connect().extend(name, OwnerToken(lease->owner_token()), 10s), Errc::not_held));
  }
  weather({});
}

TEST_F(LateRenewal, ATokenIsNotExtendedByALateRequestToAcquire) {
  // Nodes 0 to 2 grant the lock, and 1 and 2 lose it. Another client holds it on 1 to 4. Then the
  // request reaches 3 and 4: a quorum has the token again, but not with one counter.
  Coordinator coordinator = test::connect(held_up(proxy_));
  warm(coordinator);
  for (const std::size_t node : {3, 4}) proxy_.set(node, held);
  Result<Lease> lease = coordinator.acquire(key, {.ttl = 20s, .auto_extend = false});
  ASSERT_TRUE(ok(lease));
  for (const int node : {1, 2}) cluster().raw(node, {"DEL", key});
  Coordinator another = connect();
  Result<Lease> theirs = another.acquire(key, {.wait = 20s});
  ASSERT_TRUE(ok(theirs));
  ASSERT_TRUE(ok(theirs->release()));
  ASSERT_TRUE(eventually([&] { return cluster().holders(key) == 1; }));
  weather({});
  ASSERT_TRUE(eventually([&] { return cluster().holders(key, lease->owner_token()) == 3; }));
  EXPECT_TRUE(
      fails_with(another.extend(key, OwnerToken(lease->owner_token()), 10s), Errc::not_held));
}

TEST_F(LateRenewal, ATokenOfADowngradedWriterIsNotExtendedAfterAnotherClientsHold) {
  // The lease whose key the renewal set again is downgraded afterwards.
  Coordinator coordinator = test::connect(held_up(proxy_));
  Result<Lease> lease = coordinator.acquire(key, {.ttl = 8s});
  ASSERT_TRUE(ok(lease));
  ASSERT_TRUE(everywhere(key, lease->owner_token()));
  others_hold({key}, [] {});
  ASSERT_TRUE(again(key, lease->owner_token())) << "its own renewal";
  lease->async_downgrade([](const Result<void>&) {});
  ASSERT_TRUE(eventually([&] {
    int readers = 0;
    for (int node = 0; node < 5; ++node) {
      if (cluster().raw(node, {"GET", key}).text == "quorumlock:readers") ++readers;
    }
    return readers >= 3;
  }));
  EXPECT_TRUE(
      fails_with(connect().extend(key, OwnerToken(lease->owner_token()), 10s), Errc::not_held));
  weather({});
}

TEST_F(LateRenewal, ATokenIsExtendedIfNobodyElseHeldTheLockMeanwhile) {
  // The nodes lost the key, but no client took it: the counter has not grown.
  Coordinator coordinator = test::connect(held_up(proxy_));
  Result<Lease> lease = coordinator.acquire(key, {.ttl = 20s, .auto_extend = false});
  ASSERT_TRUE(ok(lease));
  ASSERT_TRUE(everywhere(key, lease->owner_token()));
  weather({.from_node = {.held = true}});
  cluster().raw_everywhere({"DEL", key});
  lease->async_extend(20s, [](const Result<void>&) {});
  ASSERT_TRUE(again(key, lease->owner_token()));
  EXPECT_TRUE(ok(connect().extend(key, OwnerToken(lease->owner_token()), 10s)));
  weather({});
}

}  // namespace
}  // namespace quorumlock::test
