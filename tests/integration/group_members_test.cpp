#include <quorumlock/admin.hpp>

#include <array>

#include "integration/fixture.hpp"
#include "local/enroll.hpp"
#include "lock/placement.hpp"

// Changing the list of nodes of one of several quorum groups.
namespace quorumlock::test {
namespace {

const std::vector<std::string> both_groups = {"north", "south"};

/// Nine new nodes: {0, 1, 2} are enrolled as the north, {3, 4, 5} as the south, and the others are
/// spare.
class GroupMembers : public ::testing::Test {
 protected:
  using Lists = std::map<std::string, std::vector<int>>;

  GroupMembers() { local::enroll_new(options(first)); }

  Options options(const Lists& lists) {
    Options options = cluster_.options();
    options.ttl = *options.max_ttl;
    options.nodes.clear();
    for (const auto& [group, numbers] : lists) options.groups[group] = nodes(numbers);
    return options;
  }
  Nodes nodes(const std::vector<int>& numbers) {
    Nodes nodes;
    for (const int node : numbers) {
      nodes.push_back(cluster_.urls()[static_cast<std::size_t>(node)]);
    }
    return nodes;
  }
  MembersChange change_to(const Lists& lists) {
    Result<MembersChange> change = MembersChange::open(options(lists));
    EXPECT_TRUE(ok(change));
    return *std::move(change);
  }
  static std::vector<MembersReport> look(MembersChange& change) {
    Result<std::vector<MembersReport>> reports = change.look();
    EXPECT_TRUE(ok(reports));
    return *std::move(reports);
  }
  static bool all_done(MembersChange& change) {
    return std::ranges::all_of(look(change), &MembersReport::done);
  }
  /// What an operator sees of a change that is not done, and the record of each node.
  std::string told(MembersChange& change) {
    std::string text;
    for (const MembersReport& report : look(change)) {
      text += report.group + ": " + report.next_step + "\n";
      for (const Member& member : report.members) {
        text += member.name + " " + std::string(to_string(member.state)) + "\n";
      }
    }
    for (int node = 0; node < 9; ++node) text += std::to_string(node) + ": " + record(node) + "\n";
    return text;
  }
  /// Whether the change is settled on all nodes: one that did not answer is settled by a later
  /// call, and as long as it is behind it lets no new node in.
  static bool has_ended(MembersChange& change) {
    const Result<std::chrono::nanoseconds> left = change.settle();
    return left && *left == 0ns && all_done(change);
  }
  std::string record(int node) { return cluster_.value(node, "quorumlock:enrolment").value_or(""); }
  /// Returns a resource of this group.
  [[nodiscard]] std::string in(const std::string& group, int number = 0) const {
    const core::Placement placement(both_groups, 1, "");
    for (int i = 0;; ++i) {
      std::string resource = key_ + "/" + std::to_string(number) + "/" + std::to_string(i);
      if (both_groups[placement.of(resource).group] == group) return resource;
    }
  }

  Cluster cluster_{{.size = 9, .enrolled = false, .max_ttl = 1500ms, .user = "operator"}};
  const Lists first{{"north", {0, 1, 2}}, {"south", {3, 4, 5}}};
  const std::string key_ = resource_of_this_test();
};

TEST_F(GroupMembers, OneGroupChangesAndTheOtherIsNotTouched) {
  // The north changes from {0, 1, 2} to {0, 1, 6}. A running process moves that group alone, with
  // its leases; the south's records stay as they are, byte for byte.
  Coordinator coordinator = connect(options(first));
  Result<Lease> of_north = coordinator.acquire(in("north"), {.wait = 20s});
  Result<Lease> of_south = coordinator.acquire(in("south"), {.wait = 20s});
  ASSERT_TRUE(ok(of_north));
  ASSERT_TRUE(ok(of_south));
  const std::array before{record(3), record(4), record(5)};
  const Lists second{{"north", {0, 1, 6}}, {"south", {3, 4, 5}}};

  EXPECT_TRUE(fails_with(coordinator.set_nodes(nodes({0, 1, 6})), Errc::invalid_argument));
  ASSERT_TRUE(ok(coordinator.set_nodes("north", nodes({0, 1, 6}))));
  MembersChange change = change_to(second);
  EXPECT_EQ(look(change)[0].stage, MembersStage::differs);
  EXPECT_EQ(look(change)[1].stage, MembersStage::agreed);
  ASSERT_TRUE(ok(change.announce()));
  EXPECT_TRUE(eventually([&] { return look(change)[0].old_clients().empty(); }));
  ASSERT_TRUE(ok(change.commit()));
  EXPECT_TRUE(eventually([&] { return has_ended(change); })) << told(change);

  EXPECT_TRUE(of_north->is_valid());
  EXPECT_TRUE(of_south->is_valid());
  EXPECT_EQ((std::array{record(3), record(4), record(5)}), before);
  EXPECT_EQ(look(change)[0].epoch, 1U);
  EXPECT_EQ(look(change)[1].epoch, 0U);
  // The new node makes up for one that is down, and has both marks in its one record.
  const std::string mark = core::Placement::mark(both_groups, "north");
  for (const int node : {0, 1, 6}) {
    EXPECT_NE(record(node).find("@" + mark + "#"), std::string::npos) << record(node);
  }
  cluster_.kill(0);
  EXPECT_TRUE(ok(coordinator.acquire(in("north", 1), {.wait = 20s})));
  EXPECT_TRUE(of_north->is_valid());
}

TEST_F(GroupMembers, BothGroupsChangeInOneGo) {
  // Neither group's change is announced if the other one cannot be.
  MembersChange unsafe = change_to({{"north", {0, 1, 6}}, {"south", {3, 7, 8}}});
  const Result<void> refused = unsafe.announce();
  ASSERT_TRUE(fails_with(refused, Errc::misconfigured));
  EXPECT_EQ(std::string(refused.error().what()).find("group south: "), 0U)
      << refused.error().what();
  EXPECT_EQ(look(unsafe)[0].stage, MembersStage::differs);

  const Lists second{{"north", {0, 1, 6}}, {"south", {3, 4, 7}}};
  MembersChange change = change_to(second);
  ASSERT_TRUE(ok(change.announce()));
  Coordinator coordinator = connect(options(second));
  ASSERT_TRUE(ok(change.commit()));
  EXPECT_TRUE(eventually([&] { return has_ended(change); })) << told(change);
  cluster_.kill(0);
  cluster_.kill(3);
  EXPECT_TRUE(ok(coordinator.acquire(in("north"), {.wait = 20s})));
  EXPECT_TRUE(ok(coordinator.acquire(in("south"), {.wait = 20s})));
}

TEST_F(GroupMembers, AClientWithOtherGroupsIsRefusedBeforeDuringAndAfterAChange) {
  // A client that knows the north, but not the south, would take locks of the south in the north.
  // Nodes that joined refuse it as well as those that were there before.
  const auto refuses = [&](const std::vector<int>& list) {
    Options alone = cluster_.options();
    alone.ttl = *alone.max_ttl;
    alone.nodes = nodes(list);
    Coordinator other = connect(alone);
    const auto is_so = [&] {
      const Result<Lease> lease = other.acquire(in("south"), {.wait = 1s});
      EXPECT_TRUE(fails_with(lease, Errc::misconfigured));
      return lease.error().outcome().count(Vote::groups_differ) == static_cast<int>(list.size());
    };
    return eventually(is_so);
  };
  const Lists second{{"north", {0, 1, 6}}, {"south", {3, 4, 5}}};
  MembersChange change = change_to(second);
  EXPECT_TRUE(refuses({0, 1, 2}));
  ASSERT_TRUE(ok(change.announce()));
  Coordinator coordinator = connect(options(second));
  EXPECT_TRUE(refuses({0, 1, 2}));
  ASSERT_TRUE(ok(change.commit(true)));
  EXPECT_TRUE(refuses({0, 1, 2}));
  EXPECT_TRUE(eventually([&] { return has_ended(change); })) << told(change);
  EXPECT_TRUE(refuses({0, 1, 6}));
  EXPECT_EQ(cluster_.holders(in("south")), 0);
  EXPECT_TRUE(ok(coordinator.acquire(in("south"), {.wait = 20s})));
}

}  // namespace
}  // namespace quorumlock::test
