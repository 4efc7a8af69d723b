#include <quorumlock/options.hpp>

#include <gtest/gtest.h>

#include <quorumlock/clock.hpp>

#include "unit/support/refusal.hpp"

namespace quorumlock::detail {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

TEST(DurationText, ReadsAWholeNumberWithEachUnit) {
  // A user may write a duration in any of the units.
  EXPECT_EQ(parse_duration("ttl", "7us").value(), 7us);
  EXPECT_EQ(parse_duration("ttl", "500ms").value(), 500ms);
  EXPECT_EQ(parse_duration("ttl", "10s").value(), 10s);
  EXPECT_EQ(parse_duration("ttl", "2m").value(), 2min);
  EXPECT_EQ(parse_duration("ttl", "3h").value(), 3h);
  EXPECT_EQ(parse_duration("ttl", "30d").value(), 720h);
  EXPECT_EQ(parse_duration("ttl", "0s").value(), 0s);
}

TEST(DurationText, RefusesEverythingElseAndSaysWhatIsRight) {
  // A user guesses at other forms; the error shows the one valid form and the text that failed.
  for (const char* text : {"", "10", "s", "-1s", "+1s", "1.5s", "1e3s", "10 s", " 10s", "10s ",
                           "10S", "10sec", "1m30s", "10ns", "1w", "0x10s", "forever"}) {
    EXPECT_EQ(
        error_of(parse_duration("ttl", text)),
        "ttl is \"" + std::string(text) +
            "\": it must be a whole number with a unit (us, ms, s, m, h, d), such as \"10s\" or "
            "\"1500ms\"");
  }
}

TEST(DurationText, RefusesADurationThatDoesNotFit) {
  // The longest duration that nanoseconds can count is valid; a longer one is refused, not wrapped.
  EXPECT_EQ(parse_duration("ttl", "2562047h").value(), 2562047h);
  EXPECT_EQ(error_of(parse_duration("ttl", "2562048h")),
            "ttl is \"2562048h\": it must be at most 2562047h");
  EXPECT_EQ(error_of(parse_duration("ttl", "99999999999999999999999ms")),
            "ttl is \"99999999999999999999999ms\": it must be at most 9223372036854ms");
}

TEST(DurationText, TakesForeverForAWaitOnly) {
  // Only a wait can be without limit.
  EXPECT_EQ(parse_wait("--wait", "forever").value(), forever);
  EXPECT_EQ(parse_wait("--wait", "3s").value(), 3s);
  EXPECT_EQ(
      error_of(parse_wait("--wait", "Forever")),
      "--wait is \"Forever\": it must be a whole number with a unit (us, ms, s, m, h, d), such "
      "as \"10s\" or \"1500ms\", or \"forever\"");
}

TEST(DurationText, HidesAUrlThatWasPutInItsPlace) {
  // Two arguments were swapped, and one of them contains a password.
  for (const char* url : {"redis://u:hunter2@host", "redis://hunter2", "u:hunter2@host"}) {
    EXPECT_TRUE(starts(error_of(parse_duration("ttl", url)), "ttl is \"***\": it must be "));
  }
}

TEST(DurationText, KeepsTheErrorOnOneShortLine) {
  // The text is long and contains control characters; a cut never splits a UTF-8 sequence.
  const std::string error =
      error_of(parse_duration("ttl", "1\n" + std::string(92, 'x') + "\u00e9y"));
  EXPECT_TRUE(contains(error, "\"1\\u000a" + std::string(92, 'x') + "...\""));
}

TEST(DurationText, WritesTheLargestUnitThatIsExact) {
  // Messages name durations as a user would have written them.
  EXPECT_EQ(to_text(1500ms), "1500ms");
  EXPECT_EQ(to_text(45s), "45s");
  EXPECT_EQ(to_text(120s), "2m");
  EXPECT_EQ(to_text(90s), "90s");
  EXPECT_EQ(to_text(47h), "47h");
  EXPECT_EQ(to_text(48h), "2d");
  EXPECT_EQ(to_text(1us), "1us");
  EXPECT_EQ(to_text(1234567ns), "1234567ns");
  EXPECT_EQ(to_text(0s), "0s");
  EXPECT_EQ(to_text(-5ms), "-5ms");
  EXPECT_EQ(to_text(nanoseconds::min()), "-9223372036854775808ns");
  EXPECT_EQ(to_text(forever), "forever");
}

TEST(DurationText, ReadsBackWhatItWrites) {
  // A duration that one program prints can be given to another.
  for (const nanoseconds duration : {nanoseconds(0), nanoseconds(1us), nanoseconds(999ms),
                                     nanoseconds(61s), nanoseconds(59min), nanoseconds(8760h)}) {
    EXPECT_EQ(parse_wait("wait", to_text(duration)).value(), duration);
  }
  EXPECT_EQ(parse_wait("wait", to_text(forever)).value(), forever);
}

}  // namespace
}  // namespace quorumlock::detail
