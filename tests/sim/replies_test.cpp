#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "redis/scripts.hpp"
#include "sim/resp.hpp"
#include "sim/twins.hpp"
#include "support/eventually.hpp"

// Comparisons with a real server that the walks of Differential do not reach.
namespace quorumlock::sim {
namespace {

const std::vector<Words>& every_kind() {
  static const std::vector<Words> commands = {
      {"PING"},
      {"PING", "text"},
      {"SELECT", "0"},
      {"GET", "key"},
      {"MGET", "key"},
      {"EXISTS", "key"},
      {"PTTL", "key"},
      {"SCAN", "0"},
      {"SET", "key", "value"},
      {"INCR", "key"},
      {"DEL", "key"},
      {"INCR", "key"},
      {"SET", "key", "9223372036854775807"},
      {"INCR", "key"},
      {"DEL", "key"},
      {"HSET", "key", "field", "value"},
      {"PEXPIRE", "key", "1000"},
      {"FLUSHALL"},
      {"SCRIPT", "LOAD", std::string(redis::release_script.source)},
      {"SCRIPT", "EXISTS", std::string(redis::release_script.sha1)},
      {"EVALSHA", std::string(redis::release_script.sha1), "1", "key", "token"},
      {"EVAL", std::string(redis::release_script.source), "1", "key", "token"},
      {"SCRIPT", "FLUSH"},
      {"CLIENT", "KILL", "ID", "987654321"},
      {"CLIENT", "SETNAME", "quorumlock:0123456789abcdef"},
      {"CLIENT", "SETNAME", "two words"},
      {"CONFIG", "GET", "no-appendfsync-on-rewrite"},
      {"NOSUCH"},
      {"GET"},
      {"CLIENT"},
      {"CLIENT", "NOSUCH"},
      {"AUTH", "wrong"},
      {"AUTH", "default", "wrong"},
      {"AUTH", "too", "many", "words"},
  };
  return commands;
}

// The lines of an INFO reply, without those that differ from run to run.
std::vector<std::string> steady_lines(std::string_view info) {
  std::vector<std::string> lines;
  while (!info.empty()) {
    const std::size_t end = std::min(info.find("\r\n"), info.size());
    const std::string line(info.substr(0, end));
    info.remove_prefix(std::min(end + 2, info.size()));
    const std::string name = line.substr(0, line.find(':'));
    static const std::set<std::string> own = {"run_id", "tcp_port", "connected_clients",
                                              "uptime_in_seconds", "master_replid"};
    if (!line.starts_with('$') && !own.contains(name)) lines.push_back(line);
  }
  return lines;
}

TEST(Replies, NothingWorksBeforeThePassword) {
  Twins twins({.password = "secret", .more = {"--requirepass", "secret"}});
  for (const Words& words : every_kind()) twins.expect_same(words);
  twins.expect_same({"AUTH", "secret"});
  for (const Words& words : every_kind()) twins.expect_same(words);
  twins.expect_same({"AUTH", "default", "secret"});
}

TEST(Replies, ABusyServerRepliesTheSame) {
  Twins twins({.more = {"--busy-reply-threshold", "1"}});
  test::Redis another(twins.url());
  twins.control().send({"EVAL", "while true do end", "0"});
  ASSERT_TRUE(test::eventually([&another] { return another({"PING"}).is_error(); }));
  twins.simulated().conditions.busy = true;
  for (const Words& words : every_kind()) twins.expect_same(words);
  another({"SCRIPT", "KILL"});
  EXPECT_TRUE(twins.control().read().is_error());
}

TEST(Replies, ALoadingServerRepliesTheSame) {
  Twins twins({.more = {"--enable-debug-command", "yes", "--loading-process-events-interval-bytes",
                        "1024"}});
  test::Redis another(twins.url());
  another({"DEBUG", "POPULATE", "10000"});
  another({"CONFIG", "SET", "key-load-delay", "1000"});
  twins.control().send({"DEBUG", "RELOAD"});
  ASSERT_TRUE(test::eventually([&another] { return another({"PING"}).is_error(); }));
  twins.simulated().conditions.loading = true;
  for (const Words& words : every_kind()) twins.expect_same(words);
  another({"CONFIG", "SET", "key-load-delay", "0"});
  twins.control().read();
}

TEST(Replies, IntrospectionIsTheSame) {
  for (const bool durable : {false, true}) {
    Twins twins({.durable = durable});
    for (const bool replica : {false, true}) {
      twins.set_replica(replica);
      for (const char* const section : {"server", "replication", "persistence", "memory"}) {
        const auto [real, simulated] = twins.replies({"INFO", section});
        EXPECT_THAT(steady_lines(real), testing::IsSupersetOf(steady_lines(simulated)));
      }
    }
    for (const char* const parameter : {"appendonly", "appendfsync", "no-appendfsync-on-rewrite",
                                        "maxmemory", "maxmemory-policy", "nosuch"}) {
      twins.expect_same({"CONFIG", "GET", parameter});
    }
    const auto [real, simulated] = twins.replies({"CONFIG", "GET", "append*", "MAXMEMORY"});
    EXPECT_GT(real.size(), simulated.size());  // the real server has more of them
  }
}

TEST(Replies, ScanFindsAllThatMatches) {
  Twins twins({});
  std::vector<std::string> wanted;
  for (int i = 0; i < 50; ++i) {
    const std::string key = (i % 2 == 0 ? "even*{" : "odd") + std::to_string(i);
    twins.ask({"SET", key, "value"});
    if (i % 2 == 0) wanted.push_back(resp::bulk(key));
  }
  const Words scan = {"SCAN", "0", "MATCH", "even\\*{*", "COUNT", "1000"};
  const auto [real, simulated] = twins.replies(scan);
  EXPECT_EQ(real.size(), simulated.size());
  for (const std::string& key : wanted) {
    EXPECT_THAT(real, testing::HasSubstr(key));
    EXPECT_THAT(simulated, testing::HasSubstr(key));
  }
}

TEST(Replies, KeysExpireAtTheSameMillisecond) {
  Twins twins({.watched = {"key"}});
  for (const char* const ttl : {"1", "7", "20"}) {
    twins.ask({"SET", "key", "value", "PX", ttl});
    // Each of these replies is compared.
    ASSERT_TRUE(test::eventually([&twins] { return twins.ask({"PTTL", "key"}).integer == -2; }));
    twins.ask({"TIME"});
    twins.ask({"GET", "key"});
  }
  EXPECT_EQ(twins.undecided(), 0);
}

TEST(Replies, AReadersTimeThatIsTooLongIsRefused) {
  Twins twins({.watched = {"x", "y"}});
  const std::string long_after = "9223372036854775807";
  twins.ask({"SET", "quorumlock:enrolment", "E"});
  EXPECT_TRUE(twins
                  .ask({"EVAL", std::string(redis::acquire_shared_script.source), "3", "x",
                        "quorumlock:fence:x", "quorumlock:enrolment", "a", long_after, "0", "0",
                        "1000000", "", "1", "600000", "E", "0"})
                  .is_error());
  EXPECT_TRUE(twins
                  .ask({"EVAL", std::string(redis::acquire_all_script.source), "5", "x", "y",
                        "quorumlock:fence:x", "quorumlock:fence:y", "quorumlock:enrolment", "a",
                        long_after, "0", "0", "1000000", "", "1", "600000", "r", "E", "0"})
                  .is_error());
  EXPECT_EQ(twins.ask({"EXISTS", "x", "y"}).integer, 0);
}

TEST(Replies, ACounterIsRaisedByItsOwnerOnly) {
  // The holder of the lock on the node raises the counter to a greater number. For any other token
  // the lock is gone, and the counter stays.
  Twins twins({.watched = {"x", "quorumlock:fence:x"}});
  const auto raise = [&twins](const char* token, const char* fence) {
    return twins
        .ask({"EVAL", std::string(redis::raise_script.source), "3", "x", "quorumlock:fence:x",
              "quorumlock:enrolment", token, fence, "1000000", "E", "0"})
        .elements.at(0)
        .integer;
  };
  twins.ask({"SET", "quorumlock:enrolment", "E"});
  twins.ask({"SET", "quorumlock:fence:x", "5"});
  twins.ask({"SET", "x", "owner"});
  EXPECT_EQ(raise("another", "7"), 3);
  EXPECT_EQ(twins.ask({"GET", "quorumlock:fence:x"}).text, "5");
  EXPECT_EQ(raise("owner", "7"), 1);
  EXPECT_EQ(raise("owner", "7"), 0);
  EXPECT_EQ(twins.ask({"GET", "quorumlock:fence:x"}).text, "7");
  twins.ask({"DEL", "x"});
  EXPECT_EQ(raise("owner", "9"), 3);
}

TEST(Replies, AWaitersSpentEntryStaysIfAnotherAsksBeforeIt) {
  // Two waiters of one process ask in one call. The second one's entry is spent: it had the lock
  // here, gave it up without informing this node, and goes on waiting.
  Twins twins({.watched = {"x", "quorumlock:queue:x", "quorumlock:waiting:x"}});
  for (const std::string first : {"r0123456789abcdef.3", "w0123456789abcdef.3"}) {
    const std::string second = (first[0] == 'r' ? "r" : "w") + std::string("0123456789abcdef.2");
    twins.ask({"DEL", "quorumlock:queue:x", "quorumlock:waiting:x"});
    twins.ask({"ZADD", "quorumlock:queue:x", "1", second});
    twins.ask({"ZADD", "quorumlock:waiting:x", "9000000000000.5", second});
    const test::Reply reply = twins.ask({"EVAL", std::string(redis::queue_script.source), "2", "x",
                                         "x", "600000", first, "2", second, "1"});
    ASSERT_EQ(reply.elements.size(), 10U) << reply.text;
    EXPECT_EQ(reply.elements[5].integer, 0);
    EXPECT_EQ(twins.ask({"ZSCORE", "quorumlock:queue:x", second}).text, "1");
  }
}

TEST(Replies, ReadersOfSeveralLocksGetTheSameReplies) {
  // The test goes step by step through states that a walk seldom reaches: yields while others read,
  // locks set again, a downgrade.
  Twins twins({.watched = {"x", "y", "quorumlock:fence:x", "quorumlock:queue:x",
                           "quorumlock:queue:y", "quorumlock:waiting:x"}});
  const auto call = [&twins](const redis::Script& script, bool votes, Words args) {
    Words words = {"EVAL", std::string(script.source), votes ? "5" : "2", "x", "y"};
    if (votes) {
      for (const char* key : {"quorumlock:fence:x", "quorumlock:fence:y", "quorumlock:enrolment"}) {
        words.emplace_back(key);
      }
      args.insert(args.end(), {"E", "0"});
    }
    words.insert(words.end(), args.begin(), args.end());
    const test::Reply reply = twins.ask(words);
    return reply.elements.empty() ? reply.integer : reply.elements.at(0).integer;
  };
  const std::string reader = "r0123456789abcdef.3";
  const std::string writer = "w0123456789abcdef.4";
  const auto acquire = [&](const char* token, const std::string& waiter, const char* ticket,
                           const char* mode) {
    return call(redis::acquire_all_script, true,
                {token, "30000", "0", "0", "1000000", waiter, ticket, "600000", mode});
  };
  const auto renew = [&](const char* token, const char* ttl) {
    return call(redis::renew_all_script, true,
                {token, ttl, "0", "1", "1000000", "r", "9000000000000000"});
  };
  const auto raise = [&](const char* token, const char* fence) {
    return call(redis::raise_all_script, true, {token, fence, "1000000"});
  };
  const auto release = [&](const char* token, const std::string& leaver,
                           const std::string& not_woken) {
    return call(redis::release_all_script, false, {token, leaver, not_woken});  // 1: deleted
  };
  twins.ask({"SET", "quorumlock:enrolment", "E"});
  EXPECT_EQ(acquire("a", "", "1", "r"), 1);
  EXPECT_EQ(acquire("b", reader, "1", "r"), 1);
  EXPECT_EQ(acquire("c", "", "1", "w"), 0);
  EXPECT_EQ(raise("b", "9000000000000000"), 1);
  EXPECT_EQ(raise("a", "9000000000000000"), 0);
  EXPECT_EQ(raise("c", "9000000000000001"), 3);
  // The reader yields to a writer that came after it, and may have the lock again at once.
  EXPECT_EQ(acquire("c", writer, "2", "w"), 0);
  EXPECT_EQ(release("b", "", reader), 1);
  EXPECT_EQ(release("b", "", reader), 0);
  // A reader after the writer may not have it, and neither may a reader that does not wait.
  EXPECT_EQ(acquire("d", "r0123456789abcdef.5", "3", "r"), 0);
  EXPECT_EQ(acquire("d", "", "3", "r"), 0);
  EXPECT_EQ(release("d", writer, ""), 0);
  EXPECT_EQ(acquire("d", "r0123456789abcdef.5", "3", "r"), 1);
  // The score of a lock that was set again ends in a half, and stays so.
  twins.ask({"ZREM", "y", "d"});
  EXPECT_EQ(renew("d", "20000"), 2);
  EXPECT_EQ(renew("d", "40000"), 1);
  EXPECT_NE(twins.ask({"ZSCORE", "y", "d"}).text.find(".5"), std::string::npos);
  EXPECT_EQ(twins.ask({"ZSCORE", "x", "d"}).text.find(".5"), std::string::npos);
  EXPECT_EQ(release("d", "r0123456789abcdef.5", ""), 1);
  EXPECT_EQ(release("a", reader, ""), 1);
  // A writer becomes a reader; a value of another kind, or without an expiry, belongs to nobody.
  EXPECT_EQ(acquire("e", "", "1", "w"), 1);
  twins.ask({"PEXPIRE", "y", "90000"});
  EXPECT_EQ(renew("e", "50000"), 1);
  EXPECT_EQ(acquire("f", "", "1", "r"), 1);
  EXPECT_EQ(release("e", "", ""), 1);
  twins.ask({"DEL", "y"});
  twins.ask({"ZADD", "y", "1", "f"});
  EXPECT_EQ(renew("f", "50000"), 0);
  EXPECT_EQ(acquire("g", "", "1", "r"), 0);
  twins.ask({"DEL", "y"});
  twins.ask({"HSET", "y", "field", "value"});
  EXPECT_EQ(renew("f", "50000"), 0);
  EXPECT_EQ(acquire("g", "", "1", "r"), 0);
  EXPECT_EQ(release("f", "", ""), 0);
  EXPECT_EQ(twins.undecided(), 0);
}

}  // namespace
}  // namespace quorumlock::sim
