#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <random>
#include <set>
#include <string>

#include "sim/commands.hpp"
#include "sim/differential_table.hpp"
#include "sim/resp.hpp"
#include "sim/twins.hpp"
#include "support/eventually.hpp"
#include "verbs/scripts.hpp"
#include "wire/info.hpp"

// Compares the simulated server with a real one: the same commands must give the same replies, byte
// for byte, and after each command the same keys with the same expiries.
namespace quorumlock::sim {
namespace {

using table::Row;
using test::Reply;

/// `QUORUMLOCK_TEST_SEED=17 sim_tests --gtest_filter=Differential.*` repeats what was drawn.
std::uint64_t drawn_seed() {
  static const char* const text = std::getenv("QUORUMLOCK_TEST_SEED");
  static const std::uint64_t seed =
      text != nullptr ? std::strtoull(text, nullptr, 10) : std::random_device{}();
  return seed;
}

bool calls(std::string_view text, const redis::Script& script) {
  return text.starts_with("CALL " + std::string(script.name) + " ");
}

const std::vector<std::string> channels = {"channel", "quorumlock:wake:0123456789abcdef",
                                           "quorumlock:led:lock", "quorumlock:led:orders:42"};

// --- Commands one after another ------------------------------------------------------------------

struct Walk {
  Twins::Settings settings;
  int steps;
  bool restarts = true;
  std::filesystem::path no_longer = {};  ///< the directory of the snapshots, which is gone
};

void walk(Walk walk) {
  SCOPED_TRACE("QUORUMLOCK_TEST_SEED=" + std::to_string(drawn_seed()));
  table::Draw draw(drawn_seed());
  walk.settings.channels = channels;
  Twins twins(std::move(walk.settings));
  if (!walk.no_longer.empty()) {
    std::filesystem::remove_all(walk.no_longer);
    twins.control({"BGSAVE"});
    ASSERT_TRUE(test::eventually([&twins] {
      const std::string info = twins.control({"INFO", "persistence"}).text;
      return info.find("bgsave_status:err") != info.npos;
    }));
    twins.simulated().conditions.cannot_persist = true;
  }
  std::vector<std::string_view> lots;
  for (const Row& row : table::rows()) {
    lots.insert(lots.end(), static_cast<std::size_t>(row.weight), row.text);
  }
  test::SeededRandom& random = draw.random;
  bool replica = false;
  for (int step = 0; step < walk.steps && !testing::Test::HasFailure(); ++step) {
    if (random.one_in(40)) twins.set_out_of_memory(random.one_in(3));
    if (random.one_in(40)) {
      replica = !replica && random.one_in(3);
      twins.set_replica(replica);
    }
    if (random.one_in(400) && walk.restarts) {
      twins.restart();
      replica = false;
    }
    if (random.one_in(2)) {
      twins.pass(
          std::chrono::microseconds(random.between(1, random.one_in(20) ? 9'000'000 : 3000)));
    }
    twins.ask(draw.command(lots[random.index(lots.size())], twins.now_us()));
  }
}

// Sends random commands to a server that forgets everything when it is restarted.
TEST(Differential, VolatileServersReplyTheSame) {
  walk({.settings = {}, .steps = 6000});
}

// Sends random commands to a server that logs every write.
TEST(Differential, DurableServersReplyTheSame) {
  walk({.settings = {.durable = true}, .steps = 3000});
}

// The server's directory for snapshots is gone, so it refuses to write.
TEST(Differential, ServersThatCannotPersistReplyTheSame) {
  const test::TemporaryDirectory directory;
  Twins::Settings settings{.more = {"--dir", directory.path(), "--save", "3600 1"}};
  walk({.settings = std::move(settings),
        .steps = 1500,
        .restarts = false,
        .no_longer = directory.path()});
}

// --- Each command in each state ------------------------------------------------------------------

TEST(Differential, EveryScriptIsCalled) {
  for (const redis::Script* const script : redis::all_scripts) {
    EXPECT_TRUE(std::ranges::any_of(table::rows(), [script](const Row& row) {
      return calls(row.text, *script);
    })) << script->name;
  }
}

TEST(Differential, EveryCommandRepliesTheSameInEveryState) {
  SCOPED_TRACE("QUORUMLOCK_TEST_SEED=" + std::to_string(drawn_seed()));
  table::Draw draw(drawn_seed());
  draw.lock = "orders:42";
  Twins twins({.channels = channels});
  for (const std::string_view of_lock : table::states_of_a_lock()) {
    for (const std::string_view of_line : table::states_of_a_line()) {
      for (const Row& row : table::rows()) {
        // What is no script asks for no line.
        if (!of_line.empty() && !row.text.starts_with("CALL ")) continue;
        SCOPED_TRACE(std::string(row.text) + " after " + std::string(of_lock) + " ; " +
                     std::string(of_line));
        twins.compare_replies({"FLUSHALL"});
        for (const std::string_view state :
             {std::string_view("SET $enrolment $usual"), of_line, of_lock}) {
          draw.usual = true;
          for (const Words& words : draw.commands(state, twins.now_us())) {
            EXPECT_FALSE(twins.compare_replies(words).is_error());
          }
        }
        draw.usual = draw.random.one_in(3);
        twins.ask(draw.command(row.text, twins.now_us()));
        if (HasFailure()) return;
      }
    }
  }
}

/// The reply on one line. The servers' time becomes `now`.
std::string to_text(const Reply& reply, std::int64_t now_us) {
  switch (reply.type) {
    case Reply::Type::nothing: return "nil";
    case Reply::Type::integer:
      return reply.integer == now_us ? "now" : std::to_string(reply.integer);
    case Reply::Type::array: break;
    default: return reply.text.empty() ? "''" : reply.text;
  }
  std::string text;
  for (const Reply& element : reply.elements) {
    text += (text.empty() ? "" : " ") + to_text(element, now_us);
  }
  return "{" + text + "}";
}

TEST(Differential, StoriesGoAsTheyAreTold) {
  table::Draw draw(1);
  draw.usual = true;
  // The second time, the real server's user may not publish.
  for (const bool mute : {false, true}) {
    Twins twins({.channels = channels, .mute = mute});
    for (const std::string_view story : table::stories()) {
      SCOPED_TRACE(story);
      twins.compare_replies({"FLUSHALL"});
      for (const std::string_view step : table::split(story, " ; ")) {
        const auto parts = table::split(step, " => ");
        Words words = draw.command(parts.at(0), twins.now_us());
        const Reply reply = twins.ask(words);
        if (parts.size() == 1) continue;
        std::string wanted;
        for (const std::string& word : draw.words(parts.at(1), twins.now_us())) {
          if (word == "told" && mute) continue;
          wanted += (wanted.empty() ? "" : " ") + (word.empty() ? "''" : word);
        }
        // Without braces, the reply, or its first element.
        const bool is_array = reply.type == Reply::Type::array && !wanted.starts_with('{');
        std::string given = to_text(is_array ? reply.elements.at(0) : reply, twins.now_us());
        if (wanted == "error" && reply.is_error()) given = wanted;
        EXPECT_EQ(given + (twins.told() ? " told" : ""), wanted) << step;
        if (!parts.at(0).starts_with("$inspect") && !parts.at(0).starts_with("$leader") &&
            !parts.at(0).starts_with("$list_locks")) {
          continue;
        }
        words[0] = "EVAL_RO";  // the server refuses every write
        EXPECT_EQ(to_text(twins.control(words), twins.now_us()), given) << step;
      }
    }
  }
}

TEST(Differential, OddCountersAreAnErrorAndGiveNoTokenOrLock) {
  table::Draw draw(1);
  draw.usual = true;
  Twins twins({.channels = channels});
  const auto begin = [&](const char* odd) {
    twins.compare_replies({"FLUSHALL"});
    for (const Words& words : draw.commands("SET $enrolment $usual", twins.now_us()))
      twins.ask(words);
    for (const char* key : {"quorumlock:fence:$one", "quorumlock:fence:$sem"}) {
      twins.ask({"SET", draw.words(key, twins.now_us()).at(0), odd});
    }
    return twins.real_keys();
  };
  const std::string error = "ERR quorumlock: the fencing counter is not a whole number below 2^53";
  for (const char* odd :
       {"nan", "-nan", "inf", "-inf", "-1", "1e300", "1.5", "x", "", "9007199254740992"}) {
    SCOPED_TRACE(odd);
    int tried = 0;
    for (const Row& row : table::rows()) {
      for (const redis::Script* const script : redis::all_scripts) {
        if (!calls(row.text, *script) || script->source.find(error) == std::string_view::npos)
          continue;
        SCOPED_TRACE(row.text);
        const std::string before = begin(odd);
        const Reply reply = twins.ask(draw.command(row.text, twins.now_us()));
        const bool is_batch = !reply.is_error() && reply.elements.size() > 1;
        EXPECT_EQ(to_text(is_batch ? reply.elements[1] : reply, 0), error);
        EXPECT_EQ(twins.real_keys(), before);
        ++tried;
      }
    }
    EXPECT_GT(tried, 3);
    // A renewal of several locks goes on with the others: the lock is gone from this node.
    const std::string before = begin(odd);
    const Reply renewed =
        twins.ask(draw.command("CALL renew $one / 9000 1 mine 7 "
                               "9000000 $latest $usual 0 9000 9000",
                               twins.now_us()));
    EXPECT_EQ(to_text(renewed, twins.now_us()), "{now 3}");
    EXPECT_EQ(twins.real_keys(), before);
  }
}

// Another program has each kind of value under each key that the scripts name.
TEST(Differential, NoScriptChangesWhatAnotherProgramHas) {
  SCOPED_TRACE("QUORUMLOCK_TEST_SEED=" + std::to_string(drawn_seed()));
  table::Draw draw(drawn_seed());
  Twins twins({});
  const std::vector<std::pair<std::string, std::vector<std::string>>> kinds = {
      {"string", {"SET", "key", "theirs"}},
      {"list", {"RPUSH", "key", "theirs"}},
      {"hash", {"HSET", "key", "its", "field"}},
      {"set", {"SADD", "key", "theirs"}},
      {"zset", {"ZADD", "key", "1", "theirs"}},
      {"stream", {"XADD", "key", "1-1", "its", "field"}}};
  // Each key, with the kind of value that our scripts have there; we may change that.
  const std::vector<std::pair<std::string_view, std::string>> keys = {
      {"$one", ""},
      {"quorumlock:permit:$job:1", ""},
      {"$sem", "string"},
      {"quorumlock:fence:$one", "string"},
      {"quorumlock:fence:$sem", "string"},
      {"quorumlock:queue:$one", "zset"},
      {"quorumlock:queue:$sem", "zset"},
      {"quorumlock:waiting:$one", "zset"},
      {"quorumlock:granted:$one", "hash"},
      {"quorumlock:readers:$one", "zset"},
      {"quorumlock:replanted:$one", "string"},
      {"quorumlock:released:$one:token-1", "string"},
      {"quorumlock:leader:$one", "hash"},
      {"quorumlock:once:$one", "string"}};
  int asked = 0;
  for (const auto& [text, ours] : keys) {
    const std::string key = draw.words(text, 0).at(0);
    for (const auto& [kind, plant] : kinds) {
      if (kind == ours) continue;
      for (const std::string_view of_lock : {"", "SET $one token-1 PX 30000",
                                             "SET $one quorumlock:readers PX 30000 ; "
                                             "ZADD quorumlock:readers:$one $far token-1"}) {
        for (const Row& row : table::rows()) {
          if (!row.text.starts_with("CALL ")) continue;
          SCOPED_TRACE(std::string(row.text) + " with a " + kind + " under " + std::string(text));
          (void)twins.control({"FLUSHALL"});
          (void)twins.control({"SET", "quorumlock:enrolment", "run-1:30000,a,86400:durable"});
          draw.usual = true;
          for (const Words& words : draw.commands(of_lock, twins.now_us())) {
            (void)twins.control(words);
          }
          (void)twins.control({"DEL", key});
          Words planted = plant;
          planted[1] = key;
          ASSERT_FALSE(twins.control(planted).is_error());
          (void)twins.control({"PEXPIRE", key, "3600000"});
          const auto seen = [&] {
            return twins.control({"DUMP", key}).text +
                   std::to_string(twins.control({"PEXPIRETIME", key}).integer);
          };
          const std::string before = seen();
          draw.lock = "orders:42";
          draw.usual = draw.random.one_in(2);
          (void)twins.control(draw.command(row.text, twins.now_us()));
          draw.usual = true;
          ASSERT_EQ(seen(), before);
          ++asked;
        }
      }
    }
  }
  EXPECT_GT(asked, 5000);
}

// --- Each command in each condition of the server -----------------------------------------------

void compare_all_replies(Twins& twins, const std::function<bool(const Words&)>& asks = {}) {
  table::Draw draw(1);
  draw.usual = true;
  for (const Row& row : table::rows()) {
    const Words words = draw.command(row.text, twins.now_us());
    if (!asks || asks(words)) twins.compare_replies(words);
  }
}

TEST(Differential, NothingWorksBeforeThePassword) {
  Twins twins({.password = "secret", .more = {"--requirepass", "secret"}});
  const bool hides_commands = table::is_valkey_9_1(twins.control({"INFO", "server"}).text);
  compare_all_replies(twins, [&](const Words& words) {
    if (words.size() > 10) return false;  // the server would hang up
    std::string error;
    if (!hides_commands || find_command(words, error) != nullptr) return true;
    // It does not say before the password which commands it has.
    EXPECT_EQ(twins.replies(words).first, "-NOAUTH Authentication required.\r\n") << words[0];
    return false;
  });
  twins.compare_replies({"AUTH", "secret"});
  compare_all_replies(twins);
  twins.compare_replies({"AUTH", "default", "secret"});
}

TEST(Differential, ABusyServerRepliesTheSame) {
  Twins twins({.more = {"--busy-reply-threshold", "1"}});
  const bool serves_connections = table::is_valkey_9_1(twins.control({"INFO", "server"}).text);
  test::Redis another(twins.url());
  twins.control().send({"EVAL", "while true do end", "0"});
  ASSERT_TRUE(test::eventually([&another] { return another({"PING"}).is_error(); }));
  compare_all_replies(twins, [&](const Words& words) {
    twins.simulated().conditions.busy = !serves_connections || !table::is_of_connection(words);
    return true;
  });
  another({"SCRIPT", "KILL"});
  EXPECT_TRUE(twins.control().read().is_error());
}

TEST(Differential, ALoadingServerRepliesTheSame) {
  Twins twins({.more = {"--enable-debug-command", "yes", "--loading-process-events-interval-bytes",
                        "1024"}});
  test::Redis another(twins.url());
  another({"DEBUG", "POPULATE", "10000"});
  another({"CONFIG", "SET", "key-load-delay", "1000"});
  twins.control().send({"DEBUG", "RELOAD"});
  ASSERT_TRUE(test::eventually([&another] { return another({"PING"}).is_error(); }));
  twins.simulated().conditions.loading = true;
  compare_all_replies(twins);
  another({"CONFIG", "SET", "key-load-delay", "0"});
  twins.control().read();
}

/// The lines of an INFO reply, without those that differ from run to run, or from server to server.
std::vector<std::string> steady_lines(std::string_view info) {
  static const std::set<std::string> own = {
      "run_id",        "tcp_port",      "connected_clients", "uptime_in_seconds",
      "master_replid", "redis_version", "redis_mode"};
  std::vector<std::string> lines;
  for (const std::string_view each : table::split(info, "\r\n")) {
    const std::string line(each);
    if (!line.starts_with('$') && !own.contains(line.substr(0, line.find(':'))))
      lines.push_back(line);
  }
  return lines;
}

TEST(Differential, IntrospectionIsTheSame) {
  for (const bool durable : {false, true}) {
    Twins twins({.durable = durable});
    for (const bool replica : {false, true}) {
      twins.set_replica(replica);
      for (const char* const section : {"server", "replication", "persistence", "memory"}) {
        const auto [real, simulated] = twins.replies({"INFO", section});
        EXPECT_THAT(steady_lines(real), testing::IsSupersetOf(steady_lines(simulated)));
        EXPECT_EQ(redis::mode_of(simulated), redis::mode_of(real));
        EXPECT_EQ(redis::version_of(simulated).empty(), redis::version_of(real).empty());
      }
    }
    for (const char* const parameter : {"appendonly", "appendfsync", "no-appendfsync-on-rewrite",
                                        "maxmemory", "maxmemory-policy", "nosuch"}) {
      twins.compare_replies({"CONFIG", "GET", parameter});
    }
    const auto [real, simulated] = twins.replies({"CONFIG", "GET", "append*", "MAXMEMORY"});
    EXPECT_GT(real.size(), simulated.size());  // the real server has more of them
  }
}

TEST(Differential, ScanFindsAllThatMatches) {
  Twins twins({});
  std::vector<std::string> wanted;
  for (int i = 0; i < 50; ++i) {
    const std::string key = (i % 2 == 0 ? "even*{" : "odd") + std::to_string(i);
    twins.ask({"SET", key, "value"});
    if (i % 2 == 0) wanted.push_back(resp::bulk(key));
  }
  const auto [real, simulated] =
      twins.replies({"SCAN", "0", "MATCH", "even\\*{*", "COUNT", "1000"});
  EXPECT_EQ(real.size(), simulated.size());
  for (const std::string& key : wanted) {
    EXPECT_THAT(real, testing::HasSubstr(key));
    EXPECT_THAT(simulated, testing::HasSubstr(key));
  }
}

}  // namespace
}  // namespace quorumlock::sim
