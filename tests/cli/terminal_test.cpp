#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "cli/fixture.hpp"

namespace quorumlock::test {
namespace {

constexpr const char* ctrl_c = "\x03";
constexpr const char* ctrl_z = "\x1a";
const std::string top = "\x1b[H";  ///< moves to the first row

/// A program on a terminal of its own, and the user who types there.
class Typist {
 public:
  Typist(std::vector<std::string> command, const std::string& nodes)
      : terminal_(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
    ::grantpt(terminal_);
    ::unlockpt(terminal_);
    const std::string name = ::ptsname(terminal_);
    const std::string path = "PATH=" + std::string(::getenv("PATH"));
    const char* const trusted = ::getenv("SSL_CERT_FILE");  // set if the nodes speak TLS
    const std::string certificates = "SSL_CERT_FILE=" + std::string(trusted ? trusted : "");
    const char* const variables[] = {nodes.c_str(),
                                     path.c_str(),
                                     "PS1=prompt> ",
                                     "TERM=dumb",
                                     trusted ? certificates.c_str() : nullptr,
                                     nullptr};
    std::vector<char*> words;
    for (std::string& word : command) words.push_back(word.data());
    words.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::setsid();
    // A script without job control lets what it starts with & ignore them.
    for (const int number : {SIGINT, SIGQUIT}) ::signal(number, SIG_DFL);
    const int tty = ::open(name.c_str(), O_RDWR);
    ::ioctl(tty, TIOCSCTTY, 0);
    termios modes{};
    ::tcgetattr(tty, &modes);
    modes.c_lflag &= ~static_cast<tcflag_t>(ECHO);  // what is typed must not be in the output
    ::tcsetattr(tty, TCSANOW, &modes);
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(tty, fd);
    ::execve(words[0], words.data(), const_cast<char* const*>(variables));
    ::_exit(127);
  }
  Typist(const Typist&) = delete;
  Typist& operator=(const Typist&) = delete;
  ~Typist() {
    ::close(terminal_);  // hangs up
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  /// How large its window is. A terminal that nobody has told is not limited.
  void size(unsigned short columns, unsigned short rows) const {
    const winsize size{rows, columns, 0, 0};
    ASSERT_EQ(::ioctl(terminal_, TIOCSWINSZ, &size), 0);
  }
  void type(const std::string& keys) {
    ASSERT_EQ(::write(terminal_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
  }
  void enter(const std::string& line) { type(line + "\n"); }

  /// The process group that gets Ctrl-C.
  [[nodiscard]] pid_t foreground() const { return ::tcgetpgrp(terminal_); }

  /// Reads until `text` has been printed; returns what came before it.
  std::string expect(const std::string& text) {
    const auto end = std::chrono::steady_clock::now() + 4 * patience;
    for (;;) {
      if (const std::size_t at = said_.find(text); at != said_.npos) {
        std::string before = said_.substr(0, at);
        said_.erase(0, at + text.size());
        return before;
      }
      pollfd ready{terminal_, POLLIN, 0};
      const int limit = static_cast<int>(std::chrono::milliseconds(patience).count());
      char more[1024];
      if (::poll(&ready, 1, limit) <= 0 || std::chrono::steady_clock::now() > end) {
        throw std::runtime_error("the terminal did not show \"" + text + "\" but: " + said_);
      }
      const ssize_t got = ::read(terminal_, more, sizeof more);
      if (got <= 0) throw std::runtime_error("the terminal is closed; it showed: " + said_);
      said_.append(more, static_cast<std::size_t>(got));
    }
  }

 private:
  int terminal_;
  pid_t pid_ = -1;
  std::string said_;
};

class Terminal : public CommandLine {
 protected:
  Terminal() { shell.expect("prompt> "); }

  Typist shell{{"/bin/bash", "--norc", "--noprofile", "--noediting", "-i"}, nodes()};
  const std::string run = QUORUMLOCK_PROGRAM " run --ttl 30s orders -- ";
};

TEST_F(Terminal, TheCommandReadsFromTheTerminal) {
  // The command gets the input, and its end; then the shell has the terminal again.
  shell.enter(run + "sh -c 'echo ready; read line; echo \"got $line\"'; echo code $?");
  shell.expect("ready");
  shell.enter("hello");
  shell.expect("got hello");
  shell.expect("code 0");
  shell.enter("echo still $((6 * 7))");
  shell.expect("still 42");
}

TEST_F(Terminal, StatusWatchDrawsOverTheLastTable) {
  // The output begins again at the top each time, and Ctrl-C is the normal way to end it.
  shell.enter(QUORUMLOCK_PROGRAM " status --watch; echo code $?");
  shell.expect(top + "Locks can be had: 3 of 3 nodes may vote");
  cluster.kill(0);
  shell.expect(top + "Locks can be had, and no vote is to spare: 2 of 3 nodes may vote");
  shell.type(ctrl_c);
  shell.expect("code 0");
}

TEST_F(Terminal, AHeadlineSaysWhatIsWrongAndWhatToDo) {
  // It is in a colour, unless the user or the terminal wants none.
  const auto says = [&](const std::string& variables, const std::string& begin) {
    shell.enter("env " + variables + " " QUORUMLOCK_PROGRAM " status; echo code $?");
    const std::string shown = shell.expect("code ");
    EXPECT_EQ(shown.substr(0, begin.size()), begin) << shown;
    shell.expect("prompt> ");
    return shown;
  };
  says("TERM=xterm", "\x1b[1;32mLocks can be had: 3 of 3");
  cluster.kill(1);
  const std::string shown =
      says("TERM=xterm", "\x1b[1;33mLocks can be had, and no vote is to spare");
  // Only the state has the colour: with votes to spare it is green.
  EXPECT_THAT(shown,
              HasSubstr("\x1b[0m\r\n  wrong: 1 node does not vote: " + cluster.shown_urls()[1]));
  EXPECT_THAT(shown, HasSubstr("  to do: start it, or mend the way to it"));
  says("TERM=xterm NO_COLOR=1", "Locks can be had, and no vote is to spare");
  says("TERM=dumb", "Locks can be had, and no vote is to spare");
  cluster.kill(2);
  says("TERM=xterm", "\x1b[1;31mNo lock can be had: 1 of 3");
}

TEST_F(Terminal, ATableFitsInto80Columns) {
  // A lock with a long name, whose columns are cut or left out; --wide shows all of them.
  const std::string name = "tenants/" + std::string(200, 'x') + "/orders:42";
  ASSERT_EQ(CommandLine::run({"acquire", "--ttl", "30s", name}).code, 0);
  shell.size(80, 24);
  for (const std::string command : {"locks", "status", "members"}) {
    shell.enter(QUORUMLOCK_PROGRAM " " + command + "; echo code $?");
    const std::string shown = shell.expect("code 0");
    std::istringstream lines(shown);
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(line.size(), 81U) << "with the carriage return: " << line;
    }
    if (command == "locks") {
      EXPECT_THAT(shown, AllOf(HasSubstr("..."), HasSubstr("/orders:42 ")));
      EXPECT_THAT(shown, HasSubstr("nothing unusual, see --wide: "));
    }
    shell.enter(QUORUMLOCK_PROGRAM " " + command + " --wide; echo code $?");
    const std::string wide = shell.expect("code 0");
    EXPECT_THAT(wide, Not(HasSubstr("nothing unusual")));
    if (command == "locks") {
      EXPECT_THAT(wide, HasSubstr(name + "  exclusive  "));
    }
  }
}

TEST_F(Terminal, ALockWithoutALabelDoesNotCutTheOthersHolders) {
  // One node is dead, which brings in a column.
  const std::string digits = "0123456789abcdef0123456789abcdef01234567";
  cluster.kill(0);
  for (const int node : {1, 2}) {
    cluster.raw(node, {"SET", "orders:42", digits + "@web-1.example:30412:php-fpm", "PX", "30000"});
    cluster.raw(node, {"SET", "stock", digits, "PX", "30000"});
    cluster.raw(node, {"SET", "quorumlock:fence:stock", "1"});
  }
  const Program waiter = start({"acquire", "--wait", "forever", "orders:42"});
  ASSERT_TRUE(eventually(
      [&] { return CommandLine::run({"locks"}).out.find("1 waiting") != std::string::npos; }));
  shell.size(80, 24);
  shell.enter(QUORUMLOCK_PROGRAM " locks; echo code $?");
  const std::string shown = shell.expect("code 0");
  EXPECT_THAT(shown,
              AllOf(HasSubstr("EXPIRES IN  WAITERS  NODES\r\n"),
                    HasSubstr("  web-1.example:30412:php-fpm  "), HasSubstr("  01234567...  "),
                    HasSubstr("no room, see --wide: NEXT\r\n")));
}

TEST_F(Terminal, InspectShowsShortTokens) {
  // A node's line fits into a row; --wide has whole tokens.
  const std::string digits = "0123456789abcdef0123456789abcdef01234567";
  for (int node = 0; node < 3; ++node) {
    cluster.raw(node, {"SET", "orders", digits + "@web-3:812", "PX", "3599000"});
  }
  shell.size(110, 24);
  shell.enter(QUORUMLOCK_PROGRAM " inspect orders; echo code $?");
  const std::string shown = shell.expect("code 0");
  EXPECT_THAT(shown, HasSubstr("orders: held by 01234567...@web-3:812 on 3 of 3 nodes; a quorum"));
  EXPECT_THAT(shown, HasSubstr("  held by 01234567...@web-3:812  expires in 59m 5"));
  EXPECT_EQ(std::ranges::count(shown, '\n'), 4) << shown;
  shell.enter(QUORUMLOCK_PROGRAM " inspect --wide orders; echo code $?");
  EXPECT_THAT(shell.expect("code 0"), HasSubstr("  held by " + digits + "@web-3:812  expires in"));
}

TEST_F(Terminal, HelpAndErrorsAreBrokenBetweenWords) {
  cluster.kill(1);
  cluster.kill(2);
  shell.size(70, 24);
  for (const std::string command : {"--help", "run --help", "enroll --help", "acquire orders"}) {
    shell.enter("echo begin; " QUORUMLOCK_PROGRAM " " + command + "; echo code $?");
    shell.expect("begin\r\n");
    std::istringstream lines(shell.expect("code "));
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(line.size(), 71U) << "with the carriage return: " << line;
    }
  }
  shell.size(200, 24);
  shell.enter(QUORUMLOCK_PROGRAM " locks; echo code $?");
  shell.expect("1 of 3 nodes answered to the end, and a quorum is 2; see quorumlock doctor");
}

TEST_F(Terminal, LocksWatchShowsFirstWhatIsMostWaitedFor) {
  for (const char* resource : {"a", "b"}) {
    ASSERT_EQ(CommandLine::run({"acquire", "--ttl", "30s", resource}).code, 0);
  }
  const Program waiter = start({"acquire", "--wait", "30s", "b"});
  shell.enter(QUORUMLOCK_PROGRAM " locks --watch; echo code $?");
  shell.expect("2 held, 1 waiting; the most waited for");
  EXPECT_THAT(shell.expect("\na "), HasSubstr("\nb "));
  shell.type(ctrl_c);
  shell.expect("code 0");
}

TEST_F(Terminal, LocksWatchSaysWhetherLocksCanBeHad) {
  // A node that is quarantined shows its locks, but does not vote.
  ASSERT_EQ(CommandLine::run({"acquire", "--ttl", "30s", "orders"}).code, 0);
  shell.enter("TERM=xterm " QUORUMLOCK_PROGRAM " locks --watch; echo code $?");
  shell.expect("\x1b[1;32mLocks can be had: 3 of 3");
  for (const int node : {1, 2}) {
    cluster.raw(node, {"DEL", "quorumlock:enrolment"});
  }
  shell.expect("\x1b[1;31mNo lock can be had: 1 of 3");
  EXPECT_THAT(shell.expect("\norders "),
              AllOf(HasSubstr("  wrong: 2 nodes do not vote"), HasSubstr("1 held, 0 waiting")));
  cluster.kill(1);
  cluster.kill(2);
  EXPECT_THAT(shell.expect("1 of 3 nodes answered"), HasSubstr("  to do: "));
  shell.type(ctrl_c);
  shell.expect("code 0");
}

TEST_F(Terminal, AWatchNeverScrolls) {
  // There are more locks than rows. The last row is left for the cursor.
  for (int i = 0; i < 30; ++i) {
    ASSERT_EQ(CommandLine::run({"acquire", "--ttl", "30s", "orders:" + std::to_string(i)}).code, 0);
  }
  shell.size(80, 10);
  for (const std::string command : {"locks --watch", "status --watch", "status --watch --wide"}) {
    shell.enter(QUORUMLOCK_PROGRAM " " + command + "; echo code $?");
    shell.expect(" more lines");
    shell.expect(top);
    const std::string shown = shell.expect(top);
    EXPECT_LE(std::ranges::count(shown, '\n'), 9) << shown;
    EXPECT_THAT(shown, HasSubstr(" more lines"));
    shell.type(ctrl_c);
    shell.expect("code 0");
  }
}

TEST_F(Terminal, CtrlZStopsItAndFgContinuesIt) {
  // The shell sees its job stop, and continue with the terminal, twice; Ctrl-C ends it.
  shell.enter(run + "sh -c 'echo ready; while read line; do echo \"got $line\"; done'");
  shell.expect("ready");
  for (const std::string word : {"one", "two"}) {
    shell.type(ctrl_z);
    shell.expect("Stopped");
    shell.expect("prompt> ");
    shell.enter("echo here $((6 * 7))");
    shell.expect("here 42");
    EXPECT_GE(cluster.holders("orders"), 2);
    shell.enter("fg");
    shell.enter(word);
    shell.expect("got " + word);
  }
  shell.type(ctrl_c);
  shell.expect("prompt> ");
  shell.enter("echo code $?");
  shell.expect("code 130");
  EXPECT_TRUE(eventually([&] { return cluster.keys().empty(); }));
}

TEST_F(Terminal, InTheBackgroundItStopsForInputLikeAnyJob) {
  // A command that was started with & may not read; fg gives it the terminal.
  shell.enter(run + "sh -c 'echo ready; read line; echo \"got $line\"' &");
  shell.expect("ready");
  ASSERT_TRUE(eventually([&] {
    shell.enter("jobs");
    return shell.expect("prompt> ").find("Stopped") != std::string::npos;
  }));
  shell.enter("fg");
  shell.enter("hello");
  shell.expect("got hello");
  shell.expect("prompt> ");
}

TEST_F(Terminal, APagerAfterItInAPipelineKeepsTheTerminal) {
  // In a pipeline the command leaves the terminal to the others.
  shell.enter(run + "sh -c 'echo first; exec sleep 1000' | " +
              "sh -c 'read a; echo \"$a\"; read key < /dev/tty; echo \"key $key\"; exec cat'");
  shell.expect("first");
  shell.enter("x");
  shell.expect("key x");
  shell.type(ctrl_c);
  shell.expect("prompt> ");
}

TEST_F(Terminal, InAPipelineItTakesTheTerminalWhenItNeedsIt) {
  // The command reads, and would be stopped for that like a background job, but gets the terminal.
  shell.enter(run + "sh -c 'echo first; read line; echo \"got $line\"' | cat");
  shell.expect("first");
  shell.enter("hello");
  shell.expect("got hello");
  shell.expect("prompt> ");
}

TEST_F(Terminal, CtrlCEndsAWholePipeline) {
  // The command is not in the foreground's group, but still gets the signal.
  shell.enter(run + "sleep 1000 | cat");
  ASSERT_TRUE(eventually([&] { return cluster.holders("orders") >= 2; }));
  shell.type(ctrl_c);
  shell.expect("prompt> ");
  EXPECT_TRUE(eventually([&] { return cluster.keys().empty(); }));
}

TEST_F(Terminal, CtrlZStopsAWaitToo) {
  // Another client has the lock. The program is stopped, continued, and given up.
  hold("orders");
  shell.enter(QUORUMLOCK_PROGRAM " run --wait forever orders -- true");
  ASSERT_TRUE(somebody_tries());
  shell.type(ctrl_z);
  shell.expect("Stopped");
  shell.enter("fg");
  ASSERT_TRUE(somebody_tries());
  shell.type(ctrl_c);
  shell.expect("prompt> ");
  shell.enter("echo code $?");
  shell.expect("code 130");
  EXPECT_EQ(cluster.holders("orders"), 2);
}

TEST_F(Terminal, WithoutAShellCtrlZIsNotTheEnd) {
  // This is as in a container: there is no process that could continue a stopped one.
  Typist alone({QUORUMLOCK_PROGRAM, "run", "orders", "--", "sh", "-c",
                "echo ready; read line; echo \"got $line\""},
               nodes());
  alone.expect("ready");
  alone.type(ctrl_z);
  alone.enter("hello");
  alone.expect("got hello");
}

TEST_F(Terminal, IsNotContinuedIfItWasStoppedBeyondItsLease) {
  // While the program is stopped nobody renews; another client has its lock by the time of the fg.
  Fifo held = fifo();
  shell.enter(QUORUMLOCK_PROGRAM " run --ttl 1s orders -- sh -c 'exec 3> " + held.path() +
              "; echo up >&3; read line; echo \"got $line\"'");
  ASSERT_TRUE(held.somebody_came());
  shell.type(ctrl_z);
  shell.expect("Stopped");
  EXPECT_TRUE(held.all_have_gone());
  shell.enter("fg; echo code $?");
  shell.expect("code 76");
}

TEST_F(Terminal, AKilledProgramGivesTheTerminalBack) {
  // SIGKILL at quorumlock while the command has the terminal: the calling script gets it again.
  shell.enter("sh -c 'echo script $$;" + run +
              "sh -c \"echo program \\$PPID; sleep 1000\"; echo gone; exec sleep 1000'");
  shell.expect("script ");
  const pid_t script = std::stoi(shell.expect("\n"));
  shell.expect("program ");
  const pid_t program = std::stoi(shell.expect("\n"));
  EXPECT_NE(shell.foreground(), script);
  ::kill(program, SIGKILL);
  shell.expect("gone");
  EXPECT_TRUE(eventually([&] { return shell.foreground() == script; }));
  shell.type(ctrl_c);
  shell.expect("prompt> ");
}

}  // namespace
}  // namespace quorumlock::test
