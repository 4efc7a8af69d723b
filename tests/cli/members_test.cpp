#include <fstream>

#include "cli/fixture.hpp"

// The commands that change the list of nodes.
namespace quorumlock::test {
namespace {

/// Six nodes on TCP ports, and configurations that name five of them: "old" has the first five and
/// is enrolled, "new" has the sixth in place of the fifth.
class Members : public testing::Test {
 protected:
  Members() {
    write("old", {0, 1, 2, 3, 4});
    write("new", {0, 1, 2, 3, 5});
    EXPECT_EQ(run("old", {"enroll", "--new"}).code, 0);
  }
  void write(const std::string& name, const std::vector<int>& nodes,
             const std::string& max_ttl = "1s") const {
    json urls = json::array();
    for (const int node : nodes) urls.push_back(cluster.urls()[static_cast<std::size_t>(node)]);
    json all{{"ttl", "900ms"}, {"nodes", urls}};
    if (!max_ttl.empty()) all["max_ttl"] = max_ttl;
    std::ofstream(directory.path() / name) << all;
  }
  /// Returns the node's name.
  [[nodiscard]] std::string address(int node) const {
    const std::string url = cluster.shown_urls()[static_cast<std::size_t>(node)];
    return url.substr(url.find("://") + 3);
  }
  [[nodiscard]] std::string file(const std::string& name) const { return directory.path() / name; }
  [[nodiscard]] Program start(const std::string& config, std::vector<std::string> words) const {
    words.insert(words.begin(), {QUORUMLOCK_PROGRAM, "--config", file(config)});
    return Program(words, {});
  }
  [[nodiscard]] Ended run(const std::string& config, std::vector<std::string> words) const {
    return start(config, std::move(words)).finish();
  }
  [[nodiscard]] json look(const std::string& config) const {
    return json::parse(run(config, {"--json", "members"}).out);
  }

  TemporaryDirectory directory;
  Cluster cluster{{.size = 6, .tcp = true, .enrolled = false, .user = "operator"}};
};

TEST_F(Members, AreShownWithTheNextStep) {
  const Ended agreed = run("old", {"members"});
  EXPECT_EQ(agreed.code, 0) << agreed.err;
  EXPECT_THAT(agreed.out, HasSubstr("there is nothing to do"));
  const Ended other = run("new", {"members"});
  EXPECT_EQ(other.code, 1);
  EXPECT_THAT(other.out, HasSubstr("if that is right, give this client these nodes"));
  EXPECT_THAT(other.out, HasSubstr("joins"));
  EXPECT_THAT(other.out, HasSubstr("leaves"));
  EXPECT_THAT(other.out, HasSubstr("quorumlock members announce"));
  const json all = look("new");
  EXPECT_EQ(all.at("agree"), false);
  const json& group = all.at("groups").at(0);
  EXPECT_EQ(group.at("stage"), "differs");
  EXPECT_EQ(group.at("epoch"), 0);
  EXPECT_EQ(group.at("members").size(), 6U);
  EXPECT_EQ(group.at("members").at(4).at("state"), "new");
}

TEST_F(Members, APlanChangesNothing) {
  const Ended plan = run("new", {"members", "plan"});
  EXPECT_EQ(plan.code, 0) << plan.err;
  EXPECT_THAT(plan.out, HasSubstr("a client with the new one needs 3 of the 4 nodes"));
  EXPECT_EQ(look("new").at("groups").at(0).at("stage"), "differs");
  write("other", {0, 5});
  const Ended refused = run("other", {"members", "plan"});
  EXPECT_EQ(refused.code, 64);
  EXPECT_THAT(refused.err, HasSubstr("Change fewer at a time"));
}

TEST_F(Members, StepByStepAsTheMessagesSay) {
  // Each message names the command that comes next.
  ASSERT_EQ(run("new", {"acquire", "orders"}).code, 64) << "another list than the nodes'";
  const Ended early = run("new", {"members", "commit"});
  EXPECT_EQ(early.code, 64);
  EXPECT_THAT(early.err, HasSubstr("begin with quorumlock members announce"));
  const Ended announced = run("new", {"members", "announce"});
  ASSERT_EQ(announced.code, 0) << announced.err;
  EXPECT_THAT(announced.out, HasSubstr("then decide: quorumlock members commit"));
  EXPECT_EQ(run("old", {"acquire", "--ttl", "900ms", "orders"}).code, 0);
  EXPECT_THAT(run("old", {"doctor"}).out, HasSubstr("is announced and not committed"));
  const json node = json::parse(run("old", {"--json", "status"}).out).at("nodes").at(0);
  EXPECT_EQ(node.at("membership").at("phase"), "announced");

  Program holder = start("old", {"run", "seats", "--", "sleep", "60"});
  ASSERT_TRUE(eventually([&] { return cluster.holders("seats") == 5; }));
  const Ended refused = run("new", {"members", "commit"});
  EXPECT_EQ(refused.code, 64);
  EXPECT_THAT(refused.err, HasSubstr("give them the new ones first, or use --force"));
  holder.signal(SIGTERM);
  holder.finish();

  const Ended committed = run("new", {"members", "commit"});
  ASSERT_EQ(committed.code, 0) << committed.err;
  EXPECT_THAT(committed.err, HasSubstr("once every lease of before has ended"));
  EXPECT_THAT(committed.out, HasSubstr("waiting"));
  EXPECT_EQ(run("new", {"acquire", "--wait", "20s", "orders"}).code, 0);
  EXPECT_EQ(run("old", {"acquire", "orders"}).code, 64);
  const Ended back = run("new", {"members", "withdraw"});
  EXPECT_EQ(back.code, 64) << "it is too late";
}

TEST_F(Members, ApplyMakesAllSteps) {
  // `apply` waits for a client with the old nodes to end, and returns when all new nodes vote.
  Program holder = start("old", {"run", "seats", "--", "sleep", "60"});
  ASSERT_TRUE(eventually([&] { return cluster.holders("seats") == 5; }));
  const Ended in_vain = run("new", {"members", "apply", "--wait", "1s"});
  EXPECT_EQ(in_vain.code, 75);
  EXPECT_THAT(in_vain.err, HasSubstr("waited 1s in vain: connections of clients"));
  Program applying = start("new", {"members", "apply", "--from", file("old")});
  // The new node may have been a candidate for long enough already.
  ASSERT_TRUE(eventually([&] {
    return cluster.holders("quorumlock:candidate") + cluster.holders("quorumlock:enrolment") == 6;
  }));
  EXPECT_EQ(look("new").at("groups").at(0).at("stage"), "announced");
  holder.signal(SIGTERM);
  holder.finish();
  const Ended applied = applying.finish();
  ASSERT_EQ(applied.code, 0) << applied.err;
  EXPECT_THAT(applied.out, HasSubstr("there is nothing to do"));
  EXPECT_EQ(look("new").at("agree"), true);
  EXPECT_EQ(run("new", {"members", "apply"}).code, 0) << "once more does nothing";
  // Two of the nodes that were there before may now be down.
  cluster.kill(0);
  cluster.kill(1);
  EXPECT_EQ(run("new", {"acquire", "orders"}).code, 0);
}

TEST_F(Members, ApplyWaitsForANodeThatAnswersAndHasMissedAStep) {
  // One node of five that refuses writes stops no step. It is waited for at the end, since a node
  // that is behind does not vouch for one that forgets.
  ASSERT_EQ(cluster.raw(2, {"CONFIG", "SET", "maxmemory", "1"}).text, "OK");
  ASSERT_EQ(run("new", {"members", "announce"}).code, 0);
  Program applying = start("new", {"members", "apply"});
  ASSERT_TRUE(eventually([&] { return look("new").at("groups").at(0).at("stage") == "agreed"; }));
  ASSERT_TRUE(eventually([&] {
    return cluster.raw(5, {"EXISTS", "quorumlock:enrolment"}).integer == 1;
  }));
  EXPECT_EQ(look("new").at("agree"), false);
  ASSERT_EQ(cluster.raw(2, {"CONFIG", "SET", "maxmemory", "0"}).text, "OK");
  const Ended applied = applying.finish();
  EXPECT_EQ(applied.code, 0) << applied.err;
  EXPECT_THAT(applied.err, HasSubstr(address(2) + " has missed a step of the change"));
  EXPECT_EQ(look("new").at("agree"), true);
}

TEST_F(Members, AProgramThatRunsFollowsItsConfiguration) {
  // Two programs have the same file. The new nodes are written to it, one program learns of that by
  // a signal, and both move once the list is announced: the operator need not force anything.
  Program holder = start("old", {"run", "seats", "--", "sleep", "60"});
  ASSERT_TRUE(eventually([&] { return cluster.holders("seats") == 5; }));
  Program watcher = start("old", {"--json", "status", "--watch"});
  EXPECT_EQ(json::parse(watcher.line()).at("nodes").at(4).at("node"), cluster.shown_urls()[4]);
  // A file that is replaced is found by its name.
  std::filesystem::rename(file("new"), file("old"));
  watcher.signal(SIGHUP);
  const Ended applied = run("old", {"members", "apply", "--wait", "60s"});
  ASSERT_EQ(applied.code, 0) << applied.err;
  EXPECT_TRUE(eventually([&] {
    return json::parse(watcher.line()).at("nodes").at(4).at("node") == cluster.shown_urls()[5];
  }));
  EXPECT_TRUE(eventually([&] { return cluster.raw(5, {"EXISTS", "seats"}).integer == 1; }));
  holder.signal(SIGTERM);
  EXPECT_EQ(holder.finish().code, 128 + SIGTERM) << "it held the lock to its end";
}

TEST_F(Members, EachCommandThatRunsLongFollowsItsConfiguration) {
  // A command without a child takes SIGHUP as a hint that the file has changed, and goes on. The
  // operator waits until every command has moved, and only then succeeds.
  std::vector<Program> with_child, without_child;
  with_child.push_back(start("old", {"run", "seats", "--", "sleep", "60"}));
  with_child.push_back(start("old", {"leader", "billing", "--", "sleep", "60"}));
  for (const char* resource : {"seats", "billing"}) {
    ASSERT_TRUE(eventually([&] { return cluster.holders(resource) == 5; }));
  }
  without_child.push_back(start("old", {"observe", "billing"}));
  without_child.push_back(start("old", {"status", "--watch"}));
  without_child.push_back(start("old", {"locks", "--watch"}));
  without_child.push_back(start("old", {"serve", "--listen", "127.0.0.1:0"}));
  for (Program& program : without_child) program.line();
  without_child.push_back(start("old", {"leader", "billing", "--", "true"}));
  ASSERT_TRUE(eventually([&] {
    return cluster.raw(0, {"ZCARD", "quorumlock:queue:billing"}).integer == 1;
  })) << "it campaigns";
  std::filesystem::rename(file("new"), file("old"));
  for (Program& program : without_child) program.signal(SIGHUP);
  const Ended applied = run("old", {"members", "apply", "--wait", "60s"});
  ASSERT_EQ(applied.code, 0) << applied.err;
  for (Program& program : without_child) {
    const bool serves = &program == &without_child[3];
    program.signal(SIGTERM);
    const Ended ended = program.finish();
    EXPECT_EQ(ended.code, serves ? 0 : 128 + SIGTERM) << ended.err;
  }
  for (Program& program : with_child) {
    program.signal(SIGTERM);
    EXPECT_EQ(program.finish().code, 128 + SIGTERM) << "it held the lock to its end";
  }
}

TEST_F(Members, AConfigurationThatCannotBeUsedChangesNothing) {
  Program watcher = start("old", {"--json", "status", "--watch"});
  watcher.line();
  std::ofstream(file("old")) << "{\"nodes\": [";
  watcher.signal(SIGHUP);
  watcher.line();  // it may have been printed before the signal came
  EXPECT_EQ(json::parse(watcher.line()).at("nodes").size(), 5U);
  watcher.signal(SIGTERM);
  const Ended ended = watcher.finish();
  EXPECT_EQ(ended.code, 128 + SIGTERM);
  EXPECT_THAT(ended.err, HasSubstr("the configuration cannot be used"));
}

TEST_F(Members, AnAnnouncementIsWithdrawn) {
  ASSERT_EQ(run("new", {"members", "announce"}).code, 0);
  // A program with the old configuration sees the change, too, and can take it back.
  const Ended seen = run("old", {"members"});
  EXPECT_THAT(seen.out, HasSubstr("is under way"));
  ASSERT_EQ(run("old", {"members", "withdraw"}).code, 0);
  EXPECT_EQ(run("old", {"members"}).code, 0);
}

TEST_F(Members, TooFewNodesAreSaidSo) {
  for (const int node : {0, 1, 2}) cluster.kill(node);
  EXPECT_EQ(run("new", {"members", "announce"}).code, 69);
  for (const int node : {3, 4, 5}) cluster.kill(node);
  EXPECT_EQ(run("new", {"members"}).code, 69);
}

TEST_F(Members, ADeadNodeIsReplacedWithoutWaitingForIt) {
  // Each message names what is to be done, and the command for it. The first node is down too, and
  // is neither waited for nor in the way.
  cluster.kill(4);
  const Ended dead = run("old", {"members"});
  EXPECT_EQ(dead.code, 1);
  EXPECT_THAT(dead.out,
              HasSubstr("instead of a node that is gone for good put another one into the "
                        "configuration, and run quorumlock members apply"));
  const Ended again = run("old", {"members", "apply"});
  EXPECT_EQ(again.code, 69) << "nothing is to be changed, and nothing is waited for";
  EXPECT_THAT(again.err, HasSubstr("does not answer"));
  cluster.kill(0);
  const Ended applied = run("new", {"members", "apply", "--wait", "60s"});
  EXPECT_EQ(applied.code, 0) << applied.err;
  EXPECT_EQ(run("new", {"acquire", "orders"}).code, 0);
}

TEST_F(Members, ASignalEndsAChangeInTheMiddleOfAStep) {
  // The nodes are stopped, so the first look at them would take ten minutes.
  std::ofstream(file("patient")) << json{{"ttl", "900ms"},
                                         {"max_ttl", "1s"},
                                         {"node_timeout", "600s"},
                                         {"connect_timeout", "600s"},
                                         {"nodes", cluster.urls()}};
  const long long before = cluster.commands(5);
  for (const int node : {0, 1}) cluster.pause(node);
  Program program = start("patient", {"--json", "members", "apply"});
  ASSERT_TRUE(eventually([&] { return cluster.commands(5) > before; })) << "it looks";
  program.signal(SIGTERM);
  const Ended ended = program.finish();
  EXPECT_EQ(ended.code, 128 + SIGTERM);
  EXPECT_THAT(ended.out, HasSubstr("run the same command again"));
}

TEST_F(Members, NodesThatWereRestartedAreWaitedFor) {
  // The list shrinks from five nodes to four, which takes three of the nodes that stay. Two of
  // these were restarted and have forgotten everything; only a client with the old nodes sees
  // enough others that vouch for them, and the message says so.
  write("four", {0, 1, 2, 3});
  ASSERT_EQ(run("four", {"members", "announce"}).code, 0);
  cluster.kill(0);
  cluster.kill(1);
  const Ended refused = run("four", {"members", "commit", "--from", file("old")});
  EXPECT_EQ(refused.code, 69);
  EXPECT_THAT(refused.err, HasSubstr("bring up"));
  cluster.restart(0);
  cluster.restart(1);
  const Ended early = run("four", {"members", "commit", "--from", file("old")});
  EXPECT_EQ(early.code, 75) << early.err;
  EXPECT_THAT(early.err, HasSubstr("call quorumlock enroll with {"));
  EXPECT_EQ(run("old", {"enroll"}).code, 0);
  const Ended applied = run("four", {"members", "apply", "--from", file("old"), "--wait", "60s"});
  EXPECT_EQ(applied.code, 0) << applied.err;
}

TEST_F(Members, NodesThatForgotTheListAreFoundByItsRemainingNode) {
  // The list changes from {0, 1, 2} to {0, 1, 3}; then 0 and 1 forget, and only 3 knows the list.
  // An operator who still has the old list gets to the end by doing what the program says.
  write("first", {0, 1, 2});
  write("second", {0, 1, 3});
  ASSERT_EQ(run("old", {"members"}).code, 0);
  ASSERT_EQ(run("first", {"enroll", "--new", "--force"}).code, 0);
  cluster.raw(3, {"FLUSHALL"});
  ASSERT_EQ(run("second", {"members", "apply", "--wait", "60s"}).code, 0);
  for (const int node : {0, 1}) {
    cluster.kill(node);
    cluster.restart(node);
  }
  std::vector<std::string> names{address(0), address(1), address(3)};
  std::ranges::sort(names);
  const std::string list = "{" + names[0] + ", " + names[1] + " and " + names[2] + "}";
  const Ended seen = run("first", {"members"});
  EXPECT_EQ(seen.code, 1);
  EXPECT_THAT(seen.out, HasSubstr("a change to " + list + " is decided"));
  EXPECT_THAT(seen.out, HasSubstr("put these into the configuration"));
  const Ended enrolled = run("first", {"enroll"});
  EXPECT_EQ(enrolled.code, 64);
  EXPECT_THAT(enrolled.err, HasSubstr("when that became " + list));
  const Ended committed = run("second", {"members", "commit"});
  EXPECT_EQ(committed.code, 69) << committed.out;
  EXPECT_THAT(committed.err, HasSubstr("settled on 1 of 3 nodes"));
  const Ended waits = run("second", {"members"});
  EXPECT_THAT(waits.out,
              HasSubstr("2 nodes have to vouch for a node that forgot the list, and only 1"));
  EXPECT_THAT(waits.out, HasSubstr("quorumlock enroll"));
  EXPECT_EQ(run("second", {"enroll"}).code, 0);
  EXPECT_EQ(run("second", {"members"}).code, 0);
  EXPECT_EQ(run("first", {"members", "apply", "--wait", "60s"}).code, 0);
}

TEST_F(Members, ANodeThatRefusesAChangeCatchesUpLater) {
  cluster.pause(3);
  ASSERT_EQ(run("new", {"members", "apply", "--wait", "60s"}).code, 0);
  cluster.resume(3);
  cluster.raw(3, {"CONFIG", "SET", "maxmemory", "1"});
  Program again = start("new", {"members", "apply", "--wait", "60s"});
  const auto has_refused = [this] {
    return cluster.raw(3, {"INFO", "errorstats"}).text.find("errorstat_OOM") != std::string::npos;
  };
  EXPECT_TRUE(eventually(has_refused));
  cluster.raw(3, {"CONFIG", "SET", "maxmemory", "0"});
  const Ended applied = again.finish();
  EXPECT_EQ(applied.code, 0) << applied.err;
  EXPECT_EQ(run("new", {"members"}).code, 0);
}

TEST_F(Members, AStepThatTooFewNodesTakeIsNoSuccess) {
  for (const int node : {0, 1, 2}) cluster.raw(node, {"CONFIG", "SET", "maxmemory", "1"});
  const Ended announced = run("new", {"members", "announce"});
  EXPECT_EQ(announced.code, 69) << announced.out;
  EXPECT_THAT(announced.err, HasSubstr("announced on 2 of 5 nodes, and 3 are needed"));
  const Ended withdrawn = run("new", {"members", "withdraw"});
  EXPECT_EQ(withdrawn.code, 0) << withdrawn.err;
  for (const int node : {0, 1, 2}) cluster.raw(node, {"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_EQ(run("new", {"members", "announce"}).code, 0);
  for (const int node : {3, 4}) cluster.raw(node, {"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_EQ(run("new", {"members", "withdraw"}).code, 69) << "two nodes still have it";
}

TEST_F(Members, AnOperatorThatIsKilledIsFollowedByAnother) {
  // The program is ended at various moments, and two of them run at a time: each goes on from what
  // it finds.
  for (int i = 0; i < 6; ++i) {
    Program first = start("new", {"members", "apply"});
    Program second = start("new", {"members", "apply"});
    const auto moment = std::chrono::steady_clock::now() + std::chrono::milliseconds(i * 40);
    EXPECT_TRUE(eventually([&] { return std::chrono::steady_clock::now() >= moment; }));
    first.signal(SIGKILL);
    second.signal(SIGKILL);
    first.finish();
    second.finish();
  }
  Program first = start("new", {"members", "apply"});
  const Ended other = run("new", {"members", "apply"});
  const Ended applied = first.finish();
  EXPECT_EQ(applied.code, 0) << applied.err;
  EXPECT_EQ(other.code, 0) << other.err;
  EXPECT_EQ(run("new", {"members"}).code, 0);
}

TEST_F(Members, TermsChangeByApplyAndWhoNamesNoneFollows) {
  // enroll refuses the file with another max_ttl; the change loses no lease, and then clients may
  // ask for the longer ttl.
  write("longer", {0, 1, 2, 3, 4}, "2s");
  write("none", {0, 1, 2, 3, 4}, "");
  Program holder = start("none", {"run", "seats", "--", "sleep", "60"});
  ASSERT_TRUE(eventually([&] { return cluster.holders("seats") == 5; }));
  const Ended refused = run("longer", {"enroll"});
  EXPECT_EQ(refused.code, 64) << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("max_ttl 1s since epoch 0, and ours is 2s"));
  EXPECT_EQ(run("longer", {"acquire", "other"}).code, 64);
  const Ended long_before = run("none", {"acquire", "--ttl", "2s", "other"});
  EXPECT_EQ(long_before.code, 64);
  EXPECT_THAT(long_before.err, HasSubstr("above the nodes' max_ttl, which is 1s"));
  EXPECT_EQ(run("longer", {"members"}).code, 1);
  const Ended plan = run("longer", {"members", "plan"});
  EXPECT_EQ(plan.code, 0) << plan.err;
  EXPECT_THAT(plan.out, HasSubstr("with max_ttl 1s and fencing_memory 1d to"));
  EXPECT_THAT(plan.out, HasSubstr("with max_ttl 2s and fencing_memory 1d"));
  const Ended applied = run("longer", {"members", "apply", "--wait", "60s"});
  ASSERT_EQ(applied.code, 0) << applied.err;
  const json group = look("none").at("groups").at(0);
  EXPECT_EQ(group.at("max_ttl_ms"), 2000);
  EXPECT_EQ(group.at("fencing_memory_ms"), 86'400'000);
  EXPECT_EQ(group.at("new_max_ttl_ms"), 2000) << "who names none changes none";
  EXPECT_EQ(cluster.holders("seats"), 5);
  EXPECT_EQ(run("old", {"acquire", "other"}).code, 64);
  EXPECT_EQ(run("none", {"acquire", "--ttl", "2s", "other"}).code, 0);
  holder.signal(SIGTERM);
  EXPECT_EQ(holder.finish().code, 128 + SIGTERM);
}

TEST_F(Members, AWrongCommandLineIsRefused) {
  EXPECT_EQ(run("new", {"members", "replace"}).code, 64);
  EXPECT_EQ(run("new", {"members", "announce", "--from", "/nowhere"}).code, 64);
  EXPECT_EQ(run("new", {"members", "apply", "--wait", "long"}).code, 64);
}

}  // namespace
}  // namespace quorumlock::test
