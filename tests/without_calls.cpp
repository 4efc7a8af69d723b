// without_calls ERRNO CALL,CALL COMMAND ARG...
//
// Runs a command with a seccomp filter by which some system calls fail: with ENOSYS as on a kernel
// that does not have them, or with EPERM as under a container engine that does not know them. CALL+
// is that call and all that were added later, which have greater numbers.

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

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
                                                   {"userfaultfd", SYS_userfaultfd}};
  const std::map<std::string, unsigned> errors = {{"ENOSYS", ENOSYS}, {"EPERM", EPERM}};
  if (argc < 4 || !errors.contains(argv[1])) {
    std::fputs("usage: without_calls ENOSYS|EPERM CALL,CALL COMMAND ARG...\n", stderr);
    return 64;
  }
  std::vector<sock_filter> code = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  std::istringstream calls(argv[2]);
  for (std::string call; std::getline(calls, call, ',');) {
    const bool and_later = call.ends_with('+');
    if (and_later) call.pop_back();
    if (!numbers.contains(call)) {
      std::fprintf(stderr, "without_calls: the call %s is not in its list\n", call.c_str());
      return 64;
    }
    const unsigned short like = and_later ? BPF_JGE : BPF_JEQ;
    code.push_back(
        sock_filter{static_cast<unsigned short>(BPF_JMP | BPF_K | like), 0, 1, numbers.at(call)});
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
