// without_calls ERRNO CALL,CALL COMMAND ARG...
//
// Runs a command with a seccomp filter by which some system calls fail: with ENOSYS as on a kernel
// that does not have them, or with EPERM as under a container engine that does not know them. CALL+
// is that call and all that were added later, which have greater numbers. poll=timed is poll() with
// a time to wait, and poll=endless poll() without one.

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  const std::map<std::string, unsigned> numbers = {{"close_range", SYS_close_range},
                                                   {"pidfd_open", SYS_pidfd_open},
                                                   {"pidfd_send_signal", SYS_pidfd_send_signal},
                                                   {"poll", SYS_poll},
                                                   {"pipe2", SYS_pipe2},
                                                   {"epoll_ctl", SYS_epoll_ctl},
                                                   {"epoll_wait", SYS_epoll_wait},
                                                   {"epoll_pwait", SYS_epoll_pwait},
                                                   {"timerfd_settime", SYS_timerfd_settime},
                                                   {"userfaultfd", SYS_userfaultfd}};
  const std::map<std::string, unsigned> errors = {{"ENOSYS", ENOSYS}, {"EPERM", EPERM}};
  if (argc < 4 || !errors.contains(argv[1])) {
    std::fputs("usage: without_calls ENOSYS|EPERM CALL,CALL COMMAND ARG...\n", stderr);
    return 64;
  }
  std::vector<sock_filter> code;
  const auto load = [&](std::size_t from) {
    code.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<unsigned>(from)));
  };
  const auto jump = [&](int condition, unsigned value, unsigned char if_so, unsigned char if_not) {
    const auto jump_on = static_cast<unsigned short>(BPF_JMP | BPF_K | condition);
    code.push_back(sock_filter{jump_on, if_so, if_not, value});
  };
  std::istringstream calls(argv[2]);
  for (std::string call; std::getline(calls, call, ',');) {
    const bool and_later = call.ends_with('+');
    if (and_later) call.pop_back();
    const std::string kind = call.substr(std::min(call.find('='), call.size()));
    call.resize(call.size() - kind.size());
    if (!numbers.contains(call)) {
      std::fprintf(stderr, "without_calls: the call %s is not in its list\n", call.c_str());
      return 64;
    }
    load(offsetof(seccomp_data, nr));
    jump(and_later ? BPF_JGE : BPF_JEQ, numbers.at(call), 0, kind.empty() ? 1 : 3);
    if (!kind.empty()) {  // poll()'s third argument is -1 if it is without end
      const bool endless = kind == "=endless";
      load(offsetof(seccomp_data, args[2]));
      jump(BPF_JEQ, ~0U, endless ? 0 : 1, endless ? 1 : 0);
    }
    code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | errors.at(argv[1])));
  }
  code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog filter{static_cast<unsigned short>(std::size(code)), code.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
    std::perror("without_calls: the filter cannot be set");
    return 1;
  }
  ::execvp(argv[3], argv + 3);
  std::perror(argv[3]);
  return 127;
}
