#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <thread>

#include <quorumlock/quorumlock.hpp>

#include "cli/program.hpp"
#include "support/cluster.hpp"
#include "support/eventually.hpp"

// Real node-redlock and ioredis against us, on one key. npm installs both into the build folder, at
// the versions of package-lock.json.
namespace quorumlock::test {
namespace {

using namespace std::chrono_literals;

constexpr const char* modules = QUORUMLOCK_PEERS_DIR;

class Redlock : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const Ended ended =
        Program({std::string(QUORUMLOCK_PEERS_SOURCES) + "/install.sh", modules}).finish();
    if (ended.code != 0) problem = "node-redlock is not there: " + ended.out + ended.err;
  }
  void SetUp() override { ASSERT_EQ(problem, ""); }
  [[nodiscard]] Program peer(const std::string& mode, const std::vector<std::string>& more = {}) {
    std::string urls;
    for (const std::string& url : cluster.urls()) urls += (urls.empty() ? "" : ",") + url;
    std::vector<std::string> words = {
        "/usr/bin/env", "node", std::string(QUORUMLOCK_PEERS_SOURCES) + "/redlock.cjs",
        modules,        urls,   mode,
        "orders:42"};
    words.insert(words.end(), more.begin(), more.end());
    return Program(words);
  }
  [[nodiscard]] Coordinator coordinator() {
    Options options = cluster.options();
    options.retry = {10ms, 10ms};
    return Coordinator::create(std::move(options)).value();
  }

  static inline std::string problem;
  Cluster cluster{{.size = 3}};
};

TEST_F(Redlock, IsRefusedWhileWeHoldTheLock) {
  // node-redlock is granted the lock afterwards.
  Coordinator ours = coordinator();
  Lease lease = ours.acquire("orders:42").value();
  EXPECT_EQ(peer("try").line(), "refused");
  ASSERT_TRUE(lease.release());
  EXPECT_THAT(peer("try").line(), testing::StartsWith("granted "));
}

TEST_F(Redlock, HoldsTheLockAgainstUs) {
  // node-redlock holds it under its own token, which stays as it is, and with which it extends and
  // releases.
  Coordinator ours = coordinator();
  Program holder = peer("try");
  const std::string said = holder.line();
  ASSERT_THAT(said, testing::StartsWith("granted "));
  // node-redlock goes on with a quorum, and the third node may be late.
  EXPECT_TRUE(eventually([&] { return cluster.holders("orders:42", said.substr(8)) == 3; }));
  const Result<Lease> refused = ours.acquire("orders:42");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Errc::contended);
  const Inspection seen = ours.inspect("orders:42").value();
  EXPECT_EQ(seen.holder, "");  // a token of another library may be a secret
  EXPECT_EQ(seen.nodes.at(0).detail, "another program's value (a string of 32 bytes)");
  EXPECT_EQ(cluster.holders("orders:42", said.substr(8)), 3);
  holder.signal(SIGTERM);
  const Ended ended = holder.finish();
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(ours.acquire("orders:42", {.wait = 20s}));
}

TEST_F(Redlock, NeverHoldsTheLockTogetherWithUs) {
  // Both clients add to one number that nothing but the lock protects.
  constexpr int times = 100;
  const local::TemporaryDirectory directory;
  const std::string file = (directory.path() / "number").string();
  const std::string mark = file + ".mark";
  std::ofstream(file) << 0;
  Program theirs = peer("count", {file, std::to_string(times)});
  Coordinator ours = coordinator();
  for (int i = 0; i < times; ++i) {
    Result<Lease> lease = ours.acquire("orders:42", {.wait = 60s, .order = WaitOrder::unordered});
    ASSERT_TRUE(lease) << lease.error().what();
    const int descriptor = ::open(mark.c_str(), O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    ASSERT_GE(descriptor, 0) << "node-redlock holds the lock at the same time";
    ::close(descriptor);
    int number = 0;
    std::ifstream(file) >> number;
    std::this_thread::yield();
    std::ofstream(file) << number + 1;
    ASSERT_EQ(::unlink(mark.c_str()), 0);
    ASSERT_TRUE(lease->release());
  }
  const Ended ended = theirs.finish();
  EXPECT_EQ(ended.code, 0) << ended.err;
  int number = 0;
  std::ifstream(file) >> number;
  EXPECT_EQ(number, 2 * times);
}

}  // namespace
}  // namespace quorumlock::test
