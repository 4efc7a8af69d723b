#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace quorumlock::test {

/// A program that the test runs and talks to, a line at a time. The destructor kills it.
class Process {
 public:
  /// With default signal dispositions and an empty signal mask. More environment as "NAME=value".
  explicit Process(const std::vector<std::string>& command,
                   const std::vector<std::string>& environment = {});
  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;
  ~Process();

  [[nodiscard]] pid_t pid() const { return pid_; }
  void say(const std::string& line);
  /// The end of its standard input.
  void hush();
  /// The next line of its standard output. Throws std::runtime_error at the end of it and where
  /// none comes.
  std::string line();
  void signal(int number) const;
  /// SIGSTOP; returns once it has stopped.
  void stop() const;
  void resume() const;
  /// Its exit code, or 128 + N where signal N ended it.
  int wait();

 private:
  pid_t pid_ = -1;
  int in_ = -1;
  int out_ = -1;
  std::string unread_;
};

}  // namespace quorumlock::test
