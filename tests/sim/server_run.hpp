#pragma once

#include <cstdint>
#include <string>

namespace quorumlock::sim {

/// The names of a server's present run, and what the server knows of replication in that run.
class ServerRun {
 public:
  /// The seed is a different number for each server.
  explicit ServerRun(std::uint64_t seed) : seed_(seed) {}

  /// Begins another run, at this time of the server's own clock.
  void begin(std::int64_t now_us);
  [[nodiscard]] const std::string& id() const { return id_; }
  /// The run as clients name it in a record, see redis::ServerFacts.
  [[nodiscard]] std::string name() const;
  [[nodiscard]] std::int64_t uptime_s(std::int64_t now_us) const {
    return now_us / 1000000 - began_us_ / 1000000;
  }

  void promote();
  void forget_promotion() { promoted_ = false; }
  /// Whether the server was promoted in this run.
  [[nodiscard]] bool promoted() const { return promoted_; }
  /// The replication id that it reports, which is drawn anew at each promotion.
  [[nodiscard]] std::string replication_id() const;

 private:
  std::uint64_t seed_;
  std::uint64_t runs_ = 0;
  std::string id_;
  std::int64_t began_us_ = 0;
  bool promoted_ = false;
  std::uint64_t promotions_ = 0;  // the number of promotions in all runs
};

}  // namespace quorumlock::sim
