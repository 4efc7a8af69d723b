#include <atomic>
#include <thread>

#include <quorumlock/semaphore.hpp>

#include "integration/seven_nodes.hpp"

// Coordinator::set_nodes(): a running process moves to another list of nodes.
namespace quorumlock::test {
namespace {

class SetNodes : public SevenNodes {
 protected:
  explicit SetNodes(std::chrono::milliseconds max_ttl = 1500ms) : SevenNodes(max_ttl) {}
  Nodes nodes(const std::vector<int>& numbers) { return options(numbers).nodes; }
  /// Changes the list while this coordinator works, as an operator and a redeployment do.
  void change(Coordinator& coordinator, const std::vector<int>& to) {
    ASSERT_TRUE(ok(coordinator.set_nodes(nodes(to))));
    MembersChange change = change_to(to);
    ASSERT_TRUE(ok(change.announce()));
    EXPECT_TRUE(eventually([&] { return look(change).old_clients().empty(); }));
    ASSERT_TRUE(ok(change.commit()));
    finish(change);
  }
};

/// Locks over and over on a thread of its own, and waits for the slowest node each time: a quorum
/// answers earlier, and on a busy machine that node would fall further and further behind.
class Locking {
 public:
  Locking(Coordinator& coordinator, const std::string& resource)
      : thread_([&coordinator, resource, this] {
          while (!ends_) {
            Result<Lease> lease = coordinator.acquire(resource);
            if (!lease) {
              ++failures_;
              sentence_ = lease.error().what();
              continue;
            }
            EXPECT_GT(lease->fencing_token(), last_);
            last_ = lease->fencing_token();
            EXPECT_TRUE(ok(lease->release()));
            EXPECT_TRUE(ok(coordinator.status()));
          }
        }) {}
  ~Locking() { end(); }
  Locking(const Locking&) = delete;
  Locking& operator=(const Locking&) = delete;
  int failures() {
    end();
    return failures_;
  }
  [[nodiscard]] const std::string& sentence() const { return sentence_; }

 private:
  void end() {
    ends_ = true;
    if (thread_.joinable()) thread_.join();
  }
  int failures_ = 0;
  std::uint64_t last_ = 0;
  std::string sentence_;
  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

TEST_F(SetNodes, MovesAsSoonAsTheNodesAcceptTheList) {
  // Before the announcement the coordinator goes on with its list; an operator sees it as a client
  // with the old list. After it, the coordinator moves by itself, with all leases.
  std::atomic<int> waits = 0, moved = 0;
  Options options = this->options({0, 1, 2, 3, 4});
  options.log = [&](std::string_view sentence) {
    waits += sentence.find("waits until the nodes accept that list") != sentence.npos;
    moved += sentence.starts_with("the nodes are now ");
  };
  Coordinator coordinator = connect(options);
  ASSERT_TRUE(soon(coordinator));
  std::vector<Lease> leases;
  for (int i = 0; i < 300; ++i) {
    Result<Lease> lease = coordinator.acquire(key_ + "/" + std::to_string(i));
    ASSERT_TRUE(ok(lease));
    leases.push_back(*std::move(lease));
  }
  Locking locking(coordinator, key_);
  ASSERT_TRUE(ok(coordinator.set_nodes(nodes({0, 1, 2, 3, 5}))));
  EXPECT_TRUE(eventually([&] { return waits > 0; }));
  MembersChange change = change_to({0, 1, 2, 3, 5});
  ASSERT_TRUE(ok(change.announce()));
  EXPECT_TRUE(eventually([&] { return look(change).old_clients().empty(); }));
  EXPECT_TRUE(eventually([&] { return moved == 1; }));
  ASSERT_TRUE(ok(change.commit()));
  finish(change);
  EXPECT_EQ(locking.failures(), 0) << locking.sentence();
  for (const Lease& lease : leases) EXPECT_TRUE(lease.is_valid());
  EXPECT_EQ(waits, 1);

  const ClusterStatus status = coordinator.status().value();
  ASSERT_EQ(status.nodes.size(), 5U);
  EXPECT_EQ(status.nodes.back().node, cluster_.shown_urls()[5]);
  // The new node makes up for two that are down, and does so for earlier leases, too.
  EXPECT_TRUE(eventually([&] { return coordinator.status().value().voters() == 5; }));
  EXPECT_TRUE(eventually([&] {
    return cluster_.raw(5, {"EXISTS", leases.front().resource()}).integer == 1;
  }));
  cluster_.kill(0);
  cluster_.kill(1);
  EXPECT_TRUE(soon(coordinator));
  for (const Lease& lease : leases) EXPECT_TRUE(lease.is_valid());
}

/// A busy machine has four seconds to renew a lease in, in each of many changes, and six for an
/// attempt. Any other answer may take the node_timeout of all tests: nodes that share a busy disk
/// are late together.
class SetNodesOften : public SetNodes {
 protected:
  SetNodesOften() : SetNodes(6s) {}
};

TEST_F(SetNodesOften, ManyChangesInARowLoseNoLease) {
  // Numbers of nodes that left are given to others, and to a node that returns.
  Coordinator coordinator = connect(options({0, 1, 2, 3, 4}));
  ASSERT_TRUE(soon(coordinator));
  Result<Lease> held = coordinator.acquire(key_ + "/held");
  ASSERT_TRUE(ok(held));
  Locking locking(coordinator, key_);
  for (const std::vector<int>& list : std::vector<std::vector<int>>{
           {0, 1, 2, 3, 5}, {0, 1, 2, 6, 5}, {4, 1, 2, 6, 5}, {4, 2, 6, 5}, {4, 2, 6, 5, 0}}) {
    change(coordinator, list);
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(locking.failures(), 0) << locking.sentence();
  EXPECT_TRUE(held->is_valid());
}

TEST_F(SetNodes, EachLoopMoves) {
  Options options = this->options({0, 1, 2, 3, 4});
  options.loops = 3;
  Coordinator coordinator = connect(options);
  std::vector<Lease> leases;
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(eventually([&] {
      Result<Lease> lease = coordinator.acquire(key_ + "/" + std::to_string(i));
      if (lease) leases.push_back(*std::move(lease));
      return lease.has_value();
    }));
  }
  change(coordinator, {0, 1, 2, 3, 6});
  for (const Lease& lease : leases) EXPECT_TRUE(lease.is_valid());
}

TEST_F(SetNodes, WaitersAndPermitsGoOn) {
  // A waiter in the line and one for a permit are woken by the release after the change.
  Coordinator holder = connect(options({0, 1, 2, 3, 4}));
  Coordinator waiter = connect(options({0, 1, 2, 3, 4}));
  ASSERT_TRUE(soon(holder));
  Result<Lease> held = holder.acquire(key_ + "/held");
  ASSERT_TRUE(ok(held));
  Semaphore permits(holder, key_ + "/permits", 1);
  permits.acquire();
  Result<Lease> got = Error(Errc::closed, "not yet");
  bool got_permit = false;
  std::thread waits([&] { got = waiter.acquire(key_ + "/held", {.wait = 60s}); });
  std::thread waits_too([&] {
    Semaphore wanted(waiter, key_ + "/permits", 1);
    got_permit = wanted.try_acquire_for(60s);
    wanted.release();
  });
  EXPECT_TRUE(eventually([&] {
    const NodeHolding lock = holder.inspect(key_ + "/held").value().nodes[1];
    const NodeHolding permit = holder.inspect(key_ + "/permits").value().nodes[1];
    return lock.waiters.size() == 1 && permit.semaphore.waiters.size() == 1;
  }));
  ASSERT_TRUE(ok(waiter.set_nodes(nodes({5, 1, 2, 3, 4}))));
  change(holder, {5, 1, 2, 3, 4});
  EXPECT_TRUE(ok(held->release()));
  permits.release();
  waits.join();
  waits_too.join();
  EXPECT_TRUE(ok(got));
  EXPECT_TRUE(got_permit);
}

TEST_F(SetNodes, AListThatCannotBeIsRefused) {
  Coordinator coordinator = connect(options({0, 1, 2, 3, 4}));
  EXPECT_TRUE(fails_with(coordinator.set_nodes({}), Errc::invalid_argument));
  EXPECT_TRUE(fails_with(coordinator.set_nodes({"http://a"}), Errc::invalid_argument));
  EXPECT_TRUE(fails_with(coordinator.set_nodes("north", nodes({0})), Errc::invalid_argument));
  Nodes many;
  for (int i = 0; i < 30; ++i) many.push_back("unix:///nowhere/" + std::to_string(i));
  EXPECT_TRUE(fails_with(coordinator.set_nodes(many), Errc::invalid_argument));
  EXPECT_TRUE(soon(coordinator));
}

TEST_F(SetNodes, AListThatNoLeaseContradictsIsTakenAtOnce) {
  // The present nodes are gone for good and no lease is held, so there is nothing to lose.
  Coordinator coordinator = connect(options({5, 6}));
  cluster_.kill(5);
  cluster_.kill(6);
  ASSERT_TRUE(ok(coordinator.set_nodes(nodes({0, 1, 2, 3, 4}))));
  EXPECT_TRUE(soon(coordinator));
}

}  // namespace
}  // namespace quorumlock::test
