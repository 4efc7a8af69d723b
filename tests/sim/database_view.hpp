#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "sim/database.hpp"

namespace quorumlock::sim {

/// One database at one instant of its server's wall clock, as checkers may see it and clients may
/// not. Points into the database.
class DatabaseView {
 public:
  /// A null database has no keys.
  DatabaseView(const Database* database, std::int64_t now_us)
      : database_(database), now_us_(now_us) {}

  /// The value of a string key; null if there is none.
  [[nodiscard]] const std::string* text_of(const std::string& key) const;
  /// The value of a sorted set; null if there is none.
  [[nodiscard]] const Value::SortedSet* sorted_set_of(const std::string& key) const;
  [[nodiscard]] std::optional<std::string> token_of(const std::string& key) const;
  /// Whether this owner has the lock here, alone or as one of its readers.
  [[nodiscard]] bool has_token(const std::string& key, const std::string& token) const;
  /// The key's remaining life by the server's clock; nothing if the key is absent or permanent.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> time_left(const std::string& key) const;
  /// The fencing counter of the lock with this key.
  [[nodiscard]] std::optional<std::int64_t> counter_of(const std::string& lock_key) const;
  [[nodiscard]] std::map<std::string, Value> keys() const;

 private:
  [[nodiscard]] const Value* value_of(const std::string& key) const;

  const Database* database_;
  std::int64_t now_us_;
};

}  // namespace quorumlock::sim
