#include "admin/rights.hpp"

#include <algorithm>

#include "redis/keys.hpp"
#include "redis/verbs/vote.hpp"

namespace quorumlock::detail {
namespace {

constexpr std::string_view no_lock = "grants no lock";
constexpr std::string_view no_line = "lets nobody wait in order, or read together with others";
constexpr std::string_view no_enrolment =
    "is not enrolled by this user when it is new or has forgotten";

/// How the list below writes the keys of locks, and the library's own keys for those locks.
constexpr std::string_view keys_of_locks = "~PREFIX*";
constexpr std::string_view keys_for_locks = "~quorumlock:*:PREFIX*";

constexpr Right rights[] = {
    {"client|id", false,
     "cannot be told to end a connection that was lost: a key that nobody holds may stay until its "
     "ttl is over"},
    {"client|kill", false,
     "cannot be told to end a connection that was lost: it comes back node_timeout later, and a "
     "key "
     "that nobody holds may stay until its ttl is over"},
    {"client|setname", false,
     "does not show which list of nodes its clients have: quorumlock members waits in vain"},
    {"info", true, "casts no vote, since it does not say which run of it this is"},
    {"config|get", false, "does not say how it writes to its disk (quorumlock doctor)"},
    {"script|load", false, "gets each script with its first call, which costs a round trip"},
    {"scan", false, "cannot be the source of fencing counters for a node that forgot"},
    {"dbsize", false, "does not say how many fencing counters it has"},
    {"mget", true, "casts no vote, since it does not show its enrolment"},
    {"set", true, no_lock},
    {"time", true, no_lock},
    {"exists", true, no_lock},
    {"get", true, "prolongs and releases no lock"},
    {"del", true, "keeps released locks until their ttl is over"},
    {"pexpire", true, "prolongs no lock, and lets nobody wait in order or read"},
    {"pttl", true, "prolongs no lock, and does not say for how long one is held"},
    {"publish", false, "wakes no waiter: each gets the lock when it looks, up to 1 s later"},
    {"zadd", true, no_line},
    {"zscore", true, no_line},
    {"zrange", true, "releases no lock if waiters are to be woken, and lets nobody wait in order"},
    {"zrem", true, "keeps readers and waiters that have left until their time is over"},
    {"zremrangebyscore", true, no_line},
    {"type", false, "does not show who holds a lock (quorumlock inspect)"},
    {"hset", false, "takes no announcement of a leader"},
    {"hget", false, "takes no announcement of a leader"},
    {"hmget", false, "does not show who leads"},
    {"getrange", false, "does not show who holds a lock (quorumlock inspect)"},
    {"ping", false,
     "ends the connection for wake-ups at each check of it: some waiters get the lock when they "
     "look, up to 1 s later"},
    {"unsubscribe", false,
     "ends the connection for wake-ups when an observer of a leader stops: some waiters get the "
     "lock "
     "when they look, up to 1 s later"},
    {"&quorumlock:*", false, "wakes no waiter: each gets the lock when it looks, up to 1 s later"},
    {keys_of_locks, true, no_lock},
    {keys_for_locks, true, "grants no lock with fencing, and lets nobody wait in order"},
    {"~quorumlock:enrolment", true, "casts no vote, since it does not show its enrolment"},
    {"~quorumlock:members", true,
     "casts no vote, since it does not show the list of nodes that it votes for"},
    {"~quorumlock:candidate", false, no_enrolment},
    {"~quorumlock:repairer", false, no_enrolment},
};

}  // namespace

std::span<const Right> all_rights() {
  return rights;
}

const Right* right_named(std::string_view name) {
  const auto find = [](std::string_view one) -> const Right* {
    const auto* const found = std::ranges::find(rights, one, &Right::name);
    return found == std::end(rights) ? nullptr : found;
  };
  const Right* const found = find(name);
  if (found != nullptr || !name.starts_with('~')) return found;
  return find(name.starts_with("~quorumlock:*:") ? keys_for_locks : keys_of_locks);
}

std::vector<Probe> probes(std::string_view key_prefix) {
  // No server reaches this client number, and a name with a space in it is refused.
  std::vector<Probe> all = {
      {"client|id", {"CLIENT", "ID"}},
      {"client|kill", {"CLIENT", "KILL", "ID", "9223372036854775807"}},
      {"client|setname", {"CLIENT", "SETNAME", "no name"}},
      {"script|load", {"SCRIPT", "LOAD", "return 1"}},
      {"set", {"SET", std::string(redis::repairer_key), "", "NX", "XX"}},
      {"get", {"GET", std::string(redis::enrolment_key)}},
      {"scan", {"SCAN", "0", "COUNT", "1"}},
      {"ping", {"PING"}},
      {"unsubscribe", {"UNSUBSCRIBE", "quorumlock:wake:-"}},
  };
  const auto add = [&](const std::string& keys, const std::string& one) {
    all.push_back({'~' + keys, {"EXISTS", one}});
  };
  for (const std::string_view key :
       {redis::enrolment_key, redis::members_key, redis::candidate_key, redis::repairer_key}) {
    add(std::string(key), std::string(key));
  }
  if (key_prefix.empty()) return all;
  const std::string prefix(key_prefix);
  add(prefix + '*', prefix);
  add("quorumlock:*:" + prefix + '*', std::string(redis::counter_prefix) + prefix);
  return all;
}

// Redis 7.0 says "user executing the script", later servers "ACL failure in script".
const std::string_view probing_script = R"(local key = KEYS[1]
local calls = {{'mget', key}, {'set', key, '', 'XX'}, {'get', key}, {'time'}, {'exists', key},
  {'del', key}, {'pexpire', key, 1}, {'pttl', key}, {'publish', ARGV[1], ''},
  {'zadd', key, 'XX', 1, '-'}, {'zrange', key, 0, 0}, {'zrem', key, '-'},
  {'zremrangebyscore', key, 0, 0}, {'zscore', key, '-'}, {'type', key},
  {'hset', key, '-', '', '-'}, {'hget', key, '-'}, {'hmget', key, '-'}, {'getrange', key, 0, 0}}
local missing = {}
for _, call in ipairs(calls) do
  local said = redis.pcall(unpack(call))
  local why = type(said) == 'table' and said.err or ''
  local forbidden = string.find(why, 'ACL failure') or string.find(why, 'user executing the script')
  if forbidden and not (string.find(why, ' access ') and string.find(why, 'key')) then
    missing[#missing + 1] = string.find(why, 'channel') and '&quorumlock:*' or call[1]
  end
end
return missing)";

bool is_forbidden(std::string_view right, const redis::Reply& reply) {
  const std::string_view text = reply.text;
  // "... to access one of the keys used as arguments", "... to access the 'x' key", "... a key".
  const bool keys = text.find(" access ") != text.npos && text.find("key") != text.npos;
  return reply.type == redis::Reply::Type::error && keys == right.starts_with('~') &&
         redis::vote_of_error(text) == Vote::unauthorized;
}

}  // namespace quorumlock::detail
