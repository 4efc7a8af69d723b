#pragma once

#include <map>
#include <string>
#include <vector>

#include <quorumlock/admin.hpp>

#include "integration/fixture.hpp"

namespace quorumlock::test {

/// Seven nodes, of which the first five are enrolled as a list.
class SevenNodes : public ::testing::Test {
 protected:
  /// Leases that a test keeps need a max_ttl that a busy machine can renew them in.
  explicit SevenNodes(std::chrono::milliseconds max_ttl = 500ms)
      : cluster_({.size = 7, .enrolled = false, .max_ttl = max_ttl, .user = "operator"}) {
    std::vector<std::string> five = cluster_.urls();
    five.resize(5);
    cluster_.enrol_for(five);
  }
  Options options(const std::vector<int>& nodes) {
    Options options = cluster_.options();
    options.ttl = *options.max_ttl;
    options.nodes.clear();
    for (const int node : nodes)
      options.nodes.push_back(cluster_.urls()[static_cast<std::size_t>(node)]);
    return options;
  }
  MembersChange change_to(const std::vector<int>& nodes) {
    Options of_operator = options(nodes);
    of_operator.connect_timeout = 5s;  // one node is silent in one test
    Result<MembersChange> change = MembersChange::open(of_operator);
    EXPECT_TRUE(ok(change));
    return *std::move(change);
  }
  static MembersReport look(MembersChange& change) {
    const Result<std::vector<MembersReport>> reports = change.look();
    EXPECT_TRUE(ok(reports));
    return reports->front();
  }
  /// Settles a change, in as many calls as it takes.
  static void settle(MembersChange& change) {
    EXPECT_TRUE(eventually([&] {
      const Result<std::chrono::nanoseconds> left = change.settle();
      return left && *left == 0ns;
    }));
  }
  /// Settles a change on all nodes of the new list. One that did not answer for a while, as on a
  /// busy disk, is settled by a later call.
  static void finish(MembersChange& change) {
    EXPECT_TRUE(eventually([&] {
      settle(change);
      return look(change).done;
    })) << look(change).next_step;
  }
  static std::map<std::string, int> states(const MembersReport& report) {
    std::map<std::string, int> count;
    for (const Member& member : report.members) ++count[std::string(to_string(member.state))];
    return count;
  }
  bool soon(Coordinator& coordinator) {
    return eventually([&] { return coordinator.acquire(key_).has_value(); });
  }

  Cluster cluster_;
  const std::string key_ = resource_of_this_test();
};

}  // namespace quorumlock::test
