#include <fstream>

#include "cli/fixture.hpp"

namespace quorumlock::test {
namespace {

Ended quorumlock_with(std::vector<std::string> arguments,
                      const std::vector<std::string>& environment = {}) {
  arguments.insert(arguments.begin(), QUORUMLOCK_PROGRAM);
  return Program(arguments, environment).finish();
}

/// The nodes that a command asked, none of which exists.
std::vector<std::string> nodes_asked(const Ended& ended) {
  std::vector<std::string> nodes;
  const json document = json::parse(ended.out);
  for (const json& node : document.at("nodes")) nodes.push_back(node.at("node"));
  return nodes;
}

TEST(Usage, HelpEndsWith0) {
  // The program and each command print their help on standard output.
  EXPECT_THAT(quorumlock_with({"--help"}).out, HasSubstr("Exit codes"));
  for (const std::string command :
       {"run", "leader", "observe", "acquire", "extend", "release", "inspect", "status", "doctor",
        "enroll", "serve", "cluster", "bench"}) {
    const Ended ended = quorumlock_with({command, "--help"});
    EXPECT_EQ(ended.code, 0) << command;
    EXPECT_THAT(ended.out, HasSubstr("Usage: quorumlock " + command));
  }
}

TEST(Usage, MistakesEndWith64AndASentence) {
  // Each mistake is reported on standard error alone.
  const std::pair<std::vector<std::string>, const char*> mistakes[] = {
      {{}, "no command given"},
      {{"aquire", "x"}, "there is no command aquire: did you mean acquire?"},
      {{"insp", "x"}, "did you mean inspect?"},
      {{"fetch", "x"}, "there is no command fetch: give one of run"},
      {{"acquire", "--wiat", "5s", "x"}, "acquire has no option --wiat: did you mean --wait?"},
      {{"acquire", "--tll=5s"}, "quorumlock acquire has no option --tll: did you mean --ttl?"},
      {{"run", "-wait", "5s", "x", "--", "true"}, "did you mean --wait?"},
      {{"--verbos", "status"}, "has no option --verbos: did you mean --verbose?"},
      {{"--node", "x", "status"}, "has no option --node: did you mean --nodes?"},
      {{"cluster", "strat"}, "quorumlock cluster has no command strat: did you mean start?"},
      {{"enroll", "--newest"}, "quorumlock enroll has no option --newest: did you mean --new?"},
      {{"acquire"}, "RESOURCE"},
      {{"acquire", ""}, "resource"},
      {{"acquire", "x", "y"}, "y"},
      {{"acquire", "--bogus", "x"}, "--bogus"},
      {{"acquire", "--ttl", "10", "x"}, "--ttl is \"10\""},
      {{"acquire", "--ttl", "366d", "x"}, "at most 365d"},
      {{"acquire", "--wait", "soon", "x"}, "--wait is \"soon\""},
      {{"extend", "x"}, "--token"},
      {{"release", "x"}, "--token"},
      {{"run", "x"}, "needs a command after --"},
      {{"run", "x", "--"}, "needs a command after --"},
      {{"run", "--bogus", "x", "--", "true"}, "--bogus"},
      {{"run", "--ttl", "100ms", "x", "--", "true"}, "stop_margin"},
      {{"run", "--failure-exit-code", "256", "x", "--", "true"}, "--failure-exit-code"},
      {{"--failure-exit-code", "9", "run", "x", "--", "true"}, "stands before its command"},
      {{"run", "--permits", "0", "x", "--", "true"}, "--permits"},
      {{"run", "--once", "x", "a", "--", "true"}, "--once"},
      {{"run", "--once", "2", "--shared", "x", "--", "true"}, "--once excludes --shared"},
      {{"run", "--once", "2", "x", "y", "--", "true"}, "about one name, and 2 are"},
      {{"run", "--permits", "2", "--shared", "x", "--", "true"}, "--permits and --shared"},
      {{"run", "--permits", "2", "x", "y", "--", "true"}, "a permit of one resource, and 2 are"},
      {{"run", "x", "y", "x", "--", "true"}, "\"x\" is given twice"},
      {{"leader", "x"}, "leader needs a command after --"},
      {{"leader", "x", "y", "--", "true"}, "y"},
      {{"leader", "--wait", "1s", "x", "--", "true"}, "--wait"},
      {{"leader", "--ttl", "100ms", "x", "--", "true"}, "stop_margin"},
      {{"leader", "--value", std::string(65'537, 'v'), "x", "--", "true"}, "65536"},
      {{"observe"}, "RESOURCE"},
      {{"observe", "x", "y"}, "y"},
      {{"status", "now"}, "now"},
      {{"enroll", "--force"}, "--new"},
      {{"bench", "--seconds", "0"}, "--seconds"},
      {{"bench", "--in-flight", "0"}, "--in-flight"},
      {{"bench", "--keys", "2", "--shared-key"}, "--keys"},
      {{"serve", "--limit", "0"}, "--limit"},
      {{"cluster"}, "subcommand"},
      {{"cluster", "start", "--size", "0"}, "--size"},
      {{"cluster", "start", "--port", "65535"}, "--port"},
      {{"--nodes", "http://x", "inspect", "x"}, "--nodes"},
      {{"--config", "/nowhere/at/all", "inspect", "x"}, "--config"},
  };
  for (const auto& [arguments, why] : mistakes) {
    const Ended ended = quorumlock_with(arguments);
    EXPECT_EQ(ended.code, 64) << why;
    EXPECT_THAT(ended.err, HasSubstr(why));
    EXPECT_THAT(ended.out, IsEmpty());
  }
}

TEST(Usage, MistakesAreJsonIfThatIsAskedFor) {
  // The document is on standard output; that of `run`, whose command owns it, is on standard error.
  const json error = json::parse(quorumlock_with({"acquire", "--json"}).out).at("error");
  EXPECT_EQ(error.at("code"), "usage");
  EXPECT_EQ(error.at("exit_code"), 64);
  EXPECT_THAT(error.at("message"), HasSubstr("RESOURCE"));
  const Ended run = quorumlock_with({"--json", "run", "x"});
  EXPECT_THAT(run.out, IsEmpty());
  EXPECT_EQ(json::parse(run.err).at("error").at("exit_code"), 64);
  // The words after -- belong to the command.
  EXPECT_THAT(quorumlock_with({"run", "--", "--json"}).err, Not(HasSubstr("{")));
}

TEST(Usage, AFlagBeatsTheEnvironmentWhichBeatsTheFile) {
  // None of the nodes exists; what matters is which of them were asked.
  const TemporaryDirectory directory;
  const std::string file = (directory.path() / "options.json").string();
  std::ofstream(file) << R"({"nodes": ["unix:///nowhere/file"], "connect_timeout": "1s"})";
  const std::string config = "QUORUMLOCK_CONFIG=" + file;
  const std::string nodes = "QUORUMLOCK_NODES=unix:///nowhere/environment";
  using testing::ElementsAre;
  const std::vector<std::string> inspect = {"--json", "inspect", "x"};
  EXPECT_THAT(nodes_asked(quorumlock_with(inspect, {config})), ElementsAre("unix:///nowhere/file"));
  EXPECT_THAT(nodes_asked(quorumlock_with(inspect, {config, nodes})),
              ElementsAre("unix:///nowhere/environment"));
  EXPECT_THAT(nodes_asked(quorumlock_with(
                  {"--nodes", "unix:///nowhere/1,unix:///nowhere/2", "--json", "inspect", "x"},
                  {config, nodes})),
              ElementsAre("unix:///nowhere/1", "unix:///nowhere/2"));
  EXPECT_THAT(nodes_asked(quorumlock_with({"inspect", "--json", "--config", file, "x"},
                                          {"QUORUMLOCK_CONFIG=/nowhere/at/all"})),
              ElementsAre("unix:///nowhere/file"));
}

TEST(Usage, TheNodesAreTheLocalClustersByDefault) {
  // This is so whether or not a cluster runs here now.
  const std::vector<std::string> nodes = nodes_asked(quorumlock_with({"--json", "inspect", "x"}));
  ASSERT_EQ(nodes.size(), 5);
  EXPECT_EQ(nodes.front(), "redis://127.0.0.1:7101");
  EXPECT_EQ(nodes.back(), "redis://127.0.0.1:7105");
}

TEST(Usage, SecretsAreNeverShown) {
  // No error, note or document shows a password, even if a URL is in a wrong place.
  const std::string url = "redis://user:hush-hush@127.0.0.1:1";
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--verbose", "--nodes", url, "acquire", "x"},
        std::vector<std::string>{"--json", "--nodes", url, "inspect", "x"},
        std::vector<std::string>{"--nodes", url + "/nonsense", "inspect", "x"},
        std::vector<std::string>{"inspect", "x", url},
        std::vector<std::string>{"inspect", "--nodes=" + url, "--bogus=" + url, "x"},
        std::vector<std::string>{"run", "--bogus=" + url, "x", "--", "true"},
        std::vector<std::string>{url, "inspect", "x"},
        std::vector<std::string>{"acquire", "--ttl", url, "x"}}) {
    const Ended ended = quorumlock_with(arguments);
    EXPECT_NE(ended.code, 0);
    EXPECT_THAT(ended.out + ended.err, Not(HasSubstr("hush-hush")));
  }
}

}  // namespace
}  // namespace quorumlock::test
