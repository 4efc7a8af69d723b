#include "integration/fixture.hpp"
#include "support/process.hpp"

// Machines that have no descriptor, no thread or no memory left: whatever is missing and however
// little is left, a coordinator reports it, and its host process goes on.
namespace quorumlock::test {
namespace {

class Shortages : public FiveNodes {
 protected:
  static Process worker(const std::string& command, std::vector<std::string> arguments) {
    std::string urls;
    for (const std::string& url : cluster().urls()) urls += (urls.empty() ? "" : ",") + url;
    arguments.insert(arguments.begin(), {QUORUMLOCK_TEST_WORKER, command, urls});
    return Process(arguments);
  }
};

TEST_F(Shortages, EachNumberOfDescriptorsIsEnoughOrReported) {
  // From none to enough for the loop and all connections: the coordinator is refused, or some nodes
  // are out of reach, or it works. The loop's thread rests meanwhile, and everything works once
  // there are more descriptors.
  int refused = 0, out_of_reach = 0, locked = 0;
  for (int free = 0; free <= 20; ++free) {
    const std::string resource = key + "/" + std::to_string(free);
    Process process = worker("descriptors", {resource, std::to_string(free)});
    const std::string created = process.line();
    if (created == "created") {
      const std::string first = process.line();
      locked += first == "locked" ? 1 : 0;
      if (first != "locked") {
        ++out_of_reach;
        EXPECT_TRUE(first.starts_with("ours: ")) << first;
        EXPECT_NE(first.find("Too many open files"), first.npos) << first;
      }
      EXPECT_EQ(process.line(), "calm") << free;
    } else {
      ++refused;
      EXPECT_TRUE(created.starts_with("files: cannot start the coordinator: ")) << created;
    }
    EXPECT_EQ(process.line(), "locked") << free;
    EXPECT_EQ(process.wait(), 0) << free;
  }
  EXPECT_GE(refused, 6);
  EXPECT_GE(out_of_reach, 2);
  EXPECT_GE(locked, 5);
}

TEST_F(Shortages, NoThreadIsReported) {
  Process process = worker("threads", {key});
  const std::string created = process.line();
  EXPECT_TRUE(created.starts_with("threads: cannot start the coordinator: ")) << created;
  const std::string acquired = process.line();
  EXPECT_TRUE(acquired.starts_with("ours: ")) << acquired;
  EXPECT_NE(acquired.find("has no credentials: Resource temporarily unavailable"), acquired.npos)
      << acquired;
  EXPECT_EQ(process.wait(), 0);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they need all the memory
TEST_F(Shortages, EachAmountOfMemoryIsEnoughOrReported) {
  int refused = 0, locked = 0;
  for (int kib = 0; kib <= 32 * 1024; kib += 512) {
    Process process = worker("memory", {key + "/" + std::to_string(kib), std::to_string(kib)});
    const std::string told = process.line();
    if (told == "locked") {
      ++locked;
    } else {
      ++refused;
      EXPECT_TRUE(told.starts_with("memory: ") || told.starts_with("threads: ")) << told;
    }
    EXPECT_EQ(process.wait(), 0) << kib;
  }
  EXPECT_GE(refused, 8);
  EXPECT_GE(locked, 8);
}
#endif

}  // namespace
}  // namespace quorumlock::test
