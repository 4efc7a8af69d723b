#include "sim/scripts.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <vector>

#include "core/mutants.hpp"
#include "sim/permit_scripts.hpp"
#include "sim/resp.hpp"
#include "sim/script_tools.hpp"
#include "sim/script_twins.hpp"
#include "sim/scripts_all.hpp"

namespace quorumlock::sim {
namespace {

using core::Mutant;
using core::planted;
using namespace lua;

/// Where readers may have it, of whom those whose time is over don't count.
bool sets_behind_readers(ScriptRun& run, const std::string& lock, const std::string& token,
                         const std::string& ttl, std::string_view where) {
  drop_ended(run, lock, std::floor(run.time() / 1000));
  if (planted(Mutant::writer_blind_to_readers)) {
    run.call({"SET", lock, token, "PX", ttl}, where);
    return true;
  }
  return sets_absent(run, lock, token, ttl, where);
}

/// What acquire.lua is asked for one lock.
struct Wish {
  const std::string& lock;
  std::string counter_key;
  const std::string &token, &ttl, &seen, &wall, &life, &floor;
};

/// Its answer, without the time; `found` is what is under the counter and the lock.
std::vector<double> acquire_one(ScriptRun& run, const Wish& wish, const ScriptRun::Text& kept,
                                const ScriptRun::Text& holder) {
  const double time = run.time();
  const auto number = [](const std::string& text) { return to_number(text).value(); };
  double counter = to_number(kept).value_or(0);
  const bool resent = planted(Mutant::resend_without_refresh) && holder == wish.token;
  const Line line(wish.lock);
  std::optional<double> ends;
  const bool waited_for =
      !front_of(run, line, "0", time / 1000, ends, "redis.call('ZREM', line").empty() &&
      !planted(Mutant::barging) && !planted(Mutant::no_queue);
  if ((!holder && !waited_for) || resent) {
    if (wish.life != "0") {
      const double last = to_number(kept) ? *to_number(kept) : time - number(wish.life) * 500;
      counter = most({last + 1, number(wish.seen) + 1, number(wish.floor) + 1,
                      least(number(wish.wall), time + 60000000)});
      if (counter >= fence_limit) {
        throw ScriptError("ERR quorumlock: the fencing counter has reached 2^53");
      }
      if (!planted(Mutant::counter_not_raised)) {
        run.call({"SET", wish.counter_key, digits(counter), "PX", wish.life},
                 "redis.call('SET', counter_key");
      }
    }
    constexpr std::string_view where = "redis.call('SET', lock";
    if (resent || sets_absent(run, wish.lock, wish.token, wish.ttl, where) ||
        (run.pttl(wish.lock) != -1 &&
         sets_behind_readers(run, wish.lock, wish.token, wish.ttl, where))) {
      return {1, counter};
    }
  }
  double due = run.pttl(wish.lock);
  if (due == -2 && ends) due = std::floor(*ends - time / 1000) + 1;
  const auto last =
      run.list({"ZRANGE", line.tickets, "-1", "-1", "WITHSCORES"}, "redis.call('ZRANGE', line, -1");
  return {0, counter, due, last.empty() ? 0 : *to_number(last[1])};
}

std::string acquire(ScriptRun& run) {
  const double time = run.time();
  if (run.keys() == 3) {
    const auto found = run.mget({run.key(2), run.key(1), run.key(3)});
    if (found[2] != run.arg(6)) return integers({-1, 0, time});
    std::vector<double> said = acquire_one(run,
                                           {.lock = run.key(1),
                                            .counter_key = run.key(2),
                                            .token = run.arg(1),
                                            .ttl = run.arg(2),
                                            .seen = run.arg(3),
                                            .wall = run.arg(4),
                                            .life = run.arg(5),
                                            .floor = run.arg(7)},
                                           found[0], found[1]);
    said.insert(said.begin() + 2, time);
    return integers(said);
  }
  if (run.get(run.key(1), "redis.call('GET'") != run.arg(run.args() - 1)) return integers({time});
  std::vector<std::string> said = {integer_reply(time)};
  for (std::size_t i = 4; i < run.args() - 1; i += 3) {
    try {
      const std::string counter_key = "quorumlock:fence:" + run.arg(i);
      const auto found = run.mget({counter_key, run.arg(i)});
      std::vector<double> one = acquire_one(run,
                                            {.lock = run.arg(i),
                                             .counter_key = counter_key,
                                             .token = run.arg(i + 1),
                                             .ttl = run.arg(1),
                                             .seen = run.arg(i + 2),
                                             .wall = run.arg(2),
                                             .life = run.arg(3),
                                             .floor = run.arg(run.args())},
                                            found[0], found[1]);
      one.resize(4);
      for (const double each : one) said.push_back(integer_reply(each));
    } catch (const ScriptError& error) {
      said.push_back(resp::error(error.bare()));
      said.insert(said.end(), 3, resp::integer(0));
    }
  }
  return resp::array(said);
}

std::string acquire_ordered(ScriptRun& run) {
  const double time = run.time();
  const auto found = run.mget({run.key(3), run.key(2), run.key(1)});
  if (found[0] != run.arg(9)) return integers({-1, 0, time});
  double counter = to_number(found[1]).value_or(0);
  const std::string& waiter = run.arg(6);
  const Line line(run.key(1));
  std::optional<double> ends;
  const auto front = [&] {
    return front_of(run, line, "1", time / 1000, ends, "redis.call('ZREM', line");
  };
  std::vector<std::string> first = front();
  const auto is_first = [&] { return !first.empty() && first[0] == waiter; };
  if (!is_first() && !score_of(run, line.tickets, waiter)) {
    enter(run, line, waiter, run.arg(7), std::floor(time / 1000) + run.number(8), run.number(8),
          false);
    first = front();
  }
  const auto refused = [&] {
    double due = run.pttl(run.key(1));
    if (due == -2 && ends) due = std::floor(*ends - time / 1000) + 1;
    const auto last = run.list({"ZRANGE", line.tickets, "-1", "-1", "WITHSCORES"},
                               "redis.call('ZRANGE', line, -1");
    return integers({0, counter, time, due, last.empty() ? 0 : *to_number(last[1])});
  };
  const bool handed_over = planted(Mutant::hand_over_past_others) && run.arg(7) == "0";
  const bool mine = is_first() || planted(Mutant::no_queue) || handed_over;
  if (found[2] || !mine) return refused();
  if (run.arg(5) != "0") {
    const auto kept = to_number(found[1]);
    counter = most({(kept ? *kept : time - run.number(5) * 500) + 1, run.number(3) + 1,
                    run.number(10) + 1, least(run.number(4), time + 60000000)});
    if (counter >= fence_limit) {
      return resp::error("ERR quorumlock: the fencing counter has reached 2^53");
    }
    run.call({"SET", run.key(2), digits(counter), "PX", run.arg(5)}, "redis.call('SET', KEYS[2]");
  }
  constexpr std::string_view where = "redis.call('SET', KEYS[1]";
  if (!sets_absent(run, run.key(1), run.arg(1), run.arg(2), where)) {
    if (run.pttl(run.key(1)) == -1 ||
        !sets_behind_readers(run, run.key(1), run.arg(1), run.arg(2), where)) {
      return refused();
    }
  }
  if (planted(Mutant::removed_at_grant)) {
    run.call({"ZREM", line.tickets, waiter}, "redis.call('ZREM', line");
    run.call({"ZREM", line.lives, waiter}, "redis.call('ZREM', lives");
  }
  const std::string next = first.size() > 1 ? first[1] : "";
  if (!same_process(next, waiter)) return integers({1, counter, time, 0});
  const auto number = to_number(next.size() > 18 ? next.substr(18) : "");
  return integers({1, counter, time, number.value_or(0)});
}

std::string raise(ScriptRun& run) {
  const double time = run.time();
  const auto found = run.mget({run.key(3), run.key(2), run.key(1)});
  if (found[0] != run.arg(4)) return integers({-1, 0, time});
  const double counter = to_number(found[1]).value_or(0);
  bool ours = found[2] == run.arg(1) || planted(Mutant::raise_without_owner) ||
              planted(Mutant::counter_set_whatever_it_was);
  if (!ours && !found[2]) {
    const std::string member = run.attempt({"ZSCORE", run.key(1), run.arg(1)});
    std::string_view rest = member;
    const auto ends = resp::is_error(member) ? std::nullopt : to_number(resp::take_bulk(rest));
    ours = ends && *ends >= std::floor(time / 1000);
  }
  const double fence = run.number(2);
  if (!found[2] && planted(Mutant::replant_before_the_decision)) {
    run.call({"SET", run.key(2), digits(most({counter, fence})), "PX", run.arg(3)},
             "redis.call('SET', KEYS[2]");
    run.call({"SET", run.key(1), run.arg(1), "PX", "1000"}, "redis.call('SET', KEYS[2]");
    return integers({1, fence, time});
  }
  if (!ours) return integers({3, counter, time});
  if (fence >= fence_limit) {
    return resp::error("ERR quorumlock: the fencing counter has reached 2^53");
  }
  if (counter > fence && planted(Mutant::raise_acknowledged_when_greater)) {
    return integers({1, fence, time});
  }
  const bool lowers = planted(Mutant::counter_set_whatever_it_was);
  const bool as_high = planted(Mutant::raise_not_strict) ? counter > fence : counter >= fence;
  if (as_high && !lowers) return integers({0, counter, time});
  run.call({"SET", run.key(2), run.arg(2), "PX", run.arg(3)}, "redis.call('SET', KEYS[2]");
  return integers({1, fence, time});
}

/// The reply; empty where there is no room.
std::string set_if_room(ScriptRun& run, const Words& words) {
  const std::string done = run.attempt(words);
  if (!resp::is_error(done)) return done;
  if (done.find("OOM") == done.npos) run.call(words, "redis.call('SET', ...)");
  return {};
}

/// The digit of one lock that is gone.
char replant(ScriptRun& run, const std::string& lock, const std::string& token, std::size_t place,
             double time) {
  const auto exists = [&run](const std::string& key) {
    return run.call({"EXISTS", key}, "redis.call('EXISTS'") == ":1\r\n";
  };
  if (run.arg(2) != "1" || exists("quorumlock:released:" + token)) return exists(lock) ? '0' : '3';
  const std::string counter = "quorumlock:fence:" + lock;
  const double counted = to_number(run.get(counter, "redis.call('GET', counter")).value_or(0);
  double least = run.number(place);
  std::string fence = run.arg(place);
  if (counted > least && least > 0) {
    least = counted + 1 + std::fmod(std::fmod(time, 1'000'000), 4096);
    fence = digits(least);
  }
  if (counted < least) {
    if (set_if_room(run, {"SET", counter, fence, "PX", run.arg(3)}).empty()) return '4';
  }
  const std::string done = set_if_room(run, {"SET", lock, token, "NX", "PX", run.arg(1)});
  return done.empty() ? '4' : done == resp::nil ? '0' : '2';
}

std::string renew(ScriptRun& run) {
  const double time = run.time();
  Words keys;
  for (std::size_t i = 1; i <= run.keys(); ++i) keys.push_back(run.key(i));
  const auto found = run.mget(keys);
  const bool enrolled = found[0] == run.arg(run.args() - 1);
  std::string votes;
  for (std::size_t i = 2; i <= run.keys(); ++i) {
    const std::string& token = run.arg(2 * i);
    const bool ours = found[i - 1] == token;
    const bool whatever_it_is = planted(Mutant::confirm_without_enrolment) ||
                                (planted(Mutant::replant_without_enrolment) && !ours);
    if (!enrolled && !whatever_it_is) {
      votes.clear();
      break;
    }
    if (ours) {
      const bool shortens = planted(Mutant::expiry_shortened);
      if (shortens || resp::is_error(run.attempt({"PEXPIRE", run.key(i), run.arg(1), "GT"}))) {
        if (shortens || run.pttl(run.key(i)) < run.number(1)) {
          run.call({"PEXPIRE", run.key(i), run.arg(1)}, "redis.call('PEXPIRE'");
        }
      }
      votes += '1';
    } else {
      votes += found[i - 1] ? '0' : replant(run, run.key(i), token, 2 * i + 1, time);
    }
  }
  return resp::array({integer_reply(time), resp::bulk(votes)});
}

std::string adopt(ScriptRun& run) {
  if (run.get(run.key(1), "redis.call('GET'").value_or("") != run.arg(1)) return resp::integer(0);
  if (run.arg(2).empty()) {
    run.call({"DEL", run.key(1)}, "redis.call('DEL'");
  } else {
    run.call({"SET", run.key(1), run.arg(2)}, "redis.call('SET'");
  }
  return resp::integer(1);
}

std::string candidate(ScriptRun& run) {
  const std::string mark = run.arg(1) + ":";
  const std::size_t looked_at = planted(Mutant::candidate_overwritten) ? 1 : 2;
  for (std::size_t i = 1; i <= looked_at; ++i) {
    const auto found = run.get(run.key(i), "redis.call('GET'");
    if (found && found->starts_with(mark)) {
      return resp::array({resp::integer(static_cast<std::int64_t>(i)), resp::bulk(*found)});
    }
  }
  run.call({"SET", run.key(2), run.arg(2)}, "redis.call('SET'");
  return resp::array({resp::integer(2), resp::bulk(run.arg(2))});
}

std::string enrol(ScriptRun& run) {
  if (run.get(run.key(2), "redis.call('GET'") != run.arg(2)) return resp::integer(0);
  run.call({"SET", run.key(1), run.arg(1)}, "redis.call('SET'");
  run.call({"DEL", run.key(2)}, "redis.call('DEL', KEYS[2]");
  run.call({"DEL", run.key(3)}, "redis.call('DEL', KEYS[3]");
  return resp::integer(1);
}

std::string replace(ScriptRun& run) {
  if (run.get(run.key(1), "redis.call('GET'") != run.arg(1)) return resp::integer(0);
  run.call({"DEL", run.key(1)}, "redis.call('DEL'");
  run.call({"SET", run.key(2), run.arg(2)}, "redis.call('SET'");
  return resp::integer(1);
}

std::string repair(ScriptRun& run) {
  const std::string life = run.arg(run.keys() + 1);
  for (std::size_t i = 1; i <= run.keys(); ++i) {
    const auto counter = to_number(run.get(run.key(i), "redis.call('GET'"));
    if (counter.value_or(0) < run.number(i)) {
      run.call({"SET", run.key(i), run.arg(i), "PX", life}, "redis.call('SET'");
    }
  }
  return resp::integer(static_cast<std::int64_t>(run.keys()));
}

constexpr KnownScript known_scripts[] = {
    {&redis::acquire_script, acquire},
    {&redis::acquire_ordered_script, acquire_ordered},
    {&redis::acquire_shared_script, acquire_shared},
    {&redis::acquire_permit_script, acquire_permit},
    {&redis::adopt_script, adopt},
    {&redis::candidate_script, candidate},
    {&redis::enrol_script, enrol},
    {&redis::queue_script, queue},
    {&redis::raise_script, raise},
    {&redis::release_script, release},
    {&redis::release_permit_script, release_permit},
    {&redis::release_token_script, release_token},
    {&redis::renew_script, renew},
    {&redis::renew_shared_script, renew_shared},
    {&redis::renew_permit_script, renew_permit},
    {&redis::repair_script, repair},
    {&redis::replace_script, replace},
    {&redis::acquire_all_script, acquire_all},
    {&redis::raise_all_script, raise_all},
    {&redis::renew_all_script, renew_all},
    {&redis::release_all_script, release_all},
};

template <class Predicate>
const KnownScript* find(Predicate&& predicate) {
  const auto* const found = std::ranges::find_if(known_scripts, predicate);
  return found != std::end(known_scripts) ? found : nullptr;
}

}  // namespace

const KnownScript* script_by_sha(std::string_view sha1) {
  return find([sha1](const KnownScript& each) { return each.script->sha1 == sha1; });
}

const KnownScript* script_by_source(std::string_view source) {
  return find([source](const KnownScript& each) { return each.script->source == source; });
}

}  // namespace quorumlock::sim
