#include <cstdlib>
#include <filesystem>

#include "cli/fixture.hpp"

// The program on a machine that has no descriptor or no process left. Whatever little there is, it
// works or ends with a sentence and 1, or with 69 if it could not reach enough nodes, and holds no
// lock after that.
namespace quorumlock::test {
namespace {

class ShortagesOfTheProgram : public CommandLine {
 protected:
  ShortagesOfTheProgram() : CommandLine({.size = 3, .tcp = true}) {}

  /// Runs a command under one of the shell's limits.
  [[nodiscard]] Ended run_under(const std::string& limit, std::vector<std::string> words,
                                bool as_nobody = false) const {
    std::vector<std::string> all = {"bash", "-c", "ulimit " + limit + "; exec \"$@\"", "bash",
                                    QUORUMLOCK_PROGRAM};
    if (as_nobody && ::getuid() == 0) {
      all.insert(all.begin(), {"setpriv", "--reuid", "65534", "--clear-groups"});
      if (const char* const trusted = ::getenv("SSL_CERT_FILE"); trusted != nullptr) {
        // The nodes speak TLS, and that user, who stays in root's group, has to know their
        // authority.
        using std::filesystem::perms, std::filesystem::perm_options;
        const std::filesystem::path file = trusted;
        permissions(file, perms::group_read, perm_options::add);
        permissions(file.parent_path(), perms::group_exec, perm_options::add);
      }
    }
    all.insert(all.end(), words.begin(), words.end());
    return Program(all, {nodes()}).finish();
  }
};

TEST_F(ShortagesOfTheProgram, EachNumberOfDescriptorsIsEnoughOrReported) {
  // The dynamic loader needs one itself: the least number is that with which the program starts.
  int least = 3;
  while (run_under("-n " + std::to_string(least), {"--version"}).code != 0) ++least;
  const std::vector<std::vector<std::string>> commands = {
      {"run", "orders", "--", "true"},
      {"run", "--wait", "2s", "--shared", "orders", "--", "true"},
      {"inspect", "orders"},
      {"status"}};
  for (const std::vector<std::string>& words : commands) {
    int done = 0;
    for (int files = least; files < least + 25; ++files) {
      const Ended ended = run_under("-n " + std::to_string(files), words);
      const std::string what = words.front() + " with " + std::to_string(files);
      if (ended.code == 0) {
        ++done;
        continue;
      }
      EXPECT_TRUE(ended.code == 1 || ended.code == 69) << what << ": " << ended.code << ended.err;
      EXPECT_THAT(ended.out + ended.err, HasSubstr("Too many open files")) << what;
    }
    EXPECT_GE(done, 5) << words.front();
    EXPECT_TRUE(eventually([&] { return cluster.keys().empty(); })) << words.front();
  }
}

TEST_F(ShortagesOfTheProgram, EachAmountOfMemoryIsEnoughOrReported) {
  // Below the least amount the dynamic loader ends it.
  constexpr int step = 1024;
  int least = step, done = 0;
  while (run_under("-v " + std::to_string(least), {"--version"}).code != 0) least += step;
  for (int room = least; done < 3; room += step) {
    const Ended ended = run_under("-v " + std::to_string(room), {"status"});
    if (ended.code == 0) {
      ++done;
      continue;
    }
    EXPECT_EQ(ended.code, 1) << room << ": " << ended.err;
    EXPECT_THAT(ended.err, testing::AnyOf(HasSubstr("memory"), HasSubstr("temporarily"))) << room;
  }
}

TEST_F(ShortagesOfTheProgram, EachNumberOfProcessesIsEnoughOrReported) {
  // The program needs a thread, a process for the command and one that guards it. Other processes
  // of the same user count, too.
  int done = 0, failed = 0;
  for (int processes = 1; done < 3 && processes < 4000; ++processes) {
    const Ended ended = run_under("-u " + std::to_string(processes),
                                  {"run", "orders", "--", QUORUMLOCK_PROGRAM, "--version"}, true);
    if (ended.code == 0) {
      ++done;
      continue;
    }
    ++failed;
    EXPECT_EQ(ended.code, 1) << processes << ": " << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("Resource temporarily unavailable"));
  }
  EXPECT_EQ(done, 3);
  EXPECT_GE(failed, 3);
  EXPECT_TRUE(eventually([&] { return cluster.keys().empty(); }));
}

}  // namespace
}  // namespace quorumlock::test
