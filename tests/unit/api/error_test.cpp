#include <quorumlock/result.hpp>

#include <gtest/gtest.h>

#include <system_error>

namespace quorumlock {
namespace {

TEST(Errors, EqualTheirEquivalentsInTheStandardLibrary) {
  // A program that knows only std::errc understands the errors that have an equivalent there.
  EXPECT_EQ(make_error_code(Errc::timed_out), std::errc::timed_out);
  EXPECT_EQ(make_error_code(Errc::cancelled), std::errc::operation_canceled);
  EXPECT_EQ(make_error_code(Errc::invalid_argument), std::errc::invalid_argument);
  EXPECT_EQ(make_error_code(Errc::would_deadlock), std::errc::resource_deadlock_would_occur);
  EXPECT_EQ(make_error_code(Errc::contended), std::errc::resource_unavailable_try_again);
  EXPECT_EQ(make_error_code(Errc::contended), std::errc::device_or_resource_busy);
  EXPECT_EQ(make_error_code(Errc::not_held), std::errc::permission_denied);
  EXPECT_EQ(make_error_code(Errc::not_held), std::errc::operation_not_permitted);
}

TEST(Errors, WithoutAnEquivalentEqualOnlyThemselves) {
  // Each error without an equivalent equals only itself.
  for (const Errc code :
       {Errc::no_quorum, Errc::expired, Errc::lost, Errc::closed, Errc::misconfigured}) {
    const std::error_condition said = make_error_code(code).default_error_condition();
    EXPECT_EQ(said.category(), category());
    EXPECT_EQ(said.value(), static_cast<int>(code));
    EXPECT_EQ(make_error_code(code), said);
  }
  EXPECT_NE(make_error_code(Errc::timed_out), std::errc::operation_canceled);
  EXPECT_NE(make_error_code(Errc::lost), std::errc::timed_out);
}

TEST(Errors, OfAMachineThatLacksSomethingAreNoneOfOurs) {
  // The numbers of errno mean something else than those of Errc: EAGAIN is that of misconfigured.
  const Error error(std::make_error_code(std::errc::resource_unavailable_try_again), "no thread");
  EXPECT_EQ(error.code(), std::errc::resource_unavailable_try_again);
  EXPECT_EQ(error.code().value(), static_cast<int>(Errc::misconfigured));
  EXPECT_NE(error.code(), Errc::misconfigured);
  EXPECT_NE(error.code(), Errc::contended);
}

}  // namespace
}  // namespace quorumlock
