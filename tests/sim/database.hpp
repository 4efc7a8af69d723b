#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace quorumlock::sim {

/// What stands under a key. The hash is there to be of another kind than the library's own values.
struct Value {
  using Hash = std::map<std::string, std::string>;
  using SortedSet = std::map<std::string, double>;
  std::variant<std::string, Hash, SortedSet> data;
  std::optional<std::int64_t> expires;  ///< milliseconds of the server's wall clock

  [[nodiscard]] const std::string* text() const { return std::get_if<std::string>(&data); }
  [[nodiscard]] const SortedSet* sorted_set() const { return std::get_if<SortedSet>(&data); }
  friend bool operator==(const Value&, const Value&) = default;
};

/// The keys of one database. Every access says what time it is: one that has expired by then is not
/// there.
class Database {
 public:
  /// Redis's rule: at the very millisecond it is still there.
  static bool expired(const Value& value, std::int64_t now_ms) {
    return value.expires && now_ms > *value.expires;
  }

  [[nodiscard]] const Value* find(const std::string& key, std::int64_t now_ms) const;
  Value* find(const std::string& key, std::int64_t now_ms);
  void put(const std::string& key, Value value);
  bool erase(const std::string& key, std::int64_t now_ms);
  void drop(const std::string& key) { values_.erase(key); }
  void clear() { values_.clear(); }
  /// Forgets what has expired for good: until then a clock that steps back brings it to life again.
  void reap(std::int64_t now_ms);
  /// The key that this random number hits is gone; nothing where there is none.
  std::optional<std::string> evict(std::uint64_t random);

  /// All that is there at this time.
  [[nodiscard]] std::map<std::string, Value> at(std::int64_t now_ms) const;

 private:
  std::map<std::string, Value> values_;
};

}  // namespace quorumlock::sim
