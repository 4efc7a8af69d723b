#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace quorumlock::fuzz {

/// Ends the program if this does not hold, which libFuzzer and a replay count as a finding.
inline void require(bool holds, std::string_view sentence) {
  if (holds) return;
  std::fprintf(stderr, "FOUND: %.*s\n", static_cast<int>(sentence.size()), sentence.data());
  std::abort();
}

inline bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

/// Checks a sentence for users: it must not be empty, and must be on one line.
inline void require_sentence(std::string_view text) {
  require(!text.empty(), "a refusal says nothing");
  for (const char c : text) require(!is_control(c), "a control character is in a sentence");
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
