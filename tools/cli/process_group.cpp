#include "process_group.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace quorumlock::cli {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// Where the kernel cannot tell us of a process's end, we look this often.
constexpr milliseconds look_again_after{10};

/// Whether a line of /proc/PID/stat describes a process that runs in the group.
bool runs_in(const std::string& stat, pid_t group) {
  // The name, in parentheses, may contain anything; state, parent and group follow it.
  const std::size_t end_of_name = stat.rfind(')');
  if (end_of_name == stat.npos) return false;
  char state = 0;
  int parent = 0;
  int in_group = 0;
  if (std::sscanf(stat.c_str() + end_of_name + 1, " %c %d %d", &state, &parent, &in_group) != 3) {
    return false;
  }
  return in_group == group && state != 'Z' && state != 'X';
}

void nap(milliseconds at_most) {
  std::this_thread::sleep_for(std::min(at_most, look_again_after));
}

/// Waits until the process has ended or `patience` is over, and may return earlier: the caller
/// looks again.
void wait_for_end(pid_t pid, milliseconds patience) {
  const int fd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (fd < 0 && errno == ESRCH) return;
  pollfd ended{fd, POLLIN, 0};
  // pidfd_open() came with Linux 5.3, and a container's profile may forbid it or poll().
  if (fd < 0 || ::poll(&ended, 1, static_cast<int>(patience.count())) < 0) nap(patience);
  if (fd >= 0) ::close(fd);
}

/// Returns the running processes of a group, as shown by /proc; zombies do not count. Nothing if
/// /proc is not there.
std::optional<std::vector<pid_t>> running_members(pid_t group) {
  std::vector<pid_t> members;
  std::error_code error;
  if (!fs::exists("/proc/self/stat", error)) return std::nullopt;
  for (fs::directory_iterator entry("/proc", error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename();
    pid_t pid = 0;
    const auto [stop, bad] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (bad != std::errc() || stop != name.data() + name.size()) continue;
    std::string stat;  // stays empty if the process has just gone
    std::ifstream file(entry->path() / "stat");
    std::getline(file, stat);
    if (runs_in(stat, group)) members.push_back(pid);
  }
  return members;
}

}  // namespace

bool wait_until_alone(pid_t group, pid_t except, milliseconds patience) {
  const auto deadline = steady_clock::now() + patience;
  for (;;) {
    pid_t other = 0;
    if (const std::optional<std::vector<pid_t>> members = running_members(group)) {
      const auto found = std::ranges::find_if(*members, [=](pid_t pid) { return pid != except; });
      if (found == members->end()) return true;
      other = *found;
    } else if (except == 0 && ::kill(-group, 0) != 0 && errno == ESRCH) {
      return true;
    }
    const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now());
    if (left <= milliseconds::zero()) return false;
    if (other != 0) {
      wait_for_end(other, left);
    } else {
      nap(left);
    }
  }
}

}  // namespace quorumlock::cli
