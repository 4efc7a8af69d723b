// The example of docs/programs.md.

#include <gtest/gtest.h>

#include <quorumlock/quorumlock.hpp>
#include <quorumlock/testing.hpp>

#include <optional>

using namespace std::chrono_literals;

namespace {

// The code under test: the one billing job of a fleet. It must never work on without its lock.
class Billing {
 public:
  explicit Billing(quorumlock::Coordinator& coordinator) : coordinator_(coordinator) {}

  /// Bills one customer if this process may; false: another process does.
  bool step() {
    if (!lease_ || lease_->stop_token().stop_requested()) {
      lease_.reset();
      quorumlock::Result<quorumlock::Lease> lease = coordinator_.acquire("billing");
      if (!lease) return false;
      lease_ = std::move(*lease);
    }
    ++billed;
    return true;
  }

  int billed = 0;

 private:
  quorumlock::Coordinator& coordinator_;
  std::optional<quorumlock::Lease> lease_;
};

class BillingTest : public testing::Test {
 protected:
  quorumlock::testing::Cluster cluster{3};
  quorumlock::Coordinator here = quorumlock::Coordinator::create(cluster.options()).value();
  quorumlock::Coordinator there = quorumlock::Coordinator::create(cluster.options()).value();
};

TEST_F(BillingTest, OneProcessWorksAtATime) {
  Billing one(here), two(there);
  EXPECT_TRUE(one.step());
  EXPECT_FALSE(two.step());
}

TEST_F(BillingTest, AnotherTakesOverFromAProcessThatStoodStill) {
  quorumlock::testing::ManualClock clock;
  Billing one(here), two(there);
  EXPECT_TRUE(one.step());
  clock.advance(1h);  // the lease is renewed all the time
  EXPECT_FALSE(two.step());
  clock.suspend(1min);  // the machine stands still, and the lease runs out
  EXPECT_TRUE(two.step());
  EXPECT_FALSE(one.step());
  EXPECT_EQ(one.billed, 1);
}

TEST_F(BillingTest, NobodyWorksWithoutAQuorum) {
  cluster.stop(0);
  cluster.stop(1);
  EXPECT_FALSE(Billing(here).step());
}

TEST_F(BillingTest, ALostLeaseEndsTheWork) {
  quorumlock::Lease lease = here.acquire("billing").value();
  cluster.lose(lease);
  EXPECT_TRUE(lease.stop_token().stop_requested());
  EXPECT_TRUE(Billing(there).step());
}

}  // namespace
