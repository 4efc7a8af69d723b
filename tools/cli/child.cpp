#include "child.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "failure.hpp"

namespace quorumlock::cli {
namespace {

/// Reported by the child in place of an errno.
constexpr int came_too_late = -1;

/// systemd's socket activation (sd_listen_fds(3)): the variable names the process that is to take
/// the sockets, and only that process does.
constexpr std::string_view listen_pid_is = "LISTEN_PID=";
constexpr std::size_t room_for_pid = 16;

struct Pipe {
  int read_end = -1;
  int write_end = -1;
};

Pipe make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw Failure::system("cannot make a pipe");
  return {ends[0], ends[1]};
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

/// Everything that the child needs, made before the fork: this program has other threads, so the
/// child must not allocate.
struct Plan {
  const char* path;
  char* const* words;
  char* const* shell_words;  ///< run a script without a #! line as shells do
  char* const* environment;
  /// Where the value of LISTEN_PID is to be written, if the command is to take the sockets that
  /// systemd has passed to us. It has room for any process id.
  char* listen_pid;
  const Signals& signals;
  Pipe go;
  Pipe report;
};

/// Writes our process id as decimal digits and a zero byte.
void write_own_pid(char* to) noexcept {
  char digits[room_for_pid];
  std::size_t count = 0;
  for (pid_t rest = ::getpid(); rest > 0; rest /= 10) {
    digits[count++] = static_cast<char>('0' + rest % 10);
  }
  while (count > 0) *to++ = digits[--count];
  *to = '\0';
}

[[noreturn]] void give_up(const Plan& plan, int report) noexcept {
  (void)!::write(plan.report.write_end, &report, sizeof report);
  ::_exit(ExitCode::not_found);
}

/// Runs in the child's process.
[[noreturn]] void become(const Plan& plan) noexcept {
  ::setpgid(0, 0);
  // The guard kills the group if this program is killed; this signal covers the case that both are.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::close(plan.go.write_end);  // otherwise the read below would not see our parent close it
  Clock::rep not_after = 0;
  ssize_t size = 0;
  do {
    size = ::read(plan.go.read_end, &not_after, sizeof not_after);
  } while (size < 0 && errno == EINTR);
  if (size != sizeof not_after) ::_exit(ExitCode::not_found);  // called off
  // Signals that were sent to us meanwhile take effect now, before the clock is read.
  plan.signals.restore_in_child();
  if (plan.listen_pid != nullptr) write_own_pid(plan.listen_pid);
  if (Clock::now().time_since_epoch().count() >= not_after) give_up(plan, came_too_late);
  ::execve(plan.path, plan.words, plan.environment);
  if (errno == ENOEXEC) ::execve("/bin/sh", plan.shell_words, plan.environment);
  give_up(plan, errno);
}

}  // namespace

Child::Child(const Program& program, const Signals& signals) {
  std::vector<std::string> for_shell = {"/bin/sh", program.path};
  for_shell.insert(for_shell.end(), program.words.begin() + 1, program.words.end());
  const std::vector<char*> words = pointers(program.words);
  const std::vector<char*> shell_words = pointers(for_shell);
  std::vector<std::string> variables = program.environment;
  char* listen_pid = nullptr;
  const std::string ours = std::string(listen_pid_is) + std::to_string(::getpid());
  for (std::string& variable : variables) {
    if (variable != ours) continue;
    variable.resize(listen_pid_is.size() + room_for_pid);
    listen_pid = variable.data() + listen_pid_is.size();
  }
  const std::vector<char*> environment = pointers(variables);
  const Plan plan{program.path.c_str(), words.data(), shell_words.data(), environment.data(),
                  listen_pid,           signals,      make_pipe(),        make_pipe()};
  pid_ = ::fork();
  if (pid_ == 0) become(plan);
  const int error = errno;
  ::close(plan.go.read_end);
  ::close(plan.report.write_end);
  go_ = plan.go.write_end;
  report_ = plan.report.read_end;
  if (pid_ < 0) {
    ::close(go_);
    ::close(report_);
    errno = error;
    throw Failure::system("cannot fork");
  }
  ::setpgid(pid_, pid_);  // parent and child both do it, so it is done before either goes on
}

Child::~Child() {
  if (!ended_) {
    signal(SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (go_ >= 0) ::close(go_);
  ::close(report_);
}

void Child::go(Clock::time_point not_after) {
  const Clock::rep time = not_after.time_since_epoch().count();
  (void)!::write(go_, &time, sizeof time);
  ::close(std::exchange(go_, -1));
}

void Child::signal(int number) const {
  ::kill(-pid_, number);
}

std::optional<int> Child::news() {
  int status = 0;
  if (ended_ || ::waitpid(pid_, &status, WNOHANG | WUNTRACED) != pid_) return std::nullopt;
  ended_ = !WIFSTOPPED(status);
  return status;
}

Child::StartFailure Child::start_failure() {
  if (::read(report_, &exec_error_, sizeof exec_error_) != sizeof exec_error_) {
    return StartFailure::none;
  }
  return exec_error_ == came_too_late ? StartFailure::too_late : StartFailure::exec_failed;
}

}  // namespace quorumlock::cli
