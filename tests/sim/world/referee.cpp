#include "sim/world/referee.hpp"

#include <algorithm>
#include <limits>

#include "sim/data_commands.hpp"

namespace quorumlock::sim {

using namespace std::chrono_literals;

namespace {

constexpr std::int64_t for_ever = std::numeric_limits<std::int64_t>::max();

std::int64_t number_of(std::string_view text) {
  return data::whole_number(text).value_or(0);
}

/// The value of a counter; nothing if it is absent or no number.
std::optional<std::int64_t> counter_of(const Value* value) {
  const std::string* const text = value != nullptr ? value->text() : nullptr;
  return text != nullptr ? data::whole_number(*text) : std::nullopt;
}

/// The key of a permit, by that of its semaphore.
std::string slot_key(std::string_view semaphore, std::string_view slot) {
  return std::string(redis::permit_prefix)
      .append(semaphore.substr(redis::semaphore_prefix.size()))
      .append(":")
      .append(slot);
}

bool contains(const std::vector<std::string>& all, std::string_view one) {
  return std::ranges::find(all, one) != all.end();
}

std::string in_words(std::optional<std::int64_t> counter) {
  return counter ? std::to_string(*counter) : "absent";
}

}  // namespace

const Value* Referee::before(const Executed& step, const std::string& key) {
  const Journal::Before* const written = step.journal.find(key);
  if (written == nullptr) return after(step, key);
  return *written ? &**written : nullptr;
}

const Value* Referee::after(const Executed& step, const std::string& key) {
  return step.keys.find(key, step.now_us / 1000);
}

/// Reads what a command asks a node for.
Referee::Request Referee::read(const Executed& step) {
  Request request;
  const Words& words = step.journal.words();
  if (step.script == nullptr) {
    // A plain SET, which has no fencing and compares no record.
    if (words.size() != 6 || words[0] != "SET" || !redis::is_held_key(words[1])) return request;
    request.kind = Kind::acquire;
    request.claims.push_back({words[2], {words[1]}, {}, number_of(words[5]), 0});
    return request;
  }
  const auto count = static_cast<std::size_t>(number_of(words[2]));
  const std::span<const std::string> keys = std::span(words).subspan(3, count);
  const std::span<const std::string> args = std::span(words).subspan(3 + count);
  const auto as_one = [&](std::size_t locks, const std::string& slot, std::size_t ttl) {
    Claim claim{args[0], {}, {}, ttl != 0 ? number_of(args[ttl]) : 0, 0};
    claim.lines.assign(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(locks));
    if (slot == "0") {
      claim.keys.assign(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(locks));
    } else {
      claim.keys.push_back(slot_key(keys[0], slot));
    }
    return claim;
  };
  const auto add_counters = [&](Claim& claim) {
    claim.counters.assign(keys.begin() + static_cast<std::ptrdiff_t>(count / 2), keys.end());
  };
  if (step.script == &redis::acquire_script) {
    request.kind = Kind::acquire;
    request.record = &args[args.size() - 4];
    for (std::size_t i = 4; i + 6 < args.size(); i += 3) {
      Claim claim{args[i + 1], {args[i]}, {}, number_of(args[0]), 0};
      claim.lines = claim.keys;
      if (args[2] == "1") claim.counters.push_back(with_prefix(redis::counter_prefix, args[i]));
      request.claims.push_back(std::move(claim));
    }
  } else if (step.script == &redis::acquire_all_script) {
    request.kind = Kind::acquire;
    request.record = &args[11];
    Claim claim = as_one(count / 2, args[9], 1);
    claim.waiter = args[5];
    claim.reads = args[8] == "r";
    if (args[4] == "1") add_counters(claim);
    request.claims.push_back(std::move(claim));
  } else if (step.script == &redis::renew_script) {
    request.kind = Kind::renew;
    request.record = &args[args.size() - 4];
    for (std::size_t i = 0; i < count; ++i) {
      const auto fence = static_cast<std::uint64_t>(number_of(args[3 * i + 3]));
      request.claims.push_back({args[3 * i + 2], {keys[i]}, {}, number_of(args[0]), fence});
    }
  } else if (step.script == &redis::renew_all_script) {
    request.kind = Kind::renew;
    request.record = &args[8];
    Claim claim = as_one(count / 2, args[5], 1);
    claim.fence = static_cast<std::uint64_t>(number_of(args[2]));
    claim.by_token = args[4] == "t";
    add_counters(claim);
    request.claims.push_back(std::move(claim));
  } else if (step.script == &redis::raise_script) {
    request.kind = Kind::raise;
    request.record = &args[2];
    Claim claim = as_one(count / 2, "0", 0);
    claim.fence = static_cast<std::uint64_t>(number_of(args[1]));
    add_counters(claim);
    request.claims.push_back(std::move(claim));
  } else if (step.script == &redis::release_script) {
    request.kind = Kind::release;
    for (std::size_t i = 0; i + 1 < args.size(); i += 2) {
      request.claims.push_back({args[i + 1], {args[i]}, {}, 0, 0});
    }
  } else if (step.script == &redis::release_all_script && !args[0].empty()) {
    request.kind = Kind::release;
    request.claims.push_back(as_one(count, args[3], 0));
  }
  return request;
}

/// The claims that have a lock, by their tokens.
Referee::Lives Referee::lives(const Value* lock, const Value* readers, std::int64_t now_ms) {
  Lives found;
  const std::string* const text = lock != nullptr ? lock->text() : nullptr;
  if (text == nullptr) return found;
  const std::int64_t until = lock->expires.value_or(for_ever);
  if (*text != redis::read_mark) {
    found.emplace(*text, Life{until, false});
    return found;
  }
  const Value::SortedSet* const set = readers != nullptr ? readers->sorted_set() : nullptr;
  if (set == nullptr) return found;
  for (const auto& [token, score] : *set) {
    const auto ends = static_cast<std::int64_t>(score);
    if (ends >= now_ms) found.emplace(token, Life{std::min(ends, until), true});
  }
  return found;
}

void Referee::executed(const Executed& step) {
  const Request request = read(step);
  if (request.kind == Kind::release) {
    for (const Claim& claim : request.claims) {
      Votes& votes = votes_[claim.token];
      votes.over.emplace(step.node, step.connection);
      if (!votes.operation || !is_held_(*votes.operation)) continue;
      refuse(guard::delete_over, step, "deletes the keys of a lease that is believed in");
    }
  }
  if (request.kind == Kind::acquire) {
    // A connection keeps the order in which a client has sent.
    for (const Claim& claim : request.claims) {
      const auto votes = votes_.find(claim.token);
      if (votes == votes_.end() || !votes->second.over.contains({step.node, step.connection})) {
        continue;
      }
      refuse(guard::own_token, step, "is asked for a lock for an attempt that has ended");
    }
  }
  look_at_connection(step, request);
  look_at_answer(step);
  for (const auto& [key, value] : step.journal.written()) {
    if (is_forgotten(step)) break;  // any keys may be gone then
    if (key.starts_with(redis::counter_prefix)) {
      look_at_counter(step, request, key);
    } else if (key.starts_with(redis::queue_prefix)) {
      look_at_line(step, key.substr(redis::queue_prefix.size()));
    } else if (key.starts_with(redis::once_prefix)) {
      look_at_periods(step, key);
    } else if (key.starts_with(redis::readers_prefix)) {
      const std::string lock = key.substr(redis::readers_prefix.size());
      if (step.journal.find(lock) == nullptr) look_at_lock(step, request, lock);
    } else if (redis::is_held_key(key)) {
      look_at_lock(step, request, key);
    }
  }
  if (step.script == &redis::repair_script) look_at_copies(step);
  look_at_record(step);
  look_at_candidate(step);
  if (request.kind != Kind::other && request.kind != Kind::release) look_at_votes(step, request);
}

/// If a command changes who has a lock, the change must be an action of a model.
void Referee::look_at_lock(const Executed& step, const Request& request, const std::string& key) {
  const std::string readers = with_prefix(redis::readers_prefix, key);
  const std::int64_t now_ms = step.now_us / 1000;
  const Lives had = lives(before(step, key), before(step, readers), now_ms);
  const Lives has = lives(after(step, key), after(step, readers), now_ms);
  const bool renews = request.kind == Kind::renew;
  const auto claim_of = [&](const std::string& token) -> const Claim* {
    const auto found = std::ranges::find_if(request.claims, [&](const Claim& one) {
      return one.token == token && contains(one.keys, key);
    });
    return found != request.claims.end() ? &*found : nullptr;
  };
  for (const auto& [token, life] : has) {
    const Claim* const claim = claim_of(token);
    const auto its = had.find(token);
    if (its != had.end()) {
      if (life.until < its->second.until) {
        refuse(guard::extend_kept, step, "the expiry of " + key + " is shortened");
      }
      // A renewal that was refused, or one that had nothing to prolong, has changed nothing.
      if (life.until == its->second.until && life.shared == its->second.shared) continue;
      if (claim == nullptr || !renews) {
        refuse(guard::extend_own, step, key + " of another owner than the caller is prolonged");
        continue;
      }
      if (const std::string why = why_not_enrolled(step, request); !why.empty()) {
        refuse(guard::extend_enrolled, step, why);
      }
      if (life.until < now_ms + claim->ttl_ms) {
        refuse(guard::extend_life, step, key + " lives for less than the ttl");
      }
      look_at_marks(step, *claim, key, false);
      continue;
    }
    const bool asked = claim != nullptr && (renews || request.kind == Kind::acquire);
    if (!asked) {
      refuse(guard::grant_free, step, key + " is set for an owner that has not asked for it");
      continue;
    }
    const std::string why = why_not_enrolled(step, request);
    if (!why.empty()) refuse(renews ? guard::replant_enrolled : guard::grant_enrolled, step, why);
    const bool free = std::ranges::all_of(
        had, [&](const auto& other) { return life.shared && other.second.shared; });
    if (!free) {
      refuse(renews ? guard::replant_free : guard::grant_free, step, key + " is another owner's");
    }
    if (life.until < now_ms + claim->ttl_ms) {
      refuse(renews ? guard::replant_life : guard::grant_life, step,
             key + " lives for less than the ttl");
    }
    if (!renews && step.script != nullptr) {
      const auto at = std::ranges::find(claim->keys, key) - claim->keys.begin();
      look_at_grant(step, *claim, static_cast<std::size_t>(at));
    } else if (renews && had.empty() && !life.shared) {
      look_at_marks(step, *claim, key, true);
    }
  }
  for (const auto& [token, life] : had) {
    if (has.contains(token)) continue;
    const Claim* const claim = claim_of(token);
    if (request.kind != Kind::release || claim == nullptr) {
      refuse(guard::delete_own, step, key + " of an owner that has not released it is deleted");
    }
  }
}

/// Compares a counter before and after the command.
void Referee::look_at_counter(const Executed& step, const Request& request,
                              const std::string& key) {
  const auto had = counter_of(before(step, key));
  const auto has = counter_of(after(step, key));
  if (had == has) return;
  const std::string change = key + " goes from " + in_words(had) + " to " + in_words(has);
  const auto asks = [&](const Claim& one) {
    return contains(one.counters, key) ||
           (request.kind == Kind::renew &&
            with_prefix(redis::counter_prefix, one.keys.front()) == key);
  };
  const auto claim = std::ranges::find_if(request.claims, asks);
  const bool grows = has && (!had || *has > *had);
  const bool asked = claim != request.claims.end();
  const auto number = asked ? static_cast<std::int64_t>(claim->fence) : 0;
  const bool acquires = request.kind == Kind::acquire;
  if (grows && asked)
    look_at_life(step, key,
                 !acquires ? nullptr
                 : had     ? &guard::counter_clocks
                           : &guard::counter_begins);
  if (step.script == &redis::raise_script && asked) {
    if (const std::string why = why_not_enrolled(step, request); !why.empty()) {
      refuse(guard::raise_enrolled, step, why);
    }
    if (!grows) refuse(guard::raise_strict, step, change);
    if (has != number) refuse(guard::raise_number, step, change);
    const auto record = redis::EnrolmentRecord::parse(*request.record);
    if (record && *has <= static_cast<std::int64_t>(record->floor)) {
      refuse(guard::raise_floor, step,
             change + ", and the floor is " + std::to_string(record->floor));
    }
    const auto votes = votes_.find(claim->token);
    const bool decided = votes != votes_.end() && votes->second.decided != 0;
    if (decided && claim->fence > votes->second.decided) {
      refuse(guard::raise_decided, step,
             change + ", and its token is " + std::to_string(votes->second.decided));
    }
    for (const std::string& lock : claim->keys) {
      const std::string readers = with_prefix(redis::readers_prefix, lock);
      const Lives owners = lives(before(step, lock), before(step, readers), step.now_us / 1000);
      if (!owners.contains(claim->token)) {
        refuse(guard::raise_own, step, lock + " is not the caller's, and " + change);
      }
    }
  } else if (request.kind == Kind::renew && asked) {
    if (!grows || *has < number) refuse(guard::replant_counter, step, change);
  } else if (step.script == &redis::repair_script) {
    if (!grows) refuse(guard::counter_kept, step, change);
  } else if (!acquires || !asked || !grows) {
    refuse(guard::grant_raises, step, change);
  } else {
    // A counter changes with a grant and not without it. A batch may ask for a lock twice, and be
    // granted it the second time: a script that has written is not out of memory any more.
    const auto is_granted = [&](const Claim& one) {
      return asks(one) && std::ranges::all_of(one.keys, [&](const std::string& lock) {
               const std::string readers = with_prefix(redis::readers_prefix, lock);
               return lives(after(step, lock), after(step, readers), step.now_us / 1000)
                   .contains(one.token);
             });
    };
    if (std::ranges::none_of(request.claims, is_granted)) {
      refuse(guard::grant_raises, step, change + ", and nobody who asks for it is granted it");
    }
  }
}

/// Notes for which owners the node has voted with this command. A renewal may find that a key lives
/// for long enough already.
void Referee::look_at_votes(const Executed& step, const Request& request) {
  const std::int64_t now_ms = step.now_us / 1000;
  for (const Claim& claim : request.claims) {
    std::size_t owns = 0, is_new = 0;
    for (const std::string& key : claim.keys) {
      const std::string readers = with_prefix(redis::readers_prefix, key);
      const bool written =
          step.journal.find(key) != nullptr || step.journal.find(readers) != nullptr;
      if (!written && request.kind == Kind::acquire) continue;
      const Lives has = lives(after(step, key), after(step, readers), now_ms);
      const auto its = has.find(claim.token);
      if (its == has.end() || its->second.until < now_ms + claim.ttl_ms) continue;
      ++owns;
      if (!lives(before(step, key), before(step, readers), now_ms).contains(claim.token)) ++is_new;
    }
    if (is_new > 0 && owns < claim.keys.size()) {
      refuse(guard::grant_all, step, "the node grants some of the locks of a claim");
    }
    if (owns < claim.keys.size()) continue;
    std::set<std::int64_t> numbers;
    for (const std::string& counter : claim.counters) {
      const Journal::Before* const written = step.journal.find(counter);
      const auto has = counter_of(after(step, counter));
      const bool raised = written != nullptr && has &&
                          counter_of(*written ? &**written : nullptr).value_or(-1) < *has;
      if (raised) numbers.insert(*has);
      if (!raised && request.kind == Kind::acquire && is_new > 0) {
        refuse(guard::grant_raises, step, "the node grants, and " + counter + " stays");
      }
    }
    const bool voted = request.kind == Kind::raise     ? numbers.size() == 1
                       : request.kind == Kind::acquire ? is_new > 0
                                                       : why_not_enrolled(step, request).empty();
    if (!voted) continue;
    Vote& vote = votes_[claim.token].of[{step.node, step.journal.database()}];
    if (numbers.size() == 1) vote.numbers.insert(static_cast<std::uint64_t>(*numbers.begin()));
    if (claim.by_token) {
      std::int64_t greatest = 0;
      for (const std::string& counter : claim.counters) {
        greatest = std::max(greatest, counter_of(after(step, counter)).value_or(0));
      }
      vote.extensions.emplace_back(step.now, greatest);
      continue;
    }
    if (request.kind == Kind::raise) {
      // With a raise the node votes again, by the record that it has now.
      for (Cast& each : vote.casts) {
        if (!each.renews) each.members = members_of(step);
      }
      continue;
    }
    const bool again = std::ranges::any_of(vote.casts, [](const Cast& one) { return !one.renews; });
    if (request.kind == Kind::acquire && again && step.script != nullptr) {
      refuse(guard::grant_once, step, "the node grants one attempt twice");
    }
    vote.casts.push_back({step.now, claim.ttl_ms, request.kind == Kind::renew, members_of(step)});
  }
}

void Referee::refuse(const Guard& guard, const std::string& what) {
  std::string rule =
      guard.rule.starts_with('(') ? std::string(guard.rule) : "\"" + std::string(guard.rule) + "\"";
  report_("proof/" + std::string(guard.model) + ".py does not allow this step: " +
          std::string(guard.action) + " breaks " + rule + ": " + what);
}

void Referee::refuse(const Guard& guard, const Executed& step, const std::string& what) {
  refuse(guard, "at node " + std::to_string(step.node + 1) + " " + what);
}

std::span<const Guard> Referee::guards() {
  using namespace guard;
  static constexpr Guard all[] = {
      grant_enrolled,  grant_free,     grant_life,       extend_enrolled, extend_own,
      extend_kept,     extend_life,    replant_enrolled, replant_free,    replant_life,
      delete_own,      delete_over,    grant_all,        grant_raises,    raise_enrolled,
      raise_own,       raise_strict,   raise_number,     replant_counter, counter_kept,
      set_greeted,     grant_first,    grant_in_passing, entry_stays,     ticket_grows,
      once_enrolled,   once_holder,    once_grows,       enrol_once,      extend_succeeds,
      counter_life,    counter_begins, settle_scanned,   settle_own,      grant_once,
      raise_decided,   replant_marked, extend_unmarked,  enrol_repaired,  see_new,
      see_blank,       see_age,        witness_same,     witness_after,   due_waited,
      enrol_same,      enrol_run,      enrol_nonce,      own_token,       due_theirs,
      rounding,        win_start,      win_again_start,  margin,          win_votes,
      win_again_votes, win_again_end,  renew_margin,     within_max_ttl,  decide_number,
      decide_in_time,  vote_accepts,   win_own_list,     win_asked,       list_step,
      win_moved,       greet_named,    counter_clocks,   raise_floor,     counter_prolonged,
      enrol_vouched,   settle_decided, settle_waits};
  return all;
}

}  // namespace quorumlock::sim
