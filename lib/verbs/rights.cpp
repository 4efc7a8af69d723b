#include "verbs/rights.hpp"

#include <utility>

#include "verbs/keys.hpp"
#include "verbs/vote.hpp"

namespace quorumlock::redis {
namespace {

constexpr std::string_view no_lock = "grants no lock";
constexpr std::string_view no_fenced_lock = "grants no lock with fencing";
constexpr std::string_view no_line = "lets nobody wait in order, or read together with others";
constexpr std::string_view no_permit = "grants no permit of a semaphore";
constexpr std::string_view no_enrolment = "does not show whether anybody enrols it, if it waits";

/// The list below writes this for the prefix of the locks' names.
constexpr std::string_view any_prefix = "PREFIX*";

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
    {"type", true, no_lock},
    {"hset", true, no_line},
    {"hget", true, no_line},
    {"hmget", false, "does not show who leads"},
    {"getrange", true, no_lock},
    {"strlen", true, "does not say that another program's value is under a lock's name"},
    {"zrangebyscore", true, no_line},
    {"zremrangebyrank", true, no_line},
    {"hdel", true, no_line},
    {"ping", false,
     "ends the connection for wake-ups at each check of it: some waiters get the lock when they "
     "look, up to 1 s later"},
    {"unsubscribe", false,
     "ends the connection for wake-ups when an observer of a leader stops: some waiters get the "
     "lock "
     "when they look, up to 1 s later"},
    {"&quorumlock:*", false, "wakes no waiter: each gets the lock when it looks, up to 1 s later"},
    {"~PREFIX*", true, no_lock},
    {"~quorumlock:fence:PREFIX*", true, no_fenced_lock},
    {"~quorumlock:queue:PREFIX*", true, no_lock},
    {"~quorumlock:waiting:PREFIX*", true, no_line},
    {"~quorumlock:granted:PREFIX*", true, no_line},
    {"~quorumlock:readers:PREFIX*", true, no_line},
    {"~quorumlock:replanted:PREFIX*", false, "does not get back a lock that it has lost"},
    {"~quorumlock:released:PREFIX*", true, "releases no lock by its token"},
    {"~quorumlock:leader:PREFIX*", false, "does not show who leads"},
    {"~quorumlock:once:PREFIX*", false, "runs nothing once per period"},
    {"~quorumlock:semaphore:PREFIX*", true, no_permit},
    {"~quorumlock:permit:PREFIX*", true, no_permit},
    {"~quorumlock:fence:quorumlock:semaphore:PREFIX*", true, no_permit},
    {"~quorumlock:queue:quorumlock:semaphore:PREFIX*", true, no_permit},
    {"~quorumlock:waiting:quorumlock:semaphore:PREFIX*", true, no_permit},
    {"~quorumlock:granted:quorumlock:semaphore:PREFIX*", true, no_permit},
    {"%R~quorumlock:enrolment", true, "casts no vote, since it does not show its enrolment"},
    {"%R~quorumlock:members", true,
     "casts no vote, since it does not show the list of nodes that it votes for"},
    {"%R~quorumlock:candidate", false, no_enrolment},
    {"%R~quorumlock:repairer", false, no_enrolment},
};

}  // namespace

std::span<const Right> all_rights() {
  return rights;
}

bool is_of_keys(std::string_view right) {
  return right.starts_with('~') || right.starts_with('%');
}

const Right* right_named(std::string_view name) {
  // Of the families that the name begins with, the longest is meant.
  const Right* found = nullptr;
  std::size_t longest = 0;
  for (const Right& right : rights) {
    if (right.name == name) return &right;
    const std::size_t at = right.name.find(any_prefix);
    if (at == right.name.npos || at <= longest) continue;
    if (!name.starts_with(right.name.substr(0, at))) continue;
    found = &right;
    longest = at;
  }
  return found;
}

std::vector<Probe> probes(std::string_view key_prefix) {
  // No server reaches this client number, and a name with a space in it is refused.
  std::vector<Probe> all = {
      {"client|id", {"CLIENT", "ID"}},
      {"client|kill", {"CLIENT", "KILL", "ID", "9223372036854775807"}},
      {"client|setname", {"CLIENT", "SETNAME", "no name"}},
      {"script|load", {"SCRIPT", "LOAD", "return 1"}},
      {"set", {"SET", std::string(key_prefix) + "-", "", "NX", "XX"}},
      {"get", {"GET", std::string(enrolment_key)}},
      {"ping", {"PING"}},
      {"unsubscribe", {"UNSUBSCRIBE", "quorumlock:wake:-"}},
  };
  for (const Right& right : rights) {
    if (!is_of_keys(right.name)) continue;
    std::string key(right.name.substr(right.name.find('~') + 1));
    const std::size_t at = key.find(any_prefix);
    if (at == key.npos) {
      all.push_back({std::string(right.name), {"EXISTS", key}});
    } else if (!key_prefix.empty()) {
      key.replace(at, any_prefix.size(), key_prefix);
      all.push_back({'~' + key + '*', {"EXISTS", key}});
    }
  }
  return all;
}

std::string nobodys_key(std::string_view key_prefix) {
  return std::string(released_prefix) + std::string(key_prefix) + "-:-";
}

std::vector<std::string> needs_of_every_lock(std::string_view key_prefix, bool fencing) {
  std::vector<std::string> all = {nobodys_key(key_prefix)};
  for (const Right& right : rights) {
    // Without fencing a lock is had by SET alone, outside a script.
    const bool always = right.name == "set" || right.name == "~PREFIX*";
    const bool needed = right.lost == no_lock || right.lost == no_fenced_lock;
    if (!needed || (!fencing && !always)) continue;
    std::string name(right.name);
    if (is_of_keys(name)) {
      if (key_prefix.empty()) continue;
      name.replace(name.find(any_prefix), any_prefix.size() - 1, key_prefix);
    }
    all.push_back(std::move(name));
  }
  return all;
}

std::string without(std::string_view name) {
  const Right* const right = right_named(name);
  if (right == nullptr) return "";
  const std::string its(name);
  const std::string use = name.starts_with('&') ? "use the channels " + its.substr(1)
                          : is_of_keys(name)    ? "use the keys " + its.substr(its.find('~') + 1)
                                                : "call " + its;
  return "does not let this user " + use + ", and so " + std::string(right->lost);
}

bool is_forbidden(std::string_view right, const Reply& reply) {
  if (reply.type != Reply::Type::error) return false;
  if (is_unknown_command(reply.text)) return !is_of_keys(right);
  return refuses_keys(reply.text) == is_of_keys(right) &&
         vote_of_error(reply.text) == Vote::unauthorized;
}

}  // namespace quorumlock::redis
