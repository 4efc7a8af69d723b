#include <fstream>

#include "cli/fixture.hpp"
#include "support/outside_text.hpp"

// Whatever a client, a server, a file or the environment says: what the commands print cannot steer
// the terminal, break a line in two or be anything else than UTF-8.
namespace quorumlock::test {
namespace {

class OutsideTexts : public CommandLine {
 protected:
  OutsideTexts() : CommandLine({.size = 3}) {
    for (int node = 0; node < 3; ++node) {
      cluster.raw(node, {"SET", name, token, "PX", "600000"});
      cluster.raw(node, {"SET", "quorumlock:fence:" + name, "7"});
    }
  }

  /// Runs it, and checks both outputs.
  std::string said(const std::vector<std::string>& words,
                   const std::vector<std::string>& environment) const {
    std::vector<std::string> all = words;
    all.insert(all.begin(), QUORUMLOCK_PROGRAM);
    const Ended ended = Program(all, environment).finish();
    const std::string text = ended.out + ended.err;
    EXPECT_FALSE(text.empty()) << words.front();
    const std::size_t bad = unprintable_at(text, "\n");
    EXPECT_EQ(bad, text.npos) << words.front() << ": " << printable(text.substr(0, bad + 5));
    return text;
  }
  std::string said(const std::vector<std::string>& words) const { return said(words, {nodes()}); }

  const std::string name = all_outside_texts();
  const std::string token = std::string(40, 'a') + "@" + name;
};

TEST_F(OutsideTexts, OfALockAreEscapedInEveryOutput) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"locks"},
           {"--json", "locks"},
           {"inspect", name},
           {"--json", "inspect", name},
           {"acquire", name},
           {"acquire", "--explain", name},
           {"--json", "acquire", name},
           {"--log-format", "json", "acquire", name},
           {"run", name, "--", "true"},
           {"--json", "run", name, "--", "true"},
           {"--verbose", "run", "free" + name, "--", "true"},
           {"--log-format", "json", "run", "free", name, "--", "true"},
           {"--verbose", "leader", "free" + name, "--", "true"},
           {"release", "--token", name, name},
           {"extend", "--token", name, name},
           {"--json", "release", "--token", name, name}}) {
    EXPECT_THAT(said(words), HasSubstr("\\u001b[2J")) << words.front();
  }
  (void)said({"observe", "--once", name});
  // A line feed makes no line: two lines of a table, and the number of locks.
  EXPECT_EQ(std::ranges::count(said({"locks"}), '\n'), 3);
}

TEST_F(OutsideTexts, OfALockAreWholeInDocuments) {
  // The document is read as the name that it is about, as far as that is UTF-8.
  std::string plain = "x";
  for (const OutsideText& one : outside_texts) {
    if (one.shown.starts_with("\\u")) plain += one.bytes;
  }
  for (int node = 0; node < 3; ++node) cluster.raw(node, {"SET", plain, token});
  EXPECT_EQ(json::parse(said({"--json", "inspect", plain})).at("resource"), plain);
}

TEST_F(OutsideTexts, OfTheCommandLineAreEscaped) {
  const std::vector<std::string> commands[] = {
      {name},
      {"--" + name},
      {"status", name},
      {"run", "--ttl", name, "x", "--", "true"},
      {"run", "x", "--", name},
      {"acquire", "--wait", name, "x"},
      {"--log-format", name, "status"},
      {"--nodes", "redis://" + name, "status"},
      {"--nodes", "unix:///" + name, "status"},
      {"--nodes", name, "status"},
      {"--config", "/" + name, "status"},
      {"cluster", "status", "--dir", "/" + name},
      {"cluster", "start", "--dir", directory.path() / name},
      {"members", "--from", "/" + name},
      {"locks", name},
  };
  for (const std::vector<std::string>& words : commands) (void)said(words);
}

TEST_F(OutsideTexts, OfFilesAndTheEnvironmentAreEscaped) {
  const std::string file = directory.path() / "c.json";
  for (const OutsideText& one : outside_texts) {
    const std::string text(one.bytes);
    (void)said({"--json", "status"}, {"QUORUMLOCK_NODES=redis://a" + text});
    (void)said({"--json", "status"}, {"QUORUMLOCK_CONFIG=/nowhere/" + text});
    std::ofstream(file) << "{\"" + text + "\": 1, \"nodes\": [\"redis://x" + text + "\"]}";
    (void)said({"--json", "status"}, {"QUORUMLOCK_CONFIG=" + file});
  }
}

}  // namespace
}  // namespace quorumlock::test
