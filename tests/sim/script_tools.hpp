#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/script_run.hpp"

/// What several of the library's scripts have in common, as their Lua does it.
namespace quorumlock::sim::lua {

/// Where fences end: the numbers from here on are no longer all different.
inline constexpr double fence_limit = 9007199254740992.0;

std::string integers(const std::vector<double>& numbers);
/// string.format('%.0f', number)
std::string digits(double number);
/// math.max and math.min keep what they have where a number does not compare.
double most(std::initializer_list<double> numbers);
double least(double one, double other);

bool sets_absent(ScriptRun& run, const std::string& key, const std::string& value,
                 const std::string& ttl, std::string_view where);

bool exists(ScriptRun& run, const std::string& key);
/// As TYPE says it, in RESP.
std::string kind_of(ScriptRun& run, const std::string& key);
/// A sorted set, that is a lock that readers have.
bool is_set(ScriptRun& run, const std::string& key);

/// The line of those who wait for a lock: the two keys of it.
struct Line {
  explicit Line(const std::string& lock)
      : tickets("quorumlock:queue:" + lock), lives("quorumlock:waiting:" + lock) {}
  std::string tickets, lives;
};

ScriptRun::Text score_of(ScriptRun& run, const std::string& key, const std::string& member,
                         std::string_view where = "redis.call('ZSCORE', lives");
/// The first of the line, and up to `last` behind it; those whose time is over are taken out first.
/// `ends` is the end of the first one's life.
std::vector<std::string> front_of(ScriptRun& run, const Line& line, const char* last, double now_ms,
                                  std::optional<double>& ends, std::string_view removed);
/// Puts the waiter into the line, or keeps it there. True where it was not there with this ticket.
bool enter(ScriptRun& run, const Line& line, const std::string& waiter, const std::string& ticket,
           double ends_ms, double life_ms, bool grows);
/// Until when the entry of a writer before this waiter lives.
std::optional<double> writer_before(ScriptRun& run, const Line& line, const std::string& waiter,
                                    double now_ms);
/// One who waits to read.
bool reads(const std::string& waiter);
/// Up to the dot that the number follows.
bool same_process(const std::string& one, const std::string& other);
/// A slot that is free goes behind the waiter's number; 0: none is said.
void wake(ScriptRun& run, const std::string& waiter, int slot = 0);
/// Takes out the readers of a lock whose time is over.
void drop_ended(ScriptRun& run, const std::string& lock, double ms);
/// string.format('%.1f', number), of a half or a whole.
std::string halves(double number);

}  // namespace quorumlock::sim::lua
