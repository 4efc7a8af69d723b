#include "chaos/standing.hpp"

#include <gtest/gtest.h>

namespace quorumlock::chaos {
namespace {

std::string record(const std::string& epoch_and_phase) {
  return "run1:abc@#0123456789abcdef." + epoch_and_phase + ".fedcba9876543210";
}

TEST(Standing, EachStepOfAChangeIsFurtherOn) {
  long long before = -1;
  for (const std::string at : {"0s", "0a", "1u", "1s", "1a", "2u", "10s"}) {
    const std::optional<long long> made = steps_made(record(at), "run1");
    ASSERT_TRUE(made) << at;
    EXPECT_GT(*made, before) << at;
    before = *made;
  }
}

TEST(Standing, ANodeWithoutARecordOfItsRunHasNone) {
  EXPECT_FALSE(steps_made(record("0s"), "run2"));
  EXPECT_FALSE(steps_made(record("0s"), "run"));
  EXPECT_FALSE(steps_made(record("0s"), ""));
  EXPECT_FALSE(steps_made("", "run1"));
  EXPECT_FALSE(steps_made("run1:abc@", "run1"));
  EXPECT_FALSE(steps_made(record("0x"), "run1"));
  EXPECT_FALSE(steps_made(record("s"), "run1"));
}

TEST(Standing, ReadsAFieldOfInfo) {
  EXPECT_EQ(field_of("# Server\r\nversion:7\r\nrun_id:abc\r\ntcp_port:0\r\n", "run_id"), "abc");
  EXPECT_EQ(field_of("# Server\r\n", "run_id"), "");
}

}  // namespace
}  // namespace quorumlock::chaos
