#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "chaos/descriptor.hpp"
#include "chaos/history.hpp"
#include "chaos/worker.hpp"

namespace quorumlock::chaos {

/// The worker processes: started, stopped, killed, listened to. The destructor ends them all.
class Workers {
 public:
  /// They run this very program, as `PROGRAM worker ...`.
  Workers(int count, WorkerSettings settings);
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  ~Workers();

  void start(int worker);
  /// SIGSTOP; returns once it has stopped. Then SIGCONT.
  void stop(int worker);
  void resume(int worker);
  /// SIGKILL, and reaped.
  void kill(int worker);
  /// Tells all of them to end, which takes them a moment: until none is running().
  void end();

  [[nodiscard]] int size() const { return static_cast<int>(processes_.size()); }
  [[nodiscard]] bool running(int worker) const { return process(worker).pid > 0; }
  [[nodiscard]] bool any_running() const;
  [[nodiscard]] bool stopped(int worker) const { return process(worker).stopped; }
  /// As far as it has told, this worker holds a lock now.
  [[nodiscard]] bool holds(int worker) const;

  /// Readable when a worker has said something.
  [[nodiscard]] int fd() const { return told_.get(); }
  /// Takes what they have said, and those that have ended.
  void listen();

  /// All leases that they have told of, in the order in which they were acquired.
  [[nodiscard]] std::vector<Holding> holdings() const;
  [[nodiscard]] std::size_t locks() const { return holdings_.size(); }
  [[nodiscard]] long long refusals() const { return refusals_; }
  /// When this worker first held a lock after that moment.
  [[nodiscard]] const Time* first_lock_after(int worker, Time moment) const;
  /// Workers that ended by themselves, and lines that nobody can read.
  [[nodiscard]] const std::vector<std::string>& complaints() const { return complaints_; }

 private:
  struct Process {
    pid_t pid = -1;
    bool stopped = false;
    int lives = 0;
    std::pair<std::string, std::string> holding;  ///< its latest one
  };
  [[nodiscard]] const Process& process(int worker) const {
    return processes_.at(static_cast<std::size_t>(worker));
  }
  Process& process(int worker) { return processes_.at(static_cast<std::size_t>(worker)); }
  [[nodiscard]] std::vector<std::string> arguments(int worker) const;
  void read_lines();
  void reap(int worker, int status);

  WorkerSettings settings_;
  std::vector<Process> processes_;
  Descriptor doors_outside_, doors_;  ///< their standard input; closed, it tells them to end
  Descriptor told_, tell_;            ///< their standard output
  std::string unread_;
  std::map<std::pair<std::string, std::string>, Holding> holdings_;  ///< by owner token, resource
  long long refusals_ = 0;
  bool ending_ = false;
  std::vector<std::string> complaints_;
};

}  // namespace quorumlock::chaos
