#include <cmath>

#include "core/mutants.hpp"
#include "sim/resp.hpp"
#include "sim/script_tools.hpp"
#include "sim/script_twins.hpp"

// The readers' scripts.
namespace quorumlock::sim {

using core::Mutant;
using core::planted;
using namespace lua;

namespace {

bool longer(ScriptRun& run, double left) {
  return left < run.number(2) || planted(Mutant::reader_expiry_shortened);
}

void last(ScriptRun& run, double left) {
  if (longer(run, left)) {
    run.call({"PEXPIRE", run.key(1), run.arg(2)}, "redis.call('PEXPIRE', KEYS[1]");
  }
}

}  // namespace

std::string acquire_shared(ScriptRun& run) {
  const double time = run.time();
  const double ms = std::floor(time / 1000);
  const auto found = run.mget({run.key(3), run.key(2), run.key(1)});
  if (found[0] != run.arg(9)) return integers({-1, 0, time});
  double counter = to_number(found[1]).value_or(0);
  const std::string& waiter = run.arg(6);
  const Line line(run.key(1));
  if (!waiter.empty() && !score_of(run, line.tickets, waiter)) {
    enter(run, line, waiter, run.arg(7), ms + run.number(8), run.number(8), false);
  }
  const double left = run.pttl(run.key(1));
  const bool blind = planted(Mutant::reader_blind_to_writers);
  const auto ends = found[2] && !blind ? std::nullopt : writer_before(run, line, waiter, ms);
  if ((found[2] && !blind) || ends || left == -1) {
    const auto end = run.list({"ZRANGE", line.tickets, "-1", "-1", "WITHSCORES"},
                              "redis.call('ZRANGE', line, -1");
    return integers(
        {0, counter, time, ends ? *ends - ms + 1 : left, end.empty() ? 0 : *to_number(end[1])});
  }
  if (run.arg(5) != "0") {
    const auto kept = to_number(found[1]);
    counter = most({(kept ? *kept : time - run.number(5) * 500) + 1, run.number(3) + 1,
                    run.number(10) + 1, least(run.number(4), time + 60000000)});
    if (counter >= fence_limit) {
      return resp::error("ERR quorumlock: the fencing counter has reached 2^53");
    }
    run.call({"SET", run.key(2), digits(counter), "PX", run.arg(5)}, "redis.call('SET', KEYS[2]");
  }
  if (found[2]) run.call({"DEL", run.key(1)}, "redis.call('ZADD', KEYS[1]");
  run.call({"ZADD", run.key(1), digits(ms + run.number(2)), run.arg(1)},
           "redis.call('ZADD', KEYS[1]");
  if (longer(run, left)) {
    const std::string said = run.attempt({"PEXPIRE", run.key(1), run.arg(2)});
    if (resp::is_error(said)) {
      run.call({"ZREM", run.key(1), run.arg(1)}, "redis.call('ZREM', KEYS[1]");
      return said;
    }
  }
  run.call({"ZREMRANGEBYSCORE", run.key(1), "-inf", "(" + digits(ms)},
           "redis.call('ZREMRANGEBYSCORE'");
  return integers({1, counter, time, 0});
}

std::string renew_shared(ScriptRun& run) {
  const double time = run.time();
  const double ms = std::floor(time / 1000);
  const auto found = run.mget({run.key(3), run.key(2), run.key(1)});
  if (found[0] != run.arg(6)) return integers({-1, 0, time});
  double counter = to_number(found[1]).value_or(0);
  const double ttl = run.number(2);
  const bool own = run.arg(4) == "1";
  const double left = run.pttl(run.key(1));
  if (found[2] == run.arg(1)) {
    if (own) {
      const double rest = most({left, ttl});
      run.call({"DEL", run.key(1)}, "redis.call('DEL'");
      run.call({"ZADD", run.key(1), digits(ms + rest), run.arg(1)}, "redis.call('ZADD'");
      run.call({"PEXPIRE", run.key(1), digits(rest)},
               "redis.call('PEXPIRE', KEYS[1], string.format");
      for (const std::string& entry :
           run.list({"ZRANGE", Line(run.key(1)).tickets, "0", "-1"}, "redis.call('ZRANGE'")) {
        if (!reads(entry)) break;
        wake(run, entry);
      }
    } else {
      last(run, left);
    }
    return integers({1, counter, time});
  }
  if (found[2] || left == -1) return integers({0, counter, time});
  double ends = 0;
  if (left != -2) {
    const std::string reply =
        run.call({"ZSCORE", run.key(1), run.arg(1)}, "redis.call('ZSCORE', KEYS[1]");
    std::string_view rest = reply;
    ends = to_number(resp::take_bulk(rest)).value_or(0);
  }
  if (ends >= ms) {
    const double half = ends - std::floor(ends);
    if (half > 0 && !own) return integers({3, counter, time});
    if (ends < ms + ttl) {
      run.call({"ZADD", run.key(1), halves(ms + ttl + half), run.arg(1)},
               "redis.call('ZADD', KEYS[1], string.format('%.1f', ms + ttl + half");
    }
    last(run, left);
    return integers({1, own ? counter : 0, time});
  }
  if (!own || run.call({"EXISTS", "quorumlock:released:" + run.arg(1)}, "redis.call('EXISTS'") ==
                  ":1\r\n") {
    return integers({3, counter, time});
  }
  if (counter < run.number(3)) {
    run.call({"SET", run.key(2), run.arg(3), "PX", run.arg(5)}, "redis.call('SET', KEYS[2]");
    counter = run.number(3);
  }
  run.call({"ZADD", run.key(1), halves(ms + ttl + 0.5), run.arg(1)},
           "redis.call('ZADD', KEYS[1], string.format('%.1f', ms + ttl + 0.5");
  last(run, left);
  return integers({2, counter, time});
}

}  // namespace quorumlock::sim
