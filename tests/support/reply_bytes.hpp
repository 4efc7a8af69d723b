#pragma once

#include <string>

namespace quorumlock::test {

/// A string as a server sends it.
inline std::string bulk(const std::string& text) {
  return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

}  // namespace quorumlock::test
