// The referee refuses each step that the models of proof/ do not allow, and only those.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/world/referee.hpp"
#include "verbs/keys.hpp"

// A name of its own: a unity build has other tests in the same file.
namespace quorumlock::sim::referee_test {
namespace {

using namespace std::chrono_literals;
using redis::Membership;
using Writes = std::map<std::string, std::optional<Value>>;

const std::string enrolment(redis::enrolment_key), candidate(redis::candidate_key),
    members(redis::members_key), counter = std::string(redis::counter_prefix) + "lock",
                                 line = std::string(redis::queue_prefix) + "lock",
                                 waiting = std::string(redis::waiting_prefix) + "lock",
                                 granted = std::string(redis::granted_prefix) + "lock",
                                 once = std::string(redis::once_prefix) + "lock",
                                 repairer(redis::repairer_key),
                                 mark = std::string(redis::replanted_prefix) + "lock";

// Less than half of fencing_memory, so that an absent counter may begin with any number.
constexpr std::int64_t begin_us = 40'000'000'000;
constexpr std::int64_t begin_ms = begin_us / 1000;

/// Three nodes with a settled list, and a referee. Nobody executes anything but what a test says.
class Court {
 public:
  Court() {
    for (int node = 0; node < 3; ++node) {
      const std::string name = "n" + std::to_string(node + 1);
      enrol(node, {1, 0, ListPhase::settled, name, {}, {"n1", "n2", "n3"}, {}, {1000, 86'400}});
    }
  }

  void enrol(int node, const Membership& its, std::string nonce = "0") {
    keys[node].put(enrolment, text(record(its, std::move(nonce))));
    keys[node].put(members, text(its.text()));
  }
  static std::string record(const Membership& its, std::string nonce = "0",
                            std::uint64_t floor = 0) {
    redis::EnrolmentRecord record;
    record.run_id = "run";
    record.nonce = std::move(nonce);
    record.members = its.mark();
    record.floor = floor;
    return record.to_string();
  }
  static Value text(std::string words, std::optional<std::int64_t> expires = {}) {
    return {std::move(words), expires};
  }
  [[nodiscard]] std::string record_of(int node) const {
    const Value* const value = keys[node].find(enrolment, now_ms());
    return value != nullptr ? *value->text() : "";
  }
  [[nodiscard]] std::optional<Membership> members_of(int node) const {
    const auto its = redis::EnrolmentRecord::parse(record_of(node));
    if (!its) return std::nullopt;
    return Membership::parse(*keys[node].find(members, now_ms())->text(), its->members);
  }
  [[nodiscard]] std::int64_t now_ms() const { return (begin_us + now / 1us) / 1000; }

  /// A node runs a script, which writes this.
  void run(int node, const redis::Script& script, const Words& its_keys, const Words& args,
           const Writes& writes, int client = 0) {
    Words words{"EVALSHA", std::string(script.sha1), std::to_string(its_keys.size())};
    words.insert(words.end(), its_keys.begin(), its_keys.end());
    words.insert(words.end(), args.begin(), args.end());
    command(node, words, &script, writes, client);
  }
  void command(int node, const Words& words, const redis::Script* script, const Writes& writes,
               int client = 0) {
    Journal journal;
    journal.begin(0, words);
    for (const auto& [key, value] : writes) {
      const Words set{"SET", key};
      journal.note(keys[node], set, now_ms());
      if (value) {
        keys[node].put(key, *value);
      } else {
        keys[node].drop(key);
      }
    }
    Referee::Executed step{node, "run", begin_us + now / 1us, script, journal, keys[node], now};
    step.client = client;
    step.said = "*3\r\n:1\r\n:0\r\n:0\r\n";
    step.has_name = have_names;
    step.life = 1;
    step.local = core::Time(now);
    referee.executed(step);
  }

  /// acquire.lua, for one lock.
  void acquire(int node, const std::string& token, const Writes& writes,
               std::optional<std::string> its_record = {}) {
    run(node, redis::acquire_script, {},
        {"1000", "1", "1", "0", "lock", token, "0", its_record.value_or(record_of(node)), "0",
         "86400000", "0"},
        writes);
  }
  void grant(int node, const std::string& token, const std::string& number) {
    acquire(node, token, {{"lock", text(token, now_ms() + 1000)}, {counter, text(number)}});
  }
  /// acquire.lua, for two requests for the lock.
  void acquire_twice(int node, const std::string& token, const std::string& other,
                     const Writes& writes) {
    run(node, redis::acquire_script, {},
        {"1000", "5", "1", "0", "lock", token, "0", "lock", other, "0", record_of(node), "0",
         "86400000", "0"},
        writes);
  }
  void renew(int node, const std::string& token, const Writes& writes,
             std::optional<std::string> its_record = {}) {
    run(node, redis::renew_script, {"lock"},
        {"1000", "1", token, "5", "1000", "1", its_record.value_or(record_of(node)), "0",
         "86400000", "0"},
        writes);
  }
  void raise(int node, const std::string& token, const std::string& number, const Writes& writes,
             std::optional<std::string> its_record = {}) {
    run(node, redis::raise_script, {"lock", counter},
        {token, number, its_record.value_or(record_of(node)), "0", "86400000"}, writes);
  }
  /// acquire_all.lua, by a waiter of this name.
  void acquire_in_line(int node, const std::string& token, const std::string& waiter,
                       const std::string& number = "5") {
    run(node, redis::acquire_all_script, {"lock", counter},
        {token, "1000", "0", "5", "1", waiter, "2", "1000", "w", "0", "0", record_of(node), "0",
         "86400000", "0"},
        {{"lock", text(token, now_ms() + 1000)}, {counter, text(number)}});
  }
  /// Two waiters are in the line, in this order.
  void two_wait(int node) {
    keys[node].put(line, {Value::SortedSet{{"w1", 1}, {"w2", 2}}, std::nullopt});
    const auto ends = static_cast<double>(now_ms() + 100);
    keys[node].put(waiting, {Value::SortedSet{{"w1", ends}, {"w2", ends}}, std::nullopt});
  }
  void enter(int node, const std::map<std::string, double>& after) {
    run(node, redis::queue_script, {"lock"}, {"100", "w1", "1"},
        {{line, Value{Value::SortedSet(after), std::nullopt}}});
  }
  void note_period(int node, const std::string& token, const std::string& period,
                   std::optional<std::string> its_record = {}) {
    run(node, redis::once_script, {counter, once, "lock"},
        {token, period, "1000", "a", its_record.value_or(record_of(node))}, {{once, text(period)}});
  }
  void extend_by_token(int node, const std::string& token) {
    run(node, redis::renew_all_script, {"lock", counter},
        {token, "1000", "0", "0", "t", "0", "0", "0", record_of(node), "0", "86400000"},
        {{"lock", text(token, now_ms() + 1000)}});
  }
  void begin_repair(int node, int client = 0) {
    command(node, {"SET", repairer, "mark", "NX", "PX", "10000"}, nullptr,
            {{repairer, text("mark")}}, client);
  }
  void set(int node, const std::string& token) {
    command(node, {"SET", "lock", token, "NX", "PX", "1000"}, nullptr,
            {{"lock", text(token, now_ms() + 1000)}});
  }
  void release(int node, const std::string& token, const Writes& writes) {
    run(node, redis::release_script, {}, {"lock", token}, writes);
  }

  /// A candidate for the record of this node, which begins now if nothing else is said.
  [[nodiscard]] std::string candidate_text(const std::string& nonce, std::int64_t begun,
                                           redis::NodeTimes times = {}) const {
    redis::EnrolmentCandidate its;
    its.record = *redis::EnrolmentRecord::parse(record(
        {1, 0, ListPhase::settled, "n1", {}, {"n1", "n2", "n3"}, {}, {1000, 86'400}}, nonce));
    its.begun = begun;
    its.times = std::move(times);
    return its.to_string();
  }
  void forget(int node) { keys[node].clear(); }
  void look(int node, const Writes& writes) {
    run(node, redis::candidate_script, {enrolment, candidate}, {"1", "run", "", "1"}, writes);
  }
  void put_candidate(int node, const std::string& nonce) {
    look(node, {{candidate, text(candidate_text(nonce, begin_us + now / 1us))}});
  }
  void name_witnesses(int node, const std::string& from, const std::string& to) {
    run(node, redis::witness_script, {candidate}, {from, to, "1"}, {{candidate, text(to)}});
  }
  /// enrol.lua, after this candidate.
  void let_in(int node, const std::string& by, const std::string& nonce, std::string run_id = "run",
              int client = 0) {
    const Membership its{
        1, 0, ListPhase::settled, "n1", {}, {"n1", "n2", "n3"}, {}, {1000, 86'400}};
    std::string with = record(its, nonce);
    with.replace(0, 3, run_id);
    begin_repair(node, client);
    for (const auto& [key, number] : repaired) keys[node].put(key, text(number));
    run(node, redis::enrol_script, {enrolment, candidate, "", members}, {"0", with, by, its.text()},
        {{enrolment, text(with)}, {members, text(its.text())}, {candidate, std::nullopt}}, client);
  }
  void adopt(int node, const Membership& its, std::uint64_t floor = 0) {
    const std::string with = record(its, "0", floor);
    run(node, redis::adopt_script, {enrolment, candidate, members},
        {record_of(node), with, its.text()}, {{enrolment, text(with)}, {members, text(its.text())}},
        -1);
  }

  /// What a client believes after a round that has just begun, with votes of n1 and n2.
  [[nodiscard]] Referee::Believed lease(const std::string& token, std::uint64_t fence = 5) const {
    Referee::Believed one;
    one.token = token;
    one.fence = fence;
    one.began = now;
    one.start = one.now = core::Time(now);
    one.ttl = 1000ms;
    one.until = one.start + 988ms;
    one.lists = {{"n1", "n2", "n3"}};
    return one;
  }
  void win(const std::string& token) {
    grant(0, token, "5");
    grant(1, token, "5");
    referee.believes(lease(token));
  }
  void win_again(const std::string& token, core::Duration longer = {}) {
    const Referee::Believed before = lease(token);
    now += 100ms;
    for (int node = 0; node < 2; ++node)
      renew(node, token, {{"lock", text(token, now_ms() + 1000)}});
    Referee::Believed after = lease(token);
    after.renewed = true;
    after.until_before = before.until;
    after.until += longer;
    referee.believes(after);
  }

  std::map<std::string, std::string> repaired;  ///< what a node that is let in gets
  std::vector<std::string> said;
  Database keys[3];
  TrueTime now = 1s;
  bool held = true;
  bool clocks_stand = false;
  bool have_names = true;  ///< all connections
  Referee referee{3,
                  -1,
                  [this](const std::string& what) { said.push_back(what); },
                  [this](int) { return begin_us + (clocks_stand ? TrueTime(1s) : now) / 1us; },
                  [this](int node) { return members_of(node); },
                  [this](int node) -> const Database& { return keys[node]; },
                  [this](std::size_t) { return held; }};
};

const redis::NodeNames old_list = {"n1", "n2", "n3"}, new_list = {"n1", "n2", "n4"};
const redis::ListTerms terms{1000, 86'400}, longer_terms{5000, 86'400};

Membership announced(const std::string& name, redis::ListTerms next = terms) {
  return {1, 0, ListPhase::announced, name, old_list, new_list, terms, next};
}
Membership unsettled(const std::string& name) {
  return {1, 1, ListPhase::unsettled, name, old_list, new_list, terms, terms};
}
Membership settled(const std::string& name) {
  return {1, 1, ListPhase::settled, name, {}, new_list, {}, terms};
}

/// The list stays, and its fencing_memory becomes longer.
Membership remembering(ListPhase phase, const std::string& name = "n1") {
  const redis::ListTerms longer{1000, 172'800};
  const bool settled = phase == ListPhase::settled;
  return {1,
          phase == ListPhase::announced ? 0U : 1U,
          phase,
          name,
          settled ? redis::NodeNames() : old_list,
          old_list,
          settled ? redis::ListTerms() : terms,
          longer};
}

/// A node forgets, and is seen with a candidate. Its other two nodes are named as witnesses.
std::string wait_begins(Court& court) {
  court.forget(0);
  court.put_candidate(0, "a");
  const std::int64_t then = begin_us + court.now / 1us;
  court.now += 1ms;
  const std::string seen = court.candidate_text("a", then);
  const std::string named =
      court.candidate_text("a", then, {{"n2", then + 1000}, {"n3", then + 1000}});
  court.name_witnesses(0, seen, named);
  return named;
}

struct Story {
  const Guard& guard;
  std::function<void(Court&)> allowed, refused;
};

void grant_two(Court& court) {
  court.grant(0, "a", "5");
  court.grant(1, "a", "5");
}

void win_for_longer(Court& court, core::Duration longer) {
  grant_two(court);
  Referee::Believed lease = court.lease("a");
  lease.until += longer;
  court.referee.believes(lease);
}

const std::vector<Story>& stories() {
  using C = Court&;
  const auto change = [](C court) {
    for (int node = 0; node < 2; ++node)
      court.adopt(node, announced("n" + std::to_string(node + 1)));
    for (int node = 0; node < 2; ++node)
      court.adopt(node, unsettled("n" + std::to_string(node + 1)));
  };
  // Only one node has a counter.
  const auto remember_longer = [](C court) {
    court.keys[0].put(counter, Court::text("5"));
    for (const ListPhase phase : {ListPhase::announced, ListPhase::unsettled}) {
      for (int node = 0; node < 2; ++node)
        court.adopt(node, remembering(phase, "n" + std::to_string(node + 1)));
    }
    court.now += 1000ms;
  };
  static const std::vector<Story> all{
      {guard::grant_enrolled, [](C c) { c.grant(0, "a", "5"); },
       [](C c) {
         c.forget(0);
         c.grant(0, "a", "5");
       }},
      {guard::grant_enrolled, [](C c) { c.grant(0, "a", "5"); },
       [](C c) {
         c.acquire(0, "a",
                   {{"lock", Court::text("a", c.now_ms() + 1000)}, {counter, Court::text("5")}},
                   "another record");
       }},
      {guard::grant_free,
       [](C c) {
         c.grant(0, "a", "5");
         c.now += 1001ms;
         c.grant(0, "b", "6");
       },
       [](C c) {
         c.grant(0, "a", "5");
         c.now += 1000ms;
         c.grant(0, "b", "6");
       }},
      {guard::grant_life, [](C c) { c.grant(0, "a", "5"); },
       [](C c) {
         c.acquire(0, "a",
                   {{"lock", Court::text("a", c.now_ms() + 999)}, {counter, Court::text("5")}});
       }},
      {guard::grant_all,
       [](C c) {
         c.run(0, redis::acquire_all_script, {"lock", "two", counter, counter + "two"},
               {"a", "1000", "0", "1", "0", "", "0", "1", "w", "0", "0", c.record_of(0), "0", "1",
                "0"},
               {{"lock", Court::text("a", c.now_ms() + 1000)},
                {"two", Court::text("a", c.now_ms() + 1000)}});
       },
       [](C c) {
         c.run(0, redis::acquire_all_script, {"lock", "two", counter, counter + "two"},
               {"a", "1000", "0", "1", "0", "", "0", "1", "w", "0", "0", c.record_of(0), "0", "1",
                "0"},
               {{"lock", Court::text("a", c.now_ms() + 1000)}});
       }},
      {guard::grant_raises,
       [](C c) {
         c.grant(0, "a", "5");
         c.release(0, "a", {{"lock", std::nullopt}});
         c.grant(0, "b", "6");
       },
       [](C c) {
         c.grant(0, "a", "5");
         c.release(0, "a", {{"lock", std::nullopt}});
         c.grant(0, "b", "5");
       }},
      {guard::grant_raises,  // a batch asks for a lock twice
       [](C c) {
         c.acquire_twice(
             0, "a", "b",
             {{"lock", Court::text("b", c.now_ms() + 1000)}, {counter, Court::text("5")}});
       },
       [](C c) {
         c.acquire_twice(0, "a", "b", {{counter, Court::text("5")}});
       }},
      {guard::extend_enrolled,
       [](C c) {
         c.grant(0, "a", "5");
         c.now += 10ms;
         c.renew(0, "a", {{"lock", Court::text("a", c.now_ms() + 1000)}});
       },
       [](C c) {
         c.grant(0, "a", "5");
         c.now += 10ms;
         c.keys[0].drop(enrolment);
         c.renew(0, "a", {{"lock", Court::text("a", c.now_ms() + 1000)}});
       }},
      {guard::extend_own, [](C c) { c.win_again("a"); },
       [](C c) {
         c.grant(0, "a", "5");
         c.now += 10ms;
         c.renew(0, "b", {{"lock", Court::text("a", c.now_ms() + 1000)}});
       }},
      {guard::extend_kept,
       [](C c) {
         c.grant(0, "a", "5");
         c.renew(0, "a", {{"lock", Court::text("a", c.now_ms() + 1000)}});
       },
       [](C c) {
         c.grant(0, "a", "5");
         c.renew(0, "a", {{"lock", Court::text("a", c.now_ms() + 999)}});
       }},
      {guard::extend_life,
       [](C c) {
         c.grant(0, "a", "5");
         c.now += 10ms;
         c.renew(0, "a", {{"lock", Court::text("a", c.now_ms() + 1000)}});
       },
       [](C c) {
         c.grant(0, "a", "5");
         c.now += 10ms;
         c.renew(0, "a", {{"lock", Court::text("a", c.now_ms() + 999)}});
       }},
      {guard::replant_enrolled,
       [](C c) {
         c.renew(0, "a", {{"lock", Court::text("a", c.now_ms() + 1000)}});
       },
       [](C c) {
         c.forget(0);
         c.renew(0, "a", {{"lock", Court::text("a", c.now_ms() + 1000)}});
       }},
      {guard::replant_free,
       [](C c) {
         c.renew(0, "a", {{"lock", Court::text("a", c.now_ms() + 1000)}});
       },
       [](C c) {
         c.grant(0, "b", "5");
         c.renew(0, "a", {{"lock", Court::text("a", c.now_ms() + 1000)}});
       }},
      {guard::replant_life,
       [](C c) {
         c.renew(0, "a", {{"lock", Court::text("a", c.now_ms() + 1000)}});
       },
       [](C c) {
         c.renew(0, "a", {{"lock", Court::text("a", c.now_ms() + 999)}});
       }},
      {guard::replant_counter,
       [](C c) {
         c.renew(0, "a",
                 {{"lock", Court::text("a", c.now_ms() + 1000)}, {counter, Court::text("5")}});
       },
       [](C c) {
         c.renew(0, "a",
                 {{"lock", Court::text("a", c.now_ms() + 1000)}, {counter, Court::text("4")}});
       }},
      {guard::delete_own,
       [](C c) {
         c.grant(0, "a", "5");
         c.release(0, "a", {{"lock", std::nullopt}});
       },
       [](C c) {
         c.grant(0, "a", "5");
         c.release(0, "b", {{"lock", std::nullopt}});
       }},
      {guard::delete_over,
       [](C c) {
         c.win("a");
         c.held = false;
         c.release(0, "a", {{"lock", std::nullopt}});
       },
       [](C c) {
         c.win("a");
         c.release(0, "a", {{"lock", std::nullopt}});
       }},
      {guard::raise_enrolled,
       [](C c) {
         c.grant(0, "a", "5");
         c.raise(0, "a", "7", {{counter, Court::text("7")}});
       },
       [](C c) {
         c.grant(0, "a", "5");
         c.raise(0, "a", "7", {{counter, Court::text("7")}}, "another record");
       }},
      {guard::raise_own,
       [](C c) {
         c.grant(0, "a", "5");
         c.raise(0, "a", "7", {{counter, Court::text("7")}});
       },
       [](C c) {
         c.grant(0, "a", "5");
         c.raise(0, "b", "7", {{counter, Court::text("7")}});
       }},
      {guard::raise_strict,
       [](C c) {
         c.grant(0, "a", "5");
         c.raise(0, "a", "6", {{counter, Court::text("6")}});
       },
       [](C c) {
         c.grant(0, "a", "5");
         c.raise(0, "a", "4", {{counter, Court::text("4")}});
       }},
      {guard::raise_number,
       [](C c) {
         c.grant(0, "a", "5");
         c.raise(0, "a", "6", {{counter, Court::text("6")}});
       },
       [](C c) {
         c.grant(0, "a", "5");
         c.raise(0, "a", "6", {{counter, Court::text("7")}});
       }},
      {guard::counter_kept,
       [](C c) {
         c.keys[0].put(counter, Court::text("5"));
         c.run(0, redis::repair_script, {"", counter}, {"", "1", "1", "6"},
               {{counter, Court::text("6")}});
       },
       [](C c) {
         c.keys[0].put(counter, Court::text("5"));
         c.run(0, redis::repair_script, {"", counter}, {"", "1", "1", "4"},
               {{counter, Court::text("4")}});
       }},
      {guard::enrol_repaired,
       [](C c) {
         for (int node = 1; node < 3; ++node) c.keys[node].put(counter, Court::text("5"));
         c.repaired = {{counter, "5"}};
         c.adopt(0, announced("n1"));  // now the referee knows that this node was in the founding
         const std::string named = wait_begins(c);
         c.now += 1000ms;
         c.let_in(0, named, "a");
       },
       [](C c) {
         for (int node = 1; node < 3; ++node) c.keys[node].put(counter, Court::text("5"));
         c.repaired = {{counter, "4"}};
         c.adopt(0, announced("n1"));
         const std::string named = wait_begins(c);
         c.now += 1000ms;
         c.let_in(0, named, "a");
       }},
      {guard::enrol_once,
       [](C c) {
         for (int node = 1; node < 3; ++node) c.keys[node].put(once, Court::text("7"));
         c.repaired = {{once, "8"}};
         c.adopt(0, announced("n1"));
         const std::string named = wait_begins(c);
         c.now += 1000ms;
         c.let_in(0, named, "a");
       },
       [](C c) {
         for (int node = 1; node < 3; ++node) c.keys[node].put(once, Court::text("7"));
         c.adopt(0, announced("n1"));
         const std::string named = wait_begins(c);
         c.now += 1000ms;
         c.let_in(0, named, "a");
       }},
      {guard::set_greeted,
       [](C c) {
         c.command(0, {"MGET", enrolment, members}, nullptr, {});
         c.set(0, "a");
       },
       [](C c) { c.set(0, "a"); }},
      {guard::greet_named,
       [](C c) {
         c.command(0, {"MGET", enrolment, members}, nullptr, {});
         c.set(0, "a");
       },
       [](C c) {
         c.have_names = false;
         c.command(0, {"MGET", enrolment, members}, nullptr, {});
         c.have_names = true;
         c.set(0, "a");
       }},
      {guard::counter_clocks,
       [](C c) {
         c.enrol(0, announced("n1", {1000, 10'000}));
         c.keys[0].put(counter, Court::text("5"));
         c.grant(0, "a", std::to_string(begin_us + c.now / 1us - 5'000'000'000 + 1));
       },
       [](C c) {
         c.enrol(0, announced("n1", {1000, 10'000}));
         c.keys[0].put(counter, Court::text("5"));
         c.grant(0, "a", "6");
       }},
      {guard::raise_floor,
       [](C c) {
         c.grant(0, "a", "5");
         c.adopt(0, announced("n1"), 5);
         c.raise(0, "a", "6", {{counter, Court::text("6")}});
       },
       [](C c) {
         c.grant(0, "a", "5");
         c.adopt(0, announced("n1"), 6);
         c.raise(0, "a", "6", {{counter, Court::text("6")}});
       }},
      {guard::counter_prolonged,
       [](C c) {
         c.run(0, redis::repair_script, {repairer, counter}, {"", "1", "1000", "5"},
               {{repairer, Court::text("")}, {counter, Court::text("6", c.now_ms() + 1000)}});
       },
       [](C c) {
         c.run(0, redis::repair_script, {repairer, counter}, {"", "1", "1000", "5"},
               {{repairer, Court::text("")}, {counter, Court::text("6", c.now_ms() + 999)}});
       }},
      {guard::grant_first,
       [](C c) {
         c.two_wait(0);
         c.acquire_in_line(0, "a", "w1");
         c.keys[0].put(granted, {Value::Hash{{"w1", "a"}}, std::nullopt});
         c.now += 50ms;
         c.release(0, "a", {{"lock", std::nullopt}});
         c.acquire_in_line(0, "b", "w2", "6");  // what the first was granted is gone
       },
       [](C c) {
         c.two_wait(0);
         c.acquire_in_line(0, "a", "w2");
       }},
      {guard::grant_in_passing,
       [](C c) {
         c.two_wait(0);
         c.now += 102ms;
         c.grant(0, "a", "5");
       },
       [](C c) {
         c.two_wait(0);
         c.grant(0, "a", "5");
       }},
      {guard::entry_stays,
       [](C c) {
         c.two_wait(0);
         c.run(0, redis::release_all_script, {"lock"}, {"", "w1", "", "0", "0"},
               {{line, Value{Value::SortedSet{{"w2", 2}}, std::nullopt}}});
         c.now += 102ms;
         c.enter(0, {{"w1", 1}});
       },
       [](C c) {
         c.two_wait(0);
         c.enter(0, {{"w1", 1}});
       }},
      {guard::ticket_grows,
       [](C c) {
         c.two_wait(0);
         c.enter(0, {{"w1", 3}, {"w2", 2}});
       },
       [](C c) {
         c.two_wait(0);
         c.enter(0, {{"w1", 1}, {"w2", 1}});
       }},
      {guard::once_enrolled,
       [](C c) {
         c.grant(0, "a", "5");
         c.note_period(0, "5", "7");
       },
       [](C c) {
         c.grant(0, "a", "5");
         c.note_period(0, "5", "7", "another record");
       }},
      {guard::once_holder,
       [](C c) {
         c.grant(0, "a", "5");
         c.note_period(0, "5", "7");
       },
       [](C c) {
         c.grant(0, "a", "5");
         c.note_period(0, "4", "7");
       }},
      {guard::once_grows,
       [](C c) {
         c.grant(0, "a", "5");
         c.note_period(0, "5", "7");
         c.note_period(0, "5", "8");
       },
       [](C c) {
         c.grant(0, "a", "5");
         c.note_period(0, "5", "7");
         c.note_period(0, "5", "6");
       }},
      {guard::grant_once, [](C c) { c.grant(0, "a", "5"); },
       [](C c) {
         c.grant(0, "a", "5");
         c.now += 1001ms;
         c.grant(0, "a", "6");
       }},
      {guard::raise_decided,
       [](C c) {
         c.win("a");
         c.grant(2, "a", "3");
         c.raise(2, "a", "5", {{counter, Court::text("5")}});
       },
       [](C c) {
         c.win("a");
         c.raise(0, "a", "6", {{counter, Court::text("6")}});
       }},
      {guard::replant_marked,
       [](C c) {
         c.keys[0].put(counter, Court::text("6"));
         c.renew(0, "a", {{"lock", Court::text("a", c.now_ms() + 1000)}, {mark, Court::text("a")}});
       },
       [](C c) {
         c.keys[0].put(counter, Court::text("6"));
         c.renew(0, "a", {{"lock", Court::text("a", c.now_ms() + 1000)}});
       }},
      {guard::extend_succeeds,
       [](C c) {
         for (int node = 0; node < 2; ++node) c.grant(node, "a", "5");
         c.now += 10ms;
         for (int node = 0; node < 2; ++node) c.extend_by_token(node, "a");
         c.referee.extended("a", c.now, old_list);
       },
       [](C c) {
         c.grant(0, "a", "5");
         c.grant(1, "a", "6");
         c.now += 10ms;
         for (int node = 0; node < 2; ++node) c.extend_by_token(node, "a");
         c.referee.extended("a", c.now, old_list);
       }},
      {guard::counter_life,
       [](C c) {
         c.acquire(0, "a",
                   {{"lock", Court::text("a", c.now_ms() + 1000)},
                    {counter, Court::text("5", c.now_ms() + 86'400'000)}});
       },
       [](C c) {
         c.acquire(0, "a",
                   {{"lock", Court::text("a", c.now_ms() + 1000)},
                    {counter, Court::text("5", c.now_ms() + 86'399'999)}});
       }},
      {guard::counter_begins,
       [](C c) {
         c.enrol(0, announced("n1", {1000, 10'000}));
         c.grant(0, "a", std::to_string(begin_us + c.now / 1us - 5'000'000'000 + 1));
       },
       [](C c) {
         c.enrol(0, announced("n1", {1000, 10'000}));
         c.grant(0, "a", std::to_string(begin_us + c.now / 1us - 5'000'000'000));
       }},
      {guard::extend_unmarked,
       [](C c) {
         c.grant(0, "a", "5");
         c.keys[0].put(mark, Court::text("b"));
         c.now += 10ms;
         c.extend_by_token(0, "a");
       },
       [](C c) {
         c.grant(0, "a", "5");
         c.keys[0].put(mark, Court::text("a"));
         c.now += 10ms;
         c.extend_by_token(0, "a");
       }},
      {guard::see_new,
       [](C c) {
         c.forget(0);
         c.put_candidate(0, "a");
         c.forget(0);
         c.put_candidate(0, "b");
       },
       [](C c) {
         c.forget(0);
         c.put_candidate(0, "a");
         c.forget(0);
         c.put_candidate(0, "a");
       }},
      {guard::see_blank,
       [](C c) {
         c.forget(0);
         c.put_candidate(0, "a");
       },
       [](C c) { c.put_candidate(0, "a"); }},
      {guard::see_age,
       [](C c) {
         c.forget(0);
         c.put_candidate(0, "a");
       },
       [](C c) {
         c.forget(0);
         c.look(0, {{candidate, Court::text(c.candidate_text("a", begin_us))}});
       }},
      {guard::witness_same, [](C c) { wait_begins(c); },
       [](C c) {
         wait_begins(c);
         c.name_witnesses(0, "another", c.candidate_text("a", begin_us + 1'000'000));
       }},
      {guard::witness_after, [](C c) { wait_begins(c); },
       [](C c) {
         c.forget(0);
         c.put_candidate(0, "a");
         const std::int64_t then = begin_us + c.now / 1us;
         c.now += 1ms;
         c.name_witnesses(0, c.candidate_text("a", then),
                          c.candidate_text("a", then, {{"n2", then - 1}}));
       }},
      {guard::due_waited,  // by the clocks of the nodes
       [](C c) {
         const std::string named = wait_begins(c);
         c.now += 1000ms;
         c.let_in(0, named, "a");
       },
       [](C c) {
         const std::string named = wait_begins(c);
         c.now += 900ms;
         c.let_in(0, named, "a");
       }},
      {guard::due_waited,  // by the clock of a client that has watched, while those of nodes stand
       [](C c) {
         c.clocks_stand = true;
         const std::string named = wait_begins(c);
         c.now += 1000ms;
         c.let_in(0, named, "a");
       },
       [](C c) {
         c.clocks_stand = true;
         const std::string named = wait_begins(c);
         c.now += 980ms;
         c.let_in(0, named, "a");
       }},
      {guard::due_theirs,  // by the node's own clock, for a client that has not watched
       [](C c) {
         const std::string named = wait_begins(c);
         c.now += 1000ms;
         c.let_in(0, named, "a", "run", 1);
       },
       [](C c) {
         c.clocks_stand = true;
         const std::string named = wait_begins(c);
         c.now += 1000ms;
         c.let_in(0, named, "a", "run", 1);
       }},
      {guard::enrol_same,
       [](C c) {
         const std::string named = wait_begins(c);
         c.now += 1000ms;
         c.let_in(0, named, "a");
       },
       [](C c) {
         wait_begins(c);
         c.now += 1000ms;
         c.let_in(0, "another", "a");
       }},
      {guard::enrol_run,
       [](C c) {
         const std::string named = wait_begins(c);
         c.now += 1000ms;
         c.let_in(0, named, "a");
       },
       [](C c) {
         const std::string named = wait_begins(c);
         c.now += 1000ms;
         c.let_in(0, named, "a", "RUN");
       }},
      {guard::enrol_nonce,
       [](C c) {
         const std::string named = wait_begins(c);
         c.now += 1000ms;
         c.let_in(0, named, "a");
       },
       [](C c) {
         const std::string named = wait_begins(c);
         c.now += 1000ms;
         c.let_in(0, named, "0");
       }},
      {guard::own_token, [](C c) { c.win("a"); },
       [](C c) {
         c.held = false;
         c.release(2, "a", {});
         c.win("a");
       }},
      {guard::own_token,
       [](C c) {
         c.grant(0, "a", "5");
         c.release(0, "a", {{"lock", std::nullopt}});
         c.grant(0, "b", "6");
       },
       [](C c) {
         c.grant(0, "a", "5");
         c.release(0, "a", {{"lock", std::nullopt}});
         c.grant(0, "a", "6");
       }},
      {guard::rounding, [](C c) { c.win("a"); }, [](C c) { win_for_longer(c, 1ms); }},
      {guard::margin, [](C c) { c.win("a"); }, [](C c) { win_for_longer(c, 10ms); }},
      {guard::win_start, [](C c) { c.win("a"); }, [](C c) { win_for_longer(c, 20ms); }},
      {guard::win_again_start,
       [](C c) {
         c.win("a");
         c.win_again("a");
       },
       [](C c) {
         c.win("a");
         c.win_again("a", 20ms);
       }},
      {guard::renew_margin,
       [](C c) {
         c.win("a");
         c.win_again("a");
       },
       [](C c) {
         c.win("a");
         c.win_again("a", 10ms);
       }},
      {guard::win_votes, [](C c) { c.win("a"); },
       [](C c) {
         grant_two(c);
         c.now += 1ms;
         c.referee.believes(c.lease("a"));
       }},
      {guard::win_again_votes,
       [](C c) {
         c.win("a");
         c.win_again("a");
       },
       [](C c) {
         c.win("a");
         Referee::Believed lease = c.lease("a");
         lease.renewed = true;
         lease.until_before = lease.until;
         lease.began = c.now + 1ms;
         c.referee.believes(lease);
       }},
      {guard::win_again_end,
       [](C c) {
         c.win("a");
         c.win_again("a");
       },
       [](C c) {
         c.win("a");
         Referee::Believed lease = c.lease("a");
         lease.renewed = true;
         lease.until_before = lease.now;
         c.referee.believes(lease);
       }},
      {guard::within_max_ttl,
       [](C c) {
         for (int node = 0; node < 2; ++node) {
           c.enrol(node, announced("n" + std::to_string(node + 1), longer_terms));
         }
         c.win("a");
       },
       [](C c) {
         for (int node = 0; node < 2; ++node) {
           Membership its = announced("n" + std::to_string(node + 1), terms);
           its.from_terms.max_ttl_ms = 999;
           c.enrol(node, its);
         }
         c.win("a");
       }},
      {guard::decide_number, [](C c) { c.win("a"); },
       [](C c) {
         c.grant(0, "a", "5");
         c.grant(1, "a", "6");
         c.referee.believes(c.lease("a", 6));
       }},
      {guard::decide_in_time, [](C c) { c.win("a"); },
       [](C c) {
         grant_two(c);
         Referee::Believed lease = c.lease("a");
         lease.now = lease.until;
         c.referee.believes(lease);
       }},
      {guard::vote_accepts,
       [](C c) {
         for (int node = 0; node < 2; ++node)
           c.enrol(node, announced("n" + std::to_string(node + 1)));
         c.win("a");
       },
       [](C c) {
         for (int node = 0; node < 2; ++node)
           c.enrol(node, unsettled("n" + std::to_string(node + 1)));
         c.win("a");
       }},
      {guard::win_own_list, [](C c) { c.win("a"); },
       [](C c) {
         c.grant(0, "a", "5");
         c.referee.believes(c.lease("a"));
       }},
      {guard::win_asked,
       [](C c) {
         for (int node = 0; node < 2; ++node)
           c.enrol(node, unsettled("n" + std::to_string(node + 1)));
         grant_two(c);
         Referee::Believed lease = c.lease("a");
         lease.lists = {new_list};
         c.referee.believes(lease);
       },
       [](C c) {
         for (int node = 0; node < 2; ++node) {
           Membership its = unsettled("n" + std::to_string(node + 1));
           its.from = {"n1", "n3", "n5"};
           c.enrol(node, its);
         }
         grant_two(c);
         Referee::Believed lease = c.lease("a");
         lease.lists = {new_list};
         c.referee.believes(lease);
       }},
      {guard::win_moved,
       [](C c) {
         grant_two(c);
         Referee::Believed lease = c.lease("a");
         lease.lists.push_back({"n1", "n2", "n4"});
         c.referee.believes(lease);
       },
       [](C c) {
         grant_two(c);
         Referee::Believed lease = c.lease("a");
         lease.lists.push_back({"n1", "n4", "n5"});
         c.referee.believes(lease);
       }},
      {guard::win_moved, [](C c) { c.win("a"); },
       [](C c) {
         grant_two(c);
         Referee::Believed lease = c.lease("a");
         lease.lists.resize(3, lease.lists.front());
         c.referee.believes(lease);
       }},
      {guard::list_step, [](C c) { c.adopt(0, announced("n1")); },
       [](C c) {
         Membership its = announced("n1");
         its.from = {"n1", "n5"};
         c.adopt(0, its);
       }},
      {guard::enrol_vouched,
       [](C c) {
         const std::string named = wait_begins(c);
         c.now += 1000ms;
         c.let_in(0, named, "a");
       },
       [](C c) {
         c.forget(1);
         c.put_candidate(1, "b");
         const std::string named = wait_begins(c);
         c.now += 1000ms;
         c.let_in(0, named, "a");
       }},
      {guard::settle_decided,
       [change](C c) {
         change(c);
         c.now += 1000ms;
         c.adopt(0, settled("n1"));
       },
       [](C c) {
         c.adopt(0, announced("n1"));
         c.adopt(0, unsettled("n1"));
         c.now += 1000ms;
         c.adopt(0, settled("n1"));
       }},
      {guard::settle_scanned,
       [change](C c) {
         for (int node = 0; node < 2; ++node) c.keys[node].put(counter, Court::text("5"));
         change(c);
         c.now += 1000ms;
         c.adopt(0, settled("n1"), 5);
       },
       [change](C c) {
         for (int node = 0; node < 2; ++node) c.keys[node].put(counter, Court::text("5"));
         change(c);
         c.now += 1000ms;
         c.adopt(0, settled("n1"), 4);
       }},
      {guard::settle_own,
       [remember_longer](C c) {
         remember_longer(c);
         c.adopt(0, remembering(ListPhase::settled), 5);
       },
       [remember_longer](C c) {
         remember_longer(c);
         c.adopt(0, remembering(ListPhase::settled), 4);
       }},
      {guard::settle_own,
       [remember_longer](C c) {
         remember_longer(c);
         c.adopt(2, remembering(ListPhase::unsettled, "n3"));
         c.adopt(2, remembering(ListPhase::settled, "n3"));
       },
       [remember_longer](C c) {
         remember_longer(c);
         c.adopt(2, remembering(ListPhase::settled, "n3"));
       }},
      {guard::settle_waits,
       [change](C c) {
         change(c);
         c.now += 1000ms;
         c.adopt(0, settled("n1"));
       },
       [change](C c) {
         change(c);
         c.now += 980ms;
         c.adopt(0, settled("n1"));
       }},
  };
  return all;
}

TEST(Referee, RefusesWhatBreaksAGuard) {
  for (std::size_t i = 0; i < stories().size(); ++i) {
    const Story& story = stories()[i];
    SCOPED_TRACE("story " + std::to_string(i) + ": " + std::string(story.guard.action) + ", " +
                 std::string(story.guard.rule));
    Court allows;
    story.allowed(allows);
    EXPECT_TRUE(allows.said.empty()) << allows.said.front();
    Court refuses;
    story.refused(refuses);
    ASSERT_FALSE(refuses.said.empty());
    EXPECT_NE(refuses.said.front().find(story.guard.rule), std::string::npos)
        << refuses.said.front();
    EXPECT_NE(refuses.said.front().find(story.guard.action), std::string::npos);
  }
}

TEST(Referee, HasAStoryForEachGuard) {
  for (const Guard& each : Referee::guards()) {
    const bool told = std::ranges::any_of(stories(), [&each](const Story& story) {
      return story.guard.action == each.action && story.guard.rule == each.rule;
    });
    EXPECT_TRUE(told) << each.model << ", " << each.action << ", " << each.rule;
  }
}

TEST(Referee, UsesTheWordsOfTheProofs) {
  for (const Guard& each : Referee::guards()) {
    std::ifstream file(std::string(QUORUMLOCK_PROOFS) + "/" + std::string(each.model) + ".py");
    ASSERT_TRUE(file) << each.model;
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    EXPECT_NE(text.find("def do_" + std::string(each.action) + "("), std::string::npos)
        << each.model << " has no action " << each.action;
    if (each.rule.starts_with('(')) continue;
    EXPECT_NE(text.find('"' + std::string(each.rule) + '"'), std::string::npos)
        << each.model << " has no rule " << each.rule;
  }
}

}  // namespace
}  // namespace quorumlock::sim::referee_test
