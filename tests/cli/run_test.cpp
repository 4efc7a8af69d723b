#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "cli/fixture.hpp"

namespace quorumlock::test {
namespace {

/// A shell's loop that ends only by a signal.
constexpr const char* for_ever = "while :; do sleep 1000 & wait $!; done";

class Run : public CommandLine {};

TEST_F(Run, RunHoldsTheLockWhileTheCommandRuns) {
  // The command learns what is held; the nodes have the lock exactly while the command runs.
  Program program = start_run("orders",
                              "echo $QUORUMLOCK_RESOURCE; echo $QUORUMLOCK_TOKEN;"
                              "echo $QUORUMLOCK_FENCING_TOKEN;" +
                                  std::string(for_ever));
  EXPECT_EQ(program.line(), "orders");
  const std::string token = program.line();
  EXPECT_TRUE(eventually([&] { return cluster.holders("orders", token) == 3; }));
  EXPECT_THAT(program.line(), testing::MatchesRegex("[0-9]+"));
  EXPECT_EQ(run({"run", "orders", "--", "true"}).code, 75);
  program.signal(SIGTERM);
  EXPECT_EQ(program.finish().code, 128 + SIGTERM);
  EXPECT_THAT(cluster.keys(), IsEmpty());
}

TEST_F(Run, RunHoldsSeveralLocksAsOne) {
  // The names are on a line each; all of them are held under one token, and released together.
  Program program =
      start({"run", "orders", "stock", "--", "sh", "-c",
             R"(echo "$QUORUMLOCK_RESOURCE"; echo $QUORUMLOCK_TOKEN; )" + std::string(for_ever)});
  EXPECT_EQ(program.line(), "orders");
  EXPECT_EQ(program.line(), "stock");
  const std::string token = program.line();
  EXPECT_TRUE(eventually([&] {
    return cluster.holders("orders", token) == 3 && cluster.holders("stock", token) == 3;
  }));
  EXPECT_EQ(run({"run", "stock", "--", "true"}).code, 75);
  EXPECT_EQ(run({"run", "free", "orders", "--", "true"}).code, 75);
  EXPECT_EQ(cluster.holders("free"), 0);
  program.signal(SIGTERM);
  EXPECT_EQ(program.finish().code, 128 + SIGTERM);
  EXPECT_THAT(cluster.keys(), IsEmpty());
}

TEST_F(Run, RunPassesTheCommandsCodeThrough) {
  // The command's exit code, its signal and its outputs come through unchanged.
  const Ended ended = start_run("orders", "echo out; echo err >&2; exit 3").finish();
  EXPECT_EQ(ended.code, 3);
  EXPECT_EQ(ended.out, "out\n");
  EXPECT_EQ(ended.err, "err\n");
  EXPECT_EQ(start_run("orders", "kill -KILL $$").finish().code, 128 + SIGKILL);
  EXPECT_EQ(start_run("orders", "true").finish().code, 0);
  EXPECT_THAT(cluster.keys(), IsEmpty());
}

TEST_F(Run, RunSharedHoldsTheLockTogetherWithOthers) {
  // Two commands read at once, and nobody else has the lock exclusively meanwhile.
  const std::string script = "echo $QUORUMLOCK_TOKEN; " + std::string(for_ever);
  Program one = start_run("orders", script, {"--shared"});
  Program other = start_run("orders", script, {"--shared"});
  EXPECT_NE(one.line(), other.line());
  EXPECT_EQ(run({"run", "orders", "--", "true"}).code, 75);
  EXPECT_EQ(run({"run", "--shared", "orders", "--", "true"}).code, 0);
  for (Program* program : {&one, &other}) {
    program->signal(SIGTERM);
    EXPECT_EQ(program->finish().code, 128 + SIGTERM);
  }
  EXPECT_THAT(cluster.keys(), IsEmpty());
}

TEST_F(Run, RunSharedOfSeveralReadsThemAll) {
  // Two overlapping sets are read at once; a writer of one of their locks is refused, and a writer
  // of a free lock is not.
  const std::string script =
      "echo \"$QUORUMLOCK_RESOURCE\" | tr '\\n' ' '; echo; " + std::string(for_ever);
  Program one = start_run("orders", script, {"--shared", "stock"});
  Program other = start_run("cash", script, {"--shared", "stock"});
  EXPECT_EQ(one.line(), "stock orders ");
  EXPECT_EQ(other.line(), "stock cash ");
  EXPECT_EQ(run({"run", "stock", "--", "true"}).code, 75);
  EXPECT_EQ(run({"run", "--shared", "orders", "stock", "cash", "--", "true"}).code, 0);
  EXPECT_EQ(run({"run", "free", "--", "true"}).code, 0);
  for (Program* program : {&one, &other}) {
    program->signal(SIGTERM);
    EXPECT_EQ(program->finish().code, 128 + SIGTERM);
  }
  EXPECT_THAT(cluster.keys(), IsEmpty());
}

TEST_F(Run, RunWithJsonReportsOnStandardError) {
  // There is one document, at the end; standard output belongs to the command.
  const Ended ended = start_run("orders", "echo out; exit 5", {"--json"}).finish();
  EXPECT_EQ(ended.code, 5);
  EXPECT_EQ(ended.out, "out\n");
  const json document = json::parse(ended.err);
  EXPECT_EQ(document.at("resources"), json::array({"orders"}));
  EXPECT_EQ(document.at("exit_code"), 5);
  EXPECT_THAT(document.at("owner_token"), testing::MatchesRegex("[0-9a-f]{40}@.+:[0-9]+:sh"));
  hold("other");
  const Ended refused = run({"--json", "run", "other", "--", "true"});
  EXPECT_EQ(json::parse(refused.err).at("error").at("code"), "contended");
}

TEST_F(Run, RunLooksForTheCommandAsShellsDo) {
  // The exit code is 127 if there is no such command, and 126 if it is not a program. The shell
  // runs a script without #!.
  EXPECT_EQ(run({"run", "orders", "--", "no-such-command"}).code, 127);
  EXPECT_EQ(run({"run", "orders", "--", "/no/such/command"}).code, 127);
  EXPECT_EQ(run({"run", "orders", "--", directory.path().string()}).code, 126);
  EXPECT_EQ(run({"run", "orders", "--", ""}).code, 127);
  const std::filesystem::path script = directory.path() / "script";
  std::ofstream(script) << "echo $1; exit 6\n";
  EXPECT_EQ(run({"run", "orders", "--", script.string()}).code, 126);
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  const Ended ended = run({"run", "orders", "--", script.string(), "argument"});
  EXPECT_EQ(ended.code, 6);
  EXPECT_EQ(ended.out, "argument\n");
  // The script is executable, but cannot run: only exec notices, and the lock is released.
  std::ofstream(script) << "#!/no/such/interpreter\n";
  EXPECT_EQ(run({"run", "orders", "--", script.string()}).code, 127);
  EXPECT_THAT(cluster.keys(), IsEmpty());
}

TEST_F(Run, FailureExitCodeReplacesOurOwnCodesOnly) {
  // A caller whose command uses our exit codes asks for another one.
  hold("held");
  EXPECT_EQ(run({"run", "--failure-exit-code", "9", "held", "--", "true"}).code, 9);
  EXPECT_EQ(run({"run", "--failure-exit-code", "9", "orders", "--", "no-such-command"}).code, 9);
  EXPECT_EQ(start_run("orders", "exit 75", {"--failure-exit-code", "9"}).finish().code, 75);
  EXPECT_EQ(start_run("orders", "kill -TERM $$", {"--failure-exit-code", "9"}).finish().code, 143);
}

TEST_F(Run, TheSecondWaitsForTheFirst) {
  // The first reads a line from the pipe that the test closes; the second starts only after it.
  Program first = start_run("orders", std::string("echo first; ") + for_ever);
  EXPECT_EQ(first.line(), "first");
  Program second = start_run("orders", "echo second", {"--wait", "forever"});
  ASSERT_TRUE(somebody_tries());
  EXPECT_GE(cluster.holders("orders"), 2);
  first.signal(SIGTERM);
  EXPECT_EQ(first.finish().code, 128 + SIGTERM);
  const Ended ended = second.finish();
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.out, "second\n");
}

TEST_F(Run, SaysOnceWhomItWaitsFor) {
  // Somebody who looks at a command that does not go on sees why.
  Program first = start_run("orders", std::string("echo first; ") + for_ever);
  EXPECT_EQ(first.line(), "first");
  Program second = start_run("orders", "echo second", {"--wait", "forever"});
  EXPECT_TRUE(second.says_on_error("waiting for the lock on orders: held by "));
  first.signal(SIGTERM);
  EXPECT_EQ(first.finish().code, 128 + SIGTERM);
  const Ended ended = second.finish();
  EXPECT_EQ(ended.out, "second\n");
  EXPECT_THAT(ended.err, testing::MatchesRegex(
                             "quorumlock: waiting for the lock on orders: held by .*:sh for .*\n"));
}

TEST_F(Run, DoesNotSayTheValueOfAnotherProgramThatItWaitsFor) {
  hold("orders");
  Program program = start_run("orders", "echo mine", {"--wait", "forever"});
  EXPECT_TRUE(program.says_on_error("waiting for the lock on orders: held by another program\n"));
  let_go("orders");
  EXPECT_EQ(program.finish().out, "mine\n");
}

TEST_F(Run, SaysThatTooFewNodesAnswerWhileItWaits) {
  // Without a limit nothing else would ever say why the command does not start.
  cluster.kill(0);
  cluster.kill(1);
  Program program = start_run("orders", "echo mine", {"--wait", "forever"});
  EXPECT_TRUE(program.says_on_error(
      "waiting for the lock on orders: fewer than a quorum of nodes answer (1 of 3); " +
      cluster.shown_urls()[0] + ": "));
  program.signal(SIGTERM);
  program.finish();
}

TEST_F(Run, AnInterruptedHolderHandsOverWithinASecond) {
  // The time from SIGINT at the holder to the next holder's first word is measured. The best of a
  // few tries counts: a busy machine may delay one. The lock itself would last for much longer.
  using std::chrono::steady_clock;
  auto best = steady_clock::duration::max();
  for (int tries = 0; tries < 5 && best > std::chrono::seconds(1); ++tries) {
    Program first = start_run("orders", std::string("echo first; ") + for_ever, {"--ttl", "30s"});
    EXPECT_EQ(first.line(), "first");
    Program second = start_run("orders", "echo second", {"--wait", "forever"});
    ASSERT_TRUE(somebody_tries());
    const auto begin = steady_clock::now();
    first.signal(SIGINT);
    EXPECT_EQ(second.line(), "second");
    best = std::min(best, steady_clock::now() - begin);
    EXPECT_EQ(first.finish().code, 128 + SIGINT);
    EXPECT_EQ(second.finish().code, 0);
  }
  EXPECT_LT(best, std::chrono::seconds(1));
}

TEST_F(Run, SignalsArePassedOn) {
  // The command handles the signals in its own way, and its exit code is what counts.
  Program program = start_run(
      "orders", "trap 'echo usr1' USR1; trap 'exit 7' TERM; echo ready;" + std::string(for_ever));
  EXPECT_EQ(program.line(), "ready");
  program.signal(SIGUSR1);
  EXPECT_EQ(program.line(), "usr1");
  program.signal(SIGTERM);
  EXPECT_EQ(program.finish().code, 7);
  EXPECT_THAT(cluster.keys(), IsEmpty());
}

TEST_F(Run, AnInterruptAtAnyMomentStartsNothingThatStays) {
  // SIGINT comes at moments from the program's first instruction to well after the command's.
  for (int moment = 0; moment < 40; ++moment) {
    Program program = start_run("orders", std::string("echo started;") + for_ever);
    const auto then = Clock::now() + std::chrono::microseconds(500) * moment;
    while (Clock::now() < then) std::this_thread::yield();
    program.signal(SIGINT);
    EXPECT_EQ(program.finish().code, 128 + SIGINT) << moment;
    EXPECT_THAT(cluster.keys(), IsEmpty()) << moment;
  }
}

TEST_F(Run, AHangupThatWasIgnoredStaysIgnored) {
  // nohup: neither the program nor the command reacts to SIGHUP; SIGTERM still ends both.
  Program program({"nohup", QUORUMLOCK_PROGRAM, "run", "orders", "--", "sh", "-c",
                   std::string("trap 'echo usr1' USR1; echo ready;") + for_ever},
                  {nodes()});
  EXPECT_EQ(program.line(), "ready");
  program.signal(SIGHUP);
  program.signal(SIGUSR1);
  EXPECT_EQ(program.line(), "usr1");
  program.signal(SIGTERM);
  EXPECT_EQ(program.finish().code, 128 + SIGTERM);
}

TEST_F(Run, InTheBackgroundOfAScriptAnInterruptWorks) {
  // A shell without job control starts the program with SIGINT ignored; a SIGINT sent to it counts.
  const std::string script = QUORUMLOCK_PROGRAM
      " run orders -- sh -c 'echo $PPID; exec sleep 1000' &"
      " wait $!; echo ended $?";
  Program shell({"sh", "-c", script}, {nodes()});
  ::kill(std::stoi(shell.line()), SIGINT);
  EXPECT_EQ(shell.line(), "ended 130");
  EXPECT_EQ(shell.finish().code, 0);
}

TEST_F(Run, GrandchildrenDieWithTheProgram) {
  // quorumlock gets SIGKILL: the shell that it started dies, and so does all that the shell
  // started.
  Fifo held = fifo();
  Program program = start_run("orders", "exec 3> " + held.path() +
                                            "; sleep 1000 & (sleep 1000 & sleep 1000) &"
                                            " echo up >&3; sleep 1000; true");
  ASSERT_TRUE(held.somebody_came());
  program.signal(SIGKILL);
  EXPECT_TRUE(held.all_have_gone());
  EXPECT_EQ(program.finish().code, 128 + SIGKILL);
}

TEST_F(Run, ProcessesThatTheCommandLeavesRunningAreEnded) {
  // A process that is left would work on without the lock. It is asked to end, and killed if it
  // does not.
  Fifo held = fifo();
  const Ended ended = start_run("orders", "exec 3> " + held.path() +
                                              "; (trap 'echo asked; exit' TERM; echo up >&3;"
                                              " while :; do sleep 0.01; done) &"
                                              " (trap '' TERM; sleep 1000) &"
                                              " read line < " +
                                              held.path() + "; exit 4")
                          .finish();
  EXPECT_EQ(ended.code, 4);
  EXPECT_EQ(ended.out, "asked\n");
  EXPECT_TRUE(held.all_have_gone());
  EXPECT_THAT(cluster.keys(), IsEmpty());
}

TEST_F(Run, ProcessesThatLeaveTheCommandsGroupAreNotEnded) {
  // A daemon that the command has started is meant to outlive it, and --help says so.
  Fifo held = fifo();
  EXPECT_EQ(start_run("orders", "setsid sh -c 'echo $$; exec 3> " + held.path() +
                                    "; echo up >&3; exec sleep 1000' >" +
                                    (directory.path() / "daemon").string() + " 2>&1" +
                                    " & read line < " + held.path() + "; exit 4")
                .finish()
                .code,
            4);
  EXPECT_THAT(cluster.keys(), IsEmpty());
  pid_t daemon = 0;
  std::ifstream(directory.path() / "daemon") >> daemon;
  ASSERT_GT(daemon, 1);
  EXPECT_EQ(::kill(daemon, SIGKILL), 0);
  EXPECT_TRUE(held.all_have_gone());
  const std::string help = run({"run", "--help"}).out;
  EXPECT_THAT(help, HasSubstr("setsid, is not ended"));
}

TEST_F(Run, OptionsOfTheFileApply) {
  // The lease may not be held for longer than max_hold: the command is ended in time.
  const std::filesystem::path file = directory.path() / "options.json";
  std::ofstream(file) << json{
      {"nodes", cluster.urls()}, {"max_hold", "1500ms"}, {"auto_extend", false}};
  const Ended ended = run({"--config", file.string(), "--json", "run", "orders", "--", "sh", "-c",
                           "trap 'echo asked; exit 3' TERM; while :; do sleep 0.01; done"});
  EXPECT_EQ(ended.code, 76);
  EXPECT_EQ(document_in(ended.err).at("error").at("code"), "lost");
}

TEST_F(Run, SignalsEndACommandWhoseConfigurationFileBlocks) {
  // It is a pipe that nobody writes to, as a file on a server that is away.
  const std::string pipe = (directory.path() / "pipe").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const char* command : {"status", "acquire", "members", "serve"}) {
    std::vector<std::string> words = {QUORUMLOCK_PROGRAM, "--config", pipe, command};
    if (words.back() == "acquire") words.emplace_back("orders");
    Program program(words);
    const int writing = ::open(pipe.c_str(), O_WRONLY | O_CLOEXEC);
    program.signal(SIGTERM);
    EXPECT_EQ(program.finish().code, 128 + SIGTERM) << command;
    ::close(writing);
  }
}

}  // namespace
}  // namespace quorumlock::test
