#include <quorumlock/admin.hpp>

#include "integration/fixture.hpp"
#include "support/users.hpp"

// Changing the list of nodes while clients lock without fencing: a plain SET compares no record.
namespace quorumlock::test {
namespace {

/// Five nodes, of which the first three are enrolled as a list.
class UnfencedMembers : public ::testing::Test {
 protected:
  UnfencedMembers() {
    std::vector<std::string> three = cluster_.urls();
    three.resize(3);
    cluster_.enrol_for(three);
  }
  Options options(const std::vector<int>& numbers) {
    Options options = cluster_.options();
    options.ttl = *options.max_ttl;
    options.fencing = false;
    options.auto_extend = false;
    options.nodes.clear();
    for (const int node : numbers) {
      options.nodes.push_back(cluster_.urls()[static_cast<std::size_t>(node)]);
    }
    return options;
  }
  /// Makes all steps of a change to the nodes of these options, even if clients with other nodes
  /// are connected. A client with the new list looks after new nodes, and is returned.
  Coordinator change_to(const Options& to, MembersChange& change) {
    EXPECT_TRUE(ok(change.commit(true)));
    Coordinator coordinator = connect(to);
    EXPECT_TRUE(eventually([&] {
      const Result<std::chrono::nanoseconds> left = change.settle();
      return left && *left == 0ns && change.look()->front().done;
    }));
    return coordinator;
  }

  Cluster cluster_{{.size = 5, .enrolled = false, .max_ttl = 2s, .user = "operator"}};
  const std::string key_ = resource_of_this_test();
};

TEST_F(UnfencedMembers, AClientThatMissesTheCommitNeedsTheVotesOfTheNewList) {
  // The list grows from three nodes to five. A client with the new list has seen the announcement,
  // by which two votes are enough, and does not reach the nodes that join. Once the new list is
  // settled two votes must not be enough any more: another client may get the three others.
  const Options five = options({0, 1, 2, 3, 4});
  Options deaf = five;
  for (const std::size_t node : {3, 4}) {
    const std::string url = cluster_.shown_urls()[node];
    const std::string name = url.substr(url.find("://") + 3);
    deaf.nodes[node] = NodeOptions("unix:///nowhere/" + std::to_string(node), name);
  }
  MembersChange change = *MembersChange::open(five);
  ASSERT_TRUE(ok(change.announce()));
  Coordinator early = connect(deaf);
  ASSERT_TRUE(eventually([&] { return early.acquire(key_ + "/warm").has_value(); }));
  Coordinator other = change_to(five, change);
  cluster_.plant(2, key_);
  const Result<Lease> first = early.acquire(key_);
  cluster_.raw(2, {"DEL", key_});
  const Result<Lease> second = other.acquire(key_);
  // A node that is silent while its record is read again counts as one that did not answer.
  EXPECT_FALSE(first) << "two votes of five";
  EXPECT_TRUE(ok(second));
}

TEST_F(UnfencedMembers, AForcedCommitReachesClientsWithTheOldList) {
  // A client with the old list is connected while the commit is forced. Its next plain SET would
  // win on the nodes that it has been served by until then.
  Coordinator old = connect(options({0, 1, 2}));
  ASSERT_TRUE(eventually([&] { return old.acquire(key_ + "/warm").has_value(); }));
  const Options three = options({0, 1, 3});
  MembersChange change = *MembersChange::open(three);
  ASSERT_TRUE(ok(change.announce()));
  Coordinator other = change_to(three, change);
  cluster_.plant(0, key_);
  const Result<Lease> first = other.acquire(key_);
  cluster_.raw(0, {"DEL", key_});
  const Result<Lease> second = old.acquire(key_);
  EXPECT_TRUE(ok(first));
  EXPECT_TRUE(fails_with(second, Errc::misconfigured));
}

TEST_F(UnfencedMembers, AClientThatFollowsALongerMaxTtlReadsTheShorterOne) {
  // It has the same list before and after, and was connected before the change was announced. A
  // lease of two seconds must not be had once a node that forgets waits for one.
  Options follows = options({0, 1, 2});
  follows.max_ttl.reset();
  Coordinator follower = connect(follows);
  ASSERT_TRUE(eventually([&] { return follower.acquire(key_ + "/warm").has_value(); }));
  Options shorter = options({0, 1, 2});
  shorter.max_ttl = shorter.ttl = 1s;
  MembersChange change = *MembersChange::open(shorter);
  ASSERT_TRUE(ok(change.announce()));
  const Coordinator other = change_to(shorter, change);
  EXPECT_TRUE(eventually([&] {
    const Result<Lease> lease = follower.acquire(key_);
    EXPECT_FALSE(lease);
    return fails_with(lease, Errc::invalid_argument);  // first it connects anew
  }));
}

TEST_F(UnfencedMembers, ANodeThatForbidsToEndConnectionsCounts) {
  // Whoever forces a commit without these rights has stopped the clients with the old list.
  const std::string user = users_of_tests() ? "operator" : "default";
  for (const char* right : {"-client|list", "-client|kill"}) {
    SCOPED_TRACE(right);
    const bool lists = right == std::string("-client|kill");
    for (int node = 0; node < 5; ++node) {
      cluster_.raw(node, {"ACL", "SETUSER", user, "+client", right});
    }
    const Options from = options({0, 1, lists ? 3 : 2});
    Coordinator old = connect(from);
    ASSERT_TRUE(eventually([&] { return old.acquire(key_).has_value(); }));
    const Options to = options({0, 1, lists ? 4 : 3});
    MembersChange change = *MembersChange::open(to);
    ASSERT_TRUE(ok(change.announce()));
    const Coordinator other = change_to(to, change);
  }
}

}  // namespace
}  // namespace quorumlock::test
