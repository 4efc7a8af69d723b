#include "config/label.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace quorumlock::detail {
namespace {

TEST(Label, IsTheHostAndTheProcessUnlessChosen) {
  Options options;
  const std::string process = ":" + std::to_string(::getpid());
  const std::string usual = label_of(options);
  ASSERT_GT(usual.size(), process.size());
  EXPECT_LE(usual.size(), 64U);
  EXPECT_TRUE(usual.ends_with(process)) << usual;
  options.label = "checkout 7";
  EXPECT_EQ(label_of(options), "checkout_7");
  options.label = "";
  EXPECT_EQ(label_of(options), "");
}

}  // namespace
}  // namespace quorumlock::detail
