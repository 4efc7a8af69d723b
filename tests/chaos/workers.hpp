#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "chaos/history.hpp"
#include "chaos/worker.hpp"
#include "local/descriptor.hpp"

namespace quorumlock::chaos {

using local::Descriptor;
using local::fail_with_errno;

/// Starts, stops, kills and listens to the worker processes. The destructor ends them all.
class Workers {
 public:
  /// The workers run this very program, as `PROGRAM worker ...`. Their configurations are files in
  /// the directory `settings.configuration`.
  Workers(int count, WorkerSettings settings);
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  ~Workers();

  void start(int worker);
  /// Stops a worker with SIGSTOP, and returns once it has stopped; resume() sends SIGCONT.
  void stop(int worker);
  void resume(int worker);
  /// Kills a worker with SIGKILL, and reaps it.
  void kill(int worker);
  /// Asks all of them to end. This takes a moment: wait until any_running() is false.
  void end();
  /// Asks one worker to end; it may be started again.
  void end(int worker);
  /// Writes these nodes into the worker's configuration, which it follows.
  void give_nodes(int worker, const std::vector<std::string>& nodes) const;

  [[nodiscard]] int size() const { return static_cast<int>(processes_.size()); }
  [[nodiscard]] bool running(int worker) const { return process(worker).pid > 0; }
  [[nodiscard]] bool any_running() const;
  [[nodiscard]] bool stopped(int worker) const { return process(worker).stopped; }
  /// Whether this worker holds a lock now, as far as it has reported.
  [[nodiscard]] bool holds(int worker) const;

  /// Readable when a worker has written something.
  [[nodiscard]] int fd() const { return told_.get(); }
  /// Reads what the workers have written, and reaps those that have ended.
  void listen();

  /// All leases that the workers have reported, in the order in which they were acquired.
  [[nodiscard]] std::vector<Holding> holdings() const;
  [[nodiscard]] std::size_t locks() const { return holdings_.size(); }
  [[nodiscard]] long long refusals() const { return refusals_; }
  /// How many of the refusals were Errc::misconfigured.
  [[nodiscard]] long long refused_for_their_nodes() const { return refused_for_their_nodes_; }
  /// When this worker first held a lock after that moment.
  [[nodiscard]] const Time* first_lock_after(int worker, Time moment) const;
  /// Workers that ended by themselves, and unreadable lines.
  [[nodiscard]] const std::vector<std::string>& complaints() const { return complaints_; }

 private:
  struct Process {
    pid_t pid = -1;
    bool stopped = false;
    bool ends = false;  ///< it was asked to end
    int lives = 0;
    std::pair<std::string, std::string> holding;  ///< its latest lease
  };
  [[nodiscard]] const Process& process(int worker) const {
    return processes_.at(static_cast<std::size_t>(worker));
  }
  Process& process(int worker) { return processes_.at(static_cast<std::size_t>(worker)); }
  [[nodiscard]] std::vector<std::string> arguments(int worker) const;
  [[nodiscard]] std::filesystem::path configuration(int worker) const;
  void read_lines();
  void reap(int worker, int status);

  WorkerSettings settings_;
  std::vector<Process> processes_;
  Descriptor doors_outside_, doors_;  ///< the workers' standard input; closing it asks them to end
  Descriptor told_, tell_;            ///< the workers' standard output
  std::string unread_;
  /// Indexed by owner token, resource.
  std::map<std::pair<std::string, std::string>, Holding> holdings_;
  long long refusals_ = 0, refused_for_their_nodes_ = 0;
  bool ending_ = false;
  std::vector<std::string> complaints_;
};

}  // namespace quorumlock::chaos
