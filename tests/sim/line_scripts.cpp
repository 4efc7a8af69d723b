#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "core/mutants.hpp"
#include "redis/keys.hpp"
#include "sim/permit_scripts.hpp"
#include "sim/resp.hpp"
#include "sim/script_tools.hpp"
#include "sim/script_twins.hpp"

// The scripts that wake who waits in a line.
namespace quorumlock::sim {

using core::Mutant;
using core::planted;
using namespace lua;

namespace {

struct Writer {
  std::string name;
  double ticket;
  double ends;
};

/// The first two of a line.
std::vector<Writer> writers_of(ScriptRun& run, const Line& line, double ms) {
  std::vector<Writer> found;
  for (int at = 0;; at += 100) {
    const auto some = run.list(
        {"ZRANGE", line.tickets, std::to_string(at), std::to_string(at + 99), "WITHSCORES"},
        "redis.call('ZRANGE', line, at");
    for (std::size_t i = 0; i < some.size(); i += 2) {
      if (reads(some[i])) continue;
      const double ends = to_number(score_of(run, line.lives, some[i])).value_or(0);
      if (ends >= ms) found.push_back({some[i], *to_number(some[i + 1]), ends});
      if (found.size() == 2) return found;
    }
    if (some.size() < 200) return found;
  }
}

std::string greatest_of(ScriptRun& run, const Line& line, const std::string& waiter) {
  const auto last =
      run.list({"ZRANGE", line.tickets, "-2", "-1", "WITHSCORES"}, "redis.call('ZRANGE', line, -2");
  std::size_t others = last.size();
  if (others > 0 && last[others - 2] == waiter) others -= 2;
  return others > 0 ? last[others - 1] : "0";
}

}  // namespace

std::string queue(ScriptRun& run) {
  const double ms = std::floor(run.time() / 1000);
  const double life = run.number(1);
  std::vector<bool> changed;
  std::vector<double> greatest;
  for (std::size_t i = 1; i <= run.keys(); ++i) {
    const std::string& waiter = run.arg(2 * i);
    const Line line(run.key(i));
    greatest.push_back(*to_number(greatest_of(run, line, waiter)));
    changed.push_back(enter(run, line, waiter, run.arg(2 * i + 1), ms + life, life, true));
  }
  std::map<std::string, std::vector<Writer>> writers;
  std::vector<std::string> reply;
  for (std::size_t i = 1; i <= run.keys(); ++i) {
    const std::string& waiter = run.arg(2 * i);
    const Line line(run.key(i));
    std::optional<double> ends;
    const auto first = front_of(run, line, "1", ms, ends, "redis.call('ZREM', line");
    double before = 3;
    if (reads(waiter)) {
      if (!writers.contains(line.tickets)) writers[line.tickets] = writers_of(run, line, ms);
      const auto& found = writers[line.tickets];
      const double ticket = to_number(score_of(run, line.tickets, waiter)).value();
      const auto is_before = [&](std::size_t n) {
        return found.size() > n && found[n].ticket < ticket;
      };
      if (!is_before(0) || planted(Mutant::readers_overtake_writers)) {
        before = 0;
      } else {
        ends = found[0].ends;
        if (!is_before(1)) before = same_process(found[0].name, waiter) ? 1 : 2;
      }
    } else if (first[0] == waiter) {
      before = 0;
    } else if (first.size() > 1 && first[1] == waiter) {
      before = same_process(first[0], waiter) ? 1 : 2;
    }
    double due = -1;
    int slot = 0;
    if (!run.key(i).starts_with(redis::semaphore_prefix)) {
      due = run.pttl(run.key(i));
    } else if (before < 3 || changed[i - 1]) {
      slot = free_slot(run, run.key(i), due);
    }
    const bool was_set = due > 0 && is_set(run, run.key(i));
    if (was_set) {
      drop_ended(run, run.key(i), ms);
      due = run.pttl(run.key(i));
    }
    const bool absent = due == -2;
    const bool shared = was_set && !absent;
    const bool free = absent || (shared && reads(waiter));
    if (free) due = *ends - ms + 1;
    if (before != 0 && changed[i - 1]) {
      if (!reads(first[0])) {
        if (absent) wake(run, first[0], slot);
      } else if (absent || shared) {
        for (const std::string& entry :
             run.list({"ZRANGE", line.tickets, "0", "-1"}, "redis.call('ZRANGE', line, 0, -1")) {
          if (!reads(entry)) break;
          wake(run, entry);
        }
      }
    }
    for (const double each : {before, free ? std::max(slot, 1) * 1.0 : 0.0, due, greatest[i - 1]}) {
      reply.push_back(integer_reply(each));
    }
  }
  return resp::array(reply);
}

namespace {

/// `not_woken` is nothing where the caller knows of nobody.
std::string release_one(ScriptRun& run, const std::string& key, const std::string& token,
                        const std::string& leaver, const ScriptRun::Text& not_woken) {
  const Line line(key);
  bool left = false;
  if (!leaver.empty()) {
    left = run.call({"ZREM", line.tickets, leaver}, "redis.call('ZREM', line, leaver") == ":1\r\n";
    run.call({"ZREM", line.lives, leaver}, "redis.call('ZREM', lives, leaver");
  }
  const std::string held = run.attempt({"GET", key});
  const bool was_set = resp::is_error(held);
  std::string_view rest = held;
  const auto holder = was_set ? std::nullopt : resp::take_bulk(rest);
  bool deleted = false;
  if (planted(Mutant::delete_without_compare) || holder == token) {
    deleted = run.call({"DEL", key}, "redis.call('DEL'") == ":1\r\n";
  } else if (was_set) {
    deleted = run.call({"ZREM", key, token}, "redis.call('ZREM', lock, token") == ":1\r\n";
  }
  const std::string answer = resp::integer(deleted ? 1 : 0);
  if (!deleted && (!left || holder)) return answer;
  const double ms = std::floor(run.time() / 1000);
  bool others_read = false;
  if (was_set) {
    if (run.pttl(key) > 0) drop_ended(run, key, ms);
    others_read = exists(run, key);
  }
  std::optional<double> ends;
  const auto first = front_of(run, line, "0", ms, ends, "redis.call('ZREM', line, first");
  if (first.empty()) {
    if (!others_read) run.attempt({"PUBLISH", "quorumlock:free:" + key, ""});
    return answer;
  }
  const bool news = !was_set || !reads(first[0]) || (!leaver.empty() && !reads(leaver));
  std::vector<std::string> front;
  if (!reads(first[0])) {
    if (!others_read) front = first;
  } else if (news || not_woken) {
    for (const std::string& entry :
         run.list({"ZRANGE", line.tickets, "0", "-1"}, "redis.call('ZRANGE', line, 0, -1")) {
      if (reads(entry)) {
        front.push_back(entry);
      } else if (to_number(score_of(run, line.lives, entry)).value_or(0) >= ms) {
        break;
      }
    }
  }
  bool mine = false;
  for (const std::string& entry : front) {
    if (entry == not_woken) {
      mine = true;
    } else if (news && !planted(Mutant::nobody_woken)) {
      wake(run, entry);
    }
  }
  if (mine) return resp::integer(deleted ? 2 : 0);
  const auto last =
      run.list({"ZRANGE", line.tickets, "-1", "-1", "WITHSCORES"}, "redis.call('ZRANGE', line, -1");
  return deleted ? integer_reply(3 + *to_number(last[1])) : answer;
}

}  // namespace

std::string release(ScriptRun& run) {
  if (run.keys() == 1) {
    return release_one(run, run.key(1), run.arg(1), run.args() > 1 ? run.arg(2) : "",
                       run.args() > 2 ? ScriptRun::Text(run.arg(3)) : std::nullopt);
  }
  std::vector<std::string> said;
  for (std::size_t i = 1; i < run.args(); i += 2) {
    try {
      said.push_back(release_one(run, run.arg(i), run.arg(i + 1), "", std::nullopt));
    } catch (const ScriptError& error) {
      said.push_back(resp::error(error.bare()));
    }
  }
  return resp::array(said);
}

std::string release_token(ScriptRun& run) {
  const std::string& key = run.key(1);
  const std::string held = run.attempt({"GET", key});
  const bool was_set = resp::is_error(held);
  std::string_view rest = held;
  if (was_set) {
    if (run.call({"ZSCORE", key, run.arg(1)}, "redis.call('ZSCORE'") == resp::nil) {
      return resp::integer(0);
    }
  } else if (resp::take_bulk(rest) != run.arg(1)) {
    return resp::integer(0);
  }
  run.call({"SET", "quorumlock:released:" + run.arg(1), "1", "PX", run.arg(2)}, "redis.call('SET'");
  if (was_set) {
    run.call({"ZREM", key, run.arg(1)}, "redis.call('ZREM'");
    if (exists(run, key)) return resp::integer(1);
  } else {
    run.call({"DEL", key}, "redis.call('DEL'");
  }
  const auto entries = run.list({"ZRANGE", Line(key).tickets, "0", "-1"}, "redis.call('ZRANGE'");
  if (entries.empty()) run.attempt({"PUBLISH", "quorumlock:free:" + key, ""});
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (!reads(entries[i]) && i > 0) break;
    wake(run, entries[i]);
    if (!reads(entries[i])) break;
  }
  return resp::integer(1);
}

}  // namespace quorumlock::sim
