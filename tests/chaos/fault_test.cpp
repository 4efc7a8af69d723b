// Checks that each fault really affects a server, its network or its clock, and is taken back.
#include "chaos/fault.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <stdexcept>
#include <string>

#include "support/cluster.hpp"
#include "support/eventually.hpp"

namespace quorumlock::chaos {
namespace {

using namespace std::chrono_literals;
using test::eventually;

struct FaultOfANode : testing::Test {
  test::TemporaryDirectory directory;
  Nodes nodes{directory.path(), 5, 1, 1};
  Workers workers{2, {}};
  MembersProgram program{directory.path(), 1500ms, 3s};
  Random random{1};
  World world{nodes, workers, program, random};
  Faults faults = all_faults();
  static constexpr int durable = 0;
  static constexpr int forgetful = 4;

  Fault& named(const std::string& name) {
    for (const auto& fault : faults) {
      if (fault->traits().name == name) return *fault;
    }
    throw std::runtime_error("no fault " + name);
  }
  /// A connection like a worker's.
  test::Redis through_proxy(int node) {
    return test::Redis(nodes.urls().at(static_cast<std::size_t>(node)));
  }
  void set(int node) { nodes.ask(node, {"SET", "key", "value"}); }
  bool has(int node) { return nodes.ask(node, {"EXISTS", "key"}).integer == 1; }
  long long wall_clock(int node) {
    return std::stoll(nodes.ask(node, {"TIME"}).elements.at(0).text);
  }
};

TEST_F(FaultOfANode, EachHasItsOwnNameAndDescription) {
  std::set<std::string> names;
  for (const auto& fault : faults) {
    EXPECT_TRUE(names.insert(fault->traits().name).second) << fault->traits().name;
    EXPECT_FALSE(fault->traits().words.empty()) << fault->traits().name;
    EXPECT_LE(fault->traits().least, fault->traits().most) << fault->traits().name;
  }
}

TEST_F(FaultOfANode, AKilledServerRemembersIfItIsDurable) {
  set(durable);
  set(forgetful);
  EXPECT_FALSE(named("kill_durable").available(world, forgetful));
  EXPECT_FALSE(named("kill_volatile").available(world, durable));
  named("kill_durable").inject(world, durable);
  named("kill_volatile").inject(world, forgetful);
  EXPECT_THROW(nodes.ask(durable, {"PING"}), std::runtime_error);
  named("kill_durable").heal(world, durable);
  named("kill_volatile").heal(world, forgetful);
  EXPECT_TRUE(has(durable));
  EXPECT_FALSE(has(forgetful));
}

TEST_F(FaultOfANode, AFrozenServerGoesOnWhereItWas) {
  set(forgetful);
  named("stop_server").inject(world, forgetful);
  named("stop_server").heal(world, forgetful);
  EXPECT_TRUE(has(forgetful));
}

TEST_F(FaultOfANode, AFlushedServerHasNoKey) {
  set(durable);
  named("flush").inject(world, durable);
  EXPECT_FALSE(has(durable));
}

TEST_F(FaultOfANode, AServerWithoutMemoryRefusesWrites) {
  named("maxmemory").inject(world, durable);
  EXPECT_TRUE(nodes.ask(durable, {"SET", "key", "value"}).text.starts_with("OOM"));
  named("maxmemory").heal(world, durable);
  EXPECT_EQ(nodes.ask(durable, {"SET", "key", "value"}).text, "OK");
}

TEST_F(FaultOfANode, ANodeForgetsWhenItsNeighboursAreHealed) {
  set(durable);
  named("forget_in_turn").inject(world, durable);
  EXPECT_TRUE(has(durable));
  EXPECT_TRUE(nodes.ask(durable + 1, {"SET", "key", "value"}).text.starts_with("OOM"));
  EXPECT_TRUE(nodes.ask(durable + 2, {"SET", "key", "value"}).text.starts_with("OOM"));
  named("forget_in_turn").heal(world, durable);
  EXPECT_FALSE(has(durable));
  EXPECT_EQ(nodes.ask(durable + 1, {"SET", "key", "value"}).text, "OK");
}

TEST_F(FaultOfANode, AFlushRemovesScripts) {
  const std::string sha = nodes.ask(durable, {"SCRIPT", "LOAD", "return 1"}).text;
  named("script_flush").inject(world, durable);
  EXPECT_TRUE(nodes.ask(durable, {"EVALSHA", sha, "0"}).text.starts_with("NOSCRIPT"));
}

TEST_F(FaultOfANode, CommandsHeldUpArriveLater) {
  for (const std::string name : {"partition", "partition_to_node", "partition_from_node"}) {
    test::Redis redis = through_proxy(durable);
    redis({"PING"});
    named(name).inject(world, durable);
    redis.send({"PING"});
    named(name).heal(world, durable);
    EXPECT_EQ(redis.read().text, "PONG") << name;
  }
}

TEST_F(FaultOfANode, ConnectionsBreak) {
  test::Redis lost = through_proxy(durable);
  lost({"PING"});
  named("reset").inject(world, durable);
  EXPECT_THROW(lost({"PING"}), std::runtime_error);
}

TEST_F(FaultOfANode, ASlowNetworkPassesEverything) {
  for (const std::string name : {"delay", "jitter", "trickle"}) {
    test::Redis redis = through_proxy(durable);
    EXPECT_FALSE(named(name).inject(world, durable).empty()) << name;
    EXPECT_EQ(redis({"PING"}).text, "PONG") << name;
    named(name).heal(world, durable);
  }
}

TEST_F(FaultOfANode, AClockSetForwardStaysThereAndOneSetBackDoesNot) {
  const long long before = wall_clock(durable);
  named("clock_step_forward").inject(world, durable);
  named("clock_step_forward").heal(world, durable);
  EXPECT_NEAR(static_cast<double>(wall_clock(durable) - before), 60, 5);
  named("clock_step_back").inject(world, durable);
  EXPECT_NEAR(static_cast<double>(wall_clock(durable) - before), 0, 5);
  named("clock_step_back").heal(world, durable);
  EXPECT_NEAR(static_cast<double>(wall_clock(durable) - before), 60, 5);
}

TEST_F(FaultOfANode, ADriftingClockIsSoonAMillisecondOff) {
  for (const std::string name : {"clock_drift", "clock_drift_beyond"}) {
    const auto off = [&] {
      const test::Reply time = nodes.ask(durable, {"TIME"});
      const auto shown = std::chrono::seconds(std::stoll(time.elements.at(0).text)) +
                         std::chrono::microseconds(std::stoll(time.elements.at(1).text));
      return std::chrono::abs(std::chrono::system_clock::now().time_since_epoch() - shown);
    };
    const auto before = off();
    EXPECT_FALSE(named(name).inject(world, durable).empty());
    EXPECT_TRUE(eventually([&] { return std::chrono::abs(off() - before) > 1ms; })) << name;
    named(name).heal(world, durable);
  }
}

}  // namespace
}  // namespace quorumlock::chaos
