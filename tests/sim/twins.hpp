#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/server.hpp"
#include "support/cluster.hpp"
#include "support/redis.hpp"

namespace quorumlock::sim {

/// A reply as the server wrote it.
std::string to_resp(const test::Reply& reply);
/// The bytes as they are shown in messages: with \r, \n and \0 in place of these characters.
std::string printable(std::string_view bytes);

/// A real redis-server and a simulated one that get the same commands. The simulated one gets its
/// time from the real one.
class Twins {
 public:
  struct Settings {
    bool durable = false;
    std::string password = {};
    std::vector<std::string> more = {};     ///< settings of the real server
    std::vector<std::string> watched = {};  ///< keys that are compared after each command
  };
  explicit Twins(Settings settings);

  /// Sends the same command to both and returns the real server's reply. Throws std::runtime_error
  /// with a sentence on both if they do not agree.
  test::Reply ask(const Words& words);
  /// Returns both replies, also in states in which time and keys cannot be asked for.
  std::pair<std::string, std::string> replies(const Words& words);
  /// Fails the running test if the two replies are not the same.
  void expect_same(const Words& words);

  // These do the same to both servers.
  void set_out_of_memory(bool on);
  void set_replica(bool on);
  void restart();

  /// Sends a command to the real server only, on another connection.
  test::Reply control(const Words& words) { return (*control_)(words); }
  test::Redis& control() { return *control_; }
  [[nodiscard]] std::string url() { return cluster_.server(0).url(); }
  Server& simulated() { return simulated_; }
  [[nodiscard]] int connection() const { return connection_; }
  /// The real server's time, in microseconds, as it last reported it.
  [[nodiscard]] std::int64_t now_us() const { return now_us_; }
  [[nodiscard]] const std::string& story() const { return story_; }
  /// The number of commands that could not be compared, since a key expired meanwhile.
  [[nodiscard]] int undecided() const { return undecided_; }

 private:
  struct Span {
    std::int64_t from, to;  // microseconds
    [[nodiscard]] std::int64_t ms() const { return to / 1000 - from / 1000; }
    /// The times at which the command may have run.
    [[nodiscard]] std::vector<std::int64_t> instants(const Words& words,
                                                     const test::Reply& reply) const;
  };

  /// The values of the watched keys on the real server.
  struct Look {
    test::Reply values;
    std::vector<std::int64_t> expiries;         ///< the results of PEXPIRETIME
    std::map<std::string, std::string> sorted;  ///< everything in the sorted sets
    std::int64_t ends_ms = 0;                   ///< a key that expires until then is in doubt
  };

  void connect();
  Look look();
  /// Whether an expiry falls into the span, so that it is unknown which side of it was seen.
  static bool key_dies_in(const Server& simulated, const Span& span);
  /// Returns the differences on the simulated server; empty if there are none. Takes over the real
  /// expiries, which may differ by up to the span's length.
  std::string compare(Server& simulated, const Look& look, const Span& span) const;
  void start_over();

  Settings settings_;
  test::Cluster cluster_;
  std::optional<test::Redis> real_;
  std::optional<test::Redis> control_;
  Server simulated_;
  int connection_ = 0;
  bool exact_ = true;  ///< the real server has the words of Redis 7.0
  std::int64_t now_us_ = 0;
  int undecided_ = 0;
  std::string story_;
};

}  // namespace quorumlock::sim
