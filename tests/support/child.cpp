#include "support/child.hpp"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <stdexcept>

#include "support/eventually.hpp"

namespace quorumlock::test {
namespace {

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

void Child::start(std::vector<std::string> words, std::vector<std::string> environment,
                  std::array<int, 3> standard, short flags) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (int number = 0; const int descriptor : standard) {
    posix_spawn_file_actions_adddup2(&actions, descriptor, number++);
  }
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t signals;
  sigemptyset(&signals);
  posix_spawnattr_setsigmask(&attributes, &signals);
  sigfillset(&signals);
  posix_spawnattr_setsigdefault(&attributes, &signals);
  flags = static_cast<short>(flags | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setflags(&attributes, flags);
  pid_t pid = -1;
  const int error = ::posix_spawnp(&pid, words.front().c_str(), &actions, &attributes,
                                   pointers(words).data(), pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) throw std::runtime_error("cannot run " + words.front());
  pid_ = pid;
}

Child::~Child() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void Child::signal(int number) const {
  if (pid_ > 0) ::kill(pid_, number);
}

void Child::stop() const {
  signal(SIGSTOP);
  siginfo_t how{};
  ::waitid(P_PID, static_cast<id_t>(pid_), &how, WSTOPPED | WEXITED | WNOWAIT);
}

void Child::resume() const {
  signal(SIGCONT);
}

int Child::wait() {
  if (pid_ <= 0) throw std::logic_error("the program has already been waited for");
  int status = 0;
  if (!eventually([&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; })) {
    throw std::runtime_error("the program does not end");
  }
  pid_ = -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace quorumlock::test
