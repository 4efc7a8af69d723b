#include "sim/database_view.hpp"

#include "sim/data_commands.hpp"
#include "verbs/keys.hpp"

namespace quorumlock::sim {

const Value* DatabaseView::value_of(const std::string& key) const {
  return database_ != nullptr ? database_->find(key, now_us_ / 1000) : nullptr;
}

const std::string* DatabaseView::text_of(const std::string& key) const {
  const Value* const value = value_of(key);
  return value != nullptr ? value->text() : nullptr;
}

const Value::SortedSet* DatabaseView::sorted_set_of(const std::string& key) const {
  const Value* const value = value_of(key);
  return value != nullptr ? value->sorted_set() : nullptr;
}

std::optional<std::string> DatabaseView::token_of(const std::string& key) const {
  const std::string* const text = text_of(key);
  return text != nullptr ? std::optional(*text) : std::nullopt;
}

bool DatabaseView::has_token(const std::string& key, const std::string& token) const {
  const std::optional<std::string> holder = token_of(key);
  if (holder != redis::read_mark) return holder == token;
  const Value::SortedSet* const readers = sorted_set_of(std::string(redis::readers_prefix) + key);
  if (readers == nullptr) return false;
  const auto reader = readers->find(token);
  return reader != readers->end() && reader->second >= static_cast<double>(now_us_ / 1000);
}

std::optional<std::chrono::nanoseconds> DatabaseView::time_left(const std::string& key) const {
  const Value* const value = value_of(key);
  if (value == nullptr || !value->expires) return std::nullopt;
  return std::chrono::microseconds((*value->expires + 1) * 1000 - now_us_);
}

std::optional<std::int64_t> DatabaseView::counter_of(const std::string& lock_key) const {
  const auto text = token_of(std::string(redis::counter_prefix) + lock_key);
  return text ? data::whole_number(*text) : std::nullopt;
}

std::map<std::string, Value> DatabaseView::keys() const {
  return database_ != nullptr ? database_->at(now_us_ / 1000) : std::map<std::string, Value>();
}

}  // namespace quorumlock::sim
