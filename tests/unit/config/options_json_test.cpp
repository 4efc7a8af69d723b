#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include <quorumlock/options.hpp>

#include "unit/support/refusal.hpp"

namespace quorumlock {
namespace {

using namespace std::chrono_literals;

const std::string nodes = R"("nodes": ["redis://127.0.0.1:7101", "redis://u:hunter2@h:7102"])";

/// The error of options with good nodes and this additional member.
std::string error_with(const std::string& member) {
  return error_of(Options::from_json("{" + nodes + ", " + member + "}"));
}

TEST(OptionsJson, GivesTheDefaultsForAllButTheNodes) {
  // The defaults are those of the contract's table.
  const Options options = Options::from_json("{" + nodes + "}").value();
  EXPECT_EQ(options.nodes,
            (std::vector<std::string>{"redis://127.0.0.1:7101", "redis://u:hunter2@h:7102"}));
  EXPECT_EQ(options.ttl, 10s);
  EXPECT_EQ(options.max_ttl, std::nullopt);
  EXPECT_EQ(options.wait, 0s);
  EXPECT_EQ(options.order, std::nullopt);
  EXPECT_TRUE(options.auto_extend);
  EXPECT_EQ(options.max_hold, std::nullopt);
  EXPECT_EQ(options.max_renewals, std::nullopt);
  EXPECT_EQ(options.stop_margin, std::nullopt);
  EXPECT_EQ(options.node_timeout, 500ms);
  EXPECT_EQ(options.connect_timeout, 2s);
  EXPECT_EQ(options.drift_factor, 0.01);
  EXPECT_EQ(options.retry, (RetryOptions{.delay = 50ms, .jitter = 50ms}));
  EXPECT_TRUE(options.fencing);
  EXPECT_EQ(options.fencing_memory, std::nullopt);
  EXPECT_EQ(options.key_prefix, "");
}

TEST(OptionsJson, ReadsEveryKey) {
  // Each key occurs once, with a value other than its default.
  const Options options = Options::from_json(R"({
    "nodes": ["unix:///run/redis/lock3.sock?db=1"], "ttl": "20s", "max_ttl": "1m",
    "wait": "forever", "order": "unordered", "auto_extend": false, "max_hold": "1h",
    "max_renewals": 5, "stop_margin": "250ms", "node_timeout": "100ms", "connect_timeout": "1s",
    "drift_factor": 0.02, "retry": { "delay": "10ms", "jitter": "20ms" }, "fencing": false,
    "key_prefix": "locks:" })")
                              .value();
  EXPECT_EQ(options.nodes, (std::vector<std::string>{"unix:///run/redis/lock3.sock?db=1"}));
  EXPECT_EQ(options.ttl, 20s);
  EXPECT_EQ(options.max_ttl, 1min);
  EXPECT_EQ(options.wait, forever);
  EXPECT_EQ(options.order, WaitOrder::unordered);
  EXPECT_FALSE(options.auto_extend);
  EXPECT_EQ(options.max_hold, 1h);
  EXPECT_EQ(options.max_renewals, 5);
  EXPECT_EQ(options.stop_margin, 250ms);
  EXPECT_EQ(options.node_timeout, 100ms);
  EXPECT_EQ(options.connect_timeout, 1s);
  EXPECT_EQ(options.drift_factor, 0.02);
  EXPECT_EQ(options.retry, (RetryOptions{.delay = 10ms, .jitter = 20ms}));
  EXPECT_FALSE(options.fencing);
  EXPECT_EQ(options.key_prefix, "locks:");
}

TEST(OptionsJson, ReadsTheOtherValuesToo) {
  // These are the values for which the test above had no place.
  const Options options = Options::from_json("{" + nodes + R"(, "order": "fifo", "wait": "3s",
    "drift_factor": 0, "retry": {"jitter": "1ms"}, "max_renewals": 0})")
                              .value();
  EXPECT_EQ(options.order, WaitOrder::fifo);
  EXPECT_EQ(options.wait, 3s);
  EXPECT_EQ(options.drift_factor, 0);
  EXPECT_EQ(options.retry, (RetryOptions{.delay = 50ms, .jitter = 1ms}));
  EXPECT_EQ(options.max_renewals, 0);
}

TEST(OptionsJson, ReadsGroupsAndLoops) {
  // Named groups replace the nodes; their order does not matter.
  const Options options = Options::from_json(R"({"loops": 2, "groups": {
    "south": ["unix:///run/s1.sock"],
    "north": ["redis://u:hunter2@n1", "redis://n2", "redis://n3"]}})")
                              .value();
  EXPECT_TRUE(options.nodes.empty());
  EXPECT_EQ(options.loops, 2);
  const std::map<std::string, Nodes> groups = {
      {"north", {"redis://u:hunter2@n1", "redis://n2", "redis://n3"}},
      {"south", {"unix:///run/s1.sock"}}};
  EXPECT_EQ(options.groups, groups);
  EXPECT_EQ(Options::from_json("{" + nodes + "}").value().loops, 1);
}

TEST(OptionsJson, ANodeMayHaveAName) {
  const Options options = Options::from_json(R"({"nodes": ["redis://a",
    {"url": "redis://b:7", "name": "bee"}, {"url": "unix:///run/c.sock"}]})")
                              .value();
  EXPECT_EQ(options.nodes, (Nodes{"redis://a", {"redis://b:7", "bee"}, "unix:///run/c.sock"}));
  const auto error = [](const std::string& node) {
    return error_of(Options::from_json(R"({"nodes": ["redis://a:1", )" + node + "]}"));
  };
  EXPECT_TRUE(
      starts(error(R"({"name": "b"})"), "nodes[1] is an object without a url: it must have one"));
  EXPECT_EQ(error(R"({"url": "redis://b", "nam": "b"})"),
            "the key \"nodes[1].nam\" is unknown: did you mean \"nodes[1].name\"?");
  EXPECT_EQ(error(R"({"url": "redis://b", "name": "two words"})"),
            "nodes[1].name is \"two words\": it must have at most 255 characters, all visible "
            "ASCII, and no space");
  EXPECT_EQ(error(R"({"url": "redis://b", "name": "redis://u:s3cret@b"})"),
            "nodes[1].name is a URL with a login, which every client would see: give a plain name, "
            "or leave it out");
  EXPECT_EQ(error(R"({"url": "redis://b", "name": "a:1"})"),
            "nodes[1] is called \"a:1\", and so is nodes[0]: each node of a list needs a name of "
            "its own, as in {\"url\": \"redis://...\", \"name\": \"locks-1\"}");
  EXPECT_EQ(error(R"({"url": "redis://b/2", "name": "b/1"})"),
            "nodes[1].name is \"b/1\", which ends with a database, and the URL selects database 2: "
            "leave the database out of the name");
  EXPECT_EQ(error(R"({"url": "redis+sentinel://s/mymaster"})"),
            "nodes[1] is found through Sentinels, and other Sentinels may call another service "
            "\"mymaster\": give the node a name, in a configuration file, as in {\"url\": "
            "\"redis+sentinel://...\", \"name\": \"locks-1\"}");
}

TEST(OptionsJson, RefusesInvalidGroups) {
  // The types are wrong, the names are invalid, or nodes and groups are both given.
  const auto error = [](const std::string& groups) {
    return error_of(Options::from_json("{\"groups\": " + groups + "}"));
  };
  const std::string example =
      ": it must be an object of named groups, such as {\"north\": [\"redis://127.0.0.1:7101\"]}";
  EXPECT_EQ(error(R"([["redis://h"]])"), "groups is an array" + example);
  EXPECT_EQ(error("{}"),
            "groups is an object without any group: it must name one or more, such as {\"north\": "
            "[\"redis://127.0.0.1:7101\"]}");
  EXPECT_EQ(error(R"({"north": "redis://h"})"),
            "groups.north is \"***\": it must be an array of URLs, such as "
            "[\"redis://127.0.0.1:7101\"]");
  EXPECT_EQ(error(R"({"north": ["redis://h", 7]})"), "groups.north[1] is 7: it must be a string");
  const std::string rule = ": a name has 1 to 64 letters, digits, '.', '_' or '-'";
  EXPECT_EQ(error(R"({"": ["redis://h"]})"), "a group is named \"\"" + rule);
  EXPECT_EQ(error(R"({"north,south": ["redis://h"]})"), "a group is named \"north,south\"" + rule);
  EXPECT_EQ(error(R"({"redis://u:hunter2@h": []})"), "a group is named \"***\"" + rule);
  EXPECT_EQ(error(R"({"north": ["redis://h"], "north": []})"),
            "the key \"north\" stands twice in the same object: it must stand there once");
  EXPECT_EQ(error_with(R"("groups": {"north": ["redis://h"]})"),
            "nodes and groups are both given: give nodes for one quorum, or groups for several");
  EXPECT_EQ(error_with(R"("loops": "2")"),
            "loops is \"2\": it must be a whole number from 0 to 2147483647");
}

TEST(OptionsJson, RefusesAnUnknownKeyAndSuggestsTheNearest) {
  // A typing error gets a suggestion; a key that never existed gets the list of keys.
  EXPECT_EQ(error_with(R"("tll": "10s")"), "the key \"tll\" is unknown: did you mean \"ttl\"?");
  EXPECT_EQ(error_with(R"("maxTtl": "10s")"),
            "the key \"maxTtl\" is unknown: did you mean \"max_ttl\"?");
  EXPECT_EQ(error_with(R"("retry": {"delays": "10ms"})"),
            "the key \"retry.delays\" is unknown: did you mean \"retry.delay\"?");
  EXPECT_EQ(error_with(R"("retry": {"count": 3})"),
            "the key \"retry.count\" is unknown: it must be one of retry.delay, retry.jitter");
  EXPECT_EQ(error_with(R"("timeout": "10s")"),
            "the key \"timeout\" is unknown: it must be one of nodes, groups, loops, ttl, max_ttl, "
            "wait, order, auto_extend, max_hold, max_renewals, stop_margin, node_timeout, "
            "connect_timeout, drift_factor, retry, fencing, fencing_memory, "
            "key_prefix, label, tls, resource_classes");
  EXPECT_EQ(error_with(R"("wake": true)"),
            "the key \"wake\" is gone: leave it out. A release sends a message only if somebody "
            "waits in the line");
  EXPECT_TRUE(contains(error_with(R"("": 1)"), "the key \"\" is unknown"));
  EXPECT_TRUE(contains(error_with(R"("redis://u:hunter2@h": 1)"), "the key \"***\" is unknown"));
}

TEST(OptionsJson, RefusesAWrongTypeAndSaysWhichIsRight) {
  // Every key is given a value of a wrong type; null is wrong for all of them.
  EXPECT_EQ(error_with(R"("ttl": 10)"),
            "ttl is 10: it must be a string with a number and a unit (us, ms, s, m, h, d), such as "
            "\"10s\"");
  EXPECT_EQ(error_with(R"("auto_extend": "yes")"),
            "auto_extend is \"yes\": it must be true or false");
  EXPECT_EQ(error_with(R"("resource_classes": "orders:")"),
            "resource_classes is \"orders:\": it must be an array of strings, such as "
            "[\"orders:\"]");
  EXPECT_EQ(error_with(R"("resource_classes": ["orders:", 7])"),
            "resource_classes[1] is 7: it must be a string");
  EXPECT_EQ(error_with(R"("fencing": 0)"), "fencing is 0: it must be true or false");
  EXPECT_EQ(error_with(R"("drift_factor": "0.01")"),
            "drift_factor is \"0.01\": it must be a number, such as 0.01");
  EXPECT_EQ(error_with(R"("key_prefix": ["a"])"), "key_prefix is an array: it must be a string");
  EXPECT_EQ(error_with(R"("retry": "50ms")"),
            "retry is \"50ms\": it must be an object, such as {\"delay\": \"50ms\", \"jitter\": "
            "\"50ms\"}");
  EXPECT_EQ(error_with(R"("order": {})"),
            "order is an object: it must be \"fifo\" or \"unordered\"");
  EXPECT_TRUE(starts(error_with(R"("retry": {"delay": 50})"), "retry.delay is 50"));
  for (const char* key : {"groups", "loops", "ttl", "max_ttl", "wait", "order", "auto_extend",
                          "max_hold", "max_renewals", "stop_margin", "node_timeout",
                          "connect_timeout", "drift_factor", "retry", "fencing", "key_prefix"}) {
    const std::string start = std::string(key) + " is null: it must be ";
    EXPECT_EQ(error_with("\"" + std::string(key) + "\": null").substr(0, start.size()), start);
  }
}

TEST(OptionsJson, RefusesNodesOfAWrongTypeWithoutShowingThem) {
  // The wrong value is probably a URL, and may contain a password.
  EXPECT_EQ(error_of(Options::from_json(R"({"nodes": "redis://u:hunter2@h"})")),
            "nodes is \"***\": it must be an array of URLs, such as [\"redis://127.0.0.1:7101\"]");
  EXPECT_EQ(error_of(Options::from_json(R"({"nodes": ["redis://h", ["redis://u:hunter2@h"]]})")),
            "nodes[1] is an array: it must be a string");
  EXPECT_EQ(error_of(Options::from_json(R"({"nodes": [7101]})")),
            "nodes[0] is 7101: it must be a string");
  EXPECT_TRUE(starts(error_of(Options::from_json(R"({"nodes": null})")), "nodes is null"));
}

TEST(OptionsJson, RefusesABadValue) {
  // The type is right and the value is wrong.
  EXPECT_EQ(error_with(R"("ttl": "10")"),
            "ttl is \"10\": it must be a whole number with a unit (us, ms, s, m, h, d), such as "
            "\"10s\" or \"1500ms\"");
  EXPECT_TRUE(
      starts(error_with(R"("max_hold": "forever")"), "max_hold is \"forever\": it must be "));
  EXPECT_EQ(error_with(R"("order": "lifo")"),
            "order is \"lifo\": it must be \"fifo\" or \"unordered\"");
  for (const char* number : {"-1", "3.0", "2147483648", "1e30", "99999999999999999999"}) {
    const std::string error = error_with("\"max_renewals\": " + std::string(number));
    EXPECT_TRUE(contains(error, "it must be a whole number from 0 to 2147483647")) << error;
  }
  EXPECT_EQ(error_with(R"("drift_factor": 1e999)"),
            "the options have a number in them that is too large to be read");
}

TEST(OptionsJson, RefusesAnOptionThatIsGone) {
  // The sentence says what happens now, whatever the value was.
  for (const char* value : {"\"always\"", "\"trust_disk\"", "\"auto\"", "\"unsafe_never\"", "7"}) {
    EXPECT_EQ(error_with("\"quarantine\": " + std::string(value)),
              "the key \"quarantine\" is gone, with all its values: leave it out. There is one "
              "policy: a node that was restarted, failed over or lost its record casts no vote "
              "until max_ttl and the drift margin have passed");
  }
  EXPECT_FALSE(contains(error_with(R"("quarantin": "always")"), "quarantine"));
}

TEST(OptionsJson, ChecksTheOptionsAsAWhole) {
  // from_json gives no Options that validate() would refuse.
  EXPECT_TRUE(starts(error_with(R"("ttl": "45s")"),
                     "ttl is 45s, and max_ttl is not given: a ttl above 30s "
                     "needs a max_ttl beside it"));
  EXPECT_TRUE(starts(error_of(Options::from_json("{}")), "nodes is missing"));
  EXPECT_TRUE(starts(error_of(Options::from_json(R"({"nodes": []})")), "nodes is missing"));
  EXPECT_TRUE(
      starts(error_of(Options::from_json(R"({"nodes": ["redis://u:hunter2@h", "redis://h"]})")),
             "nodes[1] is the server redis://h:6379,"));
  EXPECT_TRUE(contains(error_of(Options::from_json(R"({"nodes": ["redis://u:hunter2@h:x"]})")),
                       "nodes[0]: \"redis://***@h***\" has a bad port"));
}

TEST(OptionsJson, RefusesARepeatedKey) {
  // Neither of the two wins silently, at any depth, whether or not their values agree.
  EXPECT_EQ(error_with(R"("ttl": "10s", "ttl": "20s")"),
            "the key \"ttl\" stands twice in the same object: it must stand there once");
  EXPECT_EQ(error_with(R"("retry": {"delay": "1ms", "delay": "1ms"})"),
            "the key \"delay\" stands twice in the same object: it must stand there once");
  EXPECT_TRUE(starts(error_with(nodes), "the key \"nodes\" stands twice"));
}

TEST(OptionsJson, RefusesTextThatIsNotAnObject) {
  // The text is JSON, but no options.
  EXPECT_EQ(error_of(Options::from_json("[]")),
            "the whole of the options is an array: it must be an object, such as {\"nodes\": "
            "[\"redis://127.0.0.1:7101\"]}");
  EXPECT_TRUE(starts(error_of(Options::from_json("\"redis://u:hunter2@h\"")),
                     "the whole of the options is \"***\":"));
  EXPECT_TRUE(starts(error_of(Options::from_json("null")), "the whole of the options is null:"));
}

TEST(OptionsJson, SaysWhereJsonIsMalformedAndWhatWasExpected) {
  // The error has the line and column of the last character that was read.
  EXPECT_EQ(error_of(Options::from_json("{\n  \"ttl\": \"10s\"\n  \"wait\": \"1s\"\n}")),
            "the options are not valid JSON: line 3, column 8: unexpected string literal; expected "
            "',' or '}'");
  EXPECT_TRUE(starts(error_of(Options::from_json("")),
                     "the options are not valid JSON: line 1, column 1: unexpected end of input"));
  EXPECT_EQ(error_of(Options::from_json("{\"ttl\"}")),
            "the options are not valid JSON: line 1, column 7: unexpected '}'; expected ':'");
  EXPECT_EQ(error_of(Options::from_json("{} {}")),
            "the options are not valid JSON: line 1, column 4: unexpected '{'; expected end of "
            "input");
  EXPECT_EQ(error_of(Options::from_json("{\"ttl\": \"10s}")),
            "the options are not valid JSON: line 1, column 13: invalid string: missing closing "
            "quote");
}

TEST(OptionsJson, ShowsNothingOfMalformedJson) {
  // A good document is broken at every place with each of several characters, then nested deeply.
  const std::string good = "{" + nodes + R"(, "retry": {"delay": "50ms"}, "max_renewals": 3})";
  for (std::size_t i = 0; i <= good.size(); ++i) {
    error_of(Options::from_json(good.substr(0, i)));
    for (const char c : std::string_view("\"\\{}[],:\n\0\x80 - ;e", 17)) {
      error_of(Options::from_json(std::string(good).insert(i, 1, c)));
      if (i < good.size()) error_of(Options::from_json(std::string(good).replace(i, 1, 1, c)));
    }
  }
  error_of(Options::from_json(R"({"nodes": ["; expected hunter2 - hunter2; last read hunter2)"));
  error_of(Options::from_json("{hunter2}"));
  error_of(Options::from_json(std::string(100000, '[')));
  error_of(Options::from_json(std::string(100000, '[') + std::string(100000, ']')));
}

}  // namespace
}  // namespace quorumlock
