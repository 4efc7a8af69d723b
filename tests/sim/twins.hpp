#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chaos/node_clock.hpp"
#include "sim/server.hpp"
#include "support/cluster.hpp"
#include "support/redis.hpp"

namespace quorumlock::sim {

/// The bytes as they are shown in messages: with \r, \n and \0 in place of these characters.
std::string printable(std::string_view bytes);

/// A real redis-server and a simulated one that get the same commands. The wall clock of both
/// stands still until the test moves it, so their replies and keys are equal to the last digit.
class Twins {
 public:
  struct Settings {
    bool durable = false;
    std::string password = {};
    std::vector<std::string> more = {};      ///< settings of the real server
    std::vector<std::string> channels = {};  ///< channels whose messages are compared
    bool mute = false;  ///< the real server's user may not publish; messages are not compared
  };
  explicit Twins(Settings settings);

  /// Sends the same command to both. Fails the running test if the replies, the messages that
  /// clients then get or the keys afterwards are not the same. Returns the real server's reply.
  test::Reply ask(const Words& words);
  /// Compares the replies only, for states in which a server lets nobody look at its keys.
  test::Reply compare_replies(const Words& words);
  /// Returns both replies.
  std::pair<std::string, std::string> replies(const Words& words);

  // These do the same to both servers.
  void pass(std::chrono::microseconds time);
  void set_out_of_memory(bool on);
  void set_replica(bool on);
  void restart();

  /// Sends a command to the real server only, on another connection with all rights.
  test::Reply control(const Words& words) { return (*control_)(words); }
  test::Redis& control() { return *control_; }
  [[nodiscard]] std::string url() { return cluster_.server(0).url(); }
  Server& simulated() { return simulated_; }
  /// Whether the last command sent messages to the channels.
  [[nodiscard]] bool told() const { return told_; }
  /// The keys of the real server, one on each line: its kind, its expiry and what it holds.
  std::string real_keys();
  /// The servers' time, in microseconds.
  [[nodiscard]] std::int64_t now_us() const { return now_us_; }

 private:
  void connect();
  std::int64_t real_now_us();
  std::string ask_simulated(int connection, const Words& words);
  void expect_same_reply(const Words& words, const std::string& real, const std::string& simulated);
  std::string simulated_keys();

  Settings settings_;
  test::TemporaryDirectory directory_;
  chaos::NodeClock clock_;
  test::Cluster cluster_;
  std::optional<test::Redis> real_, control_, observer_;
  Server simulated_;
  int connection_ = 0;
  int its_observer_ = 0;
  bool exact_ = true;  ///< the real server has the words of Redis 7.0
  bool told_ = false;
  std::int64_t now_us_ = 0;
};

}  // namespace quorumlock::sim
