#include <quorumlock/coordinator.hpp>

#include "cli/fixture.hpp"

namespace quorumlock::test {
namespace {

std::string without_end_of_line(std::string text) {
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

class LockCommands : public CommandLine {};

TEST_F(LockCommands, AcquirePrintsTheTokenThatIsOnTheNodesAfterwards) {
  // Only the token goes to standard output, and it stays on every node when the program ends.
  const Ended ended = run({"acquire", "--ttl", "20s", "orders"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  const std::string token = without_end_of_line(ended.out);
  EXPECT_THAT(token, testing::MatchesRegex("[0-9a-f]{40}@.+:[0-9]+"));
  EXPECT_EQ(cluster.holders("orders", token), 3);
  EXPECT_GT(cluster.pttl(0, "orders"), std::chrono::seconds(10));
}

TEST_F(LockCommands, AcquireWithJsonReportsTokensValidityAndVotes) {
  // The document has everything that a program needs to go on with.
  const Ended ended = run({"--json", "acquire", "orders"});
  const json document = json::parse(ended.out);
  EXPECT_EQ(document.at("resource"), "orders");
  EXPECT_EQ(cluster.holders("orders", document.at("owner_token")), 3);
  EXPECT_TRUE(document.at("fencing_token").is_number_unsigned());
  EXPECT_GT(document.at("valid_for_ms"), 0);
  EXPECT_LE(document.at("valid_for_ms"), 10'000);
  ASSERT_EQ(document.at("votes").size(), 3);
  EXPECT_EQ(document.at("votes")[0].at("node"), cluster.shown_urls()[0]);
  const auto granted = std::ranges::count_if(
      document.at("votes"), [](const json& vote) { return vote.at("vote") == "granted"; });
  EXPECT_GE(granted, 2);
}

TEST_F(LockCommands, AResourceIsTakenAsItIsWritten) {
  // Flag parsers take such names for lists or flags, but they are valid.
  for (const std::string name : {"[a,b]", "{}", "%%", "run", "a,b", "-x", "--json"}) {
    EXPECT_EQ(run({"acquire", "--", name}).code, 0) << name;
    EXPECT_EQ(cluster.holders(name), 3) << name;
  }
}

TEST_F(LockCommands, AcquireOfAHeldLockEndsWith75) {
  // One attempt is made without --wait, and several with it; the error says which, and reports all
  // votes.
  hold("orders");
  const json at_once = json::parse(run({"--json", "acquire", "orders"}).out).at("error");
  EXPECT_EQ(at_once.at("code"), "contended");
  EXPECT_EQ(at_once.at("exit_code"), 75);
  EXPECT_EQ(at_once.at("quorum"), 2);
  EXPECT_EQ(at_once.at("votes").size(), 3);
  const Ended later = run({"--json", "acquire", "--wait", "2s", "orders"});
  EXPECT_EQ(later.code, 75);
  EXPECT_EQ(json::parse(later.out).at("error").at("code"), "timed_out");
}

TEST_F(LockCommands, WithoutAQuorumEverythingEndsWith69) {
  // Two of three nodes are dead: no command can do its work, and each says so.
  cluster.kill(0);
  cluster.kill(1);
  const Ended acquire = run({"--json", "acquire", "orders"});
  EXPECT_EQ(acquire.code, 69);
  EXPECT_EQ(json::parse(acquire.out).at("error").at("code"), "no_quorum");
  EXPECT_EQ(run({"extend", "--token", "mine", "orders"}).code, 69);
  EXPECT_EQ(run({"release", "--token", "mine", "orders"}).code, 69);
  EXPECT_EQ(run({"run", "orders", "--", "true"}).code, 69);
  const Ended inspect = run({"--json", "inspect", "orders"});
  EXPECT_EQ(inspect.code, 69);
  const json document = json::parse(inspect.out);
  EXPECT_EQ(document.at("state"), "unknown");
  EXPECT_EQ(document.at("error").at("code"), "no_quorum");
}

TEST_F(LockCommands, ExtendAndReleaseWorkByToken) {
  // One process takes a lock, another extends it, and a third releases it.
  const std::string token = without_end_of_line(run({"acquire", "--ttl", "5s", "orders"}).out);
  const Ended extended = run({"--json", "extend", "--token", token, "--ttl", "25s", "orders"});
  EXPECT_EQ(extended.code, 0) << extended.out;
  EXPECT_GT(json::parse(extended.out).at("valid_for_ms"), 10'000);
  EXPECT_GT(cluster.pttl(2, "orders"), std::chrono::seconds(10));
  EXPECT_EQ(run({"release", "--token", token, "orders"}).code, 0);
  EXPECT_THAT(cluster.keys(), IsEmpty());
}

TEST_F(LockCommands, ExtendAndReleaseTakeAllThatIsLockedByOneToken) {
  const std::string token(40, 'a');
  for (int node = 0; node < 3; ++node) {
    for (const char* const key : {"orders", "stock"}) {
      cluster.raw(node, {"SET", key, token, "PX", "5000"});
    }
  }
  const Ended extended =
      run({"--json", "extend", "--token", token, "--ttl", "25s", "orders", "stock"});
  EXPECT_EQ(extended.code, 0) << extended.out;
  EXPECT_EQ(json::parse(extended.out).at("resources"), json({"orders", "stock"}));
  for (const char* const key : {"orders", "stock"}) {
    EXPECT_GT(cluster.pttl(2, key), std::chrono::seconds(10)) << key;
  }
  EXPECT_EQ(run({"extend", "--token", token, "orders", "another"}).code, 75);
  EXPECT_EQ(run({"extend", "--token", token, "orders", "orders"}).code, 64);
  EXPECT_EQ(run({"release", "--token", token, "orders", "stock"}).code, 0);
  EXPECT_THAT(cluster.keys(), IsEmpty());
}

TEST_F(LockCommands, ExtendAndReleaseOfALockNotHeldEndWith75) {
  // Another client's lock is left as it was.
  hold("orders");
  const Ended extended = run({"extend", "--token", "mine", "orders"});
  EXPECT_EQ(extended.code, 75);
  EXPECT_THAT(extended.err, HasSubstr("orders"));
  EXPECT_EQ(run({"release", "--token", "mine", "orders"}).code, 75);
  const Ended again = run({"--json", "release", "--token", "mine", "free"});
  EXPECT_EQ(again.code, 75);
  EXPECT_EQ(json::parse(again.out).at("error").at("code"), "not_held");
  EXPECT_EQ(cluster.holders("orders", "foreign"), 2);
}

TEST_F(LockCommands, InspectShowsTheHolderNodeByNode) {
  // A lock is held on all nodes, then looked at by a person and by a program.
  const std::string token = without_end_of_line(run({"acquire", "orders"}).out);
  const Ended table = run({"inspect", "orders"});
  EXPECT_EQ(table.code, 0);
  EXPECT_THAT(table.out, HasSubstr("held by " + token + " on 3 of 3 nodes"));
  EXPECT_THAT(table.out, HasSubstr("  held by " + token + "  expires in "));
  for (const std::string& url : cluster.shown_urls()) EXPECT_THAT(table.out, HasSubstr(url));
  const json document = json::parse(run({"--json", "inspect", "orders"}).out);
  EXPECT_EQ(document.at("holder"), token);
  EXPECT_EQ(document.at("state"), "held");
  ASSERT_EQ(document.at("nodes").size(), 3);
  EXPECT_EQ(document.at("nodes")[1].at("owner_token"), token);
  EXPECT_GT(document.at("nodes")[1].at("expires_in_ms"), 0);
}

TEST_F(LockCommands, InspectOfAFreeResourceEndsWith0) {
  // Nobody holds the lock; a client that has it on a minority is shown, but is not the holder.
  const json free = json::parse(run({"--json", "inspect", "orders"}).out);
  EXPECT_EQ(free.at("state"), "free");
  EXPECT_TRUE(free.at("holder").is_null());
  cluster.plant(0, "orders");
  const Ended minority = run({"inspect", "orders"});
  EXPECT_EQ(minority.code, 0);
  EXPECT_THAT(minority.out, HasSubstr("orders: free"));
  EXPECT_THAT(minority.out, HasSubstr("held by another program's value (a string of 7 bytes)"));
}

TEST_F(LockCommands, InspectShowsTheWaiters) {
  // One program holds the lock, another waits.
  const std::string token = without_end_of_line(run({"acquire", "--ttl", "20s", "orders"}).out);
  Program waiting = start({"acquire", "--wait", "forever", "orders"});
  json document;
  ASSERT_TRUE(eventually([&] {
    document = json::parse(run({"--json", "inspect", "orders"}).out);
    return document.at("waiters").size() == 1;
  }));
  EXPECT_EQ(document.at("mode"), "exclusive");
  EXPECT_EQ(document.at("holder"), token);
  const json waiter = document.at("waiters")[0];
  EXPECT_EQ(waiter.at("position"), 1);
  EXPECT_EQ(waiter.at("mode"), "exclusive");
  EXPECT_EQ(waiter.at("process").get<std::string>().size(), 16U);
  EXPECT_THAT(waiter.at("waiter").get<std::string>(), HasSubstr(waiter.at("process")));
  EXPECT_GE(waiter.at("waiting_for_ms"), 0);
  const Ended text = run({"inspect", "orders"});
  EXPECT_THAT(text.out, HasSubstr("1 in line"));
  const std::string label = waiter.at("label");
  EXPECT_TRUE(label.ends_with(":" + std::to_string(waiting.pid()))) << label;
  EXPECT_THAT(text.out, HasSubstr("1. " + label + "  exclusive"));
  EXPECT_THAT(text.out, HasSubstr("process 1"));
  waiting.signal(SIGINT);
  EXPECT_EQ(waiting.finish().code, 128 + SIGINT);
}

TEST_F(LockCommands, AWaiterReleasedByTokenIsNoLongerInLine) {
  // This is like a loop in a script: the program that had waited has ended, and its token releases
  // the lock. Its place in the line does not delay the next one.
  std::string token = without_end_of_line(run({"acquire", "--ttl", "20s", "orders"}).out);
  for (int turn = 0; turn < 3; ++turn) {
    Program waiting = start({"acquire", "--ttl", "20s", "--wait", "forever", "orders"});
    ASSERT_TRUE(eventually([&] {
      const json document = json::parse(run({"--json", "inspect", "orders"}).out);
      return document.at("waiters").size() == 1;
    }));
    EXPECT_EQ(run({"release", "--token", token, "orders"}).code, 0);
    token = without_end_of_line(waiting.finish().out);
    EXPECT_GE(cluster.holders("orders", token), 2);
  }
  EXPECT_EQ(run({"release", "--token", token, "orders"}).code, 0);
  // The program ends once a quorum has released: the third node may not have processed that yet.
  const std::string text = run({"inspect", "orders"}).out;
  const std::size_t first = text.find("in line");
  EXPECT_TRUE(first == text.npos || text.find("in line", first + 1) == text.npos) << text;
  EXPECT_EQ(run({"acquire", "orders"}).code, 0);
}

TEST_F(LockCommands, InspectShowsThePermitsOfASemaphore) {
  // One of three permits is held, another is left on one node, and yet somebody waits.
  Options options = cluster.options();
  Coordinator coordinator = Coordinator::create(options).value();
  Semaphore pool(coordinator, "pool", 3, {.ttl = std::chrono::seconds(20)});
  ASSERT_TRUE(pool.try_acquire_for(std::chrono::seconds(20)));
  const std::string token = pool.lease().owner_token();
  const auto held = [&] {
    for (int slot = 1; slot <= 3; ++slot) {
      if (cluster.holders("quorumlock:permit:pool:" + std::to_string(slot), token) == 3)
        return slot;
    }
    return 0;
  };
  ASSERT_TRUE(eventually([&] { return held() != 0; }));
  const int left = held() % 3 + 1;
  cluster.plant(2, "quorumlock:permit:pool:" + std::to_string(left), "left");
  for (const std::string line : {"queue", "waiting"}) {
    cluster.raw_everywhere({"ZADD", "quorumlock:" + line + ":quorumlock:semaphore:pool",
                            line == "queue" ? "1" : "9000000000000", "w0123456789abcdef.7"});
  }
  const std::string text = run({"inspect", "pool"}).out;
  EXPECT_THAT(text, HasSubstr("pool: free"));
  EXPECT_THAT(text, HasSubstr("pool as a semaphore: 1 of 3 permits held"));
  EXPECT_THAT(text, HasSubstr("permit " + std::to_string(held()) + ": " + token +
                              " on 3 of 3 nodes  expires in "));
  EXPECT_THAT(text, HasSubstr("permit " + std::to_string(left) +
                              ": another program's value on 1 of 3 nodes: too few to hold it"));
  EXPECT_THAT(text, HasSubstr(cluster.shown_urls()[2] + "  2 of 3 permits held  1 in line"));
  EXPECT_THAT(text, HasSubstr("1. w0123456789abcdef.7  "));

  const json document = json::parse(run({"--json", "inspect", "pool"}).out);
  EXPECT_EQ(document.at("state"), "free");
  const json semaphore = document.at("semaphore");
  EXPECT_EQ(semaphore.at("capacity"), 3);
  ASSERT_EQ(semaphore.at("permits").size(), 1U);
  EXPECT_EQ(semaphore.at("permits")[0].at("permit"), held());
  EXPECT_EQ(semaphore.at("permits")[0].at("owner_token"), token);
  EXPECT_GT(semaphore.at("permits")[0].at("expires_in_ms"), 0);
  EXPECT_EQ(semaphore.at("waiters")[0].at("waiter"), "w0123456789abcdef.7");
  EXPECT_EQ(document.at("nodes")[2].at("semaphore").at("permits").size(), 2U);
  EXPECT_TRUE(json::parse(run({"--json", "inspect", "other"}).out).at("semaphore").is_null());
  EXPECT_THAT(run({"inspect", "other"}).out, Not(HasSubstr("semaphore")));
}

TEST_F(LockCommands, InspectNamesAKeyThatIsNotALock) {
  // One node has a hash under the key.
  cluster.raw(1, {"HSET", "orders", "field", "value"});
  EXPECT_THAT(run({"inspect", "orders"}).out,
              HasSubstr("held by another program's value (a hash)"));
  const json document = json::parse(run({"--json", "inspect", "orders"}).out);
  EXPECT_EQ(document.at("nodes")[1].at("detail"), "another program's value (a hash)");
  EXPECT_THAT(document.at("waiters"), IsEmpty());
}

TEST_F(LockCommands, ATokenThatCannotBePrintedLocksNothing) {
  // Nobody would know the token: the lock is released and the program fails.
  for (const std::string where : {">/dev/full", ">&-"}) {
    Program program({"sh", "-c", QUORUMLOCK_PROGRAM " acquire orders " + where}, {nodes()});
    const Ended ended = program.finish();
    EXPECT_EQ(ended.code, 1) << where;
    EXPECT_THAT(ended.err, HasSubstr("standard output")) << where;
    EXPECT_THAT(cluster.keys(), IsEmpty()) << where;
  }
}

TEST_F(LockCommands, AFullStandardOutputIsReported) {
  // A document that reports it goes to standard error then, and help is output, too.
  for (const std::string words :
       {"status", "--json status", "--json locks", "--help", "run --help", "--version"}) {
    const Ended ended =
        Program({"sh", "-c", QUORUMLOCK_PROGRAM " " + words + " >/dev/full"}, {nodes()}).finish();
    EXPECT_EQ(ended.code, 1) << words;
    EXPECT_THAT(ended.err, HasSubstr("cannot write to standard output: No space left")) << words;
  }
}

TEST_F(LockCommands, AnInterruptedWaitLeavesNothing) {
  // Another client holds two nodes, the third grants each attempt for a moment; then comes SIGINT.
  hold("orders");
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"acquire", "--wait", "forever", "orders"},
        std::vector<std::string>{"run", "--wait", "forever", "orders", "--", "echo", "started"}}) {
    Program waiting = start(command);
    ASSERT_TRUE(somebody_tries());
    waiting.signal(SIGINT);
    const Ended ended = waiting.finish();
    EXPECT_EQ(ended.code, 128 + SIGINT);
    EXPECT_THAT(ended.out, IsEmpty());
    EXPECT_EQ(cluster.holders("orders"), 2);
    EXPECT_EQ(cluster.holders("orders", "foreign"), 2);
  }
}

}  // namespace
}  // namespace quorumlock::test
