#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/database.hpp"
#include "sim/requests.hpp"
#include "verbs/keys.hpp"

namespace quorumlock::sim {

/// One command, or one script, and the keys that it has written, each with its value before that.
/// Only keys that the models of proof/ know are noted: the locks and their readers, the counters,
/// lines, what is done once, and the record of the node with what stands beside it.
class Journal {
 public:
  using Before = std::optional<Value>;

  /// Called before a command that writes. The keys of a command that deletes are all its words; any
  /// other command writes its first one.
  void note(const Database& keys, Arguments words, std::int64_t now_ms) {
    const std::size_t end = words[0] == "DEL" ? words.size() : 2;
    for (std::size_t i = 1; i < std::min(end, words.size()); ++i) {
      const std::string& key = words[i];
      if (!is_modelled(key) || find(key) != nullptr) continue;
      const Value* const value = keys.find(key, now_ms);
      written_.emplace_back(key, value != nullptr ? Before(*value) : std::nullopt);
    }
  }
  void begin(int database, Words words) {
    database_ = database;
    words_ = std::move(words);
    written_.clear();
  }
  [[nodiscard]] const Words& words() const { return words_; }
  /// The number of the database that the command ran in.
  [[nodiscard]] int database() const { return database_; }
  [[nodiscard]] const std::vector<std::pair<std::string, Before>>& written() const {
    return written_;
  }
  /// What was under this key before; null if the key was not written.
  [[nodiscard]] const Before* find(std::string_view key) const {
    for (const auto& [each, before] : written_) {
      if (each == key) return &before;
    }
    return nullptr;
  }

 private:
  static constexpr std::string_view modelled[] = {
      redis::counter_prefix, redis::readers_prefix, redis::queue_prefix,    redis::waiting_prefix,
      redis::granted_prefix, redis::once_prefix,    redis::enrolment_key,   redis::candidate_key,
      redis::members_key,    redis::repairer_key,   redis::replanted_prefix};

  static bool is_modelled(std::string_view key) {
    if (redis::is_held_key(key)) return true;
    return std::ranges::any_of(modelled, [key](auto prefix) { return key.starts_with(prefix); });
  }

  int database_ = 0;
  Words words_;
  std::vector<std::pair<std::string, Before>> written_;
};

}  // namespace quorumlock::sim
