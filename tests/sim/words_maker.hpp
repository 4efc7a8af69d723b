#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "sim/requests.hpp"
#include "support/seeded_random.hpp"

namespace quorumlock::sim {

/// Draws commands of the library from few keys and few values, so that the commands affect each
/// other.
class WordsMaker {
 public:
  explicit WordsMaker(std::uint64_t seed) : random_(seed) {}

  /// All keys that the commands may name.
  static std::vector<std::string> keys();

  /// Draws one command. `now_us` is the server's time.
  Words next(std::int64_t now_us);
  test::SeededRandom& random() { return random_; }

 private:
  Words plain();
  Words about_keys(std::int64_t now_us);
  Words about_lines(std::int64_t now_us);
  Words about_permits(std::int64_t now_us);
  static std::vector<std::string> plain_keys();
  Words script(std::int64_t now_us);
  Words batch(std::int64_t now_us);
  Words script_for_all(std::int64_t now_us);
  Words renewals(std::int64_t now_us);
  Words call(const std::string& name, const Words& script_keys, const Words& args);
  std::string one_of(std::initializer_list<const char*> texts);
  std::string any_key();
  std::string token() { return one_of({"token-1", "token-2", "token-3"}); }
  std::string ttl();
  std::string life();
  std::string enrolment() { return one_of({"run-1:30000,86400", "run-2:30000,86400"}); }
  std::string usual_enrolment();
  std::string waiter();
  std::string entry_life();
  std::string ticket(std::int64_t now_us);
  std::string fence(std::int64_t now_us);
  /// The time on the node's clock from which a renewal is too late.
  std::string too_late(std::int64_t now_us);

  static constexpr int most_permits = 3;
  test::SeededRandom random_;
};

}  // namespace quorumlock::sim
