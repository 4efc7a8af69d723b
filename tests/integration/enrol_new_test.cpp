#include <gmock/gmock.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <vector>

#include <quorumlock/admin.hpp>

#include "integration/fixture.hpp"
#include "support/proxy.hpp"

namespace quorumlock::test {
namespace {

TEST(EnrolNew, ANodeThatIsEnrolledLateIsCountedOnce) {
  // The first node's enrolment is answered after its timeout. The second node is enrolled, and then
  // its last answer is missing: the client waits for that node, and names it.
  Cluster cluster({.size = 3, .enrolled = false});
  std::vector<std::filesystem::path> sockets;
  for (int node = 0; node < 3; ++node) {
    sockets.push_back(cluster.server(node).settings().dir / "redis.sock");
  }
  Proxy proxy(sockets);
  proxy.set(1, {.from_node = {.delay = 500ms}});
  std::atomic<bool> late = false;
  Options options = cluster.options();
  options.nodes = proxy.urls();
  options.node_timeout = 1200ms;
  options.log = [&](std::string_view sentence) {
    if (sentence.starts_with(proxy.url(0) + " is stalled")) late = true;
  };
  Coordinator coordinator = connect(options);
  const long long pings = cluster.calls(1, "ping");
  auto enrolled = std::async(std::launch::async, [&] { return enroll_new(coordinator); });
  const auto over = [&] { return enrolled.wait_for(0s) == std::future_status::ready; };
  ASSERT_TRUE(eventually([&] { return over() || cluster.calls(1, "scan") > 0; }));
  cluster.raw(0, {"CLIENT", "PAUSE", "100000", "WRITE"});
  const auto is_enrolled = [&] { return cluster.value(1, "quorumlock:enrolment").has_value(); };
  ASSERT_TRUE(eventually([&] { return over() || is_enrolled(); }));
  proxy.set(1, {.to_node = {.held = true}, .from_node = {.delay = 500ms}});
  ASSERT_TRUE(eventually([&] { return over() || late; }));
  cluster.raw(0, {"CLIENT", "UNPAUSE"});
  const Result<void> result = enrolled.get();
  // On a machine that is too slow for this, the last question has reached the second node.
  const bool answered = cluster.calls(1, "ping") > pings;
  const std::string sentence = result ? "all are enrolled" : result.error().what();
  EXPECT_TRUE(answered || sentence.find(proxy.url(1)) != sentence.npos) << sentence;
}

TEST(EnrolNew, ACommandThatIsTakenAwayIsNamedOnce) {
  // The server quotes the script in its error; we do not, and we name the reason once.
  const TemporaryDirectory directory;
  const local::Server server = local::Server::start({.dir = directory.path() / "node",
                                                     .durable = false,
                                                     .more = {"--rename-command", "EVAL", "DO"}});
  Options options;
  options.nodes = {server.url()};
  Coordinator coordinator = connect(options);
  const std::string known =
      "ERR unknown command 'EVAL', which rename-command or a proxy may have taken away";
  const Result<void> enrolled = enroll_new(coordinator);
  ASSERT_FALSE(enrolled.has_value());
  EXPECT_THAT(enrolled.error().what(),
              testing::HasSubstr(server.url() + " refuses writes: " + known));
  EXPECT_THAT(enrolled.error().what(), testing::Not(testing::HasSubstr("with args")));
  const Result<Lease> lease = coordinator.acquire("thing");
  ASSERT_TRUE(fails_with(lease, Errc::no_quorum));
  EXPECT_THAT(lease.error().what(), testing::EndsWith("cannot be enrolled: " + known));
}

}  // namespace
}  // namespace quorumlock::test
