#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "support/outside_text.hpp"

namespace quorumlock::fuzz {

/// Ends the program if this does not hold, which libFuzzer and a replay count as a finding.
inline void require(bool holds, std::string_view sentence) {
  if (holds) return;
  std::fprintf(stderr, "FOUND: %.*s\n", static_cast<int>(sentence.size()), sentence.data());
  std::abort();
}

/// Checks a sentence for users: it must not be empty, and must be on one line.
inline void require_sentence(std::string_view text) {
  require(!text.empty(), "a refusal says nothing");
  require(test::unprintable_at(text) == text.npos, "a sentence is not printable");
}

/// A password that the targets plant: no output may ever contain it.
inline constexpr std::string_view secret = "s3cr3t-Pa55";

inline bool has_secret(std::string_view text) {
  return text.find(secret) != text.npos;
}

inline void require_no_secret(std::string_view text) {
  require(!has_secret(text), "a password is in: " + std::string(text));
}

}  // namespace quorumlock::fuzz
