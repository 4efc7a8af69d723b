#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <sstream>

#include "cli/fixture.hpp"

// --log-format json: standard error as one JSON object a line.
namespace quorumlock::test {
namespace {

class LogFormat : public CommandLine {
 protected:
  /// The lines, each of which must be an object with a time, a level, an event and a reason.
  static std::vector<json> lines_of(const std::string& text) {
    std::vector<json> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
      json one = json::parse(line, nullptr, false);
      EXPECT_TRUE(one.is_object()) << line;
      if (!one.is_object()) continue;
      EXPECT_THAT(one.at("time").get<std::string>(),
                  testing::MatchesRegex("[0-9-]{10}T[0-9:]{8}\\.[0-9]{3}Z"));
      for (const char* name : {"level", "event", "reason"}) {
        EXPECT_TRUE(one.contains(name)) << line;
      }
      lines.push_back(std::move(one));
    }
    return lines;
  }
  /// The first line with this event; null if there is none.
  static json first(const std::vector<json>& lines, const std::string& event) {
    for (const json& line : lines) {
      if (line.at("event") == event) return line;
    }
    return nullptr;
  }
};

TEST_F(LogFormat, RunWritesItsEventsAsJsonLines) {
  // The lines report the lock's beginning and end and the nodes; standard output is the command's.
  const Ended ended = start_run("orders", "echo done", {"--log-format", "json"}).finish();
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.out, "done\n");
  const std::vector<json> lines = lines_of(ended.err);
  const json acquired = first(lines, "lease_acquired");
  ASSERT_TRUE(acquired.is_object()) << ended.err;
  EXPECT_EQ(acquired.at("level"), "info");
  EXPECT_EQ(acquired.at("resource"), "orders");
  EXPECT_THAT(acquired.at("holder").get<std::string>(), testing::EndsWith(":sh"));
  EXPECT_FALSE(acquired.contains("node"));
  EXPECT_TRUE(first(lines, "lease_released").is_object()) << ended.err;
  const json up = first(lines, "node_up");
  ASSERT_TRUE(up.is_object()) << ended.err;
  EXPECT_THAT(cluster.shown_urls(), testing::Contains(up.at("node").get<std::string>()));
}

TEST_F(LogFormat, SentencesAreLinesToo) {
  // These are the command's own sentences of --verbose, and the one with which a command fails. An
  // event is not there twice.
  const Ended verbose = start_run("free", "true", {"--log-format=json", "--verbose"}).finish();
  EXPECT_EQ(verbose.code, 0);
  const json held = first(lines_of(verbose.err), "message");
  ASSERT_TRUE(held.is_object()) << verbose.err;
  EXPECT_THAT(held.at("reason").get<std::string>(), testing::StartsWith("holding free"));
  EXPECT_THAT(verbose.err, Not(HasSubstr(" is up: ")));
  hold("taken");
  const Ended ended = run({"--log-format=json", "--verbose", "acquire", "taken"});
  EXPECT_EQ(ended.code, 75);
  EXPECT_THAT(ended.out, IsEmpty());
  const std::vector<json> lines = lines_of(ended.err);
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(lines.back().at("event"), "contended");
  EXPECT_EQ(lines.back().at("level"), "error");
  EXPECT_THAT(lines.back().at("reason").get<std::string>(), HasSubstr("could not lock \"taken\""));
}

TEST_F(LogFormat, AsTextVerboseHasTheSentencesOfEvents) {
  const Ended ended = start_run("orders", "true", {"--verbose"}).finish();
  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(ended.err,
              HasSubstr("quorumlock: " + cluster.shown_urls()[0] + " is up: it votes\n"));
  EXPECT_THAT(ended.err, Not(HasSubstr("is acquired")));
  EXPECT_THAT(ended.err, Not(HasSubstr("is released")));
}

TEST_F(LogFormat, ANodeThatDiesIsALineOfALeaderAndOfAnObserver) {
  const std::vector<std::string> names = cluster.shown_urls();
  Program leader = start(
      {"leader", "--log-format", "json", "post", "--", "sh", "-c", "echo leads; exec sleep 600"});
  EXPECT_EQ(leader.line(), "leads");
  Program observer = start({"observe", "--log-format", "json", "post"});
  (void)observer.line();
  Program server = start({"serve", "--log-format", "json", "--listen", "127.0.0.1:0"});
  (void)server.line();
  cluster.kill(2);
  for (Program* program : {&leader, &observer, &server}) {
    EXPECT_TRUE(program->says_on_error("\"node_down\""));
    program->signal(SIGTERM);
    const std::vector<json> lines = lines_of(program->finish().err);
    const json down = first(lines, "node_down");
    ASSERT_TRUE(down.is_object());
    EXPECT_EQ(down.at("level"), "warning");
    EXPECT_EQ(down.at("node"), names.at(2));
  }
}

TEST_F(LogFormat, AnotherFormatIsAUsageError) {
  const Ended ended = run({"--log-format", "xml", "inspect", "x"});
  EXPECT_EQ(ended.code, 64);
  EXPECT_THAT(ended.err, HasSubstr("--log-format is \"xml\": give text or json"));
  EXPECT_EQ(run({"inspect", "--log-format", "x"}).code, 64);
  // A mistake elsewhere is reported in the format that was asked for.
  const std::vector<json> lines = lines_of(run({"--log-format", "json", "aquire"}).err);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].at("event"), "usage");
}

TEST_F(LogFormat, AReaderThatIsSlowDelaysNobody) {
  // Nobody reads standard error, and its pipe is full: the lock is acquired and released anyway.
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_NONBLOCK), 0);
  while (::write(ends[1], "x", 1) == 1) continue;
  ::fcntl(ends[1], F_SETFL, 0);
  const std::string program = std::string("exec ") + QUORUMLOCK_PROGRAM +
                              " run --log-format json orders -- true 2>/dev/fd/" +
                              std::to_string(ends[1]);
  EXPECT_EQ(Program({"sh", "-c", program}, {nodes()}).finish().code, 0);
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace quorumlock::test
