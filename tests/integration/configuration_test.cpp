#include <cmath>
#include <functional>
#include <limits>

#include "integration/fixture.hpp"

namespace quorumlock::test {
namespace {

/// Options that a coordinator refuses before it connects to a node.
class Configuration : public ::testing::Test {
 protected:
  static Options good() {
    Options options;
    options.nodes = {"unix:///nowhere/1", "unix:///nowhere/2", "unix:///nowhere/3"};
    return options;
  }
  /// Expects options with this change to be refused in a sentence that contains this word.
  static void expect_refused(const std::function<void(Options&)>& change, std::string_view word) {
    Options options = good();
    change(options);
    const Result<Coordinator> refused = Coordinator::create(options);
    ASSERT_TRUE(fails_with(refused, Errc::invalid_argument)) << word;
    const std::string sentence = refused.error().what();
    EXPECT_NE(sentence.find(word), sentence.npos) << sentence;
  }
};

TEST_F(Configuration, BadNodesAreRefused) {
  // No nodes, too many, one node under two spellings, and invalid URLs are refused.
  EXPECT_TRUE(ok(Coordinator::create(good())));
  expect_refused([](Options& o) { o.nodes.clear(); }, "nodes");
  expect_refused([](Options& o) { o.nodes.push_back(o.nodes.front()); }, "nowhere/1");
  expect_refused(
      [](Options& o) {
        o.nodes = {"redis://127.0.0.1", "redis://127.0.0.1:6379/0"};
      },
      "6379");
  for (const char* url :
       {"", "127.0.0.1:6379", "http://127.0.0.1", "redis://", "redis://host:0",
        "redis://host:70000", "redis://host:x", "redis://host/db", "unix://", "redis://host/-1"}) {
    expect_refused([&](Options& o) { o.nodes.push_back(url); }, "nodes[3]");
  }
}

TEST_F(Configuration, BadDurationsAreRefused) {
  // Zero, negative and absurd times are refused, each by its name.
  expect_refused([](Options& o) { o.ttl = 0s; }, "ttl");
  expect_refused([](Options& o) { o.ttl = -1s; }, "ttl");
  expect_refused([](Options& o) { o.ttl = 31s; }, "max_ttl");
  expect_refused([](Options& o) { o.max_ttl = 0s; }, "max_ttl");
  expect_refused([](Options& o) { o.wait = -1s; }, "wait");
  expect_refused([](Options& o) { o.node_timeout = 0s; }, "node_timeout");
  expect_refused([](Options& o) { o.connect_timeout = -1s; }, "connect_timeout");
  expect_refused([](Options& o) { o.stop_margin = -1s; }, "stop_margin");
  expect_refused([](Options& o) { o.max_hold = 0s; }, "max_hold");
  expect_refused([](Options& o) { o.max_renewals = -1; }, "max_renewals");
  expect_refused([](Options& o) { o.retry.delay = -1ms; }, "retry");
  expect_refused([](Options& o) { o.retry.jitter = -1ms; }, "retry");
}

TEST_F(Configuration, ABadDriftFactorIsRefused) {
  // A factor is refused if it is not a number, negative, or so great that no ttl would be left.
  for (const double factor : {std::nan(""), -0.01, 1.0, std::numeric_limits<double>::infinity()}) {
    expect_refused([&](Options& o) { o.drift_factor = factor; }, "drift_factor");
  }
}

TEST_F(Configuration, BadOptionsOfOneRequestAreRefused) {
  // Bad options of one request are refused before anything is sent, each time.
  Options named = good();
  named.max_ttl = 30s;
  Coordinator coordinator = Coordinator::create(named).value();
  for (const LockOptions& options :
       {LockOptions{.ttl = 0s}, LockOptions{.ttl = -1s}, LockOptions{.ttl = 31s},
        LockOptions{.wait = -1s}, LockOptions{.max_hold = 0s}, LockOptions{.max_renewals = -1}}) {
    EXPECT_TRUE(fails_with(coordinator.acquire("resource", options), Errc::invalid_argument));
  }
  EXPECT_TRUE(fails_with(coordinator.acquire(""), Errc::invalid_argument));
}

TEST_F(Configuration, OptionsMayComeFromJson) {
  // Options read from JSON lock the cluster that they describe.
  Cluster cluster({.size = 3});
  std::string nodes;
  for (const std::string& url : cluster.urls())
    nodes += (nodes.empty() ? "\"" : ", \"") + url + '"';
  const Result<Options> options = Options::from_json(
      "{ \"nodes\": [" + nodes + "], \"ttl\": \"20s\", \"key_prefix\": \"app:\" }");
  ASSERT_TRUE(ok(options));
  Coordinator coordinator = connect(*options);
  const Result<Lease> lease = coordinator.acquire("resource");
  ASSERT_TRUE(ok(lease));
  EXPECT_TRUE(
      eventually([&] { return cluster.holders("app:resource", lease->owner_token()) == 3; }));
  EXPECT_GT(lease->remaining(), 15s);
}

}  // namespace
}  // namespace quorumlock::test
