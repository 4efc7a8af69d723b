#include <quorumlock/detail/patience.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <ratio>

// Every duration and every deadline that a user may give becomes a wait without an overflow on the
// way; these tests also run under the UndefinedBehaviorSanitizer.
namespace quorumlock {
namespace {

using namespace std::chrono_literals;
using detail::saturated;
using detail::saturated_until;

/// A user's clock of any representation, which always shows `Now` units.
template <class Rep, class Period, int Now>
struct Standing {
  using rep = Rep;
  using period = Period;
  using duration = std::chrono::duration<Rep, Period>;
  using time_point = std::chrono::time_point<Standing>;
  static constexpr bool is_steady = false;
  static time_point now() { return time_point(duration(Now)); }
};

template <class Duration>
class PatienceDurations : public ::testing::Test {};
using AllDurations = ::testing::Types<
    std::chrono::nanoseconds, std::chrono::milliseconds, std::chrono::seconds, std::chrono::hours,
    std::chrono::years, std::chrono::duration<std::int64_t, std::pico>,
    std::chrono::duration<std::int64_t, std::ratio<1, 3>>, std::chrono::duration<int>,
    std::chrono::duration<short, std::deca>, std::chrono::duration<float>,
    std::chrono::duration<double>, std::chrono::duration<long double, std::nano>>;
TYPED_TEST_SUITE(PatienceDurations, AllDurations);

TYPED_TEST(PatienceDurations, SaturateAtBothEnds) {
  // The smallest and the negative durations mean one attempt, the greatest one waits for as long as
  // it says or for ever, and no wait is negative.
  EXPECT_EQ(saturated(TypeParam::min()), 0ns);
  EXPECT_EQ(saturated(TypeParam(-1)), 0ns);
  EXPECT_EQ(saturated(TypeParam::zero()), 0ns);
  EXPECT_GT(saturated(TypeParam::max()), 1s);
  EXPECT_LE(saturated(TypeParam::max()), forever);
  EXPECT_GT(saturated(TypeParam(1)), 0ns);
}

template <class C>
class PatienceClocks : public ::testing::Test {};
using AllClocks =
    ::testing::Types<std::chrono::steady_clock, std::chrono::system_clock,
                     std::chrono::high_resolution_clock, quorumlock::Clock,
                     Standing<std::int64_t, std::nano, 1>, Standing<std::int64_t, std::nano, -1>,
                     Standing<std::int64_t, std::ratio<3600>, 1000>, Standing<int, std::milli, 5>,
                     Standing<double, std::ratio<1>, -3>, Standing<float, std::micro, 0>>;
TYPED_TEST_SUITE(PatienceClocks, AllClocks);

TYPED_TEST(PatienceClocks, DeadlinesSaturateAtBothEnds) {
  // The earliest deadline is one attempt, the latest a wait of more than an hour, in the clock's
  // own unit and in others.
  using Point = typename TypeParam::time_point;
  EXPECT_EQ(saturated_until(Point::min()), 0ns);
  EXPECT_GE(saturated_until(Point::max()), 1h);
  EXPECT_EQ(saturated_until(TypeParam::now()), 0ns);
  using Hours = std::chrono::time_point<TypeParam, std::chrono::hours>;
  EXPECT_EQ(saturated_until(Hours::min()), 0ns);
  EXPECT_EQ(saturated_until(Hours::max()), forever);
  using Doubles = std::chrono::time_point<TypeParam, std::chrono::duration<double>>;
  EXPECT_EQ(saturated_until(Doubles::min()), 0ns);
  EXPECT_EQ(saturated_until(Doubles::max()), forever);
}

TEST(Patience, IsRoundedUpAndExact) {
  // A wait ends at its deadline and not before, to the nanosecond; a fraction of a nanosecond is
  // rounded up.
  using Still = Standing<std::int64_t, std::nano, 1'000>;
  EXPECT_EQ(saturated_until(Still::time_point(1'001ns)), 1ns);
  EXPECT_EQ(saturated_until(Still::time_point(forever)), forever - 1'000ns);
  EXPECT_EQ(saturated(std::chrono::duration<double, std::nano>(0.25)), 1ns);
  EXPECT_EQ(saturated(std::chrono::duration<std::int64_t, std::pico>(1'001)), 2ns);
  EXPECT_EQ(saturated(forever - 1ns), forever - 1ns);
}

TEST(Patience, NotANumberIsOneAttempt) {
  // Minus infinity is one attempt as well; infinity waits for ever.
  using Seconds = std::chrono::duration<double>;
  EXPECT_EQ(saturated(Seconds(std::numeric_limits<double>::quiet_NaN())), 0ns);
  EXPECT_EQ(saturated(Seconds(-std::numeric_limits<double>::infinity())), 0ns);
  EXPECT_EQ(saturated(Seconds(std::numeric_limits<double>::infinity())), forever);
}

}  // namespace
}  // namespace quorumlock
