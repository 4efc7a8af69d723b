#include "wire/numbers.hpp"

#include <gtest/gtest.h>

#include <string>

namespace quorumlock::test {
namespace {

TEST(Numbers, AreAllOfTheirText) {
  EXPECT_EQ(redis::whole_number<int>("42"), 42);
  EXPECT_EQ(redis::whole_number<int>("-42"), -42);
  for (const std::string bad : {"", "x", "42 ", " 42", "+42", "4.2", "1e9", "2147483648"}) {
    EXPECT_EQ(redis::whole_number<int>(bad), std::nullopt) << bad;
  }
  EXPECT_EQ(redis::whole_number<std::uint64_t>("-1"), std::nullopt);
  EXPECT_EQ(redis::whole_number<std::uint64_t>("18446744073709551615"), UINT64_MAX);
}

TEST(Numbers, AScoreIsRoundedDown) {
  EXPECT_EQ(redis::score_in("1700000000900"), 1'700'000'000'900);
  EXPECT_EQ(redis::score_in("1700000000900.5"), 1'700'000'000'900);
  EXPECT_EQ(redis::score_in("1.7e+12"), 1'700'000'000'000);
  for (const std::string bad : {"", "x", "-1", "5 ", "inf", "nan", "9007199254740992"}) {
    EXPECT_EQ(redis::score_in(bad), 0) << bad;
  }
}

TEST(Numbers, ACounterIsLessThanTheEndOfAllFences) {
  EXPECT_EQ(redis::counter_in("0"), 0U);
  EXPECT_EQ(redis::counter_in("9007199254740991"), 9007199254740991U);
  for (const std::string bad : {"", "-1", "9007199254740992", "18446744073709551616"}) {
    EXPECT_EQ(redis::counter_in(bad), std::nullopt) << bad;
  }
}

TEST(Numbers, ATimeHasSecondsAndMicroseconds) {
  EXPECT_EQ(redis::time_in("1700000000", "42"), 1'700'000'000'000'042);
  EXPECT_EQ(redis::time_in("4503599626", "999999"), 4'503'599'626'999'999);
  EXPECT_EQ(redis::time_in("4503599627", "0"), std::nullopt);
  EXPECT_EQ(redis::time_in("1700000000", "1000000"), std::nullopt);
  for (const std::string bad : {"", "-1", "x", "18446744073709551616"}) {
    EXPECT_EQ(redis::time_in(bad, "0"), std::nullopt) << bad;
    EXPECT_EQ(redis::time_in("1700000000", bad), std::nullopt) << bad;
  }
}

}  // namespace
}  // namespace quorumlock::test
