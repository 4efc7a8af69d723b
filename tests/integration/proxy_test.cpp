#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <string>

#include "support/cluster.hpp"
#include "support/eventually.hpp"
#include "support/proxy.hpp"
#include "support/redis.hpp"

namespace quorumlock::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

struct ProxyOnTheWay : testing::Test {
  TemporaryDirectory directory;
  local::Server server = local::Server::start({.dir = directory.path() / "node", .durable = false});
  Proxy proxy{{directory.path() / "node" / "redis.sock"}};
  Redis direct{server.url()};

  steady_clock::duration round_trip(Redis& redis) {
    const auto begin = steady_clock::now();
    EXPECT_EQ(redis({"PING"}).text, "PONG");
    return steady_clock::now() - begin;
  }
};

TEST_F(ProxyOnTheWay, PassesCommandsAndRepliesOfAnySize) {
  Redis redis(proxy.url(0));
  const std::string large(5'000'000, 'x');
  redis({"SET", "key", large});
  EXPECT_EQ(redis({"GET", "key"}).text, large);
}

TEST_F(ProxyOnTheWay, DelaysEachDirection) {
  Redis redis(proxy.url(0));
  const auto is_fast = [&] { return round_trip(redis) < 40ms; };  // unless the machine is busy
  EXPECT_TRUE(eventually(is_fast));
  proxy.set(0, {.to_node = {.delay = 40ms}, .from_node = {.delay = 30ms}});
  EXPECT_GE(round_trip(redis), 70ms);
  proxy.set(0, {});
  EXPECT_TRUE(eventually(is_fast));
}

TEST_F(ProxyOnTheWay, HoldsCommandsAndLetsThemThroughLater) {
  Redis redis(proxy.url(0));
  proxy.set(0, {.to_node = {.held = true}});
  redis.send({"SET", "late", "1"});
  EXPECT_EQ(direct({"EXISTS", "late"}).integer, 0);
  proxy.set(0, {});
  EXPECT_EQ(redis.read().text, "OK");
}

TEST_F(ProxyOnTheWay, HoldsOnlyTheReply) {
  Redis redis(proxy.url(0));
  proxy.set(0, {.from_node = {.held = true}});
  redis.send({"SET", "key", "1"});
  EXPECT_TRUE(eventually([&] { return direct({"EXISTS", "key"}).integer == 1; }));
  proxy.set(0, {});
  EXPECT_EQ(redis.read().text, "OK");
}

// A command sent before its connection was closed still arrives after a partition.
TEST_F(ProxyOnTheWay, AHeldCommandOutlivesItsConnection) {
  {
    Redis redis(proxy.url(0));
    redis({"PING"});
    proxy.set(0, {.to_node = {.held = true}});
    redis.send({"SET", "late", "1"});
  }
  EXPECT_EQ(direct({"EXISTS", "late"}).integer, 0);
  proxy.set(0, {});
  EXPECT_TRUE(eventually([&] { return direct({"EXISTS", "late"}).integer == 1; }));
  EXPECT_TRUE(eventually([&] { return proxy.connections(0) == 0; }));
}

TEST_F(ProxyOnTheWay, AConnectionThatLostBytesIsResetInTheEnd) {
  Redis redis(proxy.url(0));
  redis({"PING"});
  proxy.set(0, {.to_node = {.lost = true}, .from_node = {.lost = true}});
  redis.send({"SET", "never", "1"});
  Redis after(proxy.url(0));  // accepted, as by a listen backlog
  EXPECT_TRUE(eventually([&] { return proxy.connections(0) == 2; }));
  proxy.set(0, {});
  EXPECT_THROW(redis.read(), std::runtime_error);
  EXPECT_EQ(after({"EXISTS", "never"}).integer, 0);
}

TEST_F(ProxyOnTheWay, ResetsConnections) {
  Redis redis(proxy.url(0));
  redis({"PING"});
  proxy.reset(0);
  EXPECT_THROW(redis({"PING"}), std::runtime_error);
  Redis again(proxy.url(0));
  EXPECT_EQ(again({"PING"}).text, "PONG");
}

TEST_F(ProxyOnTheWay, ForgetsConnectionsSilently) {
  Redis redis(proxy.url(0));
  redis({"PING"});
  proxy.forget(0);
  redis.send({"SET", "never", "1"});
  Redis again(proxy.url(0));
  EXPECT_EQ(again({"EXISTS", "never"}).integer, 0);
  proxy.reset(0);
  EXPECT_THROW(redis.read(), std::runtime_error);
  EXPECT_EQ(direct({"EXISTS", "never"}).integer, 0);
}

TEST_F(ProxyOnTheWay, PassesRepliesInSmallPieces) {
  Redis redis(proxy.url(0));
  proxy.set(0, {.from_node = {.trickle = 10}});
  redis({"SET", "key", std::string(500, 'x')});
  const auto begin = steady_clock::now();
  EXPECT_EQ(redis({"GET", "key"}).text.size(), 500U);
  EXPECT_GE(steady_clock::now() - begin, 45ms);
}

TEST_F(ProxyOnTheWay, ADeadNodeRefusesAndEndsItsConnections) {
  Redis redis(proxy.url(0));
  redis({"PING"});
  server.kill();
  EXPECT_THROW(redis({"PING"}), std::runtime_error);
  EXPECT_THROW(Redis(proxy.url(0))({"PING"}), std::runtime_error);
  server.restart();
  EXPECT_EQ(Redis(proxy.url(0))({"PING"}).text, "PONG");
}

}  // namespace
}  // namespace quorumlock::test
