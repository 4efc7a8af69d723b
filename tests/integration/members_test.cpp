#include <filesystem>

#include "integration/fixture.hpp"

// Clients whose lists of nodes differ.
namespace quorumlock::test {
namespace {

constexpr const char* record_key = "quorumlock:enrolment";

/// Six nodes, of which the first five are enrolled as a list.
class Members : public ::testing::Test {
 protected:
  Members() : cluster_({.size = 6, .enrolled = false, .max_ttl = 500ms, .user = ""}) {
    std::vector<std::string> five = cluster_.urls();
    five.pop_back();
    cluster_.enrol_for(five);
  }
  /// Options of a client with these nodes.
  Options options(const std::vector<int>& nodes) {
    Options options = cluster_.options();
    options.ttl = *options.max_ttl;
    options.nodes.clear();
    for (const int node : nodes)
      options.nodes.push_back(cluster_.urls()[static_cast<std::size_t>(node)]);
    return options;
  }

  Cluster cluster_;
  const std::string key_ = resource_of_this_test();
};

TEST_F(Members, AClientWithAnotherListGetsNoVote) {
  // The sixth node stands in the place of the fifth. The error names both.
  Coordinator other = connect(options({0, 1, 2, 3, 5}));
  const Result<Lease> refused = other.acquire(key_, {.wait = 20s});
  ASSERT_TRUE(fails_with(refused, Errc::misconfigured));
  EXPECT_GE(refused.error().outcome().count(Vote::nodes_differ), 2);
  const std::string sentence = refused.error().what();
  const std::string sixth =
      cluster_.shown_urls()[5].substr(cluster_.shown_urls()[5].find("//") + 2);
  EXPECT_NE(sentence.find(sixth + ", which is not one of them"), sentence.npos) << sentence;
  EXPECT_NE(sentence.find("lacks"), sentence.npos) << sentence;
  EXPECT_EQ(cluster_.holders(key_), 0);
}

TEST_F(Members, TheFirstErrorOfAListOfOneNodeNamesBothLists) {
  Coordinator one = connect(options({0}));
  const Result<Lease> refused = one.acquire(key_);
  ASSERT_TRUE(fails_with(refused, Errc::misconfigured));
  const std::string sentence = refused.error().what();
  EXPECT_NE(sentence.find("votes for {"), sentence.npos) << sentence;
  EXPECT_NE(sentence.find("our list lacks "), sentence.npos) << sentence;
}

TEST_F(Members, TwoListsNeverBothGetALock) {
  // Two nodes that both lists have are down, which leaves a majority of either list: A, B and E,
  // and A, B and F.
  Coordinator one = connect(options({0, 1, 2, 3, 4}));
  Coordinator other = connect(options({0, 1, 2, 3, 5}));
  cluster_.kill(2);
  cluster_.kill(3);
  Result<Lease> lease = one.acquire(key_, {.wait = 20s});
  ASSERT_TRUE(ok(lease));
  EXPECT_FALSE(other.acquire(key_, {.wait = 3s}));
  EXPECT_TRUE(lease->is_valid());
  EXPECT_EQ(cluster_.value(5, record_key), std::nullopt) << "no node vouches for it";
  EXPECT_EQ(cluster_.value(5, key_), std::nullopt);
}

TEST_F(Members, ANewListIsFoundedByOneOfTwoClientsThatDisagree) {
  // None of four new nodes has a record, and two clients have three of them each. Nodes 1 and 2
  // belong to both lists, and are enrolled for one.
  Cluster fresh({.size = 4, .enrolled = false, .max_ttl = 500ms});
  const auto with = [&](int last) {
    Options options = fresh.options();
    options.max_ttl = options.ttl = 500ms;
    options.nodes = {fresh.urls()[0], fresh.urls()[1],
                     fresh.urls()[static_cast<std::size_t>(last)]};
    return options;
  };
  Coordinator one = connect(with(2));
  Coordinator other = connect(with(3));
  int works = 0;
  EXPECT_TRUE(eventually([&] {
    works = 0;
    for (Coordinator* coordinator : {&one, &other}) {
      if (coordinator->acquire(key_, {.wait = 200ms})) ++works;
    }
    return works > 0;
  }));
  EXPECT_EQ(works, 1);
  // Two enrolled nodes are enough for a lock, so the third may be enrolled later.
  EXPECT_TRUE(eventually([&] {
    return fresh.value(2, record_key).has_value() || fresh.value(3, record_key).has_value();
  }));
  EXPECT_FALSE(fresh.value(2, record_key) && fresh.value(3, record_key));
}

TEST_F(Members, ARestartedNodeIsNotEnrolledInAnotherList) {
  // The lists share one node, which is restarted with its disk. A client with the other list alone
  // looks after it, for longer than max_ttl; the other two nodes of that list are new.
  Cluster durable({.size = 5, .durable = true, .enrolled = false, .max_ttl = 500ms});
  const auto with = [&](const std::vector<std::size_t>& nodes) {
    Options options = durable.options();
    options.max_ttl = options.ttl = 500ms;
    options.nodes.clear();
    for (const std::size_t node : nodes) options.nodes.push_back(durable.urls()[node]);
    return options;
  };
  durable.enrol_for(with({0, 1, 2}).nodes);
  durable.kill(2);
  durable.restart(2);
  Coordinator other = connect(with({2, 3, 4}));
  EXPECT_FALSE(other.acquire(key_, {.wait = 3s}));
  const Result<Lease> refused = other.acquire(key_);
  ASSERT_FALSE(refused);
  EXPECT_NE(std::string(refused.error().what()).find("was restarted, and votes for {"),
            std::string::npos)
      << refused.error().what();
  Coordinator one = connect(with({0, 1, 2}));
  EXPECT_TRUE(ok(one.acquire(key_, {.wait = 20s})));
}

TEST_F(Members, AClientThatSpellsAnAddressDifferentlyLearnsTheName) {
  // The path leads to the same socket by way of a symbolic link.
  const TemporaryDirectory directory;
  const std::string again = directory.path() / "again.sock";
  std::filesystem::create_symlink(cluster_.plain_urls()[0].substr(std::string("unix://").size()),
                                  again);
  Options spelt = options({0, 1, 2, 3, 4});
  spelt.nodes[0] = "unix://" + again;
  Coordinator coordinator = connect(spelt);
  EXPECT_TRUE(ok(coordinator.acquire(key_)));
}

}  // namespace
}  // namespace quorumlock::test
