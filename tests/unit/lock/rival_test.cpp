#include "lock/rival.hpp"

#include <gtest/gtest.h>

namespace quorumlock::core {
namespace {

using namespace std::chrono_literals;

constexpr Time at(Duration span) {
  return Time() + span;
}

TEST(Rival, IsNamedOnceEnoughNodesAgree) {
  Rival rival;
  rival.note(at(10s), 0, "a", at(8s));
  rival.note(at(10s), 1, "a", at(7s));
  EXPECT_EQ(rival.token(3), "");
  rival.note(at(10s), 1, "a", at(9s));
  EXPECT_EQ(rival.token(3), "");
  rival.note(at(10s), 2, "a", never);
  EXPECT_EQ(rival.token(3), "a");
  EXPECT_EQ(rival.since(), at(7s));
}

TEST(Rival, IsForgottenAtNodesWithoutIt) {
  Rival rival;
  for (const int node : {0, 1, 2}) rival.note(at(10s), node, "a", at(8s));
  rival.note(at(11s), 1, "", never);
  EXPECT_EQ(rival.token(2), "a");
  EXPECT_EQ(rival.token(3), "");
}

TEST(Rival, ThatFollowsAnotherHasTheLockSinceItIsSeen) {
  Rival rival;
  rival.note(at(10s), 0, "a", never);
  EXPECT_EQ(rival.since(), never);
  rival.note(at(12s), 0, "b", never);
  rival.note(at(13s), 1, "b", never);
  EXPECT_EQ(rival.token(2), "b");
  EXPECT_EQ(rival.since(), at(12s));
}

TEST(Rival, ExpiresAsTheNodesReport) {
  Rival rival;
  rival.note(at(10s), 0, "a", never);
  EXPECT_EQ(rival.expiry(), std::nullopt);
  rival.note(at(11s), 1, "a", never, 5s);
  EXPECT_EQ(rival.expiry(), at(16s));
  rival.note(at(12s), 2, "a", never);
  EXPECT_EQ(rival.expiry(), at(16s));
  rival.note(at(13s), 2, "a", never, -1ms);
  EXPECT_EQ(rival.expiry(), never);
  rival.note(at(14s), 0, "b", never);
  EXPECT_EQ(rival.expiry(), std::nullopt);
}

TEST(Rival, HasTheLockSinceTheTimeInItsFencingToken) {
  // The node's counter and clock are in us since 1970; the time that is reported is by our clock.
  Rival rival;
  rival.hear(at(50s), 0,
             {.fence = 1'700'000'000'000'000, .node_time = 1'700'000'012'000'000, .holder = "a"});
  EXPECT_EQ(rival.since(), at(38s));
  EXPECT_EQ(age_of(1'700'000'000'000'001, 1'700'000'000'000'000), std::nullopt);
  EXPECT_EQ(age_of(5, 1'700'000'000'000'000), std::nullopt);
}

}  // namespace
}  // namespace quorumlock::core
