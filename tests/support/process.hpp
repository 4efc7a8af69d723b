#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace quorumlock::test {

/// A program that the test runs and talks to line by line. The destructor kills it.
class Process {
 public:
  /// The program gets default signal dispositions, an empty signal mask, and `environment`
  /// ("NAME=value") in addition to ours.
  explicit Process(const std::vector<std::string>& command,
                   const std::vector<std::string>& environment = {});
  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;
  ~Process();

  [[nodiscard]] pid_t pid() const { return pid_; }
  void say(const std::string& line);
  /// Closes its standard input.
  void hush();
  /// The next line of its standard output. Throws std::runtime_error at the end of the output, and
  /// if no line comes.
  std::string line();
  void signal(int number) const;
  /// Sends SIGSTOP; returns once the process has stopped.
  void stop() const;
  void resume() const;
  /// Waits for its end and returns its exit code, or 128 + N if signal N ended it.
  int wait();

 private:
  pid_t pid_ = -1;
  int in_ = -1;
  int out_ = -1;
  std::string unread_;
};

}  // namespace quorumlock::test
