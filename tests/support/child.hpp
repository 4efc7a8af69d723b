#pragma once

#include <sys/types.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "local/descriptor.hpp"

namespace quorumlock::test {

/// A program that a test has started, and our ends of its standard input, output and error, or of
/// some of them. The destructor kills it.
class Child {
 public:
  Child(Child&& other) noexcept
      : in_(std::move(other.in_)),
        out_(std::move(other.out_)),
        err_(std::move(other.err_)),
        pid_(std::exchange(other.pid_, -1)) {}
  Child& operator=(Child&&) = delete;
  ~Child();

  [[nodiscard]] pid_t pid() const { return pid_; }
  void signal(int number) const;
  /// Sends SIGSTOP; returns once the program has stopped.
  void stop() const;
  void resume() const;
  /// Waits for its end and returns its exit code, or 128 + N if signal N ended it.
  int wait();

 protected:
  Child() = default;
  /// Starts the program with default signal dispositions, an empty signal mask, this environment
  /// ("NAME=value") and these descriptors as its standard input, output and error. `flags`: more of
  /// posix_spawn.
  void start(std::vector<std::string> words, std::vector<std::string> environment,
             std::array<int, 3> standard, short flags = 0);

  local::Descriptor in_, out_, err_;

 private:
  pid_t pid_ = -1;
};

}  // namespace quorumlock::test
