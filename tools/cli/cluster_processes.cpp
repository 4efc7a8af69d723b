#include "cluster_processes.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <thread>

#include "failure.hpp"

namespace quorumlock::cli {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// A node's process. `fd` refers to the same process even after its number is given to another one;
/// it is -1 on a kernel older than Linux 5.3, or if a container's profile forbids it. Then the
/// process is looked at before each use of its number.
struct Process {
  const local::ServerSettings& node;
  pid_t pid;
  int fd;
};

bool ends_by(const Process& process, steady_clock::time_point deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now());
    const int wait = static_cast<int>(std::max<milliseconds::rep>(0, left.count()));
    pollfd ended{process.fd, POLLIN, 0};
    const int ready = process.fd < 0 ? -1 : ::poll(&ended, 1, wait);
    if (ready >= 0) return ready > 0;
    if (process_of(process.node) != process.pid) return true;
    if (wait == 0) return false;
    std::this_thread::sleep_for(std::min(milliseconds(wait), milliseconds(10)));
  }
}

void send(const Process& process, int signal) {
  if (process.fd >= 0 && ::syscall(SYS_pidfd_send_signal, process.fd, signal, nullptr, 0) == 0)
    return;
  if (process_of(process.node) == process.pid) ::kill(process.pid, signal);
}

}  // namespace

pid_t process_of(const local::ServerSettings& node) {
  pid_t pid = 0;
  std::ifstream(node.dir / "redis.pid") >> pid;
  if (pid <= 0) return 0;
  // The pid file may be older than the process that now has the number.
  const fs::path proc = fs::path("/proc") / std::to_string(pid);
  std::error_code error;
  if (!fs::exists("/proc/self", error)) {
    throw Failure::local("cannot tell whether process " + std::to_string(pid) + " is the node in " +
                         node.dir.string() + ", because /proc is not mounted");
  }
  if (!fs::equivalent(proc / "cwd", node.dir, error) || error) return 0;
  std::string words;
  std::ifstream file(proc / "cmdline");
  std::getline(file, words);
  return words.find("redis-server") != words.npos ? pid : 0;
}

int end_processes(const std::vector<local::ServerSettings>& nodes) {
  std::vector<Process> processes;
  for (const local::ServerSettings& node : nodes) {
    const pid_t pid = process_of(node);
    if (pid == 0) continue;
    const int fd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
    if (process_of(node) == pid) {
      processes.push_back({node, pid, fd});
    } else if (fd >= 0) {
      ::close(fd);
    }
  }
  // SIGTERM lets the node end a child that it forked to rewrite its file; SIGCONT is for a node
  // that was stopped.
  for (const Process& process : processes) {
    send(process, SIGTERM);
    send(process, SIGCONT);
  }
  const auto deadline = steady_clock::now() + std::chrono::seconds(10);
  pid_t staying = 0;
  for (const Process& process : processes) {
    if (!ends_by(process, deadline)) {
      send(process, SIGKILL);
      if (!ends_by(process, steady_clock::now() + std::chrono::seconds(10))) staying = process.pid;
    }
    if (process.fd >= 0) ::close(process.fd);
  }
  if (staying != 0) {
    throw Failure::local("the redis-server with process id " + std::to_string(staying) +
                         " does not end, not even by SIGKILL: nothing was removed");
  }
  return static_cast<int>(processes.size());
}

std::vector<bool> answering(const std::vector<local::ServerSettings>& nodes) {
  std::vector<bool> answering;
  for (const local::ServerSettings& node : nodes) {
    answering.push_back(process_of(node) != 0 && local::answers(node, milliseconds(1000)));
  }
  return answering;
}

}  // namespace quorumlock::cli
