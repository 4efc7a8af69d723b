#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

namespace quorumlock::sim {

/// The value of a key.
struct Value {
  using Hash = std::map<std::string, std::string>;
  using SortedSet = std::map<std::string, double>;
  std::variant<std::string, Hash, SortedSet> data;
  std::optional<std::int64_t> expires;  ///< milliseconds of the server's wall clock

  [[nodiscard]] const std::string* text() const { return std::get_if<std::string>(&data); }
  [[nodiscard]] const SortedSet* sorted_set() const { return std::get_if<SortedSet>(&data); }
  friend bool operator==(const Value&, const Value&) = default;
};

/// The keys of one database. Every access passes the time: a key that has expired by then is
/// absent.
class Database {
 public:
  /// Redis's rule: the key still exists in the very millisecond of its expiry.
  static bool expired(const Value& value, std::int64_t now_ms) {
    return value.expires && now_ms > *value.expires;
  }

  [[nodiscard]] const Value* find(const std::string& key, std::int64_t now_ms) const;
  Value* find(const std::string& key, std::int64_t now_ms);
  void put(const std::string& key, Value value);
  bool erase(const std::string& key, std::int64_t now_ms);
  void drop(const std::string& key) { values_.erase(key); }
  void clear() { values_.clear(); }
  /// Forgets expired keys for good: until then a clock that steps back revives them.
  void reap(std::int64_t now_ms);
  /// Removes the key that this random number selects in alphabetical order, and returns its name;
  /// nothing if there is no key.
  std::optional<std::string> evict(std::uint64_t random);

  /// All keys that exist at this time.
  [[nodiscard]] std::map<std::string, Value> at(std::int64_t now_ms) const;

 private:
  std::unordered_map<std::string, Value> values_;
};

}  // namespace quorumlock::sim
