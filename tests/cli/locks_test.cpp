#include <fstream>

#include "cli/fixture.hpp"

namespace quorumlock::test {
namespace {

class Locks : public CommandLine {
 protected:
  /// Lists locks with patience: on a busy machine a node may take long for thousands of keys.
  json listed(std::vector<std::string> more = {}) {
    const std::string patient = directory.path() / "patient.json";
    std::ofstream(patient) << json{{"nodes", {"redis://replaced.example"}},
                                   {"node_timeout", "10s"},
                                   {"connect_timeout", "20s"}};
    more.insert(more.begin(), {"--config", patient, "--json", "locks"});
    const Ended ended = run(more);
    EXPECT_EQ(ended.code, 0) << ended.err;
    return json::parse(ended.out);
  }
};

TEST_F(Locks, ListsWhatAQuorumHoldsAndForWhom) {
  EXPECT_EQ(listed().at("locks"), json::array());
  std::string token = run({"acquire", "--ttl", "20s", "orders:1"}).out;
  token.pop_back();
  ASSERT_EQ(run({"acquire", "--ttl", "20s", "stock:1"}).code, 0);
  cluster.plant(0, "minority");
  cluster.raw(1, {"SET", "cache", "of another program"});
  const json document = listed();
  EXPECT_TRUE(document.at("complete"));
  ASSERT_EQ(document.at("locks").size(), 2) << document.dump(2);
  const json& lock = document.at("locks")[0];
  EXPECT_EQ(lock.at("resource"), "orders:1");
  EXPECT_EQ(lock.at("mode"), "exclusive");
  EXPECT_EQ(lock.at("label"), token.substr(41));
  EXPECT_EQ(lock.at("token_begin"), token.substr(0, 8));
  EXPECT_EQ(lock.at("nodes"), 3);
  EXPECT_GE(lock.at("held_for_ms"), 0);
  EXPECT_GT(lock.at("expires_in_ms"), 0);
  EXPECT_EQ(lock.at("waiters"), 0);
  EXPECT_GT(lock.at("fencing_token"), 0);
  EXPECT_EQ(listed({"stock:*"}).at("locks").size(), 1);
  // People see the same, and nobody sees a whole token.
  const Ended table = run({"locks"});
  EXPECT_THAT(table.out, HasSubstr("orders:1  exclusive  " + token.substr(41) + "  " +
                                   token.substr(0, 8) + "...  "));
  EXPECT_THAT(table.out, HasSubstr("2 held"));
  EXPECT_THAT(table.out, testing::Not(HasSubstr(token.substr(0, 40))));
}

TEST_F(Locks, SaysIfThereAreMoreThanItLists) {
  for (const char* resource : {"a", "b", "c"}) {
    ASSERT_EQ(run({"acquire", "--ttl", "20s", resource}).code, 0);
  }
  const json document = listed({"--limit", "1"});
  EXPECT_FALSE(document.at("complete"));
  EXPECT_THAT(run({"locks", "--limit", "1"}).out,
              HasSubstr("of more than 1 locks: give a PATTERN"));
  EXPECT_EQ(run({"locks", "--limit", "0"}).code, 64);
}

TEST_F(Locks, FindsAKeyAmongThousands) {
  // Each node is looked at page by page.
  for (int node = 0; node < 3; ++node) {
    cluster.raw(node, {"EVAL",
                       "for i = 1, 3000 do redis.call('SET', 'cache:' .. i, string.rep('x', 50)) "
                       "end",
                       "0"});
  }
  ASSERT_EQ(run({"acquire", "--ttl", "20s", "orders"}).code, 0);
  EXPECT_EQ(listed().at("locks").size(), 1);
}

TEST_F(Locks, ShowsTheNextWaiter) {
  ASSERT_EQ(run({"acquire", "--ttl", "30s", "orders"}).code, 0);
  Program waiting = start({"acquire", "--wait", "forever", "orders"});
  json lock;
  ASSERT_TRUE(eventually([&] {
    lock = listed().at("locks").at(0);
    return lock.at("waiters") == 1;
  }));
  const std::string label = lock.at("next_waiter");
  EXPECT_TRUE(label.ends_with(":" + std::to_string(waiting.pid()))) << label;
  EXPECT_THAT(run({"locks"}).out, HasSubstr("  1        " + label + "  "));
  EXPECT_THAT(run({"locks"}).out, HasSubstr("1 held, 1 waiting"));
}

TEST_F(Locks, ColumnsAreAsWideAsTheirCharacters) {
  const std::string name = "\xd0\xba\xd0\xbb\xd1\x8e\xd1\x87";  // four letters in eight bytes
  for (const std::string& resource : {name, std::string("sixsix")}) {
    ASSERT_EQ(run({"acquire", "--ttl", "20s", resource}).code, 0);
  }
  EXPECT_THAT(run({"locks"}).out, AllOf(HasSubstr("\nsixsix    exclusive"),
                                        HasSubstr("\n" + name + "      exclusive")));
}

TEST_F(Locks, LongTimesAreInTwoUnits) {
  const std::string token = std::string(40, 'a') + "@web-3:812";
  for (int node = 0; node < 3; ++node) {
    cluster.raw(node, {"SET", "a", token, "PX", "86399000"});
    cluster.raw(node, {"SET", "b", token, "PX", "180900"});
  }
  const std::string text = run({"locks"}).out;
  EXPECT_THAT(text, HasSubstr(" 23h 59m "));
  EXPECT_THAT(text, AnyOf(HasSubstr(" 3m 0s "), HasSubstr(" 2m 5")));
}

TEST_F(Locks, ANameOrATokenCannotSteerTheTerminal) {
  // Another program may write what it likes. The JSON documents have all of it.
  const std::string name = "a\x1b[2J\nb";
  for (int node = 0; node < 3; ++node) {
    cluster.raw(node, {"SET", name, "\x1b[31mred"});
    cluster.raw(node, {"SET", "quorumlock:fence:" + name, "1"});
  }
  const Ended table = run({"locks"});
  EXPECT_THAT(table.out, HasSubstr("a\\u001b[2J\\u000ab  exclusive  another program"));
  const Ended seen = run({"inspect", name});
  EXPECT_THAT(seen.out, HasSubstr("held by another program, and not free on enough nodes"));
  EXPECT_THAT(table.out + seen.out, Not(AnyOf(HasSubstr("\x1b"), HasSubstr("31mred"))));
  EXPECT_EQ(listed().at("locks").at(0).at("resource"), name);
}

TEST_F(Locks, AWatchGoesOnWhileThereIsNoQuorum) {
  Program watch = start({"--json", "locks", "--watch"});
  const auto next_is = [&](const auto& what) {
    return eventually([&] { return what(json::parse(watch.line())); });
  };
  EXPECT_TRUE(next_is([](const json& seen) { return seen.at("ran_out").empty(); }));
  cluster.kill(0);
  cluster.kill(1);
  EXPECT_TRUE(next_is([](const json& seen) {
    return seen.contains("error") && seen.at("error").at("code") == "no_quorum";
  }));
  cluster.restart(1);
  EXPECT_TRUE(next_is([](const json& seen) { return seen.contains("locks"); }));
}

TEST_F(Locks, AWatchEndsDuringALook) {
  const std::string patient = directory.path() / "patient.json";
  std::ofstream(patient) << json{{"nodes", {"redis://replaced.example"}},
                                 {"node_timeout", "600s"},
                                 {"connect_timeout", "600s"}};
  Program watch = start({"--config", patient, "locks", "--watch"});
  watch.line();
  const long long before = cluster.commands(0);
  for (const int node : {1, 2}) cluster.pause(node);
  ASSERT_TRUE(eventually([&] { return cluster.commands(0) > before; })) << "it looks again";
  watch.signal(SIGTERM);
  EXPECT_EQ(watch.finish().code, 128 + SIGTERM);
}

}  // namespace
}  // namespace quorumlock::test
