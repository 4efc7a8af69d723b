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

double exists(ScriptRun& run, const Words& keys) {
  Words words = {"EXISTS"};
  words.insert(words.end(), keys.begin(), keys.end());
  return std::stod(run.call(words, "redis.call('EXISTS'").substr(1));
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
  if (counters[n] != run.arg(9)) return integers({-1, 0, time});
  const std::string& waiter = run.arg(6);
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
    double left = run.pttl(run.key(i));
    if (left > 0 &&
        run.call({"TYPE", run.key(i)}, "redis.call('TYPE'") == resp::status("zset")) {
      drop_ended(run, run.key(i), std::floor(time / 1000));
      left = run.pttl(run.key(i));
    }
    if (left != -2 || first != waiter) {
      granted = false;
      if (left == -2) left = std::floor(*ends - time / 1000) + 1;
      due = most({due, left});
    }
    const auto end = run.list({"ZRANGE", line.tickets, "-1", "-1", "WITHSCORES"},
                              "redis.call('ZRANGE', line, -1");
    greatest = most({greatest, end.empty() ? 0 : *to_number(end[1])});
  }
  if (!granted && !planted(Mutant::sets_in_part)) {
    return integers({0, fence, time, due, greatest});
  }
  if (run.arg(5) != "0") {
    fence = most({last + 1, run.number(3) + 1, run.number(10) + 1,
                  least(run.number(4), time + 60000000)});
    if (fence >= fence_limit) return limit_reached();
    set_counters(run, digits(fence), run.arg(5));
  }
  for (std::size_t i = 1; i <= n; ++i) {
    run.call({"SET", run.key(i), run.arg(1), "NX", "PX", run.arg(2)},
             "redis.call('SET', KEYS[i], ARGV[1]");
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
    ours = ours && found[i] == run.arg(1);
  }
  if (!ours) return integers({3, greatest, time});
  const double fence = run.number(2);
  if (fence >= fence_limit) return limit_reached();
  if (greatest >= fence) return integers({0, greatest, time});
  set_counters(run, run.arg(2), run.arg(3));
  return integers({1, fence, time});
}

std::string renew_all(ScriptRun& run) {
  const double time = run.time();
  const std::size_t n = locks_of(run);
  const auto found = mget(run, 1, run.keys());
  if (found.back() != run.arg(6)) return integers({-1, 0, time});
  double greatest = 0;
  double gone = 0;
  bool another = false;
  const std::size_t looked_at = planted(Mutant::first_lock_renewed_only) ? 1 : n;
  for (std::size_t i = 0; i < n; ++i) {
    greatest = most({greatest, to_number(found[n + i]).value_or(0)});
    if (i >= looked_at) continue;
    if (!found[i]) {
      ++gone;
    } else {
      another = another || found[i] != run.arg(1);
    }
  }
  if (another) return integers({0, greatest, time});
  if (gone > 0) {
    Words locks;
    for (std::size_t i = 1; i <= n; ++i) locks.push_back(run.key(i));
    if (exists(run, locks) > static_cast<double>(n) - gone) return integers({0, greatest, time});
    if (run.arg(4) != "1" || exists(run, {"quorumlock:released:" + run.arg(1)}) == 1) {
      return integers({3, greatest, time});
    }
    for (std::size_t i = 0; i < n; ++i) {
      if (to_number(found[n + i]).value_or(0) >= run.number(3)) continue;
      run.call({"SET", run.key(n + i + 1), run.arg(3), "PX", run.arg(5)},
               "redis.call('SET', KEYS[n + i]");
    }
    greatest = most({greatest, run.number(3)});
  }
  for (std::size_t i = 1; i <= looked_at; ++i) {
    if (!found[i - 1]) {
      run.call({"SET", run.key(i), run.arg(1), "NX", "PX", run.arg(2)},
               "redis.call('SET', KEYS[i]");
    } else if (run.pttl(run.key(i)) < run.number(2)) {
      run.call({"PEXPIRE", run.key(i), run.arg(2)}, "redis.call('PEXPIRE'");
    }
  }
  return integers({gone > 0 ? 2.0 : 1.0, greatest, time});
}

std::string release_all(ScriptRun& run) {
  const double ms = std::floor(run.time() / 1000);
  const std::size_t n = run.keys();
  const auto found = mget(run, 1, n);
  std::size_t ours = 0;
  std::size_t first_in = 0;
  std::set<std::string> woken;
  for (std::size_t i = 1; i <= n; ++i) {
    const Line line(run.key(i));
    bool freed = found[i - 1] == run.arg(1);
    bool read = false;
    if (freed) {
      run.call({"DEL", run.key(i)}, "redis.call('DEL'");
      ++ours;
    }
    if (run.args() > 1 && !run.arg(2).empty()) {
      const bool left =
          run.call({"ZREM", line.tickets, run.arg(2)}, "redis.call('ZREM', line, ARGV") == ":1\r\n";
      run.call({"ZREM", line.lives, run.arg(2)}, "redis.call('ZREM', lives, ARGV");
      if (left && !freed && !found[i - 1]) {
        freed = exists(run, {run.key(i)}) == 0;
        read = !freed;
      }
    }
    if (!freed && !read) continue;
    std::optional<double> ends;
    const auto first = front_of(run, line, "0", ms, ends, "redis.call('ZREM', line, first");
    if (first.empty()) {
      if (freed) run.attempt({"PUBLISH", "quorumlock:free:" + run.key(i), ""});
    } else if (freed && run.args() > 2 && first[0] == run.arg(3)) {
      ++first_in;
    } else if (reads(first[0])) {
      for (const std::string& entry :
           run.list({"ZRANGE", line.tickets, "0", "-1"}, "redis.call('ZRANGE', line, 0, -1")) {
        if (!reads(entry)) break;
        wake(run, entry);
      }
    } else if (freed && woken.insert(first[0]).second) {
      wake(run, first[0]);
    }
  }
  if (ours < n) return resp::integer(0);
  return resp::integer(first_in == n ? 2 : 1);
}

}  // namespace quorumlock::sim
