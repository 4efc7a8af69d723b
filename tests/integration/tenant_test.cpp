#include <gmock/gmock.h>
#include <quorumlock/election.hpp>
#include <quorumlock/semaphore.hpp>

#include <map>
#include <set>

#include "integration/fixture.hpp"
#include "support/redis.hpp"
#include "support/users.hpp"

// A user of nodes that are shared with others: its rights end at its own prefix.
namespace quorumlock::test {
namespace {

constexpr const char* prefix = "tenant:";

/// Three nodes on which a user has the rights that docs/security.md gives an application whose
/// locks begin with the prefix, and no more.
class Tenants : public ::testing::Test {
 protected:
  explicit Tenants(std::chrono::milliseconds longest = 20s)
      : max_ttl(longest),
        cluster({.size = 3, .tcp = true, .enrolled = false, .max_ttl = longest, .user = ""}) {
    for (int node = 0; node < 3; ++node) cluster.enrol(node);
    make("locker", {});
  }

  /// Makes the user "tenant" with the rights of this user of docs/security.md, and with these.
  void make(const std::string& role, const std::vector<std::string>& more) {
    cluster.raw_everywhere({"ACL", "DELUSER", "tenant"});
    std::vector<std::string> words = words_of_user(role, "secret", prefix);
    words.front() = "tenant";
    words.insert(words.begin(), {"ACL", "SETUSER"});
    words.insert(words.end(), more.begin(), more.end());
    cluster.raw_everywhere(words);
  }

  /// Returns the options of a user with all rights.
  [[nodiscard]] Options others() const {
    Options options = cluster.options();
    options.max_ttl = max_ttl;
    options.ttl = *options.max_ttl;
    return options;
  }
  [[nodiscard]] Options tenants() const {
    Options options = others();
    options.key_prefix = prefix;
    for (NodeOptions& node : options.nodes) {
      node.url.insert(node.url.find("//") + 2, "tenant:secret@");
    }
    return options;
  }
  /// Returns the nodes' log of refused commands.
  std::string refused() {
    std::string all;
    for (int node = 0; node < 3; ++node) {
      for (const Reply& entry : cluster.raw(node, {"ACL", "LOG"}).elements) {
        for (const Reply& word : entry.elements) all += word.text + " ";
        all += "\n";
      }
    }
    return all;
  }
  bool votes(Coordinator& coordinator, std::size_t node) {
    return coordinator.status().value().nodes.at(node).votes;
  }

  std::chrono::milliseconds max_ttl;
  Cluster cluster;
};

/// Tenants of nodes with short quarantines.
class TenantsOfNodesThatForget : public Tenants {
 protected:
  TenantsOfNodesThatForget() : Tenants(1s) {}

  /// Returns how often the nodes have refused the tenant a command on one of their own keys.
  long long refused_writes() {
    long long count = 0;
    for (int node = 0; node < 3; ++node) {
      for (const Reply& entry : cluster.raw(node, {"ACL", "LOG"}).elements) {
        std::map<std::string, Reply> fields;
        for (std::size_t i = 0; i + 1 < entry.elements.size(); i += 2) {
          fields[entry.elements[i].text] = entry.elements[i + 1];
        }
        if (fields["object"].text.starts_with("quorumlock:")) count += fields["count"].integer;
      }
    }
    return count;
  }
};

/// A call of each command of a role that has keys, with these words in front of the key and behind
/// it.
struct Form {
  std::vector<std::string> before, after;
};
const std::map<std::string, Form>& forms() {
  static const std::map<std::string, Form> all = {
      {"mget", {{}, {}}},
      {"get", {{}, {}}},
      {"set", {{}, {"x"}}},
      {"exists", {{}, {}}},
      {"del", {{}, {}}},
      {"pexpire", {{}, {"1"}}},
      {"pttl", {{}, {}}},
      {"type", {{}, {}}},
      {"getrange", {{}, {"0", "-1"}}},
      {"strlen", {{}, {}}},
      {"zadd", {{}, {"1", "x"}}},
      {"zrange", {{}, {"0", "-1"}}},
      {"zrem", {{}, {"x"}}},
      {"zremrangebyscore", {{}, {"0", "1"}}},
      {"zremrangebyrank", {{}, {"0", "1"}}},
      {"zrangebyscore", {{}, {"0", "1"}}},
      {"zscore", {{}, {"x"}}},
      {"hset", {{}, {"x", "x"}}},
      {"hget", {{}, {"x"}}},
      {"hdel", {{}, {"x"}}},
      {"hmget", {{}, {"x"}}},
      {"eval", {{"return 1", "1"}, {}}},
      {"evalsha", {{"0000000000000000000000000000000000000000", "1"}, {}}},
  };
  return all;
}

TEST_F(Tenants, DoEverythingWithTheirOwnKeys) {
  // A tenant uses each kind of lock in each way: no node refuses any key.
  Coordinator here = connect(tenants());
  Coordinator there = connect(tenants());
  for (int again = 0; again < 2; ++again) {
    Result<Lease> lease = here.acquire("plain");
    ASSERT_TRUE(ok(lease));
    EXPECT_GE(cluster.holders("tenant:plain"), 2);
    ASSERT_TRUE(ok(lease->extend(20s)));
    const OwnerToken token(lease->owner_token());
    ASSERT_TRUE(ok(there.extend("plain", token, 20s)));
    lease->detach();
    ASSERT_TRUE(ok(there.release("plain", token)));
  }
  {
    Result<Lease> held = here.acquire("line", {.wait = 20s});
    ASSERT_TRUE(ok(held));
    Answer<Result<Lease>> waits;
    there.async_acquire("line", {.wait = 20s}, {}, waits.handler());
    ASSERT_TRUE(eventually([&] {
      return cluster.raw(0, {"ZCARD", "quorumlock:queue:tenant:line"}).integer == 1;
    }));
    ASSERT_TRUE(ok(here.inspect("line")));
    ASSERT_TRUE(ok(held->release()));
    ASSERT_TRUE(ok(waits.get()));
  }
  {
    Result<Lease> writes = here.acquire("shared", {.wait = 20s});
    ASSERT_TRUE(ok(writes));
    ASSERT_TRUE(ok(writes->downgrade()));
    Result<Lease> reads = there.acquire("shared", {.wait = 20s, .mode = LockMode::shared});
    ASSERT_TRUE(ok(reads));
    const OwnerToken token(reads->owner_token());
    EXPECT_TRUE(fails_with(here.extend("shared", token, 20s), Errc::not_held));
    reads->detach();
    ASSERT_TRUE(ok(here.release("shared", token)));
  }
  for (const LockMode mode : {LockMode::exclusive, LockMode::shared}) {
    Result<Lease> set = here.acquire_all({"a", "b"}, {.wait = 20s, .mode = mode});
    ASSERT_TRUE(ok(set));
    ASSERT_TRUE(ok(set->extend(20s)));
    ASSERT_TRUE(ok(set->release()));
  }
  {
    Semaphore permits(here, "permits", 2, {.wait = 20s});
    Semaphore elsewhere(there, "permits", 2, {.wait = 20s});
    Answer<Result<Lease>> first, second, third;
    permits.async_acquire({}, first.handler());
    elsewhere.async_acquire({}, second.handler());
    Result<Lease> one = first.get();
    Result<Lease> two = second.get();
    ASSERT_TRUE(ok(one));
    ASSERT_TRUE(ok(two));
    ASSERT_TRUE(ok(one->extend(20s)));
    ASSERT_TRUE(ok(here.inspect("permits")));
    // The renewals of both set anew what a node has lost. A permit that was granted by two nodes
    // has to reach the third before one of them loses it.
    const std::string key_of = "quorumlock:permit:tenant:permits:";
    const auto extended_on = [&](int node) {
      (void)one->extend(20s);
      (void)two->extend(20s);
      return cluster.raw(node, {"EXISTS", key_of + "1", key_of + "2"}).integer == 2;
    };
    for (const int node : {0, 1, 2}) EXPECT_TRUE(eventually([&] { return extended_on(node); }));
    cluster.raw(0, {"DEL", key_of + "1", key_of + "2"});
    EXPECT_TRUE(eventually([&] { return extended_on(0); }));
    permits.async_acquire({}, third.handler());
    ASSERT_TRUE(ok(one->release()));
    ASSERT_TRUE(ok(third.get()));
  }
  {
    Result<Lease> lease = here.acquire("token");
    ASSERT_TRUE(ok(lease));
    const OwnerToken token(lease->owner_token());
    lease->detach();
    ASSERT_TRUE(ok(there.extend("token", token, 20s)));
    ASSERT_TRUE(ok(there.release("token", token)));
    const std::string mark = "quorumlock:released:tenant:token:" + token.text();
    // A node that was slow to grant the lock has nothing to release.
    EXPECT_TRUE(eventually([&] { return cluster.holders(mark) >= cluster.quorum(); }));
  }
  {
    Election election(here, "leader");
    Result<Leadership> leads = election.campaign("me");
    ASSERT_TRUE(ok(leads));
    ASSERT_TRUE(ok(leads->proclaim("still me")));
    const auto leader = Election(there, "leader").leader();
    ASSERT_TRUE(ok(leader));
    ASSERT_TRUE(leader->has_value());
    ASSERT_TRUE(ok(leads->resign()));
  }
  std::vector<std::string> many;
  for (int i = 0; i < 40; ++i) many.push_back("burst" + std::to_string(i));
  std::vector<Answer<Result<Lease>>> answers(many.size());
  for (std::size_t i = 0; i < many.size(); ++i) {
    here.async_acquire(many[i], {.wait = 20s}, {}, answers[i].handler());
  }
  for (auto& answer : answers) ASSERT_TRUE(ok(answer.get()));
  EXPECT_EQ(refused(), "");
}

TEST_F(Tenants, WithFewRightsLockWithoutWaitingInOrder) {
  // The role "plain": exclusive locks, with and without fencing, alone and in one batch.
  make("plain", {});
  for (const bool fencing : {true, false}) {
    Options options = tenants();
    options.fencing = fencing;
    options.order = WaitOrder::unordered;
    Coordinator here = connect(options);
    Coordinator there = connect(options);
    const std::string name = fencing ? "fenced" : "unfenced";
    Result<Lease> lease = here.acquire(name);
    ASSERT_TRUE(ok(lease));
    ASSERT_TRUE(ok(lease->extend(20s)));
    EXPECT_TRUE(fails_with(there.acquire(name), Errc::contended));
    const OwnerToken token(lease->owner_token());
    ASSERT_TRUE(ok(there.extend(name, token, 20s)));
    lease->detach();
    ASSERT_TRUE(ok(there.release(name, token)));
    std::vector<Answer<Result<Lease>>> answers(40);
    for (std::size_t i = 0; i < answers.size(); ++i) {
      here.async_acquire(name + std::to_string(i), {}, {}, answers[i].handler());
    }
    for (auto& answer : answers) ASSERT_TRUE(ok(answer.get()));
  }
  EXPECT_EQ(refused(), "");
}

TEST_F(Tenants, ReachNoKeyOfAnother) {
  // The keys of another tenant are there, by every command of the role, alone and in a script.
  const std::vector<std::string> families = {"fence",     "queue",     "waiting",  "granted",
                                             "readers",   "replanted", "released", "leader",
                                             "semaphore", "permit",    "once"};
  std::vector<std::string> theirs = {"other:x", "quorumlock:other"};
  for (const std::string& family : families) {
    theirs.push_back("quorumlock:" + family + ":other:x");
    theirs.push_back("quorumlock:" + family + ":quorumlock:semaphore:other:x");
    theirs.push_back("quorumlock:" + family + ":x:tenant:x");
    theirs.push_back("quorumlock:" + family + ":x:" + prefix);
  }
  const std::vector<std::string> of_the_node = {"quorumlock:enrolment", "quorumlock:members",
                                                "quorumlock:candidate", "quorumlock:repairer"};
  const std::set<std::string> reading = {"mget",          "get",      "exists", "pttl",
                                         "type",          "getrange", "strlen", "zrange",
                                         "zrangebyscore", "zscore",   "hget",   "hmget"};
  for (const std::string& key : theirs) cluster.raw(0, {"SET", key, "theirs"});
  const std::string url = cluster.plain_urls()[0];
  Redis tenant("redis://tenant:secret@" + url.substr(url.find("127.0.0.1")));
  std::set<std::string> commands = {"eval", "evalsha"};
  for (const std::string& word : words_of_user("locker", "secret", prefix)) {
    if (!word.starts_with('+') || word.find('|') != word.npos) continue;
    const std::string command = word.substr(1);
    const Reply known = cluster.raw(0, {"COMMAND", "INFO", command});
    ASSERT_EQ(known.elements.size(), 1U) << command;
    if (known.elements[0].elements.at(3).integer == 0) continue;  // it has no keys
    ASSERT_TRUE(forms().contains(command)) << "say in forms() how " << command << " is called";
    commands.insert(command);
  }
  const auto expect_refused = [&](const std::string& command, const std::string& key) {
    const Form& form = forms().at(command);
    std::vector<std::string> words = {command};
    words.insert(words.end(), form.before.begin(), form.before.end());
    words.push_back(key);
    words.insert(words.end(), form.after.begin(), form.after.end());
    const Reply alone = tenant(words);
    EXPECT_TRUE(alone.text.starts_with("NOPERM")) << command << " " << key << ": " << alone.text;
    if (command.starts_with("eval")) return;
    words.insert(words.begin(), {"EVAL", "return redis.call(unpack(ARGV))", "0"});
    const Reply scripted = tenant(words);
    EXPECT_THAT(scripted.text, ::testing::AnyOf(::testing::HasSubstr("ACL failure in script"),
                                                ::testing::HasSubstr("user executing the script"),
                                                ::testing::HasSubstr("NOPERM")))
        << command << " " << key << " in a script";
  };
  for (const std::string& command : commands) {
    for (const std::string& key : theirs) expect_refused(command, key);
    if (reading.contains(command)) continue;
    for (const std::string& key : of_the_node) expect_refused(command, key);
  }
  for (const std::string& key : theirs) EXPECT_EQ(cluster.value(0, key), "theirs") << key;
}

TEST_F(TenantsOfNodesThatForget, WaitForAClientThatMayEnrolThem) {
  // Each tenant tries one write, and none after that. It locks on with the two nodes that vote, and
  // says whom the third one waits for; whether anybody has begun is seen by the candidate. An
  // operator's client repairs all counters, so no order of tokens rests on clocks.
  Coordinator tenant = connect(tenants());
  const std::uint64_t last = tenant.acquire("orders", {.wait = 20s}).value().fencing_token();
  std::uint64_t others_last = 0;
  {
    Coordinator other = connect(others());
    others_last = other.acquire("other:orders", {.wait = 20s}).value().fencing_token();
  }
  cluster.raw(2, {"FLUSHALL"});
  (void)tenant.acquire("orders");  // finds out about the flush
  const auto look = [&] { return tenant.status().value().nodes.at(2); };
  ASSERT_TRUE(eventually([&] { return look().enrolment.nobody_enrols; }));
  const NodeStatus waits = look();
  EXPECT_TRUE(waits.enrolment.awaits_operator);
  EXPECT_EQ(waits.enrolment.standing, NodeEnrolment::Standing::quarantined);
  EXPECT_EQ(waits.reason, Vote::quarantined);
  EXPECT_THAT(waits.trouble, ::testing::HasSubstr("waits for a client with an operator's rights"));
  const long long looks = cluster.calls(2, "mget");
  ASSERT_TRUE(eventually([&] { return cluster.calls(2, "mget") >= looks + 3; }));
  EXPECT_EQ(refused_writes(), 1);
  EXPECT_TRUE(ok(tenant.acquire("orders", {.wait = 20s})));
  EXPECT_FALSE(cluster.value(2, "quorumlock:candidate").has_value());

  cluster.raw(1, {"CLIENT", "PAUSE", "100000", "WRITE"});
  // While it looks at the node again, which takes a busy machine a while, it does not know that.
  ASSERT_TRUE(eventually([&] {
    const Result<Lease> none = tenant.acquire("orders");
    EXPECT_TRUE(fails_with(none, Errc::no_quorum));
    const std::string why = none.error().what();
    return why.find("waits for a client with an operator's rights") != why.npos;
  }));
  cluster.raw(1, {"CLIENT", "UNPAUSE"});
  Coordinator other = connect(others());
  ASSERT_TRUE(eventually([&] { return !look().enrolment.nobody_enrols; }));
  ASSERT_TRUE(eventually([&] { return votes(tenant, 2); }));
  EXPECT_FALSE(look().enrolment.clocks_order_fences_since.has_value());
  EXPECT_GE(std::stoull(cluster.value(2, "quorumlock:fence:tenant:orders").value_or("0")), last);
  EXPECT_GE(std::stoull(cluster.value(2, "quorumlock:fence:other:orders").value_or("0")),
            others_last);
}

}  // namespace
}  // namespace quorumlock::test
