#include "chaos/workers.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>

#include "chaos/members_program.hpp"
#include "chaos/report.hpp"
#include "local/keeper.hpp"

namespace quorumlock::chaos {
namespace {

/// Runs after the fork, so it makes nothing but system calls.
[[noreturn]] void become_worker(char* const* words, int in, int out, const local::Keeper& keeper) {
  keeper.keep_me();
  ::dup2(in, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  // A worker that is asked to end before it can read signals finds this one pending then.
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  ::pthread_sigmask(SIG_SETMASK, &term, nullptr);
  ::execv("/proc/self/exe", words);
  ::_exit(127);
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
  return text;
}

}  // namespace

Workers::Workers(int count, WorkerSettings settings)
    : settings_(std::move(settings)), processes_(static_cast<std::size_t>(count)) {
  local::make_pipe(doors_outside_, doors_);
  local::make_pipe(told_, tell_);
  ::fcntl(told_.get(), F_SETFL, O_NONBLOCK);
  ::fcntl(told_.get(), F_SETPIPE_SZ, 1 << 20);  // workers must go on while nobody listens
  if (settings_.nodes.empty()) return;
  for (int worker = 0; worker < count; ++worker) give_nodes(worker, settings_.nodes);
}

Workers::~Workers() {
  for (int worker = 0; worker < size(); ++worker) kill(worker);
}

std::vector<std::string> Workers::arguments(int worker) const {
  // Each life has draws of its own.
  const std::uint64_t seed =
      settings_.seed * 1000003 + static_cast<std::uint64_t>(worker * 1009 + process(worker).lives);
  std::vector<std::string> words = {"chaos",           "worker",
                                    "--number",        std::to_string(worker),
                                    "--worker-seed",   std::to_string(seed),
                                    "--configuration", configuration(worker).string(),
                                    "--resources",     joined(settings_.resources),
                                    "--semaphore",     settings_.semaphore,
                                    "--store",         settings_.store.string(),
                                    "--ttl",           std::to_string(settings_.ttl.count()),
                                    "--max-ttl",       std::to_string(settings_.max_ttl.count())};
  if (settings_.alone) words.emplace_back("--alone");
  if (settings_.keeps) words.emplace_back("--keeps");
  if (settings_.verbose) words.emplace_back("--verbose");
  return words;
}

void Workers::start(int worker) {
  Process& process = this->process(worker);
  std::vector<std::string> texts = arguments(worker);
  std::vector<char*> words;
  for (std::string& text : texts) words.push_back(text.data());
  words.push_back(nullptr);
  const local::Keeper& keeper = local::Keeper::instance();
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = ::fork();
  if (pid == 0) become_worker(words.data(), doors_outside_.get(), tell_.get(), keeper);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) fail_with_errno("cannot start a worker");
  process.pid = pid;
  process.stopped = process.ends = false;
  ++process.lives;
}

void Workers::stop(int worker) {
  Process& process = this->process(worker);
  if (process.pid <= 0) return;
  ::kill(process.pid, SIGSTOP);
  siginfo_t how{};
  while (::waitid(P_PID, static_cast<id_t>(process.pid), &how, WSTOPPED | WEXITED | WNOWAIT) < 0 &&
         errno == EINTR) {
  }
  process.stopped = true;
}

void Workers::resume(int worker) {
  Process& process = this->process(worker);
  if (process.pid > 0) ::kill(process.pid, SIGCONT);
  process.stopped = false;
}

void Workers::kill(int worker) {
  const pid_t pid = process(worker).pid;
  if (pid <= 0) return;
  ::kill(pid, SIGKILL);
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  local::Keeper::instance().let_go(pid);
  process(worker).pid = -1;
  process(worker).holding = {};
}

void Workers::end() {
  ending_ = true;
  doors_.close();
}

void Workers::end(int worker) {
  Process& process = this->process(worker);
  process.ends = true;
  if (process.pid > 0) ::kill(process.pid, SIGTERM);
}

std::filesystem::path Workers::configuration(int worker) const {
  return settings_.configuration / ("worker" + std::to_string(worker + 1) + ".json");
}

void Workers::give_nodes(int worker, const std::vector<std::string>& nodes) const {
  write_configuration(configuration(worker), nodes, settings_.ttl, settings_.max_ttl);
}

bool Workers::any_running() const {
  return std::ranges::any_of(processes_, [](const Process& each) { return each.pid > 0; });
}

bool Workers::holds(int worker) const {
  const auto found = holdings_.find(process(worker).holding);
  return found != holdings_.end() && found->second.ending == Ending::unfinished &&
         Clock::now() < found->second.until;
}

void Workers::listen() {
  read_lines();
  for (int worker = 0; worker < size(); ++worker) {
    int status = 0;
    const pid_t pid = process(worker).pid;
    if (pid <= 0 || ::waitpid(pid, &status, WNOHANG) != pid) continue;
    local::Keeper::instance().let_go(pid);
    process(worker).pid = -1;
    reap(worker, status);
  }
  read_lines();  // the last words of those that have ended
}

void Workers::read_lines() {
  char buffer[65536];
  for (;;) {
    const ssize_t size = ::read(told_.get(), buffer, sizeof buffer);
    if (size <= 0) break;
    unread_.append(buffer, static_cast<std::size_t>(size));
  }
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = unread_.find('\n', begin)) != unread_.npos; begin = end + 1) {
    const std::string line = unread_.substr(begin, end - begin);
    if (line == was_refused || line == was_refused_for_its_nodes) {
      ++refusals_;
      if (line == was_refused_for_its_nodes) ++refused_for_their_nodes_;
      continue;
    }
    try {
      Holding holding = holding_of(line);
      std::pair of(holding.owner, holding.resource);
      process(holding.worker).holding = of;
      holdings_.insert_or_assign(std::move(of), std::move(holding));
    } catch (const std::exception& error) {
      complaints_.emplace_back(error.what());
    }
  }
  unread_.erase(0, begin);
}

void Workers::reap(int worker, int status) {
  if ((ending_ || process(worker).ends) && WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  const std::string how = WIFSIGNALED(status) ? "by signal " + std::to_string(WTERMSIG(status))
                                              : "with code " + std::to_string(WEXITSTATUS(status));
  complaints_.push_back("worker " + std::to_string(worker + 1) + " ended by itself, " + how);
}

std::vector<Holding> Workers::holdings() const {
  std::vector<Holding> all;
  for (const auto& [of, holding] : holdings_) all.push_back(holding);
  std::ranges::sort(all, {}, &Holding::begin);
  return all;
}

const Time* Workers::first_lock_after(int worker, Time moment) const {
  const Time* first = nullptr;
  for (const auto& [of, holding] : holdings_) {
    if (holding.worker != worker || holding.begin <= moment) continue;
    if (first == nullptr || holding.begin < *first) first = &holding.begin;
  }
  return first;
}

}  // namespace quorumlock::chaos
