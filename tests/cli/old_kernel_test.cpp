#include <filesystem>
#include <string>
#include <vector>

#include "cli/fixture.hpp"

// Kernels and containers that lack a system call or /proc.
namespace quorumlock::test {
namespace {

struct Machine {
  std::string name;
  std::vector<std::string> words;  ///< what stands before the program
};

void PrintTo(const Machine& machine, std::ostream* out) {
  *out << machine.name;
}

std::vector<Machine> machines() {
  const std::string calls = "close_range,pidfd_open,pidfd_send_signal";
  // The shell, not a filter of ours, hides /proc; the program then lives in another mount
  // namespace.
  const std::vector<std::string> hidden = {
      "unshare", "--mount", "--map-root-user",
      "sh",      "-c",      "mount -t tmpfs none /proc && exec \"$0\" \"$@\""};
  std::vector<std::string> both = hidden;
  both.insert(both.end(), {QUORUMLOCK_WITHOUT_CALLS, "ENOSYS", calls});
  return {{"WithoutTheCalls", {QUORUMLOCK_WITHOUT_CALLS, "ENOSYS", calls}},
          {"ForbiddenCalls", {QUORUMLOCK_WITHOUT_CALLS, "EPERM", calls}},
          {"WithoutProc", hidden},
          {"WithoutBoth", both}};
}

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
  const Ended ended =
      start_on({"run", "--ttl", "30s", "orders", "--", "sh", "-c", "echo up; exit 3"}).finish();
  EXPECT_EQ(ended.code, 3) << ended.err;
  EXPECT_EQ(ended.out, "up\n");
  EXPECT_THAT(cluster.keys(), IsEmpty());
}

TEST_P(OldKernel, NothingOutlivesARunThatIsKilled) {
  Fifo held = fifo();
  Program program = start_on({"run", "--ttl", "30s", "orders", "--", "sh", "-c",
                              "exec 5>" + held.path() + "; sleep 1000 & echo up >&5; wait"});
  ASSERT_TRUE(held.somebody_came());
  program.signal(SIGKILL);
  EXPECT_TRUE(held.all_have_gone());
}

TEST_P(OldKernel, BackgroundProcessesAreAskedToEndFirst) {
  // What the command leaves behind gets SIGTERM, and half a second to end.
  const std::string ended = (directory.path() / "ended").string();
  const Ended run = start_on({"run", "orders", "--", "sh", "-c",
                              "(trap 'echo asked >" + ended +
                                  "; exit' TERM; echo up; while :; do sleep 0.01; done) & "
                                  "read line </dev/null; sleep 0.2; exit 4"})
                        .finish();
  EXPECT_EQ(run.code, 4) << run.err;
  EXPECT_TRUE(std::filesystem::exists(ended));
  EXPECT_THAT(cluster.keys(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Machines, OldKernel, testing::ValuesIn(machines()),
                         [](const auto& one) { return one.param.name; });

TEST(OldKernelCluster, IsStartedAndStopped) {
  // The processes are known by their numbers, which are looked at before each use. (Without /proc
  // the program could not know whose process a number is.)
  const TemporaryDirectory directory;
  const std::string dir = (directory.path() / "cluster").string();
  const auto cluster = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(),
                     {QUORUMLOCK_WITHOUT_CALLS, "ENOSYS",
                      "close_range,pidfd_open,pidfd_send_signal", QUORUMLOCK_PROGRAM, "cluster"});
    arguments.insert(arguments.end(), {"--dir", dir});
    return Program(arguments).finish();
  };
  Ended started;
  for (int attempt = 0; attempt < 5 && started.code != 0; ++attempt) {  // the port may be taken
    started = cluster({"start", "--size", "1", "--port", std::to_string(local::free_port())});
  }
  ASSERT_EQ(started.code, 0) << started.err;
  const Ended stopped = cluster({"stop"});
  EXPECT_EQ(stopped.code, 0) << stopped.err;
  EXPECT_THAT(stopped.out, HasSubstr("1 "));
}

}  // namespace
}  // namespace quorumlock::test
