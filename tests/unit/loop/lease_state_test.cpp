#include <gtest/gtest.h>

#include <stop_token>
#include <string>

#include "loop/lease_state.hpp"

// What a holder on any thread and the loop share about a lease's end.
namespace quorumlock::detail {
namespace {

using namespace std::chrono_literals;

/// A lease whose end is this far from now; a negative time means that it has ended.
class LeaseStates : public ::testing::Test {
 protected:
  void begin(Clock::duration left) {
    core::Claim claim;
    claim.names.assign("orders:42", std::string(40, 'a'));
    claim.deadline = Clock::now() + left;
    lease.begin(nullptr, {}, claim, 9, {}, 1);
  }
  void TearDown() override { lease.recycle(); }

  LeaseState lease;
};

TEST_F(LeaseStates, ARenewalMovesTheEnd) {
  // The end moves if nobody has seen the old end pass, even if it has passed unseen.
  for (const Clock::duration left : {Clock::duration(1h), Clock::duration(-1ns)}) {
    begin(left);
    const Clock::time_point renewed = Clock::now() + 2h;
    EXPECT_TRUE(lease.renew(renewed));
    EXPECT_EQ(lease.valid_until(), renewed);
    EXPECT_TRUE(lease.is_valid());
    EXPECT_EQ(lease.ended(), Errc());
  }
}

TEST_F(LeaseStates, ALeaseThatWasSeenToEndIsNotRenewed) {
  // The holder has asked once after the end: no renewal makes the lease valid again.
  begin(-1ns);
  const Clock::time_point end = lease.valid_until();
  EXPECT_FALSE(lease.is_valid());
  EXPECT_EQ(lease.ended(), Errc::expired);
  EXPECT_FALSE(lease.renew(Clock::now() + 1h));
  EXPECT_FALSE(lease.is_valid());
  EXPECT_EQ(lease.valid_until(), end);
  EXPECT_EQ(lease.ended(), Errc::expired);
}

TEST_F(LeaseStates, AReleasedLeaseIsNotRenewed) {
  // The lease is over long before its deadline, and stays so; the first reason stands.
  begin(1h);
  EXPECT_EQ(lease.end(LeaseState::released), Errc());
  EXPECT_FALSE(lease.is_valid());
  EXPECT_FALSE(lease.renew(Clock::now() + 2h));
  EXPECT_FALSE(lease.is_valid());
  EXPECT_EQ(lease.end(Errc::lost), LeaseState::released);
  EXPECT_EQ(lease.ended(), LeaseState::released);
}

TEST_F(LeaseStates, AWarningReachesTokensTakenBeforeAndAfterIt) {
  // A stop token that is taken only after the warning is stopped as well.
  for (const bool before : {true, false}) {
    begin(1h);
    std::stop_token token;
    if (before) token = lease.stop_token();
    EXPECT_FALSE(token.stop_requested());
    lease.warn();
    if (!before) token = lease.stop_token();
    EXPECT_TRUE(token.stop_requested());
    lease.recycle();
  }
}

TEST_F(LeaseStates, TheNextLeaseIsNotWarnedByTheLast) {
  // States are reused: a new lease begins without the old one's end, warning and token.
  begin(-1ns);
  EXPECT_FALSE(lease.is_valid());
  const std::stop_token old = lease.stop_token();
  lease.warn();
  lease.recycle();
  begin(1h);
  EXPECT_TRUE(lease.is_valid());
  EXPECT_EQ(lease.ended(), Errc());
  EXPECT_FALSE(lease.stop_token().stop_requested());
  EXPECT_TRUE(old.stop_requested());
}

}  // namespace
}  // namespace quorumlock::detail
