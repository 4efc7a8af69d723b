#include "api/campaign_pause.hpp"

#include <gtest/gtest.h>

#include "support/seeded_random.hpp"

namespace quorumlock::detail {
namespace {

using namespace std::chrono_literals;

TEST(CampaignPauseTest, DoublesAfterLeadershipsThatAreOverAtOnce) {
  // Ten leaderships that last for no time take 21 s at least, and then there is one in 5 s to 10 s.
  test::SeededRandom random(1);
  CampaignPause pause(random);
  core::Duration most = CampaignPause::first;
  for (int i = 0; i < 12; ++i) {
    const core::Duration one = pause.after(0s);
    EXPECT_GE(one, most / 2) << i;
    EXPECT_LT(one, most) << i;
    most = std::min(2 * most, CampaignPause::longest);
  }
  EXPECT_EQ(most, 10s);
}

TEST(CampaignPauseTest, BeginsAnewAfterALeadershipThatLasted) {
  test::SeededRandom random(1);
  CampaignPause pause(random);
  for (int i = 0; i < 5; ++i) (void)pause.after(999ms);
  EXPECT_GE(pause.after(999ms), 1s);
  EXPECT_EQ(pause.after(1s), 0s);
  EXPECT_LT(pause.after(0s), CampaignPause::first);
}

TEST(CampaignPauseTest, IsNotTheSameForAll) {
  test::SeededRandom one(1), other(2);
  EXPECT_NE(CampaignPause(one).after(0s), CampaignPause(other).after(0s));
}

}  // namespace
}  // namespace quorumlock::detail
