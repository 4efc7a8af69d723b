#include <functional>
#include <mutex>
#include <vector>

#include <quorumlock/admin.hpp>

#include "integration/fixture.hpp"

namespace quorumlock::test {
namespace {

const std::string thing = "resource";

std::string port_of(Cluster& cluster, int node) {
  return std::to_string(cluster.server(node).settings().port);
}

/// Returns the cluster's options with each node's URL replaced.
Options named(Cluster& cluster, const std::function<std::string(int node)>& url) {
  Options options = cluster.options();
  for (int node = 0; node < cluster.size(); ++node) {
    options.nodes[static_cast<std::size_t>(node)] = url(node);
  }
  return options;
}

void expect_full_circle(Cluster& cluster, const Options& options) {
  Coordinator coordinator = connect(options);
  Result<Lease> lease = coordinator.acquire(thing);
  ASSERT_TRUE(ok(lease));
  EXPECT_TRUE(
      eventually([&] { return cluster.holders(thing, lease->owner_token()) == cluster.size(); }));
  EXPECT_TRUE(ok(lease->extend(20s)));
  EXPECT_TRUE(ok(lease->release()));
  EXPECT_TRUE(eventually([&] { return cluster.keys().empty(); }));
}

class EndpointsTcp : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    cluster_ = std::make_unique<Cluster>(ClusterSettings{.size = 3, .tcp = true, .plain = true});
  }
  static void TearDownTestSuite() { cluster_.reset(); }
  void SetUp() override { cluster_->heal(); }
  inline static std::unique_ptr<Cluster> cluster_;
};

TEST_F(EndpointsTcp, FindsNodesByAddress) {
  // The nodes are named by address and port.
  expect_full_circle(*cluster_, cluster_->options());
}

TEST_F(EndpointsTcp, FindsNodesByHostName) {
  // The nodes are named by a host name, which may resolve to several addresses of which one is
  // theirs.
  expect_full_circle(*cluster_, named(*cluster_, [](int node) {
    return "redis://localhost:" + port_of(*cluster_, node);
  }));
}

TEST_F(EndpointsTcp, ANameThatDoesNotResolveCostsOneVote) {
  // A node whose name does not resolve is unreachable; the others are enough.
  Options options = cluster_->options();
  options.nodes[1] = "redis://no-such-host.invalid:6379";
  cluster_->enrol_for(options.nodes);
  Coordinator coordinator = connect(options);
  EXPECT_TRUE(ok(coordinator.acquire(thing)));
  options.nodes[2] = "redis://nor-this-one.invalid:6379";
  cluster_->enrol_for(options.nodes);
  Coordinator hopeless = connect(options);
  const Result<Lease> refused = hopeless.acquire(thing);
  ASSERT_TRUE(fails_with(refused, Errc::no_quorum));
  EXPECT_EQ(refused.error().outcome().count(Vote::unreachable), 2);
  cluster_->enrol_for(cluster_->urls());
}

TEST_F(EndpointsTcp, LocksOfDifferentDatabasesDoNotMeet) {
  // The number after the slash chooses the database, and locks of different databases do not meet.
  Coordinator in_three = connect(named(
      *cluster_, [](int node) { return "redis://127.0.0.1:" + port_of(*cluster_, node) + "/3"; }));
  ASSERT_TRUE(ok(enroll_new(in_three)));
  Coordinator in_zero = connect(cluster_->options());
  Result<Lease> lease = in_three.acquire(thing);
  ASSERT_TRUE(ok(lease));
  EXPECT_TRUE(ok(in_zero.acquire(thing)));
  cluster_->raw_everywhere({"SELECT", "3"});
  EXPECT_TRUE(eventually([&] { return cluster_->holders(thing, lease->owner_token()) == 3; }));
  EXPECT_TRUE(ok(lease->release()));
  EXPECT_TRUE(eventually([&] { return cluster_->keys().empty(); }));
  cluster_->raw_everywhere({"SELECT", "0"});
}

TEST_F(EndpointsTcp, ANodeWithoutTheDatabaseDoesNotVote) {
  // SELECT is refused: the node does not vote, and the error quotes the server.
  Coordinator coordinator = connect(named(*cluster_, [](int node) {
    return "redis://127.0.0.1:" + port_of(*cluster_, node) + "/9999";
  }));
  const Result<Lease> refused = coordinator.acquire(thing);
  ASSERT_TRUE(fails_with(refused, Errc::no_quorum));
  EXPECT_NE(std::string(refused.error().what()).find("SELECT"), std::string::npos);
}

TEST(EndpointsUnix, TheUrlChoosesTheDatabase) {
  // ?db=N chooses the database of a unix socket.
  Cluster cluster({.size = 3, .plain = true});
  const Options options =
      named(cluster, [&](int node) { return cluster.server(node).url() + "?db=5"; });
  cluster.raw_everywhere({"SELECT", "5"});
  ASSERT_TRUE(ok(enroll_new(connect(options))));
  expect_full_circle(cluster, options);
}

TEST(EndpointsUnix, MayBeMixedWithTcp) {
  // Some nodes are reached by socket, some by port, and one does not exist.
  Cluster local({.size = 2});
  Cluster remote({.size = 2, .tcp = true});
  Options options = local.options();
  for (const std::string& url : remote.urls()) options.nodes.push_back(url);
  options.nodes.push_back("unix:///nowhere/redis.sock");
  local.enrol_for(options.nodes);
  Nodes remote_first = remote.urls();
  for (const NodeOptions& node : options.nodes) {
    if (std::ranges::find(remote_first, node) == remote_first.end()) remote_first.push_back(node);
  }
  remote.enrol_for(remote_first);
  Coordinator coordinator = connect(options);
  Result<Lease> lease = coordinator.acquire(thing);
  ASSERT_TRUE(ok(lease));
  EXPECT_TRUE(eventually([&] {
    return local.holders(thing, lease->owner_token()) == 2 &&
           remote.holders(thing, lease->owner_token()) == 2;
  }));
}

/// Nodes that require a password; the test keeps every message about them.
class EndpointsPassword : public ::testing::Test {
 protected:
  static constexpr const char* secret = "s3cr3t/with:odd@chars%";
  static constexpr const char* encoded = "s3cr3t%2Fwith%3Aodd%40chars%25";

  static void SetUpTestSuite() {
    cluster_ = std::make_unique<Cluster>(
        ClusterSettings{.size = 3, .tcp = true, .more = {"--requirepass", secret}, .plain = true});
    cluster_->raw_everywhere({"AUTH", secret});
    cluster_->raw_everywhere({"ACL", "SETUSER", "locker", "on", ">pass2word", "~*", "+@all"});
    cluster_->raw_everywhere(
        {"ACL", "SETUSER", "unscripted", "on", ">pass2word", "~*", "+@all", "-@scripting"});
  }
  static void TearDownTestSuite() { cluster_.reset(); }
  void SetUp() override { cluster_->heal(); }
  void TearDown() override {
    EXPECT_EQ(said_.find("s3cr3t"), said_.npos) << said_;
    EXPECT_EQ(said_.find("pass2word"), said_.npos) << said_;
  }

  Options with(const std::string& user_and_password) {
    Options options = named(*cluster_, [&](int node) {
      return "redis://" + user_and_password + "@127.0.0.1:" + port_of(*cluster_, node);
    });
    options.log = [this](std::string_view sentence) { note(sentence); };
    return options;
  }
  void note(std::string_view sentence) {
    const std::lock_guard<std::mutex> lock(guard_);
    said_ += sentence;
    said_ += '\n';
  }
  void expect_unauthorized(const Options& options) {
    Coordinator coordinator = connect(options);
    const Result<Lease> refused = coordinator.acquire(thing);
    ASSERT_TRUE(fails_with(refused, Errc::no_quorum));
    EXPECT_GE(refused.error().outcome().count(Vote::unauthorized), 2);
    note(refused.error().what());
    for (const NodeVote& vote : refused.error().outcome().votes) note(vote.node + vote.detail);
  }

  inline static std::unique_ptr<Cluster> cluster_;
  std::mutex guard_;
  std::string said_;
};

TEST_F(EndpointsPassword, LogsTheDefaultUserIn) {
  // The URL has a password alone, with characters that must be percent-encoded.
  expect_full_circle(*cluster_, with(std::string(":") + encoded));
  EXPECT_NE(said_.find("is up"), said_.npos);
}

TEST_F(EndpointsPassword, LogsAnAclUserIn) {
  // The URL names a user of the server's access control list.
  expect_full_circle(*cluster_, with("locker:pass2word"));
}

TEST_F(EndpointsPassword, AWrongOneIsUnauthorized) {
  // The nodes vote unauthorized, and no message contains the password.
  expect_unauthorized(with("locker:s3cr3t-but-wrong"));
  expect_unauthorized(with(":s3cr3t-but-wrong"));
}

TEST_F(EndpointsPassword, AMissingOneGivesNoQuorum) {
  // Nodes that require a password give no quorum to a client without one.
  Options options = cluster_->options();
  expect_unauthorized(options);
}

TEST_F(EndpointsPassword, AUserWithoutScriptsOnOneNodeCostsOneVote) {
  // One of three nodes accepts the user but does not let it run scripts: the other two are enough
  // to acquire and to release.
  Options options = with("locker:pass2word");
  options.nodes[0] = "redis://unscripted:pass2word@127.0.0.1:" + port_of(*cluster_, 0);
  Coordinator coordinator = connect(options);
  Result<Lease> lease = coordinator.acquire(thing);
  ASSERT_TRUE(ok(lease));
  EXPECT_TRUE(ok(lease->extend(20s)));
  EXPECT_TRUE(ok(lease->release()));
}

TEST_F(EndpointsPassword, AUserWithoutScriptsOnAQuorumGetsAnError) {
  // If no quorum runs our scripts, acquire or release fails with unauthorized votes.
  Coordinator coordinator = connect(with("unscripted:pass2word"));
  Result<Lease> lease = coordinator.acquire(thing, {.ttl = 1s});
  const Result<void> released = lease ? lease->release() : Result<void>(lease.error());
  ASSERT_TRUE(fails_with(released, Errc::no_quorum));
  EXPECT_GE(released.error().outcome().count(Vote::unauthorized), 2);
}

/// Nodes that cannot vote because of their kind.
class EndpointsWrongKind : public ::testing::Test {
 protected:
  static void expect_refused(Cluster& one, Cluster& another, std::string_view word) {
    Cluster good({.size = 3, .user = ""});
    Options options = good.options();
    options.nodes.push_back(one.urls().front());
    options.nodes.push_back(another.urls().front());
    good.enrol_for(options.nodes);
    Coordinator works = connect(options);
    EXPECT_TRUE(ok(works.acquire(thing)));
    good.kill(0);
    Coordinator coordinator = connect(options);
    const Result<Lease> refused = coordinator.acquire(thing);
    ASSERT_TRUE(fails_with(refused, Errc::no_quorum));
    EXPECT_EQ(refused.error().outcome().count(Vote::not_standalone), 2);
    const std::string sentence = refused.error().what();
    EXPECT_NE(sentence.find(word), sentence.npos) << sentence;
    EXPECT_NE(sentence.find(one.urls().front()), sentence.npos) << sentence;
    EXPECT_NE(sentence.find(another.urls().front()), sentence.npos) << sentence;
    EXPECT_TRUE(eventually([&] { return good.keys().empty(); }));
  }
};

TEST_F(EndpointsWrongKind, AReplicaCastsNoVote) {
  // A replica casts no vote, and the error says that it is one.
  const ClusterSettings replica{.size = 1, .more = {"--replicaof", "127.0.0.1 1"}, .user = ""};
  Cluster one(replica);
  Cluster another(replica);
  expect_refused(one, another, "replica");
}

TEST_F(EndpointsWrongKind, ANodeInClusterModeCastsNoVote) {
  // A node in cluster mode casts no vote either.
  const auto clustered = [] {
    return ClusterSettings{
        .size = 1,
        .tcp = true,
        .more = {"--cluster-enabled", "yes", "--cluster-port", std::to_string(local::free_port())}};
  };
  Cluster one(clustered());
  Cluster another(clustered());
  expect_refused(one, another, "cluster mode");
}

TEST(EndpointsKeyPrefix, StandsBeforeTheResource) {
  // The key on the nodes is prefix and resource; the lease has the resource alone.
  Cluster cluster({.size = 3});
  Options options = cluster.options();
  options.key_prefix = "app:";
  Coordinator coordinator = connect(options);
  Coordinator plain = connect(cluster.options());
  Result<Lease> lease = coordinator.acquire(thing);
  ASSERT_TRUE(ok(lease));
  EXPECT_EQ(lease->resource(), thing);
  EXPECT_TRUE(
      eventually([&] { return cluster.holders("app:" + thing, lease->owner_token()) == 3; }));
  EXPECT_EQ(cluster.holders(thing), 0);
  EXPECT_TRUE(fails_with(plain.acquire("app:" + thing), Errc::contended));
  EXPECT_TRUE(ok(coordinator.release(thing, OwnerToken(lease->owner_token()))));
  EXPECT_TRUE(eventually([&] { return cluster.keys().empty(); }));
}

TEST(EndpointsKeyPrefix, OurOwnKeysAreOutOfReach) {
  // No resource may make a key that starts with quorumlock:, with a prefix or without.
  Cluster cluster({.size = 1});
  Options options = cluster.options();
  Coordinator coordinator = connect(options);
  EXPECT_TRUE(fails_with(coordinator.acquire("quorumlock:x"), Errc::invalid_argument));
  EXPECT_TRUE(ok(coordinator.acquire("quorumlock")));
  EXPECT_TRUE(ok(coordinator.acquire("Quorumlock:x")));
  options.key_prefix = "quorum";
  Coordinator prefixed = connect(options);
  EXPECT_TRUE(fails_with(prefixed.acquire("lock:x"), Errc::invalid_argument));
  EXPECT_TRUE(fails_with(prefixed.release("lock:x", OwnerToken("t")), Errc::invalid_argument));
  EXPECT_TRUE(ok(prefixed.acquire("quorumlock:x")));
}

}  // namespace
}  // namespace quorumlock::test
