#include <chrono>
#include <fstream>

#include "cli/fixture.hpp"

namespace quorumlock::test {
namespace {

using namespace std::chrono_literals;

TEST(PowerCut, ProgramsThatLiveShortlyBringAllNodesBack) {
  // Five nodes that write to their disks lose power at once. From then on each program makes one
  // attempt and ends, long before max_ttl has passed on its own clock. All nodes vote again soon
  // after max_ttl, not before, and locks are had.
  constexpr auto max_ttl = 2500ms;
  Cluster cluster({.size = 5, .durable = true, .enrolled = false});
  const TemporaryDirectory directory;
  const std::string config = directory.path() / "config.json";
  json options{{"ttl", "1s"}, {"max_ttl", "2500ms"}, {"nodes", cluster.urls()}};
  std::ofstream(config) << options;
  const auto quorumlock = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {QUORUMLOCK_PROGRAM, "--config", config});
    return Program(words, {}).finish();
  };
  const auto voters = [&] {
    const Ended ended = quorumlock({"--json", "status"});
    return json::parse(ended.out).value("voters", 0);
  };
  ASSERT_EQ(quorumlock({"enroll", "--new"}).code, 0);
  ASSERT_EQ(quorumlock({"run", "orders", "--", "true"}).code, 0);
  for (int node = 0; node < 5; ++node) cluster.kill(node);
  for (int node = 0; node < 5; ++node) cluster.restart(node);

  const auto begun = std::chrono::steady_clock::now();
  const auto passed = [&] { return std::chrono::steady_clock::now() - begun; };
  int served = 69;
  while (served != 0 && passed() < 60s) {
    const auto before = passed();
    served = quorumlock({"run", "orders", "--", "true"}).code;
    if (served == 0) {
      EXPECT_GE(passed(), max_ttl);
    }
    EXPECT_LT(passed() - before, max_ttl) << "otherwise this program could have watched it alone";
  }
  EXPECT_EQ(served, 0);
  while (voters() < 5 && passed() < 60s) {
  }
  EXPECT_EQ(voters(), 5);
}

}  // namespace
}  // namespace quorumlock::test
