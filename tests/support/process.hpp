#pragma once

#include <string>
#include <vector>

#include "support/child.hpp"

namespace quorumlock::test {

/// A program that the test runs and talks to line by line.
class Process : public Child {
 public:
  /// The program gets `environment` ("NAME=value") in addition to ours.
  explicit Process(const std::vector<std::string>& command,
                   const std::vector<std::string>& environment = {});

  void say(const std::string& line);
  /// Closes its standard input.
  void hush() { in_.close(); }
  /// The next line of its standard output. Throws std::runtime_error at the end of the output, and
  /// if no line comes.
  std::string line();

 private:
  std::string unread_;
};

}  // namespace quorumlock::test
