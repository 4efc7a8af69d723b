#include "sim/scripts_all.hpp"

#include <cmath>
#include <optional>
#include <set>
#include <vector>

#include "core/mutants.hpp"
#include "sim/resp.hpp"
#include "sim/script_tools.hpp"

namespace quorumlock::sim {
namespace {

using core::Mutant;
using core::planted;
using namespace lua;

/// KEYS: locks, their counters, enrolment.
std::size_t locks_of(const ScriptRun& run) {
  return (run.keys() - 1) / 2;
}

std::vector<ScriptRun::Text> mget(ScriptRun& run, std::size_t first, std::size_t last) {
  Words keys;
  for (std::size_t i = first; i <= last; ++i) keys.push_back(run.key(i));
  return run.mget(keys);
}

std::string limit_reached() {
  return resp::error("ERR quorumlock: the fencing counter has reached 2^53");
}

void set_counters(ScriptRun& run, const std::string& fence, const std::string& life) {
  for (std::size_t i = 1; i <= locks_of(run); ++i) {
    run.call({"SET", run.key(locks_of(run) + i), fence, "PX", life},
             "redis.call('SET', KEYS[n + i]");
  }
}

}  // namespace

std::string acquire_all(ScriptRun& run) {
  const double time = run.time();
  const std::size_t n = locks_of(run);
  const auto counters = mget(run, n + 1, run.keys());
  if (counters[n] != run.arg(10)) return integers({-1, 0, time});
  const std::string& waiter = run.arg(6);
  const bool to_read = run.arg(9) == "r";
  bool granted = true;
  double fence = 0;
  double last = 0;
  double due = -2;
  double greatest = 0;
  for (std::size_t i = 1; i <= n; ++i) {
    const auto counter = to_number(counters[i - 1]);
    fence = most({fence, counter.value_or(0)});
    if (i == 1 || !planted(Mutant::fence_of_the_first_lock_only)) {
      last = most({last, counter ? *counter : time - run.number(5) * 500});
    }
    const Line line(run.key(i));
    std::optional<double> ends;
    const auto front = [&] {
      const auto found = front_of(run, line, "0", time / 1000, ends, "redis.call('ZREM', line");
      return found.empty() ? std::string() : found[0];
    };
    std::string first = front();
    if (!waiter.empty() && first != waiter && !score_of(run, line.tickets, waiter)) {
      enter(run, line, waiter, run.arg(7), std::floor(time / 1000) + run.number(8), run.number(8),
            false);
      first = front();
    }
    if (to_read) {
      ends = writer_before(run, line, waiter, time / 1000);
    } else if (first == waiter) {
      ends.reset();
    }
    double left = run.pttl(run.key(i));
    const bool shared = left > 0 && is_set(run, run.key(i));
    if (shared) {
      drop_ended(run, run.key(i), std::floor(time / 1000));
      left = run.pttl(run.key(i));
    }
    const bool free = left == -2 || (shared && to_read);
    if (ends || !free) {
      granted = granted && to_read && i > 1 && planted(Mutant::first_lock_read_only);
      due = most({due, free ? std::floor(*ends - time / 1000) + 1 : left});
    }
    const auto end = run.list({"ZRANGE", line.tickets, "-1", "-1", "WITHSCORES"},
                              "redis.call('ZRANGE', line, -1");
    greatest = most({greatest, end.empty() ? 0 : *to_number(end[1])});
  }
  if (!granted && !planted(Mutant::sets_in_part)) {
    return integers({0, fence, time, due, greatest});
  }
  if (run.arg(5) != "0") {
    fence = most(
        {last + 1, run.number(3) + 1, run.number(11) + 1, least(run.number(4), time + 60000000)});
    if (fence >= fence_limit) return limit_reached();
    set_counters(run, digits(fence), run.arg(5));
  }
  for (std::size_t i = 1; i <= n; ++i) {
    if (!to_read) {
      run.call({"SET", run.key(i), run.arg(1), "NX", "PX", run.arg(2)},
               "redis.call('SET', KEYS[i], ARGV[1]");
      continue;
    }
    if (planted(Mutant::first_lock_read_only) && !is_set(run, run.key(i))) {
      run.attempt({"DEL", run.key(i)});
    }
    const double ends = std::floor(time / 1000) + run.number(2);
    run.call({"ZADD", run.key(i), digits(ends), run.arg(1)}, "redis.call('ZADD', KEYS[i]");
    if (run.pttl(run.key(i)) < run.number(2) || planted(Mutant::reader_expiry_shortened)) {
      const std::string said = run.attempt({"PEXPIRE", run.key(i), run.arg(2)});
      if (resp::is_error(said)) {
        run.call({"ZREM", run.key(i), run.arg(1)}, "redis.call('ZREM', KEYS[i]");
        return said;
      }
    }
  }
  return integers({1, fence, time, 0});
}

std::string raise_all(ScriptRun& run) {
  const double time = run.time();
  const std::size_t n = locks_of(run);
  const auto found = mget(run, 1, run.keys());
  if (found.back() != run.arg(4)) return integers({-1, 0, time});
  double greatest = 0;
  bool ours = true;
  for (std::size_t i = 0; i < n; ++i) {
    greatest = most({greatest, to_number(found[n + i]).value_or(0)});
    bool its_own = found[i] == run.arg(1);
    if (!its_own && !found[i]) {
      const std::string member = run.attempt({"ZSCORE", run.key(i + 1), run.arg(1)});
      std::string_view rest = member;
      const auto ends = resp::is_error(member) ? std::nullopt : to_number(resp::take_bulk(rest));
      its_own = ends && *ends >= std::floor(time / 1000);
    }
    ours = ours && its_own;
  }
  if (!ours) return integers({3, greatest, time});
  const double fence = run.number(2);
  if (fence >= fence_limit) return limit_reached();
  const bool as_high = planted(Mutant::raise_not_strict) ? greatest > fence : greatest >= fence;
  if (as_high) return integers({0, greatest, time});
  set_counters(run, run.arg(2), run.arg(3));
  return integers({1, fence, time});
}

std::string renew_all(ScriptRun& run) {
  const double time = run.time();
  const double ms = std::floor(time / 1000);
  const std::size_t n = locks_of(run);
  const auto found = mget(run, 1, run.keys());
  if (found.back() != run.arg(7)) return integers({-1, 0, time});
  const double ttl = run.number(2);
  const bool to_read = run.arg(6) == "r";
  double greatest = 0;
  double gone = 0;
  bool another = false;
  std::vector<std::optional<double>> ends(n);
  const std::size_t looked_at = planted(Mutant::first_lock_renewed_only) ? 1 : n;
  for (std::size_t i = 0; i < n; ++i) {
    greatest = most({greatest, to_number(found[n + i]).value_or(0)});
    if (i >= looked_at) continue;
    if (found[i]) {
      another = another || found[i] != run.arg(1);
      continue;
    }
    const std::string& key = run.key(i + 1);
    const std::string kind = kind_of(run, key);
    if (to_read && kind == resp::status("zset") && run.pttl(key) != -1) {
      const double score = to_number(score_of(run, key, run.arg(1))).value_or(0);
      if (score >= ms) ends[i] = score;
    } else {
      another = another || kind != resp::status("none");
    }
    if (!ends[i]) ++gone;
  }
  if (another) return integers({0, greatest, time});
  if (gone > 0) {
    if (run.arg(4) != "1" || exists(run, "quorumlock:released:" + run.arg(1))) {
      return integers({3, greatest, time});
    }
    for (std::size_t i = 0; i < n; ++i) {
      if (to_number(found[n + i]).value_or(0) >= run.number(3)) continue;
      run.call({"SET", run.key(n + i + 1), run.arg(3), "PX", run.arg(5)},
               "redis.call('SET', KEYS[n + i]");
    }
    greatest = most({greatest, run.number(3)});
  }
  std::set<std::string> woken;
  for (std::size_t i = 1; i <= looked_at; ++i) {
    const std::string& key = run.key(i);
    const double left = run.pttl(key);
    const auto& until = ends[i - 1];
    if (!to_read && !found[i - 1]) {
      run.call({"SET", key, run.arg(1), "NX", "PX", run.arg(2)}, "redis.call('SET', KEYS[i]");
    } else if (to_read && found[i - 1]) {
      const double rest = most({left, ttl});
      run.call({"DEL", key}, "redis.call('DEL'");
      run.call({"ZADD", key, digits(ms + rest), run.arg(1)}, "redis.call('ZADD'");
      run.call({"PEXPIRE", key, digits(rest)}, "redis.call('PEXPIRE', KEYS[i], string.format");
      for (const std::string& entry :
           run.list({"ZRANGE", Line(key).tickets, "0", "-1"}, "redis.call('ZRANGE'")) {
        if (!reads(entry)) break;
        if (woken.insert(entry).second) wake(run, entry);
      }
    } else {
      if (to_read && until.value_or(0) < ms + ttl) {
        const double half = until ? *until - std::floor(*until) : 0.5;
        run.call({"ZADD", key, halves(ms + ttl + half), run.arg(1)},
                 "redis.call('ZADD', KEYS[i], string.format('%.1f'");
      }
      if (left < ttl || (to_read && planted(Mutant::reader_expiry_shortened))) {
        run.call({"PEXPIRE", key, run.arg(2)}, "redis.call('PEXPIRE', KEYS[i], ARGV");
      }
    }
  }
  return integers({gone > 0 ? 2.0 : 1.0, greatest, time});
}

std::string release_all(ScriptRun& run) {
  const double ms = std::floor(run.time() / 1000);
  const std::size_t n = run.keys();
  const auto found = mget(run, 1, n);
  const std::string leaver = run.args() > 1 ? run.arg(2) : "";
  const std::string not_woken = run.args() > 2 ? run.arg(3) : "";
  std::size_t ours = 0;
  std::size_t first_in = 0;
  std::set<std::string> woken;
  for (std::size_t i = 1; i <= n; ++i) {
    const std::string& key = run.key(i);
    const Line line(key);
    bool freed = found[i - 1] == run.arg(1);
    bool left = false;
    bool read = false;
    if (!leaver.empty()) {
      left = run.call({"ZREM", line.tickets, leaver}, "redis.call('ZREM', line, l") == ":1\r\n";
      run.call({"ZREM", line.lives, leaver}, "redis.call('ZREM', lives, l");
    }
    const bool writer_left = left && !reads(leaver);
    if (freed) {
      run.call({"DEL", key}, "redis.call('DEL'");
      ++ours;
    } else if (!found[i - 1]) {
      read = is_set(run, key);
      const bool deleted =
          read && run.call({"ZREM", key, run.arg(1)}, "redis.call('ZREM', KEYS[i]") == ":1\r\n";
      if (read && run.pttl(key) > 0) {
        run.call({"ZREMRANGEBYSCORE", key, "-inf", "(" + digits(ms)},
                 "redis.call('ZREMRANGEBYSCORE'");
      }
      ours += deleted ? 1 : 0;
      freed = (deleted || left) && !exists(run, key);
      read = read && !freed && (writer_left || (deleted && !not_woken.empty()));
    }
    if (!freed && !read) continue;
    std::optional<double> ends;
    const auto first = front_of(run, line, "0", ms, ends, "redis.call('ZREM', line, first");
    std::vector<std::string> front;
    if (!first.empty() && reads(first[0])) {
      front = run.list({"ZRANGE", line.tickets, "0", "-1"}, "redis.call('ZRANGE', line, 0, -1");
    } else if (freed && first.empty()) {
      run.attempt({"PUBLISH", "quorumlock:free:" + key, ""});
    } else if (freed) {
      front = first;
    }
    for (std::size_t j = 0; j < front.size(); ++j) {
      if (j > 0 && !reads(front[j])) break;
      if (front[j] == not_woken) {
        ++first_in;
      } else if ((freed || writer_left) && woken.insert(front[j]).second) {
        wake(run, front[j]);
      }
    }
  }
  if (ours < n) return resp::integer(0);
  return resp::integer(first_in == n ? 2 : 1);
}

}  // namespace quorumlock::sim
