#include "sim/words_maker.hpp"

#include <iterator>
#include <utility>

#include "redis/keys.hpp"
#include "support/scripts.hpp"

namespace quorumlock::sim {
namespace {

using namespace std::string_literals;

const std::vector<std::string>& locks() {
  static const std::vector<std::string> names = {"orders:42", "{odd} \0 name"s};
  return names;
}
std::string counter(const std::string& lock) {
  return std::string(redis::counter_prefix) + lock;
}
std::string mark(const std::string& lock) {
  return std::string(redis::replanted_prefix) + lock;
}
std::string line_of(const std::string& lock) {
  return std::string(redis::queue_prefix) + lock;
}
std::string lives_of(const std::string& lock) {
  return std::string(redis::waiting_prefix) + lock;
}
const std::string semaphore = std::string(redis::semaphore_prefix) + "{odd} \0 jobs"s;
/// The key of one of the semaphore's permits.
std::string permit(int slot) {
  return std::string(redis::permit_prefix) + std::to_string(slot) + ":{odd} \0 jobs"s;
}
const std::string enrolment_key(redis::enrolment_key);
const std::string members_key(redis::members_key);
const std::string candidate_key(redis::candidate_key);

}  // namespace

std::vector<std::string> WordsMaker::keys() {
  std::vector<std::string> all = plain_keys();
  for (const std::string& lock : locks()) {
    all.push_back(line_of(lock));
    all.push_back(lives_of(lock));
  }
  all.push_back(line_of(semaphore));
  all.push_back(lives_of(semaphore));
  all.push_back(semaphore);
  all.push_back(counter(semaphore));
  for (int slot = 1; slot <= most_permits; ++slot) all.push_back(permit(slot));
  return all;
}

std::vector<std::string> WordsMaker::plain_keys() {
  std::vector<std::string> all = {enrolment_key, candidate_key};
  for (const std::string& lock : locks()) {
    all.push_back(lock);
    all.push_back(counter(lock));
    all.push_back(mark(lock));
  }
  return all;
}

std::string WordsMaker::one_of(std::initializer_list<const char*> texts) {
  return texts.begin()[random_.index(texts.size())];
}

std::string WordsMaker::any_key() {
  const std::vector<std::string> all = plain_keys();
  return all[random_.index(all.size())];
}

std::string WordsMaker::ttl() {
  if (random_.one_in(6)) return std::to_string(random_.between(1, 30));
  if (random_.one_in(25)) return one_of({"0", "-5", "9223372036854775807"});
  return one_of({"20000", "30000", "60000"});
}

std::string WordsMaker::life() {
  if (random_.one_in(12)) return std::to_string(random_.between(1, 30));
  if (random_.one_in(40)) return "0";
  return one_of({"1000000", "2592000000"});
}

std::string WordsMaker::waiter() {
  return one_of({"w0123456789abcdef.1", "w0123456789abcdef.22", "wfedcba9876543210.1",
                 "wfedcba9876543210.333", "r0123456789abcdef.3", "r0123456789abcdef.44",
                 "rfedcba9876543210.5"});
}

std::string WordsMaker::entry_life() {
  return one_of({"5", "50", "3000", "3000", "3000"});
}

std::string WordsMaker::ticket(std::int64_t now_us) {
  if (random_.one_in(3)) return one_of({"1", "2", "3"});
  return std::to_string(now_us + random_.between(-3, 3));
}

std::string WordsMaker::usual_enrolment() {
  return random_.one_in(8) ? enrolment() : "run-1:30000,86400";
}

std::string WordsMaker::fence(std::int64_t now_us) {
  if (random_.one_in(4)) return std::to_string(now_us + random_.between(-3, 3) * 40000000LL);
  if (random_.one_in(20)) return one_of({"9007199254740990", "9007199254740991"});
  return one_of({"0", "0", "0", "7", "8", "1000"});
}

std::string WordsMaker::too_late(std::int64_t now_us) {
  if (random_.one_in(6)) return "0";
  return std::to_string(now_us + (random_.one_in(6) ? random_.between(-2000, 2000) : 5'000'000));
}

Words WordsMaker::next(std::int64_t now_us) {
  if (random_.one_in(4)) return about_permits(now_us);
  switch (random_.index(10)) {
    case 8: return about_lines(now_us);
    case 0: return plain();
    case 1: return about_keys(now_us);
    case 2: return {"SET", enrolment_key, "run-1:30000,86400"};
    default: return script(now_us);
  }
}

Words WordsMaker::plain() {
  const std::vector<std::string> all = keys();
  switch (random_.index(12)) {
    case 0: return {"PING"};
    case 1: return {one_of({"SELECT", "select"}), one_of({"0", "0", "99", "x"})};
    case 2:
      if (random_.one_in(2)) return {"SCRIPT", "FLUSH"};
      break;
    case 3:
      return {"SCRIPT", "EXISTS", std::string(redis::acquire_script.sha1),
              std::string(redis::renew_script.sha1), std::string(40, 'f')};
    case 4: return {one_of({"GET", "EXISTS", "DEL", "PTTL", "SCAN", "CLIENT", "FOO"})};
    case 5: return {"NOSUCH", "command", std::string(200, 'x'), "more"};
    case 6: return {"CLIENT", one_of({"KILL", "NOSUCH"}), "ID", one_of({"0", "x", "987654321"})};
    case 7: return {"EVALSHA", std::string(40, 'f'), one_of({"0", "5", "-1", "x"}), "a"};
    case 8: return {"AUTH", one_of({"password", "default", "somebody"}), "password"};
    case 9:
      if (random_.one_in(2)) return {"FLUSHALL"};
      break;
    default: break;
  }
  return {"SCRIPT", "LOAD",
          std::string(redis::all_scripts[random_.index(std::size(redis::all_scripts))]->source)};
}

Words WordsMaker::about_permits(std::int64_t now_us) {
  const std::string capacity = one_of({"1", "2", "3", "3", "3"});
  const std::string slot = std::to_string(random_.between(1, std::stoi(capacity)));
  const std::string its_key = permit(std::stoi(slot));
  // Nobody waits to read a semaphore.
  const auto waiter = [this] {
    return one_of({"w0123456789abcdef.1", "w0123456789abcdef.22", "wfedcba9876543210.333"});
  };
  const std::string nobody = random_.one_in(2) ? "" : waiter();
  switch (random_.index(12)) {
    case 0: return {"DEL", its_key};
    case 1:
      if (random_.one_in(4)) return {"HSET", its_key, "field", token()};
      return {"SET", its_key, token(), "PX", ttl()};
    case 2: return {"DEL", semaphore};
    case 3:
    case 4: return call("queue", {semaphore}, {entry_life(), waiter(), ticket(now_us)});
    case 5:
    case 6:
      return call("renew_permit", {its_key, counter(semaphore), enrolment_key, semaphore},
                  {token(), ttl(), fence(now_us), one_of({"0", "1", "1"}), life(), capacity,
                   too_late(now_us), usual_enrolment(), fence(now_us)});
    case 7:
    case 8: return call("release_permit", {semaphore}, {token(), slot, nobody, waiter()});
    default:
      return call(
          "acquire_permit", {semaphore, counter(semaphore), enrolment_key},
          {token(), ttl(), fence(now_us), fence(now_us), life(), one_of({"0", "1", "1"}), nobody,
           ticket(now_us), entry_life(), slot, capacity, usual_enrolment(), fence(now_us)});
  }
}

Words WordsMaker::about_lines(std::int64_t now_us) {
  const std::string& lock = locks()[random_.index(locks().size())];
  const std::string key = random_.one_in(3) ? lives_of(lock) : line_of(lock);
  switch (random_.index(7)) {
    case 0: return {"DEL", key};
    case 1: return {"ZRANGE", key, one_of({"0", "-2", "1"}), one_of({"0", "-1", "1"})};
    case 2: return {"ZRANGE", key, "0", "-1", "WITHSCORES"};
    case 3: return {"ZSCORE", key, waiter()};
    case 4: return {"ZREM", key, waiter()};
    case 5: return {"PUBLISH", "channel", "message"};
    default: return {"ZADD", line_of(lock), ticket(now_us), waiter()};
  }
}

Words WordsMaker::about_keys(std::int64_t now_us) {
  const std::string key = any_key();
  const std::string& lock = locks()[random_.index(locks().size())];
  switch (random_.index(18)) {
    case 17: return {"INCR", random_.one_in(3) ? key : counter(lock)};
    case 14: return {"TYPE", key};
    case 15: return {"ZRANGE", lock, "0", "-1", "WITHSCORES"};
    case 16: return {"ZREMRANGEBYSCORE", lock, "-inf", "(" + std::to_string(now_us / 1000)};
    case 0: return {"GET", key};
    case 1: return {"MGET", key, any_key(), "absent"};
    case 2: return {"EXISTS", key, any_key()};
    case 3: return {"DEL", key};
    case 4: return {"PTTL", key};
    case 5:
      if (random_.one_in(2)) return {"PEXPIRE", key, ttl(), one_of({"GT", "gt", "nonsense"})};
      return {"PEXPIRE", key, random_.one_in(10) ? "x" : ttl()};
    case 6: return {"HSET", key, "field", token()};
    case 7:
      return {"SET", counter(lock),
              one_of({"9007199254740990", "9007199254740989", "nonsense", "5.5", " 6 ", "0x10"})};
    case 8: return {"SET", lock, token()};
    case 9: return {"SET", lock, token(), "NX", "GET", "PX", ttl()};
    case 10: return {"SET", lock, token(), "PX", one_of({"x", "0", "-1", "1e3", "010"})};
    case 11: return {"SET", lock, token(), one_of({"NX", "nx", "PX", "nonsense"})};
    default: return {"SET", lock, token(), "NX", "PX", ttl()};
  }
}

Words WordsMaker::call(const std::string& name, const Words& script_keys, const Words& args) {
  const redis::Script& script = *test::script_by(&redis::Script::name, name);
  const bool whole = random_.one_in(3);
  Words words = {whole ? "EVAL" : "EVALSHA", std::string(whole ? script.source : script.sha1),
                 std::to_string(script_keys.size())};
  words.insert(words.end(), script_keys.begin(), script_keys.end());
  words.insert(words.end(), args.begin(), args.end());
  return words;
}

/// Renews one lock, or both.
Words WordsMaker::renewals(std::int64_t now_us) {
  Words keys = {enrolment_key};
  Words args = {ttl(), one_of({"0", "1"}), life()};
  const std::size_t first = random_.index(2);
  const std::size_t last = random_.one_in(2) ? first : 1;
  for (std::size_t i = first; i <= last; ++i) {
    keys.push_back(locks()[i]);
    args.push_back(token());
    args.push_back(fence(now_us));
    args.push_back(one_of({"9000000", "9000000", "9000000", "0", "-4000000"}));
  }
  args.insert(args.end(), {too_late(now_us), usual_enrolment(), fence(now_us)});
  return call("renew", keys, args);
}

/// Handles locks one after another, some twice, and some named like a key of the library, but never
/// like another lock's counter: no resource has such a name.
Words WordsMaker::batch(std::int64_t now_us) {
  const bool releases = random_.one_in(2);
  Words args;
  if (!releases) args = {ttl(), fence(now_us), random_.one_in(3) ? "0" : life()};
  for (std::int64_t left = random_.between(1, 5); left > 0; --left) {
    args.push_back(random_.one_in(15) ? one_of({"quorumlock:enrolment", "quorumlock:candidate"})
                                      : locks()[random_.index(locks().size())]);
    args.push_back(token());
    if (!releases) args.push_back(fence(now_us));
  }
  if (releases) return call("release", {}, args);
  args.insert(args.end(), {usual_enrolment(), fence(now_us)});
  return call("acquire", {enrolment_key}, args);
}

/// Handles both locks.
Words WordsMaker::script_for_all(std::int64_t now_us) {
  const Words keys = {locks()[0], locks()[1], counter(locks()[0]), counter(locks()[1]),
                      enrolment_key};
  switch (random_.index(6)) {
    case 0:
      return call("raise_all", keys,
                  {token(), random_.one_in(20) ? "9007199254740992" : fence(now_us), life(),
                   usual_enrolment(), "0"});
    case 1:
    case 2:
      return call("renew_all", keys,
                  {token(), ttl(), fence(now_us), one_of({"0", "1"}), life(), one_of({"r", "w"}),
                   too_late(now_us), usual_enrolment(), fence(now_us)});
    case 3:
      if (random_.one_in(2)) return call("release_all", locks(), {token()});
      return call("release_all", locks(), {token(), random_.one_in(3) ? "" : waiter(), waiter()});
    default:
      return call("acquire_all", keys,
                  {token(), ttl(), fence(now_us), fence(now_us), random_.one_in(3) ? "0" : life(),
                   random_.one_in(4) ? "" : waiter(), ticket(now_us), entry_life(),
                   one_of({"r", "w"}), usual_enrolment(), fence(now_us)});
  }
}

Words WordsMaker::script(std::int64_t now_us) {
  const std::string& lock = locks()[random_.index(locks().size())];
  const Words vote_keys = {lock, counter(lock), enrolment_key};
  const std::string run = one_of({"run-1", "run-2"});
  switch (random_.index(32)) {
    case 28:
    case 29:
    case 30: return batch(now_us);
    case 18:
    case 19:
    case 20:
    case 21: return script_for_all(now_us);
    case 22:
    case 23:
    case 24:
    case 25:
      return call("acquire_shared", vote_keys,
                  {token(), ttl(), fence(now_us), fence(now_us), random_.one_in(3) ? "0" : life(),
                   random_.one_in(4) ? "" : waiter(), ticket(now_us), entry_life(),
                   usual_enrolment(), fence(now_us)});
    case 26:
    case 27:
      return call("renew_shared", vote_keys,
                  {token(), ttl(), fence(now_us), one_of({"0", "1", "1"}), life(), too_late(now_us),
                   usual_enrolment(), fence(now_us)});
    case 13:
    case 14: {
      const Words one = {lock};
      const Words keys = random_.one_in(3) ? locks() : one;
      Words args = {entry_life()};
      for (std::size_t i = 0; i < keys.size(); ++i) {
        args.push_back(waiter());
        args.push_back(ticket(now_us));
      }
      return call("queue", keys, args);
    }
    case 15:
    case 16:
      return call("acquire_ordered", vote_keys,
                  {token(), ttl(), fence(now_us), fence(now_us), random_.one_in(3) ? "0" : life(),
                   waiter(), ticket(now_us), entry_life(), usual_enrolment(), fence(now_us)});
    case 17: return call("release", {lock}, {token(), random_.one_in(3) ? "" : waiter(), waiter()});
    case 12:
      if (random_.one_in(2)) {
        return call("replace", {candidate_key, candidate_key},
                    {run + ":30000,86400:abc", run + ":30000,86400:def", life()});
      }
      return call("replace", {enrolment_key, candidate_key},
                  {enrolment(), run + ":30000,86400:abc", life()});
    case 0:
      return call("adopt", {enrolment_key, candidate_key, members_key},
                  {random_.one_in(4) ? "" : enrolment(), enrolment(), "n1 s - n1,n2"});
    case 1:
      return call("candidate", {enrolment_key, candidate_key},
                  {run, run + ":30000,86400:abc" + (random_.one_in(3) ? ":known" : ""), life()});
    case 2:
      return call("enrol", {enrolment_key, candidate_key, "quorumlock:repairer", members_key},
                  {enrolment(), one_of({"run-1", "run-2"}) + ":30000,86400:abc", "n1 s - n1,n2"});
    case 3:
      return call(
          "repair", {"quorumlock:repairer", counter(locks()[0]), counter(locks()[1])},
          {one_of({"me", "me", "me", "another"}), "2000", life(), fence(now_us), fence(now_us)});
    case 4: return call("release_token", {lock}, {token(), ttl()});
    case 5: return call("release", {random_.one_in(20) ? any_key() : lock}, {token()});
    case 6:
    case 7:
      return call("raise", vote_keys,
                  {token(), random_.one_in(20) ? "9007199254740992" : fence(now_us), life(),
                   usual_enrolment(), "0"});
    case 8:
    case 9: return renewals(now_us);
    default:
      return call("acquire", vote_keys,
                  {token(), ttl(), fence(now_us), fence(now_us), random_.one_in(4) ? "0" : life(),
                   usual_enrolment(), fence(now_us)});
  }
}

}  // namespace quorumlock::sim
