#include "config/metric_labels.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace quorumlock {
namespace {

using testing::HasSubstr;

TEST(MetricLabels, ALabelThatCannotBeIsRefused) {
  for (const char* name : {"", "9lives", "__own", "two words", "vote", "class", "a-b"}) {
    const Result<std::string> text = metrics_text({}, {.labels = {{name, "x"}}});
    ASSERT_FALSE(text.has_value()) << name;
    EXPECT_EQ(text.error().code(), Errc::invalid_argument);
    EXPECT_THAT(text.error().what(), HasSubstr("\"" + std::string(name) + "\""));
  }
  EXPECT_FALSE(metrics_text({}, {.labels = {{"a", "x"}, {"a", "y"}}}).has_value());
}

}  // namespace
}  // namespace quorumlock
