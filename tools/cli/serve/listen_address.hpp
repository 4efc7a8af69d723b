#pragma once

#include <string>

namespace quorumlock::cli {

/// The address on which `serve` listens.
struct ListenAddress {
  std::string host;  ///< the host without brackets
  std::string port;  ///< "0": any free one
  /// Whether only this machine can reach it. All addresses that a name stands for are looked at.
  bool loopback = false;

  /// Reads "127.0.0.1:9470" or "[::1]:9470". Throws Failure.
  static ListenAddress read(const std::string& text);
};

}  // namespace quorumlock::cli
