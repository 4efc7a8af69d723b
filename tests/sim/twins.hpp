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
/// For a message: what is not printable as \xNN.
std::string printable(std::string_view bytes);

/// A real redis-server and a simulated one that get the same commands. The simulated one is told
/// the time by the real one.
class Twins {
 public:
  struct Settings {
    bool durable = false;
    std::string password = {};
    std::vector<std::string> more = {};     ///< settings of the real server
    std::vector<std::string> watched = {};  ///< keys that are compared after each command
  };
  explicit Twins(Settings settings);

  /// The same command to both. Gives the real server's reply where they agree; throws
  /// std::runtime_error with a sentence on both where they do not.
  test::Reply ask(const Words& words);
  /// The same, where time and keys cannot be asked for: both replies.
  std::pair<std::string, std::string> replies(const Words& words);
  /// A failure of the running test where the two replies are not the same.
  void expect_same(const Words& words);

  // The same happens to both.
  void set_out_of_memory(bool on);
  void set_replica(bool on);
  void restart();

  /// A command to the real server only, on another connection.
  test::Reply control(const Words& words) { return (*control_)(words); }
  test::Redis& control() { return *control_; }
  [[nodiscard]] std::string url() { return cluster_.server(0).url(); }
  Server& simulated() { return simulated_; }
  [[nodiscard]] int connection() const { return connection_; }
  /// The real server's, in microseconds, as it last told it.
  [[nodiscard]] std::int64_t now_us() const { return now_us_; }
  [[nodiscard]] const std::string& story() const { return story_; }
  /// Commands of which nothing could be said, since a key expired meanwhile.
  [[nodiscard]] int undecided() const { return undecided_; }

 private:
  struct Span {
    std::int64_t from, to;  // microseconds
    [[nodiscard]] std::int64_t ms() const { return to / 1000 - from / 1000; }
    /// When the command may have run.
    [[nodiscard]] std::vector<std::int64_t> instants(const Words& words,
                                                     const test::Reply& reply) const;
  };

  /// What is under the watched keys of the real server.
  struct Look {
    test::Reply values;
    std::vector<std::int64_t> expiries;         ///< as PEXPIRETIME gives them
    std::map<std::string, std::string> sorted;  ///< of the sorted sets: all that is in them
    std::int64_t ends_ms = 0;                   ///< what expires until then is in doubt
  };

  void connect();
  Look look();
  /// Whether an expiry falls into the span, so that it is not known which side of it was seen.
  static bool key_dies_in(const Server& simulated, const Span& span);
  /// What is different there on the simulated one; empty for nothing. Takes over the real expiries,
  /// which are by up to the span's length others.
  std::string compare(Server& simulated, const Look& look, const Span& span) const;
  void start_over();

  Settings settings_;
  test::Cluster cluster_;
  std::optional<test::Redis> real_;
  std::optional<test::Redis> control_;
  Server simulated_;
  int connection_ = 0;
  std::int64_t now_us_ = 0;
  int undecided_ = 0;
  std::string story_;
};

}  // namespace quorumlock::sim
