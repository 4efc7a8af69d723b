#include <fstream>

#include "cli/fixture.hpp"

namespace quorumlock::test {
namespace {

constexpr int processes = 20;
constexpr int rounds = 2;

/// Five nodes that keep what they know when they are killed.
class Crowd : public CommandLine {
 protected:
  Crowd() : CommandLine({.size = 5, .durable = true}) {}

  [[nodiscard]] int count() const {
    int number = 0;
    std::ifstream(file()) >> number;  // 0 during a write
    return number;
  }
  [[nodiscard]] std::string file() const { return (directory.path() / "count").string(); }
};

TEST_F(Crowd, NoUpdateIsLostWhileNodesFreezeAndDie) {
  // 20 shells run at once, each adding 1 to a number in a file under the same lock, again and
  // again. Meanwhile two of the five nodes are stopped for a while, and then two others are killed.
  std::ofstream(file()) << 0 << '\n';
  const std::string increment =
      "'read n < " + file() + "; sleep 0.01; echo $((n + 1)) > " + file() + "'";
  const std::string loop = "for round in 1 2; do " QUORUMLOCK_PROGRAM
                           " run --wait forever --ttl 20s count -- sh -c " +
                           increment + " || exit; done";
  std::vector<Program> shells;
  for (int i = 0; i < processes; ++i) {
    shells.emplace_back(std::vector<std::string>{"sh", "-c", loop},
                        std::vector<std::string>{nodes()});
  }
  ASSERT_TRUE(eventually([&] { return count() >= 5; }));
  cluster.pause(2);
  cluster.pause(3);
  ASSERT_TRUE(eventually([&] { return count() >= 15; }));
  cluster.resume(2);
  cluster.resume(3);
  cluster.kill(0);
  cluster.kill(1);
  ASSERT_TRUE(eventually([&] { return count() >= 25; }));
  cluster.restart(0);
  cluster.restart(1);
  for (Program& shell : shells) {
    const Ended ended = shell.finish();
    EXPECT_EQ(ended.code, 0) << ended.err;
  }
  EXPECT_EQ(count(), processes * rounds);
}

}  // namespace
}  // namespace quorumlock::test
