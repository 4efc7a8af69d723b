#include "process_group.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

namespace quorumlock::cli {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

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

/// Returns true when the process has ended, or false after `patience`.
bool wait_for_end(pid_t pid, milliseconds patience) {
  const int fd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (fd < 0) return true;  // it has ended and is gone
  pollfd ended{fd, POLLIN, 0};
  const int count = ::poll(&ended, 1, static_cast<int>(std::max<long>(0, patience.count())));
  ::close(fd);
  return count > 0;
}

}  // namespace

std::vector<pid_t> running_members(pid_t group) {
  std::vector<pid_t> members;
  std::error_code error;
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

bool wait_until_alone(pid_t group, pid_t except, milliseconds patience) {
  const auto deadline = steady_clock::now() + patience;
  for (;;) {
    const std::vector<pid_t> members = running_members(group);
    const auto other = std::ranges::find_if(members, [=](pid_t pid) { return pid != except; });
    if (other == members.end()) return true;
    const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now());
    if (!wait_for_end(*other, left)) return false;
  }
}

}  // namespace quorumlock::cli
