#include "sim/scripts.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <initializer_list>
#include <vector>

#include "core/mutants.hpp"
#include "sim/resp.hpp"

namespace quorumlock::sim {
namespace {

using core::Mutant;
using core::planted;

/// Where fences end: the numbers from here on are no longer all different.
constexpr double fence_limit = 9007199254740992.0;

std::string integers(std::initializer_list<double> numbers) {
  std::vector<std::string> elements;
  for (const double number : numbers) elements.push_back(integer_reply(number));
  return resp::array(elements);
}

/// string.format('%.0f', number)
std::string digits(double number) {
  std::array<char, 400> text;
  const int size = std::snprintf(text.data(), text.size(), "%.0f", number);
  return {text.data(), static_cast<std::size_t>(size)};
}

/// math.max and math.min keep what they have where a number does not compare.
double most(std::initializer_list<double> numbers) {
  double found = *numbers.begin();
  for (const double number : numbers) found = number > found ? number : found;
  return found;
}
double least(double one, double other) {
  return other < one ? other : one;
}

bool sets_absent(ScriptRun& run, const std::string& key, const std::string& value,
                 const std::string& ttl) {
  return run.call({"SET", key, value, "NX", "PX", ttl}, "redis.call('SET', KEYS[1]") != resp::nil;
}

std::string acquire(ScriptRun& run) {
  const double time = run.time();
  const auto found = run.mget({run.key(3), run.key(2), run.key(1)});
  if (found[0] != run.arg(6)) return integers({-1, 0, time});
  const auto counter = to_number(found[1]);
  const bool resent = planted(Mutant::resend_without_refresh) && found[2] == run.arg(1);
  if (found[2] && !resent) {
    return integers({0, counter.value_or(0), time, run.pttl(run.key(1))});
  }
  const double last = counter ? *counter : time - run.number(5) * 500;
  const double fence =
      most({last + 1, run.number(3) + 1, run.number(7) + 1, least(run.number(4), time + 60000000)});
  if (fence >= fence_limit) {
    return resp::error("ERR quorumlock: the fencing counter has reached 2^53");
  }
  if (!planted(Mutant::counter_not_raised)) {
    run.call({"SET", run.key(2), digits(fence), "PX", run.arg(5)}, "redis.call('SET', KEYS[2]");
  }
  if (!resent && !sets_absent(run, run.key(1), run.arg(1), run.arg(2))) {
    return integers({0, fence, time, run.pttl(run.key(1))});
  }
  return integers({1, fence, time});
}

std::string raise(ScriptRun& run) {
  const double time = run.time();
  const auto found = run.mget({run.key(3), run.key(2), run.key(1)});
  if (found[0] != run.arg(4)) return integers({-1, 0, time});
  const double counter = to_number(found[1]).value_or(0);
  const bool ours = found[2] == run.arg(1) || planted(Mutant::raise_without_owner) ||
                    planted(Mutant::counter_set_whatever_it_was);
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
  if (counter >= fence && !lowers) return integers({0, counter, time});
  run.call({"SET", run.key(2), run.arg(2), "PX", run.arg(3)}, "redis.call('SET', KEYS[2]");
  return integers({1, fence, time});
}

std::string renew(ScriptRun& run) {
  const double time = run.time();
  const auto found = run.mget({run.key(3), run.key(2), run.key(1)});
  const bool whatever_it_is =
      planted(Mutant::confirm_without_enrolment) ||
      (planted(Mutant::replant_without_enrolment) && found[2] != run.arg(1));
  if (found[0] != run.arg(6) && !whatever_it_is) return integers({-1, 0, time});
  double counter = to_number(found[1]).value_or(0);
  if (found[2] == run.arg(1)) {
    if (run.pttl(run.key(1)) < run.number(2) || planted(Mutant::expiry_shortened)) {
      run.call({"PEXPIRE", run.key(1), run.arg(2)}, "redis.call('PEXPIRE'");
    }
    return integers({1, counter, time});
  }
  if (found[2]) return integers({0, counter, time});
  const auto exists = [&run](const std::string& key) {
    return run.call({"EXISTS", key}, "redis.call('EXISTS'") == ":1\r\n";
  };
  if (run.arg(4) != "1" || exists("quorumlock:released:" + run.arg(1))) {
    const bool another = exists(run.key(1));
    return integers({another ? 0.0 : 3.0, counter, time});
  }
  if (counter < run.number(3)) {
    run.call({"SET", run.key(2), run.arg(3), "PX", run.arg(5)}, "redis.call('SET', KEYS[2]");
    counter = run.number(3);
  }
  const bool planted = sets_absent(run, run.key(1), run.arg(1), run.arg(2));
  return integers({planted ? 2.0 : 0.0, counter, time});
}

std::string release(ScriptRun& run) {
  if (planted(Mutant::delete_without_compare)) {
    return run.call({"DEL", run.key(1)}, "redis.call('DEL'");
  }
  if (run.get(run.key(1), "redis.call('GET'") != run.arg(1)) return resp::integer(0);
  return run.call({"DEL", run.key(1)}, "redis.call('DEL'");
}

std::string release_token(ScriptRun& run) {
  if (run.get(run.key(1), "redis.call('GET'") != run.arg(1)) return resp::integer(0);
  run.call({"SET", "quorumlock:released:" + run.arg(1), "1", "PX", run.arg(2)}, "redis.call('SET'");
  return run.call({"DEL", run.key(1)}, "redis.call('DEL'");
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

constexpr std::array<KnownScript, 10> known_scripts{{
    {&redis::acquire_script, acquire},
    {&redis::adopt_script, adopt},
    {&redis::candidate_script, candidate},
    {&redis::enrol_script, enrol},
    {&redis::raise_script, raise},
    {&redis::release_script, release},
    {&redis::release_token_script, release_token},
    {&redis::renew_script, renew},
    {&redis::repair_script, repair},
    {&redis::replace_script, replace},
}};

template <class Predicate>
const KnownScript* find(Predicate&& predicate) {
  const auto* const found = std::ranges::find_if(known_scripts, predicate);
  return found != known_scripts.end() ? found : nullptr;
}

}  // namespace

const KnownScript* script_by_sha(std::string_view sha1) {
  return find([sha1](const KnownScript& each) { return each.script->sha1 == sha1; });
}

const KnownScript* script_by_source(std::string_view source) {
  return find([source](const KnownScript& each) { return each.script->source == source; });
}

}  // namespace quorumlock::sim
