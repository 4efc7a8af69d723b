#include "sim/script_tools.hpp"

#include <array>
#include <cmath>
#include <cstdio>

#include "core/mutants.hpp"
#include "sim/resp.hpp"

namespace quorumlock::sim::lua {

std::string integers(const std::vector<double>& numbers) {
  std::vector<std::string> elements;
  for (const double number : numbers) elements.push_back(integer_reply(number));
  return resp::array(elements);
}

std::string digits(double number) {
  std::array<char, 400> text;
  const int size = std::snprintf(text.data(), text.size(), "%.0f", number);
  return {text.data(), static_cast<std::size_t>(size)};
}

double most(std::initializer_list<double> numbers) {
  double found = *numbers.begin();
  for (const double number : numbers) found = number > found ? number : found;
  return found;
}
double least(double one, double other) {
  return other < one ? other : one;
}

bool sets_absent(ScriptRun& run, const std::string& key, const std::string& value,
                 const std::string& ttl, std::string_view where) {
  return run.call({"SET", key, value, "NX", "PX", ttl}, where) != resp::nil;
}

bool exists(ScriptRun& run, const std::string& key) {
  return run.call({"EXISTS", key}, "redis.call('EXISTS'") == ":1\r\n";
}

std::string kind_of(ScriptRun& run, const std::string& key) {
  return run.call({"TYPE", key}, "redis.call('TYPE'");
}
bool is_set(ScriptRun& run, const std::string& key) {
  return kind_of(run, key) == resp::status("zset");
}

ScriptRun::Text score_of(ScriptRun& run, const std::string& key, const std::string& member,
                         std::string_view where) {
  const std::string reply = run.call({"ZSCORE", key, member}, where);
  std::string_view rest = reply;
  return resp::take_bulk(rest);
}

std::vector<std::string> front_of(ScriptRun& run, const Line& line, const char* last, double now_ms,
                                  std::optional<double>& ends, std::string_view removed) {
  for (;;) {
    std::vector<std::string> found =
        run.list({"ZRANGE", line.tickets, "0", last}, "redis.call('ZRANGE', line, 0");
    ends.reset();
    if (found.empty()) return found;
    ends = to_number(score_of(run, line.lives, found[0]));
    if (ends && *ends >= now_ms) return found;
    run.call({"ZREM", line.tickets, found[0]}, removed);
    run.call({"ZREM", line.lives, found[0]}, removed);
  }
}

namespace {

/// Puts it there, or makes its score greater.
bool raise(ScriptRun& run, const std::string& set, const std::string& score,
           const std::string& member) {
  const auto now = to_number(score_of(run, set, member, "redis.call('ZSCORE', set"));
  if (now && *now >= *to_number(score)) return false;
  run.call({"ZADD", set, score, member}, "redis.call('ZADD', set");
  return true;
}

}  // namespace

bool enter(ScriptRun& run, const Line& line, const std::string& waiter, const std::string& ticket,
           double ends_ms, double life_ms, bool grows) {
  bool changed = false;
  if (grows) {
    changed = raise(run, line.tickets, ticket, waiter);
    raise(run, line.lives, digits(ends_ms), waiter);
  } else {
    const std::string_view where = "redis.call('ZADD', line";
    run.call({"ZADD", line.tickets, ticket, waiter}, where);
    run.call({"ZADD", line.lives, digits(ends_ms), waiter}, where);
  }
  for (const std::string& key : {line.tickets, line.lives}) {
    if (run.pttl(key) < 2 * life_ms) {
      run.call({"PEXPIRE", key, digits(2 * life_ms)}, "redis.call('PEXPIRE'");
    }
  }
  return changed;
}

bool same_process(const std::string& one, const std::string& other) {
  if (one.empty() || other.empty()) return one.empty() && other.empty();
  return one.substr(1, 17) == other.substr(1, 17);
}

std::optional<double> writer_before(ScriptRun& run, const Line& line, const std::string& waiter,
                                    double now_ms) {
  if (core::planted(core::Mutant::readers_overtake_writers)) return std::nullopt;
  for (int at = 0;; at += 100) {
    const auto entries =
        run.list({"ZRANGE", line.tickets, std::to_string(at), std::to_string(at + 99)},
                 "redis.call('ZRANGE', line, at");
    for (const std::string& entry : entries) {
      if (entry == waiter) return std::nullopt;
      if (reads(entry)) continue;
      const double ends = to_number(score_of(run, line.lives, entry)).value_or(0);
      if (ends >= now_ms) return ends;
    }
    if (entries.size() < 100) return std::nullopt;
  }
}

bool reads(const std::string& waiter) {
  return waiter.starts_with('r');
}

void wake(ScriptRun& run, const std::string& waiter, int slot) {
  const std::string behind = slot == 0 ? "" : "." + std::to_string(slot);
  run.attempt({"PUBLISH", "quorumlock:wake:" + waiter.substr(1, 16), waiter.substr(18) + behind});
}

void drop_ended(ScriptRun& run, const std::string& lock, double ms) {
  run.attempt({"ZREMRANGEBYSCORE", lock, "-inf", "(" + digits(ms)});
}

std::string halves(double number) {
  const std::string whole = digits(std::floor(number));
  return whole + (number > std::floor(number) ? ".5" : ".0");
}

}  // namespace quorumlock::sim::lua
