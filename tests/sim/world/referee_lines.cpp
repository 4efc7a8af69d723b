// The steps that change a line, what is done once, and the marks that extending by token looks at.
#include <algorithm>

#include "sim/data_commands.hpp"
#include "sim/world/referee.hpp"

namespace quorumlock::sim {

namespace {

std::optional<std::int64_t> number_in(const Value* value) {
  const std::string* const text = value != nullptr ? value->text() : nullptr;
  return text != nullptr ? data::whole_number(*text) : std::nullopt;
}

double score_of(const Value* value, const std::string& member) {
  const Value::SortedSet* const set = value != nullptr ? value->sorted_set() : nullptr;
  if (set == nullptr) return 0;
  const auto found = set->find(member);
  return found != set->end() ? found->second : 0;
}

bool is_writer(const std::string& entry) {
  return entry.starts_with('w');
}

}  // namespace

/// Whether this entry, as the line was before the command, is over: its life, or its wait, since
/// its waiter was granted the lock and does not have it any more.
bool Referee::is_over(const Executed& step, const std::string& lock, const std::string& entry,
                      const Lives& holders) {
  const Value* const lives = before(step, with_prefix(redis::waiting_prefix, lock));
  if (score_of(lives, entry) < static_cast<double>(step.now_us / 1000)) return true;
  const Value* const value = before(step, with_prefix(redis::granted_prefix, lock));
  const auto* const grants = value != nullptr ? std::get_if<Value::Hash>(&value->data) : nullptr;
  const auto grant = grants != nullptr ? grants->find(entry) : Value::Hash::const_iterator();
  if (grants == nullptr || grant == grants->end()) return false;
  const auto holder = holders.find(grant->second);
  return holder == holders.end() || (holder->second.shared && is_writer(entry));
}

/// A claim gets a lock that it did not have: nobody may be before it in the line.
void Referee::look_at_grant(const Executed& step, const Claim& claim, std::size_t lock) {
  const std::string& line = claim.lines[lock];
  const std::string key = with_prefix(redis::queue_prefix, line);
  const Value* const value = before(step, key);
  const Value::SortedSet* const entries = value != nullptr ? value->sorted_set() : nullptr;
  if (entries == nullptr) return;
  const std::int64_t now_ms = step.now_us / 1000;
  const std::string readers = with_prefix(redis::readers_prefix, claim.keys[lock]);
  const Lives holders = lives(before(step, claim.keys[lock]), before(step, readers), now_ms);
  const double own = score_of(after(step, key), claim.waiter);
  for (const auto& [entry, ticket] : *entries) {
    if (entry == claim.waiter || (claim.reads && !is_writer(entry))) continue;
    if (is_over(step, line, entry, holders)) continue;
    if (claim.waiter.empty()) {
      refuse(guard::grant_in_passing, step, line + " is granted, and " + entry + " waits for it");
    } else if (ticket < own) {
      refuse(guard::grant_first, step,
             line + " is granted to " + claim.waiter + ", and " + entry + " is before it");
    }
  }
}

/// Compares a line before and after the command.
void Referee::look_at_line(const Executed& step, const std::string& lock) {
  const std::string key = with_prefix(redis::queue_prefix, lock);
  const Value* const was = before(step, key);
  const Value::SortedSet* const had = was != nullptr ? was->sorted_set() : nullptr;
  if (had == nullptr) return;
  const Words& words = step.journal.words();
  const bool may_leave = step.script == &redis::release_all_script;
  const std::string_view leaver =
      may_leave ? words[3 + static_cast<std::size_t>(data::whole_number(words[2]).value_or(0)) + 1]
                : std::string_view();
  const std::string readers = with_prefix(redis::readers_prefix, lock);
  const Lives holders = lives(after(step, lock), after(step, readers), step.now_us / 1000);
  const Value* const is = after(step, key);
  const Value::SortedSet* const has = is != nullptr ? is->sorted_set() : nullptr;
  for (const auto& [entry, ticket] : *had) {
    const auto stays = has != nullptr ? has->find(entry) : Value::SortedSet::const_iterator();
    if (has != nullptr && stays != has->end()) {
      if (stays->second < ticket) {
        refuse(guard::ticket_grows, step, "the ticket of " + entry + " becomes smaller");
      }
    } else if (entry != leaver && !is_over(step, lock, entry, holders)) {
      refuse(guard::entry_stays, step, entry + " waits for " + lock + " and is taken out");
    }
  }
}

/// A node tells a holder how far its name is done, and perhaps notes that.
void Referee::look_at_answer(const Executed& step) {
  if (step.script != &redis::once_script || !step.said.starts_with("*3\r\n:1\r\n")) return;
  const Words& words = step.journal.words();
  Request request;
  request.record = &words[3 + 3 + 4];
  if (const std::string why = why_not_enrolled(step, request); !why.empty()) {
    refuse(guard::once_enrolled, step, why);
  }
  if (number_in(before(step, words[3])) != data::whole_number(words[3 + 3])) {
    refuse(guard::once_holder, step, "answers, and its counter is not at " + words[3 + 3]);
  }
  const std::string& lock = words[3 + 2];
  const std::string readers = with_prefix(redis::readers_prefix, lock);
  const Lives owners = lives(before(step, lock), before(step, readers), step.now_us / 1000);
  if (!owners.contains(words[3 + 3 + 3])) {
    refuse(guard::once_holder, step, "answers, and " + lock + " is not the caller's");
  }
}

/// Compares what is noted to be done of a name before and after the command.
void Referee::look_at_periods(const Executed& step, const std::string& key) {
  const auto had = number_in(before(step, key));
  const auto has = number_in(after(step, key));
  const std::string change = key + " goes from " + (had ? std::to_string(*had) : "absent") +
                             " to " + (has ? std::to_string(*has) : "absent");
  const bool grows = has && (!had || *has >= *had);
  const bool may_change =
      step.script == &redis::once_script || step.script == &redis::repair_script;
  if (had != has && (!grows || !may_change)) refuse(guard::once_grows, step, change);
}

/// A renewal keeps a key, or sets it anew: after another's hold that leaves a mark, and whoever
/// extends by the token alone does not take such a key for a vote.
void Referee::look_at_marks(const Executed& step, const Claim& claim, const std::string& key,
                            bool anew) {
  if (key.starts_with(redis::own_prefix)) return;  // permits have none
  const std::string mark = with_prefix(redis::replanted_prefix, key);
  const auto names = [&claim](const Value* value) {
    return value != nullptr && value->text() != nullptr && *value->text() == claim.token;
  };
  if (anew && claim.fence != 0) {
    const auto counter = number_in(before(step, with_prefix(redis::counter_prefix, key)));
    const bool after_another = counter && *counter > static_cast<std::int64_t>(claim.fence);
    if (after_another && !names(after(step, mark))) {
      refuse(guard::replant_marked, step, key + " is set anew without a mark");
    }
  } else if (!anew && claim.by_token && names(before(step, mark))) {
    refuse(guard::extend_unmarked, step, key + " has a mark and is extended");
  }
}

/// A plain SET compares no record: the client has to have read one on this connection, and to be
/// found by a name since.
void Referee::look_at_connection(const Executed& step, const Request& request) {
  const std::pair connection(step.node, step.connection);
  if (reads_record(step.journal.words()) || step.script == &redis::enrol_script ||
      step.script == &redis::adopt_script) {
    if (members_of(step) != nullptr) greeted_[connection] = step.has_name;
  } else if (step.script == nullptr && request.kind == Kind::acquire) {
    const auto greeted = greeted_.find(connection);
    if (greeted == greeted_.end()) {
      refuse(guard::set_greeted, step, "sets a key for a client that has read no record");
    } else if (!greeted->second) {
      refuse(guard::greet_named, step, "sets a key for a client that read the record namelessly");
    }
  }
}

}  // namespace quorumlock::sim
