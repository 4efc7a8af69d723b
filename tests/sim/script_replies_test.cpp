#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "redis/reply.hpp"
#include "redis/scripts.hpp"
#include "redis/words.hpp"
#include "sim/server.hpp"
#include "support/cluster.hpp"

// The scripts that the walks of Differential do not call, in each of their situations, on a real
// server and on the simulated one.
namespace quorumlock::sim {
namespace {

using Words = std::vector<std::string>;

struct Situation {
  const char* what;
  std::vector<Words> before;
  Words arguments;
  const char* reply;
  const char* record = "";  ///< the leader's record afterwards
  const char* told = "";    ///< the message to observers
};

/// The reply on one line, without the parts that depend on the moment: a time becomes `now`, and
/// the rest of the minute for which all keys here live becomes `soon`.
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

/// The simulated server, with one client and one observer.
class Simulated {
 public:
  test::Reply ask(const Words& words) {
    std::string bytes;
    redis::append_command(bytes, std::vector<std::string_view>(words.begin(), words.end()));
    server_.connections.feed(client_, bytes);
    server_.execute_next(client_, now_);
    return read(client_);
  }
  void observe(const std::string& channel) {
    std::string bytes;
    redis::append_command(bytes, {"SUBSCRIBE", channel});
    server_.connections.feed(observer_, bytes);
    server_.execute_next(observer_, now_);
    (void)read(observer_);
  }
  test::Reply next_message() { return read(observer_); }

 private:
  static test::Reply copy(const redis::Reply& reply) {
    using enum test::Reply::Type;
    constexpr test::Reply::Type types[] = {string, status, error, integer, nothing, array};
    test::Reply copied{
        types[static_cast<int>(reply.type)], reply.integer, std::string(reply.text), {}};
    for (const redis::Reply& element : reply.elements) copied.elements.push_back(copy(element));
    return copied;
  }
  test::Reply read(int connection) {
    redis::ReplyReader& reader = connection == client_ ? replies_ : messages_;
    reader.feed(server_.connections.take_output(connection));
    const redis::Reply* const reply = reader.next();
    return reply != nullptr ? copy(*reply) : throw std::runtime_error("there is no reply");
  }

  const TrueTime now_{0};
  Server server_{{}, WallClock(std::chrono::seconds(1'700'000'000))};
  int client_ = server_.connections.open();
  int observer_ = server_.connections.open();
  redis::ReplyReader replies_;
  redis::ReplyReader messages_;
};

class ScriptReplies : public testing::Test {
 protected:
  void hold(const redis::Script& script, const Words& keys,
            const std::vector<Situation>& situations) {
    for (const Situation& situation : situations) {
      SCOPED_TRACE(situation.what);
      for (const Node& node : {real_, mute_, simulated_}) {
        SCOPED_TRACE(node.what);
        (void)node.control({"FLUSHALL"});
        for (const Words& words : situation.before) {
          const test::Reply reply = node.control(words);
          ASSERT_FALSE(reply.is_error()) << words.front() << ": " << reply.text;
        }
        Words words = {"EVAL", std::string(script.source), std::to_string(keys.size())};
        words.insert(words.end(), keys.begin(), keys.end());
        words.insert(words.end(), situation.arguments.begin(), situation.arguments.end());
        const std::string changes = changes_so_far();
        EXPECT_EQ(to_text(node.user(words)), situation.reply);
        if (reads_only_) {
          EXPECT_EQ(changes_so_far(), changes);
        }
        EXPECT_EQ(record(node), situation.record);
        EXPECT_EQ(told(node), node.may_publish ? situation.told : "");
      }
    }
  }

  void SetUp() override {
    ASSERT_FALSE(
        control_({"ACL", "SETUSER", "mute", "on", "nopass", "~*", "+@all", "resetchannels"})
            .is_error());
    ASSERT_FALSE(muted_({"AUTH", "mute", "any"}).is_error());
    (void)observer_({"SUBSCRIBE", "quorumlock:led:lock"});
    server_.observe("quorumlock:led:lock");
  }

  bool reads_only_ = false;

 private:
  using Ask = std::function<test::Reply(const Words&)>;
  /// A server, and the user who runs the script there.
  struct Node {
    const char* what;
    bool may_publish;
    Ask user;
    Ask control;
    std::function<test::Reply()> next_message;
  };

  std::string changes_so_far() {
    const std::string info = control_({"INFO", "persistence"}).text;
    const std::size_t at = info.find("rdb_changes_since_last_save:");
    return info.substr(at, info.find('\r', at) - at);
  }
  static std::string record(const Node& node) {
    const test::Reply all =
        node.control({"HMGET", "quorumlock:leader:lock", "token", "fence", "version", "value"});
    const test::Reply left = node.control({"PTTL", "quorumlock:leader:lock"});
    return left.integer == -2 ? "" : to_text(all) + " " + to_text(left);
  }
  /// The messages since the last call.
  static std::string told(const Node& node) {
    (void)node.control({"PUBLISH", "quorumlock:led:lock", "end"});
    std::string all;
    for (;;) {
      const std::string message = node.next_message().elements.at(2).text;
      if (message == "end") return all;
      all += "told" + message;
    }
  }

  test::Cluster cluster_{{.size = 1, .enrolled = false}};
  test::Redis control_{cluster_.server(0).url()};
  test::Redis muted_{cluster_.server(0).url()};
  test::Redis observer_{cluster_.server(0).url()};
  Simulated server_;
  const Node real_{"real", true, std::ref(control_), std::ref(control_),
                   [this] { return observer_.read(); }};
  const Node mute_{"real, of a user who may not publish", false, std::ref(muted_),
                   std::ref(control_), [this] { return observer_.read(); }};
  const Ask ask_simulated_ = [this](const Words& words) { return server_.ask(words); };
  const Node simulated_{"simulated", true, ask_simulated_, ask_simulated_,
                        [this] { return server_.next_message(); }};
};

const Words mine = {"SET", "lock", "me", "PX", "60000"};
const Words yours = {"SET", "lock", "you", "PX", "60000"};
const Words my_record = {
    "HSET",  "quorumlock:leader:lock", "token", "me", "fence", "7", "version", "3", "value",
    "before"};
const Words your_record = {
    "HSET",  "quorumlock:leader:lock", "token", "you", "fence", "6", "version", "9", "value",
    "before"};

TEST_F(ScriptReplies, AnnounceRepliesAsListed) {
  const Words third = {"me", "7", "3", "after", "60000"};
  const Words fourth = {"me", "7", "4", "after", "60000"};
  hold(redis::announce_script, {"lock", "quorumlock:leader:lock"},
       {{"nobody has the lock", {}, third, "0"},
        {"another has it", {yours, your_record}, third, "0", "{you 6 9 before} -1"},
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

TEST_F(ScriptReplies, WithdrawRepliesAsListed) {
  hold(redis::withdraw_script, {"lock", "quorumlock:leader:lock"},
       {{"nobody has said anything", {}, {"me"}, "0"},
        {"another has", {mine, your_record}, {"me"}, "0", "{you 6 9 before} -1"},
        {"mine, while the lock is mine", {mine, my_record}, {"me"}, "1", "", "told"},
        {"mine, but the lock is another's by now", {yours, my_record}, {"me"}, "1", "", "told"}});
}

TEST_F(ScriptReplies, LeaderRepliesAsListed) {
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

const std::string far_off = "9000000000000";  ///< in ms, by any node's clock

std::vector<Words> line(const std::string& key, const std::string& waiter,
                        const std::string& ticket, const std::string& ends) {
  return {{"ZADD", "quorumlock:queue:" + key, ticket, waiter},
          {"ZADD", "quorumlock:waiting:" + key, ends, waiter}};
}

std::vector<Words> operator+(std::vector<Words> one, const std::vector<Words>& other) {
  one.insert(one.end(), other.begin(), other.end());
  return one;
}

TEST_F(ScriptReplies, InspectOfALockRepliesAsListed) {
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

TEST_F(ScriptReplies, LocksRepliesAsListed) {
  reads_only_ = true;
  const std::string token = std::string(40, 'a') + "@web-3:812";
  const std::string digits(40, 'b');
  const auto set = [](const std::string& key, const std::string& value) {
    return std::vector<Words>{{"SET", key, value, "PX", "60000"}};
  };
  const Words all = {"0", "*", "100", ""};
  const Words permits = {"0", "quorumlock:permit:*:*", "100", "quorumlock:semaphore:"};
  const std::string held = "{0 now {lock string soon '' 0 {" + token + "} 0 ''}}";
  const std::string counted = "{0 now {lock string soon 41 0 {" + digits + "} 0 ''}}";
  const std::string waited_for = "{0 now {lock string soon '' 1 {" + digits + "} 0 w1}}";
  const std::string read = "{0 now {lock zset soon 41 0 {a 9000000000000} 0 ''}}";
  const std::string permit =
      "{0 now {quorumlock:permit:2:lock string soon 41 1 {" + token + "} 0 w1}}";
  const std::string leads = "{" + token + " nil 1 nil} -1";
  const std::string led_before = "{" + digits + " nil 1 nil} -1";
  const std::string led = "{0 now {lock string soon '' 0 {" + token + "} 1 ''}}";
  const auto record_of = [](const std::string& leader) {
    return std::vector<Words>{{"HSET", "quorumlock:leader:lock", "token", leader, "version", "1"}};
  };
  const std::vector<Words> counter = {{"SET", "quorumlock:fence:lock", "41"}};
  hold(redis::locks_script, {},
       {{"nothing is there", {}, all, "{0 now}"},
        {"a holder with a label", set("lock", token), all, held.c_str()},
        {"a leader", set("lock", token) + record_of(token), all, led.c_str(), leads.c_str()},
        {"the record of a former leader", set("lock", token) + record_of(digits), all, held.c_str(),
         led_before.c_str()},
        {"a record of another kind",
         set("lock", token) + std::vector<Words>{{"SET", "quorumlock:leader:lock", token}}, all,
         held.c_str(), "WRONGTYPE Operation against a key holding the wrong kind of value -1"},
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

TEST_F(ScriptReplies, InspectOfASemaphoreRepliesAsListed) {
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
