#include "admin/settlement_wait.hpp"

#include <gtest/gtest.h>

namespace quorumlock::test {
namespace {

using redis::SettlementWait;
using namespace std::chrono_literals;

TEST(SettlementWait, WaitsForMaxTtlAndTheMarginAfterOneLook) {
  SettlementWait wait(0.01);
  const core::Time begun = core::Time(std::chrono::hours(1));
  EXPECT_EQ(wait.after_look(begun, begun + 1s, 10s), 10s + 102ms);
  EXPECT_EQ(wait.after_look(begun + 5s, begun + 6s, 10s), 5s + 102ms) << "the first look counts";
  EXPECT_EQ(wait.after_look(begun + 11s, begun + 12s, 10s), 0s);
  wait.start_again();
  EXPECT_EQ(wait.after_look(begun + 11s, begun + 12s, 10s), 10s + 102ms);
}

TEST(SettlementWait, ALookThatTakesAsLongAsMaxTtlSaysNothing) {
  // A node that was seen first may have forgotten what it said, and vote again.
  SettlementWait wait(0.01);
  const core::Time begun = core::Time(std::chrono::hours(1));
  EXPECT_EQ(wait.after_look(begun, begun + 10s, 10s), 10s);
  EXPECT_EQ(wait.after_look(begun + 20s, begun + 21s, 10s), 10s + 102ms);
}

TEST(SettlementWait, IsForOneChangeOnly) {
  // The same list is decided again after another one: the wait of the first change says nothing.
  using redis::Membership;
  SettlementWait wait(0.01);
  const core::Time begun = core::Time(std::chrono::hours(1));
  const Membership first{1, 1, ListPhase::unsettled, {}, {"a", "b", "c"}, {"a", "b", "d"}};
  EXPECT_FALSE(wait.is_for(first));
  wait.begin(first);
  EXPECT_TRUE(wait.is_for(first));
  EXPECT_EQ(wait.after_look(begun, begun, 10s), 10s + 102ms);
  Membership again = first;
  again.epoch = 3;
  EXPECT_FALSE(wait.is_for(again));
  wait.begin(again);
  EXPECT_EQ(wait.after_look(begun + 20s, begun + 20s, 10s), 10s + 102ms);
  wait.start_again();
  EXPECT_FALSE(wait.is_for(again));
}

TEST(SettlementWait, ANodeEndsOldConnectionsByTheRecordThatItHas) {
  using redis::Membership;
  SettlementWait wait(0.01);
  wait.begin(Membership{1, 1, ListPhase::unsettled, {}, {"a", "b", "c"}, {"a", "b", "d"}});
  EXPECT_FALSE(wait.are_connections_ended("committed"));
  wait.connections_ended("committed");
  EXPECT_TRUE(wait.are_connections_ended("committed"));
  EXPECT_FALSE(wait.are_connections_ended("committed, enrolled again"));
  wait.begin(Membership{1, 2, ListPhase::unsettled, {}, {"a", "b", "d"}, {"a", "b", "c"}});
  EXPECT_FALSE(wait.are_connections_ended("committed")) << "for another change";
}

}  // namespace
}  // namespace quorumlock::test
