#include "cli/program.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "support/eventually.hpp"

namespace quorumlock::test {
namespace {

constexpr int patience_ms = static_cast<int>(std::chrono::milliseconds(patience).count());

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> environment_with(const std::vector<std::string>& more) {
  std::vector<std::string> variables = more;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view one = *variable;
    if (!one.starts_with("QUORUMLOCK_")) variables.emplace_back(one);
  }
  return variables;
}

}  // namespace

Program::Program(const std::vector<std::string>& words,
                 const std::vector<std::string>& environment) {
  int out[2];
  int err[2];
  if (::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(err, O_CLOEXEC) != 0) {
    throw std::runtime_error("cannot make a pipe");
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err[1], STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t signals;
  sigemptyset(&signals);
  posix_spawnattr_setsigmask(&attributes, &signals);
  sigfillset(&signals);
  posix_spawnattr_setsigdefault(&attributes, &signals);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
  std::vector<std::string> own_words = words;
  std::vector<std::string> variables = environment_with(environment);
  const int error = ::posix_spawnp(&pid_, words.front().c_str(), &actions, &attributes,
                                   pointers(own_words).data(), pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  ::close(out[1]);
  ::close(err[1]);
  out_ = out[0];
  err_ = err[0];
  if (error != 0) throw std::runtime_error("cannot run " + words.front());
}

Program::Program(Program&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      out_(std::exchange(other.out_, -1)),
      err_(std::exchange(other.err_, -1)),
      lines_read_(other.lines_read_),
      said_(std::move(other.said_)) {}

Program::~Program() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  if (out_ >= 0) ::close(out_);
  if (err_ >= 0) ::close(err_);
}

void Program::signal(int number) const {
  ::kill(pid_, number);
}

void Program::stop() const {
  signal(SIGSTOP);
  siginfo_t how{};
  ::waitid(P_PID, static_cast<id_t>(pid_), &how, WSTOPPED | WEXITED | WNOWAIT);
}

void Program::read_some() {
  pollfd ready[] = {{out_, POLLIN, 0}, {err_, POLLIN, 0}};
  if (::poll(ready, 2, patience_ms) <= 0) {
    throw std::runtime_error("the program says nothing and does not end; it said: " + said_.out +
                             said_.err);
  }
  const auto read_from = [](int& fd, short events, std::string& into) {
    if (events == 0) return;
    char buffer[4096];
    const ssize_t size = ::read(fd, buffer, sizeof buffer);
    if (size > 0) {
      into.append(buffer, static_cast<std::size_t>(size));
    } else if (size == 0 || errno != EINTR) {
      ::close(std::exchange(fd, -1));
    }
  };
  read_from(out_, ready[0].revents, said_.out);
  read_from(err_, ready[1].revents, said_.err);
}

std::string Program::line() {
  for (;;) {
    if (const auto end = said_.out.find('\n', lines_read_); end != std::string::npos) {
      std::string line = said_.out.substr(lines_read_, end - lines_read_);
      lines_read_ = end + 1;
      return line;
    }
    if (out_ < 0) throw std::runtime_error("the program has closed its output: " + said_.err);
    read_some();
  }
}

bool Program::says_on_error(const std::string& text) {
  while (said_.err.find(text) == std::string::npos) {
    if (err_ < 0) return false;
    read_some();
  }
  return true;
}

Ended Program::finish() {
  while (out_ >= 0 || err_ >= 0) read_some();
  int status = 0;
  if (!eventually([&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; })) {
    throw std::runtime_error("the program does not end");
  }
  pid_ = -1;
  for (const char* password : {"s3cret", "Marked1"}) {  // tests give no others to programs
    EXPECT_EQ((said_.out + said_.err).find(password), std::string::npos)
        << "the program shows a password: " << said_.out << said_.err;
  }
  said_.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return said_;
}

Fifo::Fifo(const std::filesystem::path& path) : path_(path) {
  if (::mkfifo(path.c_str(), 0600) != 0) throw std::runtime_error("cannot make " + path.string());
  fd_ = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

Fifo::~Fifo() {
  ::close(fd_);
}

bool Fifo::somebody_came() {
  pollfd ready{fd_, POLLIN, 0};
  char buffer[4096];
  return ::poll(&ready, 1, patience_ms) > 0 && ::read(fd_, buffer, sizeof buffer) > 0;
}

bool Fifo::all_have_gone() {
  pollfd ready{fd_, POLLIN, 0};
  char buffer[4096];
  while (::poll(&ready, 1, patience_ms) > 0) {
    if (::read(fd_, buffer, sizeof buffer) == 0) return true;
  }
  return false;
}

}  // namespace quorumlock::test
