#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include <quorumlock/result.hpp>

namespace quorumlock {

/// The password of the nodes in every test: no error may contain it.
inline constexpr std::string_view secret = "hunter2";

/// The sentence of a refusal, or "no error".
template <class T>
std::string error_of(const Result<T>& result) {
  if (result) return "no error";
  const std::string sentence = result.error().what();
  EXPECT_EQ(result.error().code(), Errc::invalid_argument) << sentence;
  EXPECT_EQ(sentence.find(secret), std::string::npos) << sentence;
  return sentence;
}

inline testing::AssertionResult starts(std::string_view text, std::string_view start) {
  if (text.starts_with(start)) return testing::AssertionSuccess();
  return testing::AssertionFailure() << text << "\ndoes not start with\n" << start;
}

inline testing::AssertionResult contains(std::string_view text, std::string_view part) {
  if (text.find(part) != text.npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << text << "\ndoes not contain\n" << part;
}

}  // namespace quorumlock
