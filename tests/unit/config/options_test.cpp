#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <string>
#include <vector>

#include <quorumlock/options.hpp>

#include "unit/support/refusal.hpp"

namespace quorumlock {
namespace {

using namespace std::chrono_literals;

Options usual_options() {
  Options options;
  options.nodes = {"redis://127.0.0.1:7101", "redis://u:hunter2@lock2.example:6380/3",
                   "unix:///run/redis/lock3.sock"};
  return options;
}

/// The error of validate() after this change to the usual options.
template <class F>
std::string error_with(F&& change) {
  Options options = usual_options();
  change(options);
  return error_of(options.validate());
}

TEST(Options, AreValidByDefaultOnceThereAreNodes) {
  // Every default is valid; only the nodes have no default.
  EXPECT_EQ(error_of(usual_options().validate()), "no error");
  EXPECT_EQ(error_with([](Options& o) { o.nodes.resize(1); }), "no error");
  EXPECT_EQ(error_of(Options().validate()),
            "nodes is missing or empty: give the URLs of 1 to 32 nodes, such as "
            "redis://127.0.0.1:7101");
}

TEST(Options, RefuseTooManyNodes) {
  // 32 nodes fit, 33 do not.
  Options options;
  for (int i = 0; i < 32; ++i) options.nodes.push_back("redis://h:" + std::to_string(7001 + i));
  EXPECT_EQ(error_of(options.validate()), "no error");
  options.nodes.push_back("redis://h:8000");
  EXPECT_EQ(error_of(options.validate()), "nodes has 33 entries: it must have 1 to 32");
}

TEST(Options, RefuseABadUrlAndSayWhichOne) {
  // The error contains the URL's place in the list, and never its password.
  EXPECT_EQ(error_with([](Options& o) { o.nodes[1] = "redis://u:hunter2@h:0"; }),
            "nodes[1]: \"redis://***@h:0\" has a bad port: it must be a number from 1 to 65535, "
            "and an IPv6 address stands in brackets");
}

TEST(Options, RefuseANodeThatIsNamedTwice) {
  // The URLs differ in spelling, password and database, but the server is one and has one vote.
  EXPECT_EQ(error_with([](Options& o) { o.nodes[2] = "redis://x:hunter2@LOCK2.example:06380/4"; }),
            "nodes[2] is the server redis://lock2.example:6380, and so is nodes[1]: name each node "
            "once, or it would have two votes");
}

TEST(Options, RefuseALinkLocalAddressOfTwoInterfaces) {
  // They may be two nodes, but no record could say which one of them is meant.
  const auto both = [](const NodeOptions& other) {
    return error_with([&other](Options& o) {
      o.nodes[1] = "redis://[fe80::1%eth0]";
      o.nodes[2] = other;
    });
  };
  EXPECT_EQ(both("redis://[FE80::1%eth1]"),
            "nodes[2] is called \"[fe80::1]:6379\" (without the interface, which other hosts call "
            "differently), and so is nodes[1]: each node of a list needs a name of its own, as in "
            "{\"url\": \"redis://...\", \"name\": \"locks-1\"}");
  EXPECT_EQ(both({"redis://[fe80::1%eth1]", "other"}), "no error");
  EXPECT_EQ(both("redis://[fe80::1%eth1]:6380"), "no error");
  EXPECT_EQ(both({"redis://[fe80::1%25eth0]", "other"}),
            "nodes[2] is the server redis://[fe80::1%eth0]:6379, and so is nodes[1]: name each "
            "node once, or it would have two votes");
}

TEST(Options, RefuseImpossibleGroups) {
  // Each group is a quorum of its own; no server may be in two of them.
  const auto grouped = [](std::map<std::string, Nodes> groups) {
    return error_with([&groups](Options& o) {
      o.nodes.clear();
      o.groups = std::move(groups);
    });
  };
  EXPECT_EQ(grouped({{"north", {"redis://a"}}, {"south", {"redis://b", "redis://c"}}}), "no error");
  EXPECT_EQ(grouped({{"north", {"redis://a"}}, {"south", {}}}),
            "groups.south is missing or empty: give the URLs of 1 to 32 nodes, such as "
            "redis://127.0.0.1:7101");
  EXPECT_EQ(grouped({{"north", std::vector<std::string>(33, "redis://a")}}),
            "groups.north has 33 entries: it must have 1 to 32");
  EXPECT_EQ(
      grouped({{"north", {"redis://a", "redis://b"}}, {"south", {"redis://c", "redis://B/2"}}}),
      "groups.south[1] is the server redis://b:6379, and so is groups.north[1]: name each node "
      "once, or it would have two votes");
  EXPECT_EQ(grouped({{"north", {"redis://a"}}, {"all of it", {"redis://b"}}}),
            "a group is named \"all of it\": a name has 1 to 64 letters, digits, '.', '_' or '-'");
  EXPECT_EQ(grouped({{std::string(64, 'n'), {"redis://a"}}}), "no error");
  EXPECT_TRUE(starts(grouped({{std::string(65, 'n'), {"redis://a"}}}), "a group is named"));
  EXPECT_EQ(grouped({{"azAZ09._-", {"redis://a"}}}), "no error");
  for (const char other : std::string("`{@[/:, ")) {
    EXPECT_TRUE(starts(grouped({{std::string(1, other), {"redis://a"}}}), "a group is named"));
  }
  std::map<std::string, Nodes> many;
  for (int i = 0; i < 65; ++i) many["g" + std::to_string(i)] = {"redis://h" + std::to_string(i)};
  EXPECT_EQ(grouped(many), "groups has 65 entries: it must have 1 to 64");
  many.erase("g64");
  EXPECT_EQ(grouped(many), "no error");
}

TEST(Options, RefuseNodeNamesThatCannotBeRead) {
  // The nodes' records hold these names, and people read them.
  const auto named = [](const std::string& name) {
    return error_with([&](Options& o) { o.nodes[1] = NodeOptions{"redis://h", name}; });
  };
  EXPECT_EQ(named("!lock-2~"), "no error");
  EXPECT_EQ(named(std::string(255, 'n')), "no error");
  for (const std::string& name : {std::string(256, 'n'), std::string("a b"), std::string("\x7f")}) {
    EXPECT_TRUE(contains(named(name), "it must have at most 255 characters, all visible ASCII"));
  }
  EXPECT_TRUE(contains(named("redis://u:hunter2@h"), "is a URL with a login"));
  EXPECT_EQ(named("redis://h"), "no error");
  EXPECT_EQ(named("u@h"), "no error");
}

TEST(Options, RefuseAnImpossibleNumberOfLoops) {
  for (const int loops : {0, -1, 65}) {
    EXPECT_EQ(error_with([&](Options& o) { o.loops = loops; }),
              "loops is " + std::to_string(loops) +
                  ": it must be 1 to 64; 1 is the default, and does for most");
  }
  EXPECT_EQ(error_with([](Options& o) { o.loops = 64; }), "no error");
}

TEST(Options, RefuseAnImpossibleTtl) {
  // The ttl is not positive, above max_ttl, or not in whole milliseconds.
  EXPECT_EQ(error_with([](Options& o) { o.ttl = 0s; }),
            "ttl is 0s: it must be longer than 0s; 10s is the default");
  EXPECT_EQ(error_with([](Options& o) { o.ttl = -1s; }),
            "ttl is -1s: it must be longer than 0s; 10s is the default");
  const std::string needs_one =
      ", and max_ttl is not given: a ttl above 30s needs a max_ttl beside it, which has to be that "
      "of the nodes";
  EXPECT_EQ(error_with([](Options& o) { o.ttl = 45s; }), "ttl is 45s" + needs_one);
  EXPECT_EQ(error_with([](Options& o) { o.ttl = forever; }), "ttl is forever" + needs_one);
  EXPECT_EQ(error_with([](Options& o) {
              o.max_ttl = 20s;
              o.ttl = 25s;
            }),
            "ttl is 25s, above max_ttl, which is 20s: ask for at most 20s, or raise max_ttl with "
            "quorumlock members apply");
  EXPECT_EQ(error_with([](Options& o) { o.ttl = 1500us; }),
            "ttl is 1500us: it must be whole milliseconds, which Redis counts in, such as 2ms");
  EXPECT_EQ(error_with([](Options& o) { o.ttl = 30s; }), "no error");
}

TEST(Options, KnowHowLongALeaseMayBeBelievedIn) {
  // A lease may be believed in for the ttl less a hundredth for drift and 2 ms, without a fraction
  // of a nanosecond.
  Options options = usual_options();
  EXPECT_EQ(options.validity(10s), 9898ms);
  EXPECT_EQ(options.validity(101ns), 101ns - 2ns - 2ms);
  options.drift_factor = 0.25;
  EXPECT_EQ(options.validity(10s), 7498ms);
}

TEST(Options, RefuseATtlThatItsMarginEatsUp) {
  // The shortest valid ttl depends on the drift factor; the ttl that the error names is accepted.
  EXPECT_EQ(error_with([](Options& o) { o.ttl = 2ms; }),
            "ttl is 2ms, and its margin (ttl x drift_factor + 2ms) is 2020us: it would never be "
            "valid; it must be at least 3ms");
  EXPECT_EQ(error_with([](Options& o) { o.ttl = 3ms; }), "no error");
  const auto drifting = [](std::chrono::nanoseconds ttl) {
    return error_with([ttl](Options& o) {
      o.ttl = ttl;
      o.drift_factor = 0.4;
    });
  };
  EXPECT_TRUE(contains(drifting(3ms), "at least 4ms"));
  EXPECT_EQ(drifting(4ms), "no error");
  EXPECT_TRUE(contains(error_with([](Options& o) {
                         o.ttl = 2ms;
                         o.drift_factor = 0;
                       }),
                       "at least 3ms"));
}

TEST(Options, RefuseAnImpossibleMaxTtl) {
  // max_ttl bounds every ttl, and so the sums in which a ttl occurs.
  EXPECT_EQ(error_with([](Options& o) { o.max_ttl = 0s; }),
            "max_ttl is 0s: it must be longer than 0s and at most 365d");
  EXPECT_EQ(error_with([](Options& o) { o.max_ttl = 8761h; }),
            "max_ttl is 8761h: it must be longer than 0s and at most 365d");
  EXPECT_EQ(error_with([](Options& o) { o.max_ttl = 30s + 1us; }),
            "max_ttl is 30000001us: it must be whole milliseconds, which Redis counts in, such as "
            "30s");
  EXPECT_EQ(error_with([](Options& o) { o.max_ttl = 6h; }), "no error");
  EXPECT_EQ(error_with([](Options& o) { o.max_ttl = 7h; }),
            "fencing_memory is 1d: it must be at least four times max_ttl, which is 7h");
  EXPECT_EQ(error_with([](Options& o) { o.fencing_memory = 1500ms; }),
            "fencing_memory is 1500ms: it must be whole seconds, such as 1d");
  EXPECT_EQ(error_with([](Options& o) { o.fencing_memory = forever; }),
            "fencing_memory is forever: it must be longer than 0s and at most 365d");
}

TEST(Options, RefuseClassesThatNothingWouldBelongTo) {
  const auto with = [](std::vector<std::string> classes) {
    return error_with([&](Options& o) { o.resource_classes = classes; });
  };
  EXPECT_EQ(with({"orders:eu:", "orders:", std::string(64, 'x')}), "no error");
  EXPECT_EQ(with({"orders:", "orders:eu:"}),
            "resource_classes[1] is \"orders:eu:\": no resource would belong to it, since "
            "\"orders:\" comes first: put that one after it");
  EXPECT_TRUE(contains(with({"a", "a"}), "comes first"));
  EXPECT_EQ(with({"a", ""}),
            "resource_classes[1] is \"\": it must be the beginning of resources' names, of 1 to 64 "
            "bytes, such as \"orders:\"");
  EXPECT_TRUE(contains(with({std::string(65, 'x')}), "of 1 to 64 bytes"));
  EXPECT_TRUE(contains(with({"other"}), "the class of all resources that belong to no other"));
  std::vector<std::string> many;
  for (int i = 100; i < 133; ++i) many.push_back(std::to_string(i));
  EXPECT_EQ(with(many), "resource_classes has 33 prefixes: it must have at most 32");
  many.pop_back();
  EXPECT_EQ(with(many), "no error");
}

TEST(Options, RefuseLimitsThatAreNegative) {
  // Each limit may be zero or unset if that has a meaning.
  EXPECT_EQ(error_with([](Options& o) { o.wait = -1ms; }),
            "wait is -1ms: it must not be negative; 0s is one attempt");
  EXPECT_EQ(error_with([](Options& o) { o.max_hold = 0s; }),
            "max_hold is 0s: it must be longer than 0s; leave it out to have no limit");
  EXPECT_EQ(error_with([](Options& o) { o.max_renewals = -1; }),
            "max_renewals is -1: it must not be negative; leave it out to have no limit");
  EXPECT_EQ(error_with([](Options& o) { o.stop_margin = -1s; }),
            "stop_margin is -1s: it must be from 0s to 365d");
  EXPECT_EQ(error_with([](Options& o) {
              o.wait = forever;
              o.max_hold = forever;
              o.max_renewals = 0;
              o.stop_margin = 0s;
            }),
            "no error");
}

TEST(Options, RefuseAStopMarginThatIsNotShorterThanTheTtl) {
  // The holder would be warned before it began.
  EXPECT_EQ(error_with([](Options& o) { o.stop_margin = 10s; }),
            "stop_margin is 10s: it must be shorter than the ttl, which is 10s");
  EXPECT_EQ(error_with([](Options& o) { o.stop_margin = 9999ms; }), "no error");
}

TEST(Options, RefuseImpossibleTimeouts) {
  // A timeout of zero would never let a node answer.
  EXPECT_EQ(error_with([](Options& o) { o.node_timeout = 0s; }),
            "node_timeout is 0s: it must be longer than 0s and at most 365d");
  EXPECT_EQ(error_with([](Options& o) { o.node_timeout = forever; }),
            "node_timeout is forever: it must be longer than 0s and at most 365d");
  EXPECT_EQ(error_with([](Options& o) { o.connect_timeout = -2s; }),
            "connect_timeout is -2s: it must be longer than 0s and at most 365d");
  EXPECT_EQ(error_with([](Options& o) { o.node_timeout = o.connect_timeout = 24h * 365; }),
            "no error");
}

TEST(Options, RefuseADriftFactorOutOfRange) {
  // The factor is out of range, or not a number.
  EXPECT_EQ(error_with([](Options& o) { o.drift_factor = 0.5; }),
            "drift_factor is 0.5: it must be at least 0 and below 0.5; 0.01 suits ordinary clocks");
  EXPECT_TRUE(
      contains(error_with([](Options& o) { o.drift_factor = -0.01; }), "drift_factor is -0.01"));
  EXPECT_TRUE(contains(
      error_with([](Options& o) { o.drift_factor = std::numeric_limits<double>::quiet_NaN(); }),
      "drift_factor is nan"));
  EXPECT_EQ(error_with([](Options& o) { o.drift_factor = 0; }), "no error");
}

TEST(Options, RefuseARetryWithoutAPause) {
  // Either part may be zero, but not both.
  EXPECT_EQ(error_with([](Options& o) { o.retry = {.delay = 0s, .jitter = 0s}; }),
            "retry.delay and retry.jitter are both 0s: without a pause a wait would keep the nodes "
            "busy; 50ms each is the default");
  EXPECT_EQ(error_with([](Options& o) { o.retry.delay = -1ms; }),
            "retry.delay is -1ms: it must be from 0s to 365d");
  EXPECT_EQ(error_with([](Options& o) { o.retry.jitter = forever; }),
            "retry.jitter is forever: it must be from 0s to 365d");
  EXPECT_EQ(error_with([](Options& o) { o.retry = {.delay = 0s, .jitter = 1ms}; }), "no error");
  EXPECT_EQ(error_with([](Options& o) { o.retry = {.delay = 24h * 365, .jitter = 0s}; }),
            "no error");
}

TEST(Options, RefuseTheLibrarysOwnKeyPrefix) {
  // check_resource refuses keys that become the library's own only with the resource.
  EXPECT_EQ(error_with([](Options& o) { o.key_prefix = "quorumlock:locks:"; }),
            "key_prefix makes keys that start with \"quorumlock:\", where the library keeps its "
            "own: choose another");
  EXPECT_EQ(error_with([](Options& o) { o.key_prefix = "quorumlock"; }), "no error");
}

}  // namespace
}  // namespace quorumlock
