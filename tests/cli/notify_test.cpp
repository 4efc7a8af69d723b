#include "cli/notify_socket.hpp"

#include "cli/fixture.hpp"

// What `run` reports to a service manager such as systemd.
namespace quorumlock::test {
namespace {

constexpr const char* until_asked = "echo up; while :; do sleep 1000 & wait $!; done";

class Notify : public CommandLine {
 protected:
  [[nodiscard]] Program start_with(const std::string& variable,
                                   std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), QUORUMLOCK_PROGRAM);
    return Program(arguments, {nodes(), variable});
  }
  static std::string abstract_name() {
    return "@quorumlock-test-" + std::to_string(::getpid()) + "-" +
           testing::UnitTest::GetInstance()->current_test_info()->name();
  }
};

TEST_F(Notify, TheServiceIsReadyOnceTheLockIsHeld) {
  // It is not ready while it waits, and it is stopping once the command has ended. The path is as
  // long as one can be.
  const std::string folder = (directory.path() / "").string();
  const NotifySocket manager(folder + std::string(107 - folder.size(), 'n'));
  hold("billing");
  Program program = start_with(
      manager.variable(), {"run", "--wait", "forever", "billing", "--", "sh", "-c", until_asked});
  EXPECT_EQ(manager.message(), "STATUS=waiting for the lock on billing");
  ASSERT_TRUE(somebody_tries());
  EXPECT_FALSE(manager.has_more());
  let_go("billing");
  EXPECT_THAT(manager.message(),
              testing::MatchesRegex("READY=1\nSTATUS=holding the lock on billing,"
                                    " fencing token [0-9]+"));
  EXPECT_EQ(program.line(), "up");
  EXPECT_FALSE(manager.has_more());
  program.signal(SIGTERM);
  EXPECT_EQ(manager.message(),
            "STOPPING=1\nSTATUS=the command has ended: releasing the lock on billing");
  const Ended ended = program.finish();
  EXPECT_EQ(ended.code, 128 + SIGTERM) << ended.err;
  EXPECT_FALSE(manager.has_more());
}

TEST_F(Notify, AnAbstractSocketHearsOfALostLock) {
  // The message comes while the command still ends. A line break in a name starts no new
  // assignment.
  const NotifySocket manager(abstract_name());
  Program program = start_with(manager.variable(), {"run", "--ttl", "1s", "--kill-after", "1h",
                                                    "a\nREADY=0", "--", "sh", "-c",
                                                    "trap exit TERM; echo up;"
                                                    " while :; do sleep 0.01; done"});
  EXPECT_EQ(manager.message(), "STATUS=waiting for the lock on a\\u000aREADY=0");
  EXPECT_THAT(manager.message(), HasSubstr("READY=1\nSTATUS=holding"));
  EXPECT_EQ(program.line(), "up");
  cluster.kill(0);
  cluster.kill(1);
  EXPECT_EQ(manager.message(),
            "STOPPING=1\nSTATUS=losing the lock on a\\u000aREADY=0: the command has "
            "been asked to end");
  EXPECT_EQ(program.finish().code, 76);
}

TEST_F(Notify, TheCommandDoesNotInheritTheSocket) {
  // The command's READY=1 would be taken for the service's, and its MAINPID for the service itself.
  const NotifySocket manager(abstract_name());
  Program program = start_with(manager.variable(),
                               {"run", "billing", "--", "sh", "-c", "echo \"<$NOTIFY_SOCKET>\""});
  EXPECT_EQ(program.finish().out, "<>\n");
}

TEST_F(Notify, TheServiceIsAliveWhileItWaitsAndHolds) {
  // The service manager hears so before the time that it gives is over, and the command does not
  // inherit the demand.
  const NotifySocket manager(abstract_name());
  hold("billing");
  Program program({QUORUMLOCK_PROGRAM, "run", "--wait", "forever", "billing", "--", "sh", "-c",
                   "echo \"<$WATCHDOG_USEC>\"; while :; do sleep 1000 & wait $!; done"},
                  {nodes(), manager.variable(), "WATCHDOG_USEC=200000"});
  EXPECT_THAT(manager.message(), HasSubstr("STATUS=waiting"));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(manager.message(), "WATCHDOG=1");
  let_go("billing");
  std::string message = manager.message();
  while (message == "WATCHDOG=1") message = manager.message();
  EXPECT_THAT(message, HasSubstr("READY=1"));
  EXPECT_EQ(program.line(), "<>");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(manager.message(), "WATCHDOG=1");
  program.signal(SIGTERM);
  program.finish();
}

TEST_F(Notify, AWatchdogOfAnotherProcessIsNotOurs) {
  const NotifySocket manager(abstract_name());
  const Ended ended = Program({QUORUMLOCK_PROGRAM, "run", "billing", "--", "sleep", "0.1"},
                              {nodes(), manager.variable(), "WATCHDOG_USEC=1000", "WATCHDOG_PID=1"})
                          .finish();
  EXPECT_EQ(ended.code, 0) << ended.err;
  while (manager.has_more()) EXPECT_NE(manager.message(), "WATCHDOG=1");
  EXPECT_THAT(Program({QUORUMLOCK_PROGRAM, "run", "billing", "--", "true"},
                      {nodes(), manager.variable(), "WATCHDOG_USEC=soon"})
                  .finish()
                  .err,
              HasSubstr("WATCHDOG_USEC is not a number"));
}

TEST_F(Notify, TheCommandTakesTheSocketsOfTheService) {
  // LISTEN_PID names the process that is to take them: the command, and not quorumlock.
  const std::string script =
      "LISTEN_PID=$$ LISTEN_FDS=1 exec 3</dev/null; export LISTEN_FDS=1; export LISTEN_PID=$$; "
      "exec \"$0\" run billing -- sh -c 'test $LISTEN_PID = $$ && test -e /proc/$$/fd/3 && "
      "echo $LISTEN_FDS'";
  const Ended ended = Program({"sh", "-c", script, QUORUMLOCK_PROGRAM}, {nodes()}).finish();
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.out, "1\n");
  // A number that names another process already stays as it is.
  const Ended other =
      Program({QUORUMLOCK_PROGRAM, "run", "billing", "--", "sh", "-c", "echo $LISTEN_PID"},
              {nodes(), "LISTEN_PID=1", "LISTEN_FDS=1"})
          .finish();
  EXPECT_EQ(other.out, "1\n");
}

TEST_F(Notify, ProcessOneTakesWhatTheCommandLeavesBehind) {
  // In a container nobody else would. Orphans, each in its own session, end while the command runs,
  // and leave no zombies.
  const std::string script =
      "orphans=$(for i in 1 2 3 4 5; do (setsid sh -c 'echo $$' &); done); "
      "for orphan in $orphans; do try=0; while test -e /proc/$orphan && test $try -lt 1000; "
      "do try=$((try + 1)); sleep 0.01; done; done; "
      "echo left: $(for orphan in $orphans; do test -e /proc/$orphan && echo $orphan; done)";
  const Ended ended = Program({"unshare", "--pid", "--fork", "--mount", "--map-root-user", "sh",
                               "-c", "mount -t proc none /proc && exec \"$0\" \"$@\"",
                               QUORUMLOCK_PROGRAM, "run", "billing", "--", "sh", "-c", script},
                              {nodes()})
                          .finish();
  EXPECT_EQ(ended.code, 0) << ended.err << ended.out;
  EXPECT_EQ(ended.out, "left:\n");
}

TEST_F(Notify, ASocketThatCannotBeUsedIsOneWarning) {
  // The lock is held and the command runs; the sentence says what is wrong.
  const std::pair<std::string, const char*> bad[] = {
      {"NOTIFY_SOCKET=/nowhere/at/all", "No such file"},
      {"NOTIFY_SOCKET=" + abstract_name(), "refused"},
      {"NOTIFY_SOCKET=/" + std::string(107, 'n'), "108 bytes, and a socket's name at most 107"},
      {"NOTIFY_SOCKET=@" + std::string(108, 'n'), "109 bytes, and a socket's name at most 108"},
      {"NOTIFY_SOCKET=vsock:2:1234", "neither a path"},
  };
  for (const auto& [variable, why] : bad) {
    const Ended ended =
        start_with(variable, {"run", "billing", "--", "sh", "-c", "exit 3"}).finish();
    EXPECT_EQ(ended.code, 3);
    EXPECT_THAT(ended.err, HasSubstr(why));
    EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << ended.err;
  }
  EXPECT_THAT(start_with("NOTIFY_SOCKET=", {"run", "billing", "--", "true"}).finish().err,
              IsEmpty());
}

TEST_F(Notify, ALockIsNotLostToAManagerThatIsBusy) {
  // Each message that waited for it would take the time in which the lock is to be renewed. The
  // manager hears that the service is ready once it listens.
  const NotifySocket manager(abstract_name());
  manager.fill();
  Program program = start_with(manager.variable(),
                               {"run", "--ttl", "1s", "billing", "--", "sh", "-c", until_asked});
  EXPECT_EQ(program.line(), "up");
  std::string message;
  do message = manager.message();
  while (message == NotifySocket::filling);
  EXPECT_EQ(message, "READY=1\n");
  program.signal(SIGTERM);
  EXPECT_THAT(manager.message(), HasSubstr("STOPPING=1"));
  const Ended ended = program.finish();
  EXPECT_EQ(ended.code, 128 + SIGTERM) << ended.err;
  EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << ended.err;
}

}  // namespace
}  // namespace quorumlock::test
