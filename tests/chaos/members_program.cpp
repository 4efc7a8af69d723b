#include "chaos/members_program.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

#include <nlohmann/json.hpp>

#include "local/keeper.hpp"

namespace quorumlock::chaos {
namespace {

/// Runs after the fork, so it makes nothing but system calls.
[[noreturn]] void become_program(char* const* words, int log, const local::Keeper& keeper) {
  keeper.keep_me();
  ::setsid();
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(nothing, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  sigset_t none;
  sigemptyset(&none);
  ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
  ::execv(words[0], words);
  ::_exit(127);
}

std::string in_ms(std::chrono::milliseconds time) {
  return std::to_string(time.count()) + "ms";
}

}  // namespace

void write_configuration(const std::filesystem::path& file, const std::vector<std::string>& nodes,
                         std::chrono::milliseconds ttl, std::chrono::milliseconds max_ttl) {
  const std::filesystem::path made = file.string() + ".new";
  std::ofstream out(made);
  out << nlohmann::json{{"nodes", nodes}, {"ttl", in_ms(ttl)}, {"max_ttl", in_ms(max_ttl)}};
  out.close();
  if (!out) throw std::runtime_error("cannot write " + made.string());
  std::filesystem::rename(made, file);
}

MembersProgram::MembersProgram(std::filesystem::path directory, std::chrono::milliseconds ttl,
                               std::chrono::milliseconds max_ttl)
    : directory_(std::move(directory)), ttl_(ttl), max_ttl_(max_ttl) {}

void MembersProgram::start(const std::vector<std::string>& nodes,
                           const std::vector<std::string>& words) {
  kill();
  const std::filesystem::path configuration = directory_ / "members.json";
  write_configuration(configuration, nodes, ttl_, max_ttl_);
  std::vector<std::string> texts = {QUORUMLOCK_PROGRAM, "--config", configuration.string(),
                                    "members"};
  texts.insert(texts.end(), words.begin(), words.end());
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  const Descriptor out(::open(log().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  const local::Keeper& keeper = local::Keeper::instance();
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  ++runs_;
  pid_ = ::fork();
  if (pid_ == 0) become_program(pointers.data(), out.get(), keeper);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid_ < 0) fail_with_errno("cannot start the program");
}

bool MembersProgram::running() {
  if (pid_ <= 0) return false;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) return true;
  ended(status);
  return false;
}

void MembersProgram::kill() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  ended(status);
}

void MembersProgram::ended(int status) {
  local::Keeper::instance().let_go(std::exchange(pid_, -1));
  code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  if (!WIFSIGNALED(status) && code_ != 0) {
    failure_ = "run " + std::to_string(runs_) + ", which ended with " + std::to_string(code_) +
               ": " + text_of_log();
  }
}

std::string MembersProgram::said() const {
  return (failure_.empty() ? "" : failure_ + "\n") + "run " + std::to_string(runs_) + ": " +
         text_of_log();
}

std::string MembersProgram::text_of_log() const {
  std::ifstream file(log());
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace quorumlock::chaos
