#include "sim/database.hpp"

#include <iterator>
#include <set>
#include <utility>

namespace quorumlock::sim {

const Value* Database::find(const std::string& key, std::int64_t now_ms) const {
  const auto found = values_.find(key);
  if (found == values_.end() || expired(found->second, now_ms)) return nullptr;
  return &found->second;
}

Value* Database::find(const std::string& key, std::int64_t now_ms) {
  return const_cast<Value*>(std::as_const(*this).find(key, now_ms));
}

void Database::put(const std::string& key, Value value) {
  values_.insert_or_assign(key, std::move(value));
}

bool Database::erase(const std::string& key, std::int64_t now_ms) {
  if (find(key, now_ms) == nullptr) return false;
  values_.erase(key);
  return true;
}

void Database::reap(std::int64_t now_ms) {
  std::erase_if(values_, [now_ms](const auto& each) { return expired(each.second, now_ms); });
}

std::optional<std::string> Database::evict(std::uint64_t random) {
  if (values_.empty()) return std::nullopt;
  std::set<std::string> keys;
  for (const auto& [key, value] : values_) keys.insert(key);
  const auto victim = std::next(keys.begin(), static_cast<std::ptrdiff_t>(random % keys.size()));
  values_.erase(*victim);
  return *victim;
}

std::map<std::string, Value> Database::at(std::int64_t now_ms) const {
  std::map<std::string, Value> there;
  for (const auto& [key, value] : values_) {
    if (!expired(value, now_ms)) there.emplace(key, value);
  }
  return there;
}

}  // namespace quorumlock::sim
