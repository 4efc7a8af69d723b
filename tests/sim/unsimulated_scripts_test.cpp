#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "redis/scripts.hpp"
#include "support/cluster.hpp"

// Scripts that the simulator does not run: each of their situations, on a real server.
namespace quorumlock::sim {
namespace {

using Words = std::vector<std::string>;

struct Situation {
  const char* what;
  std::vector<Words> before;
  Words arguments;
  const char* reply;
  const char* record = "";  ///< of the leader, afterwards
  const char* told = "";    ///< the message to observers
};

/// The reply on one line, without what depends on the moment: a time becomes `now`, and the rest of
/// the minute for which all keys here live becomes `soon`.
std::string to_text(const test::Reply& reply) {
  using Type = test::Reply::Type;
  switch (reply.type) {
    case Type::nothing: return "nil";
    case Type::integer:
      if (reply.integer > 1'000'000'000'000) return "now";
      return reply.integer > 1000 && reply.integer <= 60'000 ? "soon"
                                                             : std::to_string(reply.integer);
    case Type::array: break;
    default: return reply.text.empty() ? "''" : reply.text;
  }
  std::string text;
  for (const test::Reply& element : reply.elements) {
    text += (text.empty() ? "" : " ") + to_text(element);
  }
  return "{" + text + "}";
}

class UnsimulatedScripts : public testing::Test {
 protected:
  void hold(const redis::Script& script, const Words& keys,
            const std::vector<Situation>& situations) {
    for (const Situation& situation : situations) {
      SCOPED_TRACE(situation.what);
      for (test::Redis* const user : {&control_, &mute_}) {
        SCOPED_TRACE(user == &mute_ ? "may not publish" : "");
        (void)control_({"FLUSHALL"});
        for (const Words& words : situation.before) {
          const test::Reply reply = control_(words);
          ASSERT_FALSE(reply.is_error()) << words.front() << ": " << reply.text;
        }
        Words words = {"EVAL", std::string(script.source), std::to_string(keys.size())};
        words.insert(words.end(), keys.begin(), keys.end());
        words.insert(words.end(), situation.arguments.begin(), situation.arguments.end());
        const std::string changes = changes_so_far();
        EXPECT_EQ(to_text((*user)(words)), situation.reply);
        if (reads_only_) {
          EXPECT_EQ(changes_so_far(), changes);
        }
        EXPECT_EQ(record(), situation.record);
        EXPECT_EQ(told(), user == &mute_ ? "" : situation.told);
      }
    }
  }

  void SetUp() override {
    ASSERT_FALSE(
        control_({"ACL", "SETUSER", "mute", "on", "nopass", "~*", "+@all", "resetchannels"})
            .is_error());
    ASSERT_FALSE(mute_({"AUTH", "mute", "any"}).is_error());
    (void)observer_({"SUBSCRIBE", "quorumlock:led:lock"});
  }

  bool reads_only_ = false;

 private:
  std::string changes_so_far() {
    const std::string info = control_({"INFO", "persistence"}).text;
    const std::size_t at = info.find("rdb_changes_since_last_save:");
    return info.substr(at, info.find('\r', at) - at);
  }
  std::string record() {
    const test::Reply all =
        control_({"HMGET", "quorumlock:leader:lock", "token", "fence", "version", "value"});
    const test::Reply left = control_({"PTTL", "quorumlock:leader:lock"});
    return left.integer == -2 ? "" : to_text(all) + " " + to_text(left);
  }
  /// The messages since the last call.
  std::string told() {
    (void)control_({"PUBLISH", "quorumlock:led:lock", "end"});
    std::string all;
    for (;;) {
      const std::string message = observer_.read().elements.at(2).text;
      if (message == "end") return all;
      all += "told" + message;
    }
  }

  test::Cluster cluster_{{.size = 1, .enrolled = false}};
  test::Redis control_{cluster_.server(0).url()};
  test::Redis mute_{cluster_.server(0).url()};  ///< of a user who may not publish
  test::Redis observer_{cluster_.server(0).url()};
};

const Words mine = {"SET", "lock", "me", "PX", "60000"};
const Words others = {"SET", "lock", "you", "PX", "60000"};
const Words my_record = {
    "HSET",  "quorumlock:leader:lock", "token", "me", "fence", "7", "version", "3", "value",
    "before"};
const Words your_record = {
    "HSET",  "quorumlock:leader:lock", "token", "you", "fence", "6", "version", "9", "value",
    "before"};

TEST_F(UnsimulatedScripts, AnnounceRepliesAsListed) {
  const Words third = {"me", "7", "3", "after", "60000"};
  const Words fourth = {"me", "7", "4", "after", "60000"};
  hold(redis::announce_script, {"lock", "quorumlock:leader:lock"},
       {{"nobody has the lock", {}, third, "0"},
        {"another has it", {others, your_record}, third, "0", "{you 6 9 before} -1"},
        {"it is another kind of value", {{"HSET", "lock", "field", "value"}}, third, "0"},
        {"nobody has said anything", {mine}, third, "1", "{me 7 3 after} soon", "told"},
        {"another has, before", {mine, your_record}, third, "1", "{me 7 3 after} soon", "told"},
        {"an earlier version", {mine, my_record}, fourth, "1", "{me 7 4 after} soon", "told"},
        {"the same version", {mine, my_record}, third, "1", "{me 7 3 before} soon"},
        {"a later version",
         {mine, my_record},
         {"me", "7", "2", "after", "60000"},
         "1",
         "{me 7 3 before} soon"}});
}

TEST_F(UnsimulatedScripts, WithdrawRepliesAsListed) {
  hold(redis::withdraw_script, {"lock", "quorumlock:leader:lock"},
       {{"nobody has said anything", {}, {"me"}, "0"},
        {"another has", {mine, your_record}, {"me"}, "0", "{you 6 9 before} -1"},
        {"mine, while the lock is mine", {mine, my_record}, {"me"}, "1", "", "told"},
        {"mine, but the lock is another's by now", {others, my_record}, {"me"}, "1", "", "told"}});
}

TEST_F(UnsimulatedScripts, LeaderRepliesAsListed) {
  reads_only_ = true;
  const Words counter = {"SET", "quorumlock:fence:lock", "41"};
  hold(redis::leader_script, {"lock", "quorumlock:fence:lock", "quorumlock:leader:lock"},
       {{"nobody has the lock", {}, {}, "{}"},
        {"not any more", {counter, my_record}, {}, "{}", "{me 7 3 before} -1"},
        {"it is another kind of value", {{"HSET", "lock", "field", "value"}}, {}, "{}"},
        {"its holder has spoken",
         {mine, counter, my_record},
         {},
         "{me soon 3 7 before}",
         "{me 7 3 before} -1"},
        {"an earlier one has",
         {mine, counter, your_record},
         {},
         "{me soon 0 41 ''}",
         "{you 6 9 before} -1"},
        {"nobody has", {mine, counter}, {}, "{me soon 0 41 ''}"},
        {"nobody has, and there is no counter", {mine}, {}, "{me soon 0 0 ''}"},
        {"the lock has no expiry",
         {{"SET", "lock", "me"}, my_record},
         {},
         "{me -1 3 7 before}",
         "{me 7 3 before} -1"}});
}

const std::string far_off = "9000000000000";  ///< in ms of any node's clock

std::vector<Words> line(const std::string& key, const std::string& waiter,
                        const std::string& ticket, const std::string& ends) {
  return {{"ZADD", "quorumlock:queue:" + key, ticket, waiter},
          {"ZADD", "quorumlock:waiting:" + key, ends, waiter}};
}

std::vector<Words> operator+(std::vector<Words> one, const std::vector<Words>& other) {
  one.insert(one.end(), other.begin(), other.end());
  return one;
}

TEST_F(UnsimulatedScripts, InspectOfALockRepliesAsListed) {
  reads_only_ = true;
  const Words all = {"1000", "1024"};
  const std::string long_value(2000, 'x');
  const std::string cut = "{now string " + long_value.substr(0, 1024) + " -1 {} {} 0 {} {} ''}";
  const std::vector<Words> readers = {{"ZADD", "lock", far_off, "a", far_off, "b", "1", "dead"}};
  hold(redis::inspect_script, {"lock"},
       {{"nothing is there", {}, all, "{now none '' -2 {} {} 0 {} {} ''}"},
        {"one holds it with a fencing token",
         {mine, {"SET", "quorumlock:fence:lock", "41"}},
         all,
         "{now string me soon {} {} 0 {} {} 41}"},
        {"one holds it", {mine}, all, "{now string me soon {} {} 0 {} {} ''}"},
        {"a long value", {{"SET", "lock", long_value}}, all, cut.c_str()},
        {"another kind of value",
         {{"HSET", "lock", "field", "value"}},
         all,
         "{now hash '' -1 {} {} 0 {} {} ''}"},
        {"readers, of whom one has outlived its life",
         readers + std::vector<Words>{{"PEXPIRE", "lock", "60000"}}, all,
         "{now zset '' soon {a 9000000000000 b 9000000000000} {} 0 {} {} ''}"},
        {"more than it is asked to report",
         readers,
         {"2", "1024"},
         "{now zset '' -1 {a 9000000000000} {} 0 {} {} ''}"},
        {"a line", line("lock", "w1", "5", far_off) + line("lock", "r2", "4", far_off), all,
         "{now none '' -2 {} {r2 4 9000000000000 w1 5 9000000000000} 0 {} {} ''}"},
        {"an entry that has outlived its life, and one without any",
         line("lock", "w1", "5", "1") + line("lock", "w2", "6", far_off) +
             std::vector<Words>{{"ZADD", "quorumlock:queue:lock", "7", "w3"}},
         all, "{now none '' -2 {} {w2 6 9000000000000} 0 {} {} ''}"},
        {"a longer line than it is asked to report",
         line("lock", "w1", "5", far_off) + line("lock", "w2", "6", far_off),
         {"1", "1024"},
         "{now none '' -2 {} {w1 5 9000000000000} 0 {} {} ''}"}});
}

TEST_F(UnsimulatedScripts, LocksRepliesAsListed) {
  reads_only_ = true;
  const std::string token = std::string(40, 'a') + "@web-3:812";
  const std::string digits(40, 'b');
  const auto set = [](const std::string& key, const std::string& value) {
    return std::vector<Words>{{"SET", key, value, "PX", "60000"}};
  };
  const Words all = {"0", "*", "100", ""};
  const Words permits = {"0", "quorumlock:permit:*:*", "100", "quorumlock:semaphore:"};
  const std::string held = "{0 now {lock string soon '' 0 {" + token + "}}}";
  const std::string counted = "{0 now {lock string soon 41 0 {" + digits + "}}}";
  const std::string waited_for = "{0 now {lock string soon '' 1 {" + digits + "}}}";
  const std::string read = "{0 now {lock zset soon 41 0 {a 9000000000000}}}";
  const std::string permit = "{0 now {quorumlock:permit:2:lock string soon 41 1 {" + token + "}}}";
  const std::vector<Words> counter = {{"SET", "quorumlock:fence:lock", "41"}};
  hold(redis::locks_script, {},
       {{"nothing is there", {}, all, "{0 now}"},
        {"a holder with a label", set("lock", token), all, held.c_str()},
        {"another pattern", set("lock", token), {"0", "other*", "100", ""}, "{0 now}"},
        {"another program's key", set("cache", digits), all, "{0 now}"},
        {"a counter without a lock", counter, all, "{0 now}"},
        {"a holder without a label, and a counter", set("lock", digits) + counter, all,
         counted.c_str()},
        {"without a label, and a line", set("lock", digits) + line("lock", "w1", "5", far_off), all,
         waited_for.c_str()},
        {"readers",
         counter + std::vector<Words>{{"ZADD", "lock", far_off, "a"}, {"PEXPIRE", "lock", "60000"}},
         all, read.c_str()},
        {"a hash with a counter", counter + std::vector<Words>{{"HSET", "lock", "field", "value"}},
         all, "{0 now}"},
        {"a permit, which is no lock", set("quorumlock:permit:2:lock", token), all, "{0 now}"},
        {"a permit",
         set("quorumlock:permit:2:lock", token) +
             line("quorumlock:semaphore:lock", "w1", "5", far_off) +
             std::vector<Words>{{"SET", "quorumlock:fence:quorumlock:semaphore:lock", "41"}},
         permits, permit.c_str()}});
}

TEST_F(UnsimulatedScripts, InspectOfASemaphoreRepliesAsListed) {
  reads_only_ = true;
  const auto of = [](const std::string& number) {
    return std::vector<Words>{{"SET", "quorumlock:semaphore:lock", number}};
  };
  const auto permit = [](const std::string& slot, const std::string& token) {
    return std::vector<Words>{{"SET", "quorumlock:permit:" + slot + ":lock", token, "PX", "60000"}};
  };
  const std::vector<Words> waits = line("quorumlock:semaphore:lock", "w1", "5", far_off);
  const Words all = {"1000", "3"};
  hold(
      redis::inspect_script, {"lock"},
      {{"all its permits are free", of("3"), all, "{now none '' -2 {} {} 3 {} {} ''}"},
       {"some are held", of("3") + permit("1", "a") + permit("3", "b"), all,
        "{now none '' -2 {} {} 3 {1 a soon 3 b soon} {} ''}"},
       {"one without an expiry",
        of("2") + std::vector<Words>{{"SET", "quorumlock:permit:2:lock", "a"}}, all,
        "{now none '' -2 {} {} 2 {2 a -1} {} ''}"},
       {"one that it does not have any more", of("2") + permit("3", "a"), all,
        "{now none '' -2 {} {} 2 {} {} ''}"},
       {"another kind of value is no permit",
        of("2") + permit("1", "a") +
            std::vector<Words>{{"HSET", "quorumlock:permit:2:lock", "field", "value"}},
        all, "{now none '' -2 {} {} 2 {1 a soon} {} ''}"},
       {"more than there can be", of("4") + permit("1", "a"), all,
        "{now none '' -2 {} {} 0 {} {} ''}"},
       {"fewer than one", of("-3") + permit("1", "a"), all, "{now none '' -2 {} {} 0 {} {} ''}"},
       {"no number", of("three") + permit("1", "a"), all, "{now none '' -2 {} {} 0 {} {} ''}"},
       {"another kind of value",
        {{"HSET", "quorumlock:semaphore:lock", "field", "value"}},
        all,
        "{now none '' -2 {} {} 0 {} {} ''}"},
       {"a line in which nobody has had a permit yet", waits, all,
        "{now none '' -2 {} {} 0 {} {w1 5 9000000000000} ''}"},
       {"with a lock of the same name, which has a line",
        of("1") + permit("1", "a") + waits + std::vector<Words>{mine} +
            line("lock", "w2", "6", far_off),
        all, "{now string me soon {} {w2 6 9000000000000} 1 {1 a soon} {w1 5 9000000000000} ''}"}});
}

}  // namespace
}  // namespace quorumlock::sim
