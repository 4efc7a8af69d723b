#include "cli/program.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <stdexcept>
#include <string_view>

#include "support/eventually.hpp"

namespace quorumlock::test {
namespace {

constexpr int patience_ms = static_cast<int>(std::chrono::milliseconds(patience).count());

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
  const local::Descriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  local::Descriptor its_out, its_err;
  local::make_pipe(out_, its_out);
  local::make_pipe(err_, its_err);
  start(words, environment_with(environment), {nothing.get(), its_out.get(), its_err.get()},
        POSIX_SPAWN_SETSID);
}

void Program::read_some() {
  pollfd ready[] = {{out_.get(), POLLIN, 0}, {err_.get(), POLLIN, 0}};
  if (::poll(ready, 2, patience_ms) <= 0) {
    throw std::runtime_error("the program says nothing and does not end; it said: " + said_.out +
                             said_.err);
  }
  const auto read_from = [](local::Descriptor& from, short events, std::string& into) {
    if (events == 0) return;
    char buffer[4096];
    const ssize_t size = ::read(from.get(), buffer, sizeof buffer);
    if (size > 0) {
      into.append(buffer, static_cast<std::size_t>(size));
    } else if (size == 0 || errno != EINTR) {
      from.close();
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
    if (!out_.open()) throw std::runtime_error("the program has closed its output: " + said_.err);
    read_some();
  }
}

bool Program::says_on_error(const std::string& text) {
  while (said_.err.find(text) == std::string::npos) {
    if (!err_.open()) return false;
    read_some();
  }
  return true;
}

Ended Program::finish() {
  while (out_.open() || err_.open()) read_some();
  said_.code = wait();
  for (const char* password : {"s3cret", "Marked1"}) {  // tests give no others to programs
    EXPECT_EQ((said_.out + said_.err).find(password), std::string::npos)
        << "the program shows a password: " << said_.out << said_.err;
  }
  return said_;
}

Fifo::Fifo(const std::filesystem::path& path) : path_(path) {
  if (::mkfifo(path.c_str(), 0600) != 0) local::fail_with_errno("cannot make " + path.string());
  fd_ = local::Descriptor(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
}

bool Fifo::somebody_came() {
  pollfd ready{fd_.get(), POLLIN, 0};
  char buffer[4096];
  return ::poll(&ready, 1, patience_ms) > 0 && ::read(fd_.get(), buffer, sizeof buffer) > 0;
}

bool Fifo::all_have_gone() {
  pollfd ready{fd_.get(), POLLIN, 0};
  char buffer[4096];
  while (::poll(&ready, 1, patience_ms) > 0) {
    if (::read(fd_.get(), buffer, sizeof buffer) == 0) return true;
  }
  return false;
}

}  // namespace quorumlock::test
