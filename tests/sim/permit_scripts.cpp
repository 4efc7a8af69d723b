#include "sim/permit_scripts.hpp"

#include <cmath>
#include <optional>
#include <vector>

#include "core/mutants.hpp"
#include "redis/keys.hpp"
#include "sim/resp.hpp"
#include "sim/script_tools.hpp"

namespace quorumlock::sim::lua {
namespace {

using core::Mutant;
using core::planted;

std::string permit_key(const std::string& semaphore, int slot) {
  return std::string(redis::permit_prefix) + std::to_string(slot) + ":" +
         semaphore.substr(redis::semaphore_prefix.size());
}

bool exists(ScriptRun& run, const std::string& key, std::string_view where) {
  return run.call({"EXISTS", key}, where) == ":1\r\n";
}

/// Where naive counting is planted: which of a node's permits has this token.
std::string permit_of(ScriptRun& run, const std::string& semaphore, int slot, int capacity,
                      const std::string& token) {
  for (int i = 1; planted(Mutant::naive_counting) && i <= capacity; ++i) {
    const std::string key = permit_key(semaphore, i);
    if (run.get(key, "redis.call('EXISTS'") == token) return key;
  }
  return permit_key(semaphore, slot);
}

}  // namespace

int free_slot(ScriptRun& run, const std::string& key, double& due) {
  due = -1;
  const double count = to_number(run.get(key, "redis.call('GET', key")).value_or(1);
  for (int i = 1; i <= count; ++i) {
    const double left = run.pttl(permit_key(key, i));
    if (left == -2) {
      due = left;
      return i;
    }
    if (left >= 0 && (due < 0 || left < due)) due = left;
  }
  return 0;
}

std::string acquire_permit(ScriptRun& run) {
  const double time = run.time();
  const std::string& semaphore = run.key(1);
  const auto found = run.mget({run.key(3), run.key(2), semaphore});
  if (found[0] != run.arg(12)) return integers({-1, 0, time});
  double counter = to_number(found[1]).value_or(0);
  const std::string& waiter = run.arg(7);
  const int slot = static_cast<int>(run.number(10));
  const int capacity = static_cast<int>(run.number(11));
  const double recorded = to_number(found[2]).value_or(capacity);
  if (recorded != capacity && !planted(Mutant::capacity_not_compared)) {
    Words all = {"EXISTS"};
    for (int i = 1; i <= recorded; ++i) all.push_back(permit_key(semaphore, i));
    if (run.call(all, "redis.call('EXISTS', unpack") != ":0\r\n") {
      return integers({-2, recorded, time});
    }
  }
  const Line line(semaphore);
  std::optional<double> ends;
  const auto front = [&] {
    return front_of(run, line, "1", time / 1000, ends, "redis.call('ZREM', line");
  };
  std::vector<std::string> first = front();
  const auto is_first = [&] { return (first.empty() ? "" : first[0]) == waiter; };
  if (!waiter.empty() && !is_first() && !score_of(run, line.tickets, waiter)) {
    enter(run, line, waiter, run.arg(8), std::floor(time / 1000) + run.number(9), run.number(9),
          false);
    first = front();
  }
  const bool mine = is_first();
  std::string wanted = permit_key(semaphore, slot);
  if (!mine || exists(run, wanted, "redis.call('EXISTS', wanted")) {
    double due = -1;
    int free = 0;
    for (int i = slot; mine && i <= slot + capacity - 1; ++i) {
      const double left = run.pttl(permit_key(semaphore, i % capacity + 1));
      if (left == -2) {
        free = i % capacity + 1;
        break;
      }
      if (left >= 0 && (due < 0 || left < due)) due = left;
    }
    if (!mine) due = std::floor(*ends - time / 1000) + 1;
    if (free == 0 || !planted(Mutant::naive_counting)) {
      const auto last = run.list({"ZRANGE", line.tickets, "-1", "-1", "WITHSCORES"},
                                 "redis.call('ZRANGE', line, -1");
      return integers({0, counter, time, due, last.empty() ? 0 : *to_number(last[1]),
                       static_cast<double>(free)});
    }
    wanted = permit_key(semaphore, free);
  }
  if (run.arg(6) == "1") {
    const auto kept = to_number(found[1]);
    counter = most({(kept ? *kept : time - run.number(5) * 500) + 1, run.number(3) + 1,
                    run.number(13) + 1, least(run.number(4), time + 60000000)});
    if (counter >= fence_limit) {
      return resp::error("ERR quorumlock: the fencing counter has reached 2^53");
    }
    run.call({"SET", run.key(2), digits(counter), "PX", run.arg(5)}, "redis.call('SET', KEYS[2]");
  }
  run.call({"SET", semaphore, run.arg(11), "PX", run.arg(5)}, "redis.call('SET', KEYS[1]");
  run.call({"SET", wanted, run.arg(1), "PX", run.arg(2)}, "redis.call('SET', wanted");
  const std::string next = first.size() > 1 ? first[1] : "";
  if (!same_process(next, waiter)) return integers({1, counter, time, 0});
  const auto number = to_number(next.size() > 18 ? next.substr(18) : "");
  return integers({1, counter, time, number.value_or(0)});
}

std::string renew_permit(ScriptRun& run) {
  const double time = run.time();
  const std::string& semaphore = run.key(4);
  const std::string slot = run.key(1).substr(redis::permit_prefix.size());
  const std::string permit = permit_of(run, semaphore, std::atoi(slot.c_str()),
                                       static_cast<int>(run.number(6)), run.arg(1));
  const auto found = run.mget({run.key(3), run.key(2), permit, semaphore});
  if (found[0] != run.arg(7)) return integers({-1, 0, time});
  double counter = to_number(found[1]).value_or(0);
  if (found[2] == run.arg(1)) {
    if (run.pttl(permit) < run.number(2)) {
      run.call({"PEXPIRE", permit, run.arg(2)}, "redis.call('PEXPIRE'");
    }
    run.call({"SET", semaphore, run.arg(6), "PX", run.arg(5)}, "redis.call('SET', KEYS[4]");
    return integers({1, counter, time});
  }
  if (exists(run, permit, "redis.call('EXISTS'")) return integers({0, counter, time});
  if (run.arg(4) != "1") return integers({3, counter, time});
  const auto recorded = to_number(found[3]);
  const bool compares =
      !planted(Mutant::capacity_not_compared) && !planted(Mutant::replant_past_another_capacity);
  if (recorded && *recorded != run.number(6) && compares) {
    for (int i = 1; i <= *recorded; ++i) {
      if (exists(run, permit_key(semaphore, i), "redis.call('EXISTS', permit")) {
        return integers({0, counter, time});
      }
    }
  }
  if (counter < run.number(3)) {
    run.call({"SET", run.key(2), run.arg(3), "PX", run.arg(5)}, "redis.call('SET', KEYS[2]");
    counter = run.number(3);
  }
  run.call({"SET", semaphore, run.arg(6), "PX", run.arg(5)},
           "redis.call('SET', KEYS[4], ARGV[6], 'PX', ARGV[5])\nredis");
  run.call({"SET", permit, run.arg(1), "PX", run.arg(2)}, "redis.call('SET', KEYS[1]");
  return integers({2, counter, time});
}

std::string release_permit(ScriptRun& run) {
  const std::string& semaphore = run.key(1);
  const Line line(semaphore);
  bool left = false;
  if (!run.arg(3).empty()) {
    left =
        run.call({"ZREM", line.tickets, run.arg(3)}, "redis.call('ZREM', line, ARGV") == ":1\r\n";
    run.call({"ZREM", line.lives, run.arg(3)}, "redis.call('ZREM', lives, ARGV");
  }
  int free = 0;
  const int slot = std::atoi(run.arg(2).c_str());
  constexpr int looked_through = 64;  // no test has semaphores of more
  const std::string permit = permit_of(run, semaphore, slot, looked_through, run.arg(1));
  const bool deleted = run.get(permit, "redis.call('GET', permit") == run.arg(1);
  if (deleted) {
    run.call({"DEL", permit}, "redis.call('DEL'");
    free = slot;
  } else if (left && !planted(Mutant::nobody_woken_by_the_winner)) {
    const double count = to_number(run.get(semaphore, "redis.call('GET', KEYS[1]")).value_or(1);
    for (int i = 1; free == 0 && i <= count; ++i) {
      if (!exists(run, permit_key(semaphore, i), "redis.call('EXISTS'")) free = i;
    }
  }
  const auto answer = resp::integer(deleted ? 1 : 0);
  if (free == 0) return answer;
  std::optional<double> ends;
  const auto first = front_of(run, line, "0", std::floor(run.time() / 1000), ends,
                              "redis.call('ZREM', line, first");
  if (first.empty()) {
    run.attempt({"PUBLISH", std::string(redis::free_prefix) + semaphore, ""});
  } else if (first[0] != run.arg(4)) {
    if (!planted(Mutant::nobody_woken)) wake(run, first[0], free);
    const auto last = run.list({"ZRANGE", line.tickets, "-1", "-1", "WITHSCORES"},
                               "redis.call('ZRANGE', line, -1");
    return deleted ? integer_reply(3 + *to_number(last[1])) : answer;
  } else {
    return resp::integer(deleted ? 2 : 0);
  }
  return answer;
}

}  // namespace quorumlock::sim::lua
