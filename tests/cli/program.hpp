#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "support/child.hpp"

namespace quorumlock::test {

/// How a program ended, and what it printed.
struct Ended {
  int code = -1;  ///< its exit code, or 128 + N if signal N ended it
  std::string out;
  std::string err;
};

/// A program that a test runs, in a session of its own: without a terminal, and with its process
/// group to itself.
class Program : public Child {
 public:
  /// `environment`: "NAME=value", in place of all variables that begin with QUORUMLOCK_.
  explicit Program(const std::vector<std::string>& words,
                   const std::vector<std::string>& environment = {});

  /// The next line of its standard output. Throws std::runtime_error if none comes.
  std::string line();
  /// Waits until its standard error has this text; false if the program has closed that first.
  bool says_on_error(const std::string& text);
  /// Waits until the program has ended and no process has its outputs open any more.
  Ended finish();

 private:
  void read_some();

  std::size_t lines_read_ = 0;  ///< bytes of `said_.out` that line() has returned
  Ended said_;
};

/// A named pipe that processes under test hold open for writing.
class Fifo {
 public:
  explicit Fifo(const std::filesystem::path& path);

  [[nodiscard]] std::string path() const { return path_.string(); }
  /// Waits until a process has written a line to it.
  bool somebody_came();
  /// Waits until no process holds it any more.
  bool all_have_gone();

 private:
  std::filesystem::path path_;
  local::Descriptor fd_;
};

}  // namespace quorumlock::test
