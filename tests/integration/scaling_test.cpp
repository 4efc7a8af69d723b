#include <sys/wait.h>

#include <array>
#include <atomic>
#include <future>
#include <mutex>
#include <thread>

#include <quorumlock/admin.hpp>

#include "integration/fixture.hpp"
#include "lock/placement.hpp"
#include "support/uv_loop.hpp"

// Several quorum groups, and several loops: docs/scaling.md.
namespace quorumlock::test {
namespace {

constexpr int loops = 2;
const std::vector<std::string> names = {"north", "south"};

/// Two groups of three nodes each, shared by the tests.
class Scaling : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      groups_[i] = std::make_unique<Cluster>(
          ClusterSettings{.size = 3, .mark = core::Placement::mark(names, names[i])});
    }
  }
  static void TearDownTestSuite() {
    for (auto& group : groups_) group.reset();
  }
  void SetUp() override {
    for (auto& group : groups_) group->heal();
  }

  static Cluster& north() { return *groups_[0]; }
  static Cluster& south() { return *groups_[1]; }
  static Options options(int its_loops = loops) {
    Options options = north().options();
    options.nodes.clear();
    for (std::size_t i = 0; i < groups_.size(); ++i) options.groups[names[i]] = groups_[i]->urls();
    options.loops = its_loops;
    return options;
  }
  /// Returns the first of these resources that belongs to this group and loop.
  [[nodiscard]] std::string in(std::size_t group, std::size_t loop,
                               const std::string& more = "") const {
    const core::Placement placement(names, loops, "");
    for (int i = 0;; ++i) {
      std::string resource = key + more + "/" + std::to_string(i);
      if (placement.of(resource) == core::Placement::Home{group, loop}) return resource;
    }
  }

  const std::string key = resource_of_this_test();

 private:
  inline static std::array<std::unique_ptr<Cluster>, 2> groups_;
};

TEST_F(Scaling, ALockIsOnTheNodesOfItsGroupAlone) {
  // Locks of either loop are on these nodes alone. inspect() reports the nodes of the lock's group.
  Coordinator coordinator = connect(options());
  for (const std::size_t loop : {0U, 1U}) {
    const Result<Lease> one = coordinator.acquire(in(0, loop));
    const Result<Lease> other = coordinator.acquire(in(1, loop));
    ASSERT_TRUE(ok(one));
    ASSERT_TRUE(ok(other));
    EXPECT_EQ(one->outcome().votes.size(), 3U);
    EXPECT_TRUE(eventually([&] { return north().holders(in(0, loop), one->owner_token()) == 3; }));
    EXPECT_TRUE(
        eventually([&] { return south().holders(in(1, loop), other->owner_token()) == 3; }));
    EXPECT_EQ(south().holders(in(0, loop)), 0);
    EXPECT_EQ(north().holders(in(1, loop)), 0);
    const Result<Inspection> seen = coordinator.inspect(in(1, loop));
    ASSERT_TRUE(ok(seen));
    EXPECT_EQ(seen->group, "south");
    EXPECT_EQ(seen->holder, other->owner_token());
    EXPECT_EQ(seen->nodes.front().node, south().shown_urls().front());
  }
}

TEST_F(Scaling, NoLockHasTwoHoldersWhateverThreadsTakeIt) {
  // Two coordinators with four threads each take locks of both groups and both loops: every holder
  // is alone, and has a greater token than all before.
  struct Shared {
    std::string resource;
    std::atomic<bool> taken{false};
    std::atomic<std::uint64_t> fence{0};
    std::atomic<int> count{0};
  };
  std::array<Shared, 8> all;
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].resource = in(i % 2, i / 2 % 2, std::to_string(i));
  }
  Coordinator one = connect(options());
  Coordinator other = connect(options());
  constexpr int turns = 40;
  constexpr int crowd = 8;
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> threads;
    for (std::size_t who = 0; who < crowd; ++who) {
      threads.emplace_back([&, who] {
        Coordinator& mine = who % 2 == 0 ? one : other;
        for (std::size_t turn = 0; turn < turns; ++turn) {
          Shared& it = all[(who / 2 + turn) % all.size()];
          Result<Lease> lease = mine.acquire(it.resource, {.wait = forever});
          if (!lease) {
            ++wrong;
            continue;
          }
          if (it.taken.exchange(true)) ++wrong;
          if (it.fence.exchange(lease->fencing_token()) >= lease->fencing_token()) ++wrong;
          ++it.count;
          it.taken.store(false);
          if (!lease->release()) ++wrong;
        }
      });
    }
  }
  EXPECT_EQ(wrong, 0);
  int count = 0;
  for (const Shared& it : all) count += it.count;
  EXPECT_EQ(count, crowd * turns);
  EXPECT_EQ(one.stats().acquired + other.stats().acquired, static_cast<unsigned>(count));
}

TEST_F(Scaling, AGroupThatIsDownDoesNotAffectTheOther) {
  Coordinator coordinator = connect(options());
  ASSERT_TRUE(ok(coordinator.acquire(in(0, 0))));
  ASSERT_TRUE(ok(coordinator.acquire(in(1, 0))));
  north().kill(0);
  north().kill(1);
  EXPECT_TRUE(fails_with(coordinator.acquire(in(0, 1)), Errc::no_quorum));
  for (const std::size_t loop : {0U, 1U}) EXPECT_TRUE(ok(coordinator.acquire(in(1, loop))));
  const Result<ClusterStatus> status = coordinator.status();
  ASSERT_TRUE(ok(status));
  EXPECT_FALSE(status->has_quorum());
  ASSERT_EQ(status->groups.size(), 2U);
  EXPECT_FALSE(status->groups[0].has_quorum());
  EXPECT_TRUE(status->groups[1].has_quorum());
}

TEST_F(Scaling, LocksOfAllGroupsAreListedInOneOrder) {
  Coordinator coordinator = connect(options());
  const Result<Lease> first = coordinator.acquire(in(1, 0, "a"));
  const Result<Lease> second = coordinator.acquire(in(0, 0, "b"));
  ASSERT_TRUE(ok(first));
  ASSERT_TRUE(ok(second));
  Result<LockList> list = list_locks(coordinator, {.pattern = key + "*"});
  // A node of the quorum may not have reported its lock yet.
  ASSERT_TRUE(eventually([&] {
    list = list_locks(coordinator, {.pattern = key + "*"});
    return list && list->locks.size() == 2;
  }));
  EXPECT_EQ(list->locks[0].resource, first->resource());
  EXPECT_EQ(list->locks[1].resource, second->resource());
}

TEST_F(Scaling, StatusReportsAllNodesAndTheirGroups) {
  Coordinator coordinator = connect(options());
  ASSERT_TRUE(ok(coordinator.acquire(in(0, 0))));
  ASSERT_TRUE(eventually([&] { return coordinator.status()->voters() == 6; }));
  const ClusterStatus status = coordinator.status().value();
  ASSERT_EQ(status.nodes.size(), 6U);
  EXPECT_EQ(status.quorum, 0);
  EXPECT_TRUE(status.has_quorum());
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(status.nodes[i].group, names[i / 3]);
    EXPECT_TRUE(status.nodes[i].same_server_as.empty());
  }
  EXPECT_EQ(status.groups[1].name, "south");
  EXPECT_EQ(status.groups[1].nodes, 3);
  EXPECT_EQ(status.groups[1].quorum, 2);
  EXPECT_EQ(status.groups[1].voters, 3);
}

TEST_F(Scaling, AcquireAllTakesLocksOfOneGroupWhateverTheirLoops) {
  // The set excludes each holder of one of its locks, on that lock's own loop.
  Coordinator coordinator = connect(options());
  const std::vector<std::string> both = {in(1, 1), in(1, 0)};
  Result<Lease> all = coordinator.acquire_all(both);
  ASSERT_TRUE(ok(all));
  EXPECT_EQ(all->resources(), both);
  for (const std::string& one : both) {
    EXPECT_TRUE(fails_with(coordinator.acquire(one), Errc::contended)) << one;
  }
  std::promise<Result<Lease>> next;
  coordinator.async_acquire(both[1], {.wait = forever}, {},
                            [&](Result<Lease> lease) { next.set_value(std::move(lease)); });
  ASSERT_TRUE(ok(all->release()));
  Result<Lease> alone = next.get_future().get();
  ASSERT_TRUE(ok(alone));
  EXPECT_GT(alone->fencing_token(), all->fencing_token());
  EXPECT_TRUE(fails_with(coordinator.acquire_all(both), Errc::contended));
}

TEST_F(Scaling, AcquireAllAcrossGroupsIsRefusedWithARemedy) {
  // Nothing is sent. With a common tag the locks are in one group.
  Coordinator coordinator = connect(options());
  const std::string one = in(0, 0);
  const std::string other = in(1, 1);
  const Result<Lease> refused = coordinator.acquire_all({one, other});
  ASSERT_TRUE(fails_with(refused, Errc::invalid_argument));
  EXPECT_EQ(std::string(refused.error().what()),
            "locks of several groups cannot be taken as one: \"" + one + "\" is in north, \"" +
                other +
                "\" is in south. What is locked together needs names with the same {tag}, such as "
                "{orders}:1 and {orders}:2, which keeps it in one group");
  EXPECT_EQ(north().holders(one) + south().holders(other), 0);
  EXPECT_TRUE(ok(coordinator.acquire_all({"{" + key + "}" + one, "{" + key + "}" + other})));
}

TEST_F(Scaling, BlockingOnAnyOfTheLoopsWouldDeadlock) {
  // In a handler on one loop, even calls for another loop's lock are refused.
  Coordinator coordinator = connect(options());
  Result<Lease> held = coordinator.acquire(in(1, 1));
  ASSERT_TRUE(ok(held));
  std::promise<void> done;
  coordinator.async_acquire(in(0, 0), {}, {}, [&](const Result<Lease>& lease) {
    EXPECT_TRUE(ok(lease));
    EXPECT_TRUE(fails_with(coordinator.acquire(in(0, 1)), Errc::would_deadlock));
    EXPECT_TRUE(fails_with(coordinator.acquire_all({in(1, 0)}), Errc::would_deadlock));
    EXPECT_TRUE(fails_with(held->extend(5s), Errc::would_deadlock));
    EXPECT_TRUE(fails_with(held->release(), Errc::would_deadlock));
    EXPECT_TRUE(fails_with(coordinator.inspect(in(1, 1)), Errc::would_deadlock));
    EXPECT_TRUE(fails_with(coordinator.status(), Errc::would_deadlock));
    EXPECT_GE(coordinator.stats().attempts, 1U);  // stats() blocks nobody
    done.set_value();
  });
  done.get_future().wait();
  EXPECT_TRUE(ok(held->release()));
}

TEST_F(Scaling, CloseEndsAllThatIsUnderWay) {
  // Leases are released in both groups, waiters on all loops get closed, and the close's handler
  // runs last.
  Coordinator holder = connect(options());
  Coordinator coordinator = connect(options());
  std::vector<Lease> others;
  std::vector<Lease> mine;
  std::atomic<int> told{0};
  for (std::size_t place = 0; place < 4; ++place) {
    others.push_back(holder.acquire(in(place / 2, place % 2, "/theirs")).value());
    mine.push_back(coordinator.acquire(in(place / 2, place % 2, "/mine")).value());
    coordinator.async_acquire(in(place / 2, place % 2, "/theirs"), {.wait = forever}, {},
                              [&](const Result<Lease>& lease) {
                                EXPECT_TRUE(fails_with(lease, Errc::closed));
                                ++told;
                              });
  }
  std::promise<int> told_by_then;
  coordinator.async_close([&] { told_by_then.set_value(told); });
  EXPECT_EQ(told_by_then.get_future().get(), 4);
  coordinator.close();
  for (std::size_t place = 0; place < 4; ++place) {
    EXPECT_FALSE(mine[place].is_valid());
    EXPECT_TRUE(others[place].is_valid());
    Cluster& group = place / 2 == 0 ? north() : south();
    EXPECT_TRUE(eventually([&] { return group.holders(in(place / 2, place % 2, "/mine")) == 0; }));
  }
  EXPECT_TRUE(fails_with(coordinator.acquire(in(1, 1)), Errc::closed));
  EXPECT_EQ(coordinator.stats().acquired, 4U);
  EXPECT_EQ(coordinator.stats().refused.closed, 4U);
}

TEST_F(Scaling, MayBeGivenUpOnALoopsOwnThread) {
  // The handler destroys the coordinator.
  auto coordinator = std::make_unique<Coordinator>(connect(options()));
  std::promise<void> done;
  coordinator->async_acquire(in(1, 1), {}, {}, [&](const Result<Lease>& lease) {
    EXPECT_TRUE(ok(lease));
    coordinator.reset();
    done.set_value();
  });
  done.get_future().wait();
  EXPECT_TRUE(eventually([&] { return south().holders(in(1, 1)) == 0; }));
}

TEST_F(Scaling, AForkedChildHasNone) {
  Coordinator coordinator = connect(options());
  Result<Lease> lease = coordinator.acquire(in(1, 1));
  ASSERT_TRUE(ok(lease));
  const pid_t child = ::fork();
  if (child == 0) {
    const bool closed = coordinator.acquire(in(0, 0)).error().code() == Errc::closed &&
                        !lease->is_valid() && coordinator.stats().attempts == 0;
    { const Coordinator gone = std::move(coordinator); }
    ::_exit(closed ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(lease->is_valid());
}

TEST_F(Scaling, MayShareOneLoopOfTheCallers) {
  // An attached coordinator may have several groups, but not several loops.
  UvLoop loop;
  const Result<Coordinator> refused = Coordinator::attach(loop.get(), options(2));
  ASSERT_TRUE(fails_with(refused, Errc::invalid_argument));
  EXPECT_EQ(
      std::string(refused.error().what()),
      "loops is 2, and attach rides the one loop that it is given: leave loops at 1, or create "
      "a coordinator with loops of its own");
  Coordinator coordinator = Coordinator::attach(loop.get(), options(1)).value();
  std::vector<Lease> leases;
  for (const std::size_t group : {0U, 1U}) {
    coordinator.async_acquire(in(group, 0), {}, {}, [&](Result<Lease> lease) {
      ASSERT_TRUE(ok(lease));
      leases.push_back(std::move(*lease));
    });
  }
  loop.run_until([&] { return leases.size() == 2; });
  bool closed = false;
  coordinator.async_close([&] { closed = true; });
  loop.run();
  EXPECT_TRUE(closed);
  EXPECT_EQ(north().holders(in(0, 0)) + south().holders(in(1, 0)), 0);
  EXPECT_EQ(loop.close(), 0);
}

TEST_F(Scaling, ElectionsAndSemaphoresAreInTheirGroupsToo) {
  Coordinator coordinator = connect(options());
  Election election(coordinator, in(1, 1));
  const Result<Leadership> led = election.campaign("me");
  ASSERT_TRUE(ok(led));
  EXPECT_EQ(election.leader().value()->value, "me");
  EXPECT_EQ(north().holders(in(1, 1)), 0);
  Semaphore semaphore(coordinator, in(0, 1), 2);
  semaphore.acquire();
  semaphore.acquire();
  EXPECT_FALSE(semaphore.try_acquire());
  semaphore.release();
  EXPECT_TRUE(semaphore.try_acquire());
}

TEST_F(Scaling, AClientThatNamesOthersIsRefusedByTheNodes) {
  // One group alone, other group names, and a node in the wrong group would each put locks on nodes
  // that other clients do not ask for them.
  Options alone = options(1);
  alone.groups.erase("south");
  Options renamed = options(1);
  renamed.groups["west"] = std::move(renamed.groups.extract("south").mapped());
  Options swapped = options(1);
  std::swap(swapped.groups.at("north"), swapped.groups.at("south"));
  for (const Options& other : {alone, renamed, swapped}) {
    Coordinator coordinator = connect(other);
    const Result<Lease> refused = coordinator.acquire(in(0, 0));
    ASSERT_TRUE(fails_with(refused, Errc::misconfigured));
    EXPECT_GE(refused.error().outcome().count(Vote::groups_differ), 2);
    EXPECT_NE(std::string(refused.error().what()).find("all clients must name the same groups"),
              std::string::npos)
        << refused.error().what();
  }
}

}  // namespace
}  // namespace quorumlock::test
