#include "api/leader_news.hpp"

#include <gtest/gtest.h>

// Which leaders are news to the user of a watch.
namespace quorumlock::detail {
namespace {

using namespace std::chrono_literals;

class LeaderNewsTest : public testing::Test {
 protected:
  static std::optional<Leader> leader(const std::string& token, const std::string& value = "") {
    Leader one;
    one.owner_token = OwnerToken(token);
    one.value = value;
    return one;
  }
  /// "now", "not", or the time after which it is news.
  std::string see(const std::optional<Leader>& leader, std::uint64_t version) {
    const std::optional<core::Duration> news = news_.see(now_, leader, version);
    if (!news) return "not";
    return *news == 0ns ? "now" : std::to_string(*news / 1ms) + " ms";
  }
  core::Time now_{1h};
  LeaderNews news_{100ms};
};

TEST_F(LeaderNewsTest, AnAnnouncementIsNewsAtOnceAndOnce) {
  EXPECT_EQ(see(leader("a", "here"), 1), "now");
  EXPECT_EQ(see(leader("a", "here"), 1), "not");
  EXPECT_EQ(see(leader("a", "there"), 2), "now");
  EXPECT_EQ(see(leader("a", "here"), 1), "not") << "it is older";
  EXPECT_EQ(see(leader("a"), 0), "not") << "nor is silence";
  EXPECT_EQ(see(leader("b", "here"), 1), "now");
}

TEST_F(LeaderNewsTest, ALeaderInDoubtIsNewsOnceItHasLasted) {
  // A leader that has announced nothing yet, and no leader at all, are both in doubt.
  for (const auto& doubtful : {leader("a"), std::optional<Leader>()}) {
    EXPECT_EQ(see(doubtful, 0), "100 ms");
    now_ += 60ms;
    EXPECT_EQ(see(doubtful, 0), "40 ms");
    now_ += 40ms;
    EXPECT_EQ(see(doubtful, 0), "now");
    EXPECT_EQ(see(doubtful, 0), "not");
  }
}

TEST_F(LeaderNewsTest, TheTimeOfADoubtBeginsAgainWithAnother) {
  // The time begins again if another leader is in doubt, after an announcement, and after older
  // news.
  EXPECT_EQ(see(leader("a", "here"), 1), "now");
  EXPECT_EQ(see(std::nullopt, 0), "100 ms");
  now_ += 99ms;
  EXPECT_EQ(see(leader("b"), 0), "100 ms");
  now_ += 99ms;
  EXPECT_EQ(see(leader("a", "here"), 1), "not");
  EXPECT_EQ(see(leader("b"), 0), "100 ms");
  EXPECT_EQ(see(leader("b", "there"), 1), "now");
}

}  // namespace
}  // namespace quorumlock::detail
