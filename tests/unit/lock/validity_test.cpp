#include "lock/validity.hpp"

#include <gtest/gtest.h>

#include "support/printing.hpp"
#include "support/seeded_random.hpp"

namespace quorumlock::core {
namespace {

using namespace std::chrono_literals;

TEST(Validity, TakesTheDriftAndTwoMillisecondsOffTheTtl) {
  // The formula is that of the distributed-locks page, with its usual one per cent.
  EXPECT_EQ(margin(10s, 0.01), 102ms);
  EXPECT_EQ(valid_until(Time(5s), 10s, 0.01), Time(5s + 9898ms));
}

TEST(Validity, WithoutDriftTwoMillisecondsRemain) {
  // Redis rounds expiries to milliseconds: two of them are taken off whatever the clocks are.
  EXPECT_EQ(margin(10s, 0.0), 2ms);
}

TEST(Validity, ATtlBelowTheMarginIsOverBeforeItBegins) {
  // A lease of one millisecond is never valid.
  EXPECT_LT(valid_until(Time(5s), 1ms, 0.01), Time(5s));
}

TEST(Validity, TheMarginIsRoundedUp) {
  // For any ttl and drift, the margin is never less than that of exact arithmetic, and at most a
  // nanosecond more.
  test::SeededRandom random(3);
  for (int run = 0; run < 2000; ++run) {
    const int per_mille = random.between(0, 100);
    const auto ttl = std::chrono::nanoseconds(random.between(1, 2'000'000'000));
    const auto thousandfold = per_mille * ttl.count();
    const auto exact = (thousandfold + 999) / 1000;
    const auto drift = (margin(ttl, per_mille / 1000.0) - 2ms).count();
    EXPECT_GE(drift, exact) << ttl.count() << " ns at " << per_mille << " per mille";
    EXPECT_LE(drift, exact + 1) << ttl.count() << " ns at " << per_mille << " per mille";
  }
}

TEST(ValidityLater, StopsAtNever) {
  // A wait without a limit never ends; it must not overflow and end in the past.
  EXPECT_EQ(later(Time(5s), 1s), Time(6s));
  EXPECT_EQ(later(Time(5s), Duration::max()), never);
  EXPECT_EQ(later(Time(5s), never - Time(5s)), never);
  EXPECT_EQ(later(Time(5s), never - Time(6s)), never - 1s);
}

}  // namespace
}  // namespace quorumlock::core
