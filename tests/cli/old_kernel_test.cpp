#include <sys/resource.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/fixture.hpp"

// Kernels and containers that lack a system call or /proc.
namespace quorumlock::test {
namespace {

using std::chrono::steady_clock;

struct Machine {
  std::string name;
  std::vector<std::string> words;  ///< what stands before the program
};

void PrintTo(const Machine& machine, std::ostream* out) {
  *out << machine.name;
}

/// The calls that came with Linux 4.3 or later. docs/services.md promises Linux 4.2.
constexpr const char* since_4_3 = "userfaultfd+";

/// Hides /proc, in a mount namespace for the program.
std::vector<std::string> without_proc() {
  return {"unshare", "--mount", "--map-root-user",
          "sh",      "-c",      "mount -t tmpfs none /proc && exec \"$0\" \"$@\""};
}

std::vector<Machine> machines() {
  const std::string newer = "close_range,pidfd_open,pidfd_send_signal";
  std::vector<std::string> both = without_proc();
  both.insert(both.end(), {QUORUMLOCK_WITHOUT_CALLS, "ENOSYS", since_4_3});
  return {{"Linux4_2", {QUORUMLOCK_WITHOUT_CALLS, "ENOSYS", since_4_3}},
          {"ForbiddenCalls", {QUORUMLOCK_WITHOUT_CALLS, "EPERM", newer}},
          {"WithoutProc", without_proc()},
          {"WithoutBoth", both}};
}

/// The ttl is 30 s, after which everything ends.
constexpr std::chrono::seconds far_from_the_ttl{15};

class OldKernel : public CommandLine, public testing::WithParamInterface<Machine> {
 protected:
  [[nodiscard]] Program start_on(std::vector<std::string> arguments) const {
    std::vector<std::string> words = GetParam().words;
    words.push_back(QUORUMLOCK_PROGRAM);
    words.insert(words.end(), arguments.begin(), arguments.end());
    return Program(words, {nodes()});
  }
};

TEST_P(OldKernel, RunReleasesAsSoonAsTheCommandHasEnded) {
  // A guard that keeps its end of a pipe open would hold the lock until the ttl has passed.
  const auto began = steady_clock::now();
  const Ended ended =
      start_on({"run", "--ttl", "30s", "orders", "--", "sh", "-c", "echo up; exit 3"}).finish();
  EXPECT_EQ(ended.code, 3) << ended.err;
  EXPECT_EQ(ended.out, "up\n");
  EXPECT_LT(steady_clock::now() - began, far_from_the_ttl);
  EXPECT_THAT(cluster.keys(), IsEmpty());
}

TEST_P(OldKernel, NothingOutlivesARunThatIsKilled) {
  Fifo held = fifo();
  Program program = start_on({"run", "--ttl", "30s", "orders", "--", "sh", "-c",
                              "exec 5>" + held.path() + "; sleep 1000 & echo up >&5; wait"});
  ASSERT_TRUE(held.somebody_came());
  const auto killed = steady_clock::now();
  program.signal(SIGKILL);
  EXPECT_TRUE(held.all_have_gone());
  EXPECT_LT(steady_clock::now() - killed, far_from_the_ttl);
}

TEST_P(OldKernel, BackgroundProcessesAreAskedToEndFirst) {
  // What the command leaves behind gets SIGTERM, and half a second to end.
  const std::string up = (directory.path() / "up").string();
  const std::string ended = (directory.path() / "ended").string();
  const Ended run = start_on({"run", "orders", "--", "sh", "-c",
                              "(trap 'echo asked >" + ended + "; exit' TERM; echo up >" + up +
                                  "; while :; do sleep 0.01; done) & until test -e " + up +
                                  "; do sleep 0.01; done; exit 4"})
                        .finish();
  EXPECT_EQ(run.code, 4) << run.err;
  EXPECT_TRUE(std::filesystem::exists(ended));
  EXPECT_THAT(cluster.keys(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Machines, OldKernel, testing::ValuesIn(machines()),
                         [](const auto& one) { return one.param.name; });

TEST(OldKernelCluster, IsStartedAndStopped) {
  // The processes are known by their numbers, which are looked at before each use.
  const TemporaryDirectory directory;
  const std::string dir = (directory.path() / "cluster").string();
  const auto cluster = [&](std::vector<std::string> words, std::vector<std::string> arguments) {
    words.insert(words.end(), {QUORUMLOCK_PROGRAM, "cluster"});
    words.insert(words.end(), arguments.begin(), arguments.end());
    words.insert(words.end(), {"--dir", dir});
    return Program(words).finish();
  };
  const std::vector<std::string> old = {QUORUMLOCK_WITHOUT_CALLS, "ENOSYS", since_4_3};
  Ended started;
  for (int attempt = 0; attempt < 5 && started.code != 0; ++attempt) {  // the port may be taken
    started = cluster(old, {"start", "--size", "1", "--port", std::to_string(local::free_port())});
  }
  ASSERT_EQ(started.code, 0) << started.err;
  const Ended blind = cluster(without_proc(), {"stop"});
  EXPECT_EQ(blind.code, 1);
  EXPECT_THAT(blind.err, HasSubstr("because /proc is not mounted"));
  const Ended stopped = cluster(old, {"stop"});
  EXPECT_EQ(stopped.code, 0) << stopped.err;
  EXPECT_THAT(stopped.out, HasSubstr("1 "));
}

/// A container's profile may forbid a call alone.
class OldKernelCalls : public CommandLine {
 protected:
  /// `calls`: names of without_calls, such as poll=timed.
  [[nodiscard]] Program start_without(const std::string& calls, std::vector<std::string> arguments,
                                      const std::string& error = "EPERM") const {
    arguments.insert(arguments.begin(),
                     {QUORUMLOCK_WITHOUT_CALLS, error, calls, QUORUMLOCK_PROGRAM});
    return Program(arguments, {nodes()});
  }
  /// What the children that have ended used of the processors.
  static std::chrono::microseconds used_by_children() {
    rusage used{};
    ::getrusage(RUSAGE_CHILDREN, &used);
    return std::chrono::seconds(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           std::chrono::microseconds(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
  }
};

TEST_F(OldKernelCalls, WhatCannotWaitSaysSoAndEnds) {
  // Whoever ignores the error of poll() asks without end.
  const std::string dir = (directory.path() / "cluster").string();
  const std::vector<std::vector<std::string>> commands = {
      {"run", "orders", "--", "true"},
      {"leader", "orders", "--", "true"},
      {"acquire", "orders"},
      {"status"},
      {"doctor"},
      {"enroll"},
      {"observe", "orders"},
      {"bench", "--seconds", "1"},
      {"members", "announce"},
#ifdef QUORUMLOCK_WITH_SERVE
      {"serve", "--listen", "127.0.0.1:0"},
#endif
      {"cluster", "start", "--size", "1", "--port", std::to_string(local::free_port()), "--dir",
       dir}};
  for (const std::vector<std::string>& command : commands) {
    SCOPED_TRACE(command.front());
    const Ended ended = start_without("poll", command).finish();
    EXPECT_EQ(ended.code, 1);
    EXPECT_THAT(ended.err, HasSubstr("because the system call poll() failed"));
    EXPECT_THAT(ended.err, HasSubstr("Operation not permitted"));
    EXPECT_THAT(cluster.keys(), IsEmpty());
  }
  EXPECT_FALSE(std::filesystem::exists(dir));
}

TEST_F(OldKernelCalls, TheOnesThatTheLoopNeedsAreMissedBeforeItRuns) {
  // libuv would end the process without a word, and an exception on the loop's thread would, too.
  for (const std::string call : {"pipe2", "timerfd_settime"}) {
    SCOPED_TRACE(call);
    const Ended ended = start_without(call, {"acquire", "orders"}).finish();
    EXPECT_EQ(ended.code, 1);
    EXPECT_THAT(ended.err, HasSubstr("Operation not permitted"));
  }
}

TEST_F(OldKernelCalls, ALoopThatCouldNotWaitIsNotBegun) {
  // libuv needs one of two calls to wait, by its version.
  const auto says_so = HasSubstr("failed (does this process's seccomp profile forbid it?)");
  for (const std::string error : {"EPERM", "ENOSYS"}) {
    for (const std::string calls : {"epoll_ctl", "epoll_wait,epoll_pwait"}) {
      SCOPED_TRACE(error + " " + calls);
      const Ended ended = start_without(calls, {"acquire", "orders"}, error).finish();
      EXPECT_EQ(ended.code, 1);
      EXPECT_THAT(ended.err, says_so);
    }
    for (const std::string call : {"epoll_wait", "epoll_pwait"}) {
      SCOPED_TRACE(error + " " + call);
      const Ended ended = start_without(call, {"run", "orders", "--", "true"}, error).finish();
      if (ended.code != 0) {
        EXPECT_EQ(ended.code, 1);
        EXPECT_THAT(ended.err, says_so);
      }
      EXPECT_THAT(cluster.keys(), IsEmpty());
    }
  }
}

TEST_F(OldKernelCalls, RunStopsItsCommandAndReleases) {
  // `run` waits for the lock without end here, and looks after its command now and then.
  const auto began = steady_clock::now();
  const Ended ended = start_without("poll=timed", {"--json", "run", "--ttl", "30s", "orders", "--",
                                                   "sleep", "1000"})
                          .finish();
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, HasSubstr("because the system call poll() failed"));
  EXPECT_LT(steady_clock::now() - began, far_from_the_ttl);
  EXPECT_THAT(cluster.keys(), IsEmpty());
}

TEST_F(OldKernelCalls, AGuardThatCannotWaitDoesNotSpin) {
  // Only the guard waits without end here.
  const auto before = used_by_children();
  const Ended ended =
      start_without("poll=endless", {"run", "orders", "--", "sh", "-c", "sleep 2; exit 3"})
          .finish();
  EXPECT_EQ(ended.code, 3) << ended.err;
  EXPECT_LT(used_by_children() - before, std::chrono::milliseconds(800));
  EXPECT_THAT(cluster.keys(), IsEmpty());
}

}  // namespace
}  // namespace quorumlock::test
