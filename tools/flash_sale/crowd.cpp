#include "crowd.hpp"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <stdexcept>
#include <string_view>
#include <system_error>

namespace flash_sale {
namespace {

using quorumlock::local::make_pipe;
using std::chrono::steady_clock;

/// Longer than a buyer needs to finish a sale and to release: think time and node_timeout.
constexpr std::chrono::seconds patience(5);

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  result.reserve(strings.size() + 1);
  for (std::string& string : strings) result.push_back(string.data());
  result.push_back(nullptr);
  return result;
}

/// Returns our environment with these nodes. They are not passed as arguments, since `ps` would
/// show a password.
std::vector<std::string> environment_with(const std::string& nodes) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (text.starts_with("QUORUMLOCK_NODES=") || text.starts_with("QUORUMLOCK_CONFIG=")) continue;
    result.emplace_back(text);
  }
  result.push_back("QUORUMLOCK_NODES=" + nodes);
  return result;
}

}  // namespace

Crowd::Crowd(const Interruption& interruption) : interruption_(interruption) {
  make_pipe(doors_outside_, doors_);
  make_pipe(told_, tell_);
}

Crowd::~Crowd() {
  doors_.close();
  tell_.close();
  const auto deadline = steady_clock::now() + patience;
  while (!ended_ && !processes_.empty()) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - steady_clock::now());
    pollfd telling{told_.get(), POLLIN, 0};
    if (left.count() <= 0) break;
    const int ready = ::poll(&telling, 1, static_cast<int>(left.count()));
    if (ready > 0) read_more();
    if (ready < 0 && errno != EINTR) break;
  }
  for (const pid_t process : processes_) {
    if (!ended_) ::kill(process, SIGKILL);
    while (::waitpid(process, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
}

void Crowd::admit(std::vector<std::string> arguments, const std::string& nodes) {
  arguments.insert(arguments.begin(), "flash-sale");
  std::vector<std::string> environment = environment_with(nodes);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, doors_outside_.get(), STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, tell_.get(), STDOUT_FILENO);
  processes_.reserve(processes_.size() + 1);
  pid_t process = -1;
  const int error = ::posix_spawn(&process, "/proc/self/exe", &actions, nullptr,
                                  pointers(arguments).data(), pointers(environment).data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    throw std::system_error(error, std::generic_category(), "cannot start a process of buyers");
  }
  processes_.push_back(process);
}

void Crowd::open_doors() {
  tell_.close();  // from now on the last process's end also ends the lines
  std::size_t ready = 0;
  while (ready < processes_.size()) {
    await(100);
    for (; !lines_.empty(); lines_.pop_front()) ++ready;
    if (any_ended()) throw std::runtime_error("a process of buyers ended before the sale began");
  }
  const std::string go(processes_.size(), 'g');
  if (::write(doors_.get(), go.data(), go.size()) != static_cast<ssize_t>(go.size())) {
    quorumlock::local::fail_with_errno("cannot open the doors");
  }
}

std::optional<std::string> Crowd::next_line() {
  while (lines_.empty() && !ended_) await(-1);
  if (lines_.empty()) return std::nullopt;
  std::string line = std::move(lines_.front());
  lines_.pop_front();
  return line;
}

/// Waits until there is something to read, or the time is over.
void Crowd::await(int timeout_ms) {
  pollfd watched[] = {{told_.get(), POLLIN, 0}, {interruption_.fd(), POLLIN, 0}};
  const int ready = ::poll(watched, 2, timeout_ms);
  if (ready < 0 && errno != EINTR) {
    quorumlock::local::fail_with_errno("cannot wait for buyers, because poll() failed");
  }
  interruption_.check();
  if (watched[0].revents != 0) read_more();
}

void Crowd::read_more() {
  char buffer[4096];
  const ssize_t got = ::read(told_.get(), buffer, sizeof(buffer));
  if (got < 0 && errno == EINTR) return;
  if (got <= 0) {
    ended_ = true;  // all processes have closed their side
    return;
  }
  unfinished_.append(buffer, static_cast<std::size_t>(got));
  for (auto end = unfinished_.find('\n'); end != std::string::npos; end = unfinished_.find('\n')) {
    lines_.push_back(unfinished_.substr(0, end));
    unfinished_.erase(0, end + 1);
  }
}

bool Crowd::any_ended() const {
  for (const pid_t process : processes_) {
    siginfo_t info{};
    const int options = WEXITED | WNOHANG | WNOWAIT;  // looks, and leaves it to be reaped later
    if (::waitid(P_PID, static_cast<id_t>(process), &info, options) == 0 && info.si_pid != 0) {
      return true;
    }
  }
  return false;
}

int Crowd::failed() {
  int count = 0;
  for (const pid_t process : processes_) {
    int status = 0;
    while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) ++count;
  }
  processes_.clear();
  return count;
}

}  // namespace flash_sale
