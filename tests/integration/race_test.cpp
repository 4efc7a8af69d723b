#include <atomic>
#include <fstream>
#include <thread>
#include <vector>

#include "integration/fixture.hpp"
#include "support/process.hpp"

namespace quorumlock::test {
namespace {

/// Processes that race for a lock, each adding to a number in a file that only the lock protects.
/// Two holders at once would sooner or later lose an update.
class Race : public ::testing::Test {
 protected:
  static constexpr int times = 50;

  static std::string list(const std::vector<std::string>& urls) {
    std::string text;
    for (const std::string& url : urls) text += (text.empty() ? "" : ",") + url;
    return text;
  }
  std::vector<Process> start(Cluster& cluster, int processes) {
    std::ofstream(file_) << 0;
    std::vector<Process> workers;
    for (int i = 0; i < processes; ++i) {
      workers.push_back(Process({QUORUMLOCK_TEST_WORKER, "count", list(cluster.urls()), "resource",
                                 file_.string(), std::to_string(times)}));
    }
    return workers;
  }
  void expect_no_lost_update(std::vector<Process>& workers) {
    const std::size_t processes = workers.size();
    for (Process& worker : workers) EXPECT_EQ(worker.wait(), 0);
    EXPECT_EQ(number(), static_cast<long long>(processes) * times);
  }
  [[nodiscard]] long long number() const {
    long long number = -1;
    std::ifstream(file_) >> number;
    return number;
  }

 private:
  TemporaryDirectory directory_;
  const std::filesystem::path file_ = directory_.path() / "number";
};

TEST_F(Race, NoUpdateIsLostOnFiveNodes) {
  // In each of three races four processes finish, and no update is lost.
  Cluster cluster;
  for (int round = 0; round < 3; ++round) {
    std::vector<Process> workers = start(cluster, 4);
    expect_no_lost_update(workers);
    EXPECT_TRUE(eventually([&] { return cluster.keys().empty(); }));
  }
}

TEST_F(Race, NoUpdateIsLostOnFourNodes) {
  // With an even number of nodes votes may split in halves: it is slower, but all finish.
  Cluster cluster({.size = 4});
  std::vector<Process> workers = start(cluster, 4);
  expect_no_lost_update(workers);
  EXPECT_TRUE(eventually([&] { return cluster.keys().empty(); }));
}

TEST_F(Race, NoUpdateIsLostOnOneNode) {
  // The smallest cluster has one node.
  Cluster cluster({.size = 1});
  std::vector<Process> workers = start(cluster, 4);
  expect_no_lost_update(workers);
}

TEST_F(Race, NoUpdateIsLostWhileNodesDieAndStop) {
  // Throughout the race two of five durable nodes at a time are killed and restarted, or stopped
  // and resumed.
  Cluster cluster({.durable = true});
  std::vector<Process> workers = start(cluster, 4);
  for (int turn = 0; number() < 4 * times && turn < 200; ++turn) {
    const int first = turn % 5;
    const int second = (turn + 2) % 5;
    if (turn % 2 == 0) {
      cluster.kill(first);
      cluster.kill(second);
    } else {
      cluster.pause(first);
      cluster.pause(second);
    }
    const long long before = number();
    (void)eventually([&] { return number() > before + 3 || number() >= 4 * times; });
    if (turn % 2 == 0) {
      cluster.restart(first);
      cluster.restart(second);
    } else {
      cluster.resume(first);
      cluster.resume(second);
    }
  }
  expect_no_lost_update(workers);
}

TEST_F(Race, NoUpdateIsLostAmongThreadsOfManyCoordinators) {
  // Eight threads of one process race, with a coordinator each.
  Cluster cluster;
  std::atomic<int> counter{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      Coordinator coordinator = connect(cluster.options());
      for (int i = 0; i < times; ++i) {
        const Result<Lease> lease = coordinator.acquire("resource", {.wait = forever});
        EXPECT_TRUE(ok(lease));
        const int read = counter.load(std::memory_order_relaxed);
        std::this_thread::yield();
        counter.store(read + 1, std::memory_order_relaxed);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(counter, 8 * times);
}

}  // namespace
}  // namespace quorumlock::test
