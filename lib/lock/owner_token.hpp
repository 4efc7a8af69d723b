#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "lock/types.hpp"

namespace quorumlock::core {

/// How long a label may be, in bytes.
inline constexpr std::size_t most_label = 64;

/// The text as a label: printable ASCII without spaces and '@', any other byte as '_', cut at
/// most_label.
std::string label_from(std::string_view text);

/// Makes the owner tokens of one process: 20 random bytes as 40 hexadecimal digits, and then '@'
/// and the process's label if it has one.
class TokenMaker {
 public:
  TokenMaker(std::string_view label, Random& random);
  /// A new token. It is valid until the next call.
  std::string_view draw();

 private:
  Random& random_;
  std::string token_;
};

/// A name for this process in the lines of locks: 8 random bytes as hexadecimal digits.
std::string draw_process(Random& random);

/// An owner token, taken apart.
struct TokenParts {
  std::string_view digits;  ///< empty: not a token of this library
  std::string_view label;   ///< the label without the '@'; empty: there is none

  /// O(size).
  static TokenParts read(std::string_view token);
};

/// The label at the end of a waiter's name in a line (wire/words.hpp); empty: it has none.
std::string waiters_label(std::string_view name);

/// Returns a clause such as " (a string of 36 bytes)" for what a node says of another program's
/// value, "string 36" or only "hash"; empty if it says something else.
std::string describe_kind(std::string_view words);

/// Returns the words for a holder in a sentence: its label, or its first eight digits if it has no
/// label. Another program's value is never shown, since it may be a secret.
std::string describe_holder(std::string_view token);

}  // namespace quorumlock::core
