#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <future>
#include <stdexcept>
#include <stop_token>
#include <string>

#include <quorumlock/admin.hpp>
#include <quorumlock/quorumlock.hpp>
#include <quorumlock/testing.hpp>

#include "support/eventually.hpp"

namespace quorumlock {
namespace {

using namespace std::chrono_literals;

TEST(Cluster, ALockOfOneCoordinatorIsRefusedToAnother) {
  testing::Cluster cluster;
  Coordinator one = Coordinator::create(cluster.options()).value();
  Coordinator two = Coordinator::create(cluster.options()).value();
  Lease lease = one.acquire("orders").value();
  EXPECT_EQ(two.acquire("orders").error().code(), Errc::contended);
  EXPECT_EQ(cluster.value(0, "orders"), lease.owner_token());
  lease.release().value();
  EXPECT_TRUE(two.acquire("orders"));
}

TEST(Cluster, TheHolderOfALostLeaseIsNotifiedAtOnce) {
  testing::Cluster cluster(3);
  Coordinator coordinator = Coordinator::create(cluster.options()).value();
  Lease lease = coordinator.acquire("orders").value();
  const std::stop_token stop = lease.stop_token();
  EXPECT_FALSE(stop.stop_requested());
  EXPECT_TRUE(cluster.lose(lease));
  EXPECT_TRUE(stop.stop_requested());
  EXPECT_FALSE(lease.is_valid());
  EXPECT_EQ(lease.release().error().code(), Errc::lost);
  EXPECT_FALSE(cluster.lose(lease));
  EXPECT_TRUE(coordinator.acquire("orders"));
}

// Each kind of lock has its token in another kind of value.
TEST(Cluster, EveryKindOfLeaseCanBeLost) {
  testing::Cluster cluster(3);
  Coordinator coordinator = Coordinator::create(cluster.options()).value();
  Lease reader = coordinator.acquire("read", {.mode = LockMode::shared}).value();
  Lease other = coordinator.acquire("read", {.mode = LockMode::shared}).value();
  Lease set = coordinator.acquire_all({"a", "b"}).value();
  Semaphore semaphore(coordinator, "permits", 2);
  std::promise<Result<Lease>> got;
  semaphore.async_acquire([&](Result<Lease> result) { got.set_value(std::move(result)); });
  Lease permit = got.get_future().get().value();
  for (Lease* const lease : {&reader, &set, &permit}) {
    EXPECT_TRUE(cluster.lose(*lease)) << lease->resource();
    EXPECT_FALSE(lease->is_valid()) << lease->resource();
  }
  EXPECT_TRUE(other.extend(5s));
  EXPECT_EQ(coordinator.acquire("read").error().code(), Errc::contended);
  EXPECT_TRUE(coordinator.acquire("a"));
}

TEST(Cluster, ALeaseIsNotLostIfTooFewNodesAreThere) {
  testing::Cluster cluster(3);
  Coordinator coordinator = Coordinator::create(cluster.options()).value();
  Lease lease = coordinator.acquire("orders").value();
  cluster.stop(0);
  cluster.stop(1);
  EXPECT_FALSE(cluster.lose(lease));
  EXPECT_TRUE(lease.is_valid());
}

TEST(Cluster, AnswersWhoHoldsWhatAndWhoLeads) {
  testing::Cluster cluster(3);
  Coordinator coordinator = Coordinator::create(cluster.options()).value();
  Lease lease = coordinator.acquire("orders").value();
  Lease reader = coordinator.acquire("read", {.mode = LockMode::shared}).value();
  Election election(coordinator, "billing");
  Leadership leads = election.campaign("10.0.0.7:8080").value();
  EXPECT_EQ(coordinator.inspect("orders").value().holder, lease.owner_token());
  EXPECT_EQ(coordinator.inspect("read").value().nodes.front().readers.size(), 1u);
  std::vector<std::string> resources;
  const LockList list = list_locks(coordinator).value();
  for (const HeldLock& held : list.locks) resources.push_back(held.resource);
  EXPECT_EQ(resources, (std::vector<std::string>{"billing", "orders", "read"}));
  EXPECT_EQ(election.leader().value().value().value, "10.0.0.7:8080");
  leads.proclaim("10.0.0.8:8080").value();
  EXPECT_EQ(election.leader().value().value().value, "10.0.0.8:8080");
  leads.resign().value();
  EXPECT_EQ(election.leader().value(), std::nullopt);
  const ClusterStatus status = coordinator.status().value();
  for (const NodeStatus& node : status.nodes) EXPECT_TRUE(node.votes) << node.trouble;
}

TEST(Cluster, OtherNodesAndSizesAreRefused) {
  EXPECT_THROW(testing::Cluster(0), std::invalid_argument);
  EXPECT_THROW(testing::Cluster(33), std::invalid_argument);
  testing::Cluster cluster(3);
  EXPECT_THROW(cluster.stop(3), std::out_of_range);
  EXPECT_THROW(cluster.stop(-1), std::out_of_range);
}

TEST(Cluster, APathThatIsTooLongForASocketIsRefusedAndLeavesNothing) {
  namespace fs = std::filesystem;
  const fs::path usual = fs::temp_directory_path();
  const fs::path top = usual / ("paths-" + std::to_string(::getpid()));
  const std::size_t rest = (top / "quorumlock-XXXXXX" / "node-0").native().size() + 1;
  constexpr std::size_t longest = 107;
  ASSERT_LT(rest, longest - 2);
  for (std::size_t size = longest - 2; size <= longest + 2; ++size) {
    const fs::path folder = top / std::string(size - rest, 'x');
    fs::create_directories(folder);
    ::setenv("TMPDIR", folder.c_str(), 1);
    bool refused = false;
    try {
      const testing::Cluster cluster(1);
      EXPECT_TRUE(Coordinator::create(cluster.options()));
    } catch (const std::invalid_argument&) {
      refused = true;
    }
    EXPECT_EQ(refused, size > longest) << size;
    EXPECT_TRUE(fs::is_empty(folder)) << size;
  }
  ::setenv("TMPDIR", usual.c_str(), 1);
  fs::remove_all(top);
}

TEST(ClusterManualClock, ThereIsOneAtATimeAndItNeverGoesBack) {
  const auto before = Clock::now();
  {
    testing::ManualClock clock;
    EXPECT_THROW(testing::ManualClock(), std::logic_error);
    EXPECT_THROW(clock.advance(-1s), std::invalid_argument);
    const auto stood = Clock::now();
    EXPECT_EQ(Clock::now(), stood);
    clock.advance(1h);
    EXPECT_EQ(Clock::now(), stood + 1h);
  }
  EXPECT_GT(Clock::now(), before + 1h);
}

// This is about the timers of loops that were made before the clock was stopped, and go on after
// it.
TEST(ClusterManualClock, ARenewalComesInItsTimeAfterwards) {
  testing::Cluster cluster(3);
  Coordinator coordinator = Coordinator::create(cluster.options()).value();
  Lease lease = coordinator.acquire("orders", {.ttl = 300ms}).value();
  const auto end = [&] {
    testing::ManualClock clock;
    clock.advance(10min);
    EXPECT_TRUE(lease.is_valid());
    return lease.valid_until();
  }();
  EXPECT_TRUE(test::eventually([&] { return lease.valid_until() > end; }));
}

TEST(ClusterManualClock, AWaitEndsAtItsDeadline) {
  testing::Cluster cluster(3);
  testing::ManualClock clock;
  Coordinator coordinator = Coordinator::create(cluster.options()).value();
  Lease lease = coordinator.acquire("orders").value();
  std::promise<Errc> ended;
  coordinator.async_acquire("orders", {.wait = 1h}, [&](const Result<Lease>& result) {
    ended.set_value(static_cast<Errc>(result.error().code().value()));
  });
  std::future<Errc> code = ended.get_future();
  clock.advance(59min);
  EXPECT_EQ(code.wait_for(0s), std::future_status::timeout);
  clock.advance(1min);
  EXPECT_EQ(code.get(), Errc::timed_out);
}

TEST(ClusterManualClock, AnElectionHasAnotherLeaderAfterALoss) {
  testing::Cluster cluster(3);
  testing::ManualClock clock;
  Coordinator one = Coordinator::create(cluster.options()).value();
  Coordinator two = Coordinator::create(cluster.options()).value();
  Election first(one, "scheduler"), second(two, "scheduler");
  Leadership leads = first.campaign("one").value();
  std::promise<Result<Leadership>> won;
  second.async_campaign("two", {}, [&](auto result) { won.set_value(std::move(result)); });
  clock.advance(1s);
  for (const int node : {0, 1, 2}) cluster.partition(node);
  clock.advance(30s);
  EXPECT_FALSE(leads.is_valid());
  for (const int node : {0, 1, 2}) cluster.heal(node);
  clock.advance(30s);
  Leadership leader = won.get_future().get().value();
  EXPECT_TRUE(leader.is_valid());
  EXPECT_GT(leader.fencing_token(), leads.fencing_token());
}

TEST(ClusterManualClock, ALeaseIsRenewedWhileTimePasses) {
  testing::Cluster cluster;
  testing::ManualClock clock;
  Coordinator coordinator = Coordinator::create(cluster.options()).value();
  Lease lease = coordinator.acquire("orders", {.ttl = 10s}).value();
  const auto began = Clock::now();
  clock.advance(1min);
  EXPECT_EQ(Clock::now() - began, 1min);
  EXPECT_TRUE(lease.is_valid());
  EXPECT_GT(lease.valid_until(), began + 1min);
}

TEST(ClusterManualClock, ALeaseEndsWithoutAQuorum) {
  testing::Cluster cluster;
  testing::ManualClock clock;
  Coordinator coordinator = Coordinator::create(cluster.options()).value();
  Lease lease = coordinator.acquire("orders", {.ttl = 10s}).value();
  for (const int node : {0, 1, 2}) cluster.stop(node);
  clock.advance(11s);
  EXPECT_FALSE(lease.is_valid());
  EXPECT_TRUE(lease.stop_token().stop_requested());
}

TEST(ClusterManualClock, ASuspendedHolderLosesItsLease) {
  testing::Cluster cluster;
  testing::ManualClock clock;
  Coordinator coordinator = Coordinator::create(cluster.options()).value();
  Lease lease = coordinator.acquire("orders", {.ttl = 10s}).value();
  clock.suspend(11s);
  EXPECT_FALSE(lease.is_valid());
  EXPECT_TRUE(lease.stop_token().stop_requested());
}

TEST(ClusterManualClock, ANodeThatForgotVotesAgainAfterMaxTtl) {
  testing::Cluster cluster(3);
  testing::ManualClock clock;
  Coordinator coordinator = Coordinator::create(cluster.options()).value();
  const auto votes = [&] { return coordinator.status()->nodes.at(0).votes; };
  clock.advance(1s);
  ASSERT_TRUE(votes());
  cluster.forget(0);
  clock.advance(1s);
  EXPECT_FALSE(votes());
  clock.advance(30s + 5s);  // max_ttl, and some time more
  EXPECT_TRUE(votes());
}

TEST(ClusterManualClock, APartitionedNodeIsNotNeeded) {
  testing::Cluster cluster(3);
  Coordinator coordinator = Coordinator::create(cluster.options()).value();
  ASSERT_TRUE(coordinator.acquire("orders"));
  testing::ManualClock clock;
  cluster.partition(2);
  EXPECT_TRUE(coordinator.acquire("orders"));
  clock.advance(1min);
  cluster.heal(2);
  clock.advance(1min);
  EXPECT_TRUE(coordinator.acquire("orders"));
}

}  // namespace
}  // namespace quorumlock
