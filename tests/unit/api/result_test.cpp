// This file is built as C++23, if the compiler's library has std::expected.
#include <quorumlock/result.hpp>

#include <gtest/gtest.h>

#include <memory>

namespace quorumlock {
namespace {

TEST(ResultAsExpected, IsWhatAResultConvertsTo) {
  // A value, a move-only value, void and an error are converted.
  const Result<int> number = 42;
  EXPECT_EQ(number.value(), 42);
#if defined(__cpp_lib_expected)
  const std::expected<int, Error> as_number = number;
  EXPECT_EQ(as_number.value(), 42);
  std::expected<std::unique_ptr<int>, Error> owned =
      Result<std::unique_ptr<int>>(std::make_unique<int>(7));
  EXPECT_EQ(**owned, 7);
  const std::expected<void, Error> nothing = Result<void>();
  EXPECT_TRUE(nothing.has_value());
  const std::expected<int, Error> refused = Result<int>(Error(Errc::lost, "it was lost"));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code(), Errc::lost);
  const std::expected<void, Error> failed = Result<void>(Error(Errc::closed, "it is closed"));
  ASSERT_FALSE(failed.has_value());
  EXPECT_STREQ(failed.error().what(), "it is closed");
#endif
}

}  // namespace
}  // namespace quorumlock
