#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <filesystem>
#include <string>
#include <vector>

#include "integration/fixture.hpp"
#include "integration/nodes_clocks.hpp"
#include "support/proxy.hpp"

// TCP connections that are idle for a long time.
namespace quorumlock::test {
namespace {

class IdleConnections : public FiveNodes {
 public:
  /// The nodes have unix sockets only; clients reach them over TCP through a proxy.
  static void SetUpTestSuite() { start({.plain = true}); }

 protected:
  Options over_tcp() const {
    Options options = FiveNodes::options();
    options.nodes = proxy_.urls();
    return options;
  }
  static std::vector<std::filesystem::path> sockets() {
    std::vector<std::filesystem::path> paths;
    for (int node = 0; node < 5; ++node) {
      paths.push_back(cluster().server(node).settings().dir / "redis.sock");
    }
    return paths;
  }
  /// Returns this process's sockets that are connected to a port of the proxy.
  [[nodiscard]] std::vector<int> connections() const {
    std::vector<int> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      const int fd = std::stoi(entry.path().filename());
      sockaddr_in peer{};
      socklen_t size = sizeof peer;
      if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) != 0) continue;
      if (peer.sin_family != AF_INET) continue;
      const std::string url = "redis://127.0.0.1:" + std::to_string(ntohs(peer.sin_port));
      for (const std::string& node : proxy_.urls()) {
        if (url == node) found.push_back(fd);
      }
    }
    return found;
  }

  Proxy proxy_{sockets()};
};

TEST_F(IdleConnections, AreAskedForASignOfLife) {
  Coordinator coordinator = test::connect(over_tcp());
  warm(coordinator);
  const std::vector<int> found = connections();
  EXPECT_GE(found.size(), 5U);
  for (const int fd : found) {
    const auto option = [fd](int level, int name) {
      int value = -1;
      socklen_t size = sizeof value;
      EXPECT_EQ(::getsockopt(fd, level, name, &value, &size), 0);
      return value;
    };
    EXPECT_EQ(option(SOL_SOCKET, SO_KEEPALIVE), 1);
    EXPECT_EQ(option(IPPROTO_TCP, TCP_KEEPIDLE), 30);
    EXPECT_EQ(option(IPPROTO_TCP, TCP_KEEPINTVL), 5);
    EXPECT_EQ(option(IPPROTO_TCP, TCP_KEEPCNT), 3);
    EXPECT_EQ(option(IPPROTO_TCP, TCP_USER_TIMEOUT), 45'000);
    EXPECT_EQ(option(IPPROTO_TCP, TCP_NODELAY), 1);
  }
}

TEST_F(IdleConnections, AreReplacedIfTheyWereForgotten) {
  // The nodes are healthy, so an acquisition that waits gets the lock. No node is reported as
  // stalled.
  Log log;
  Options options = over_tcp();
  options.node_timeout = 2s;
  options.log = log.writer();
  Coordinator coordinator = test::connect(options);
  warm(coordinator);
  const Clock::time_point idle_until = Clock::now() + 11s;
  ASSERT_TRUE(eventually([&] { return Clock::now() >= idle_until; }));
  for (std::size_t node = 0; node < 5; ++node) proxy_.forget(node);
  EXPECT_TRUE(ok(coordinator.acquire(key, {.wait = 60s})));
  EXPECT_TRUE(eventually([&] { return log.with("on the path may have forgotten").size() == 5; }));
}

}  // namespace
}  // namespace quorumlock::test
