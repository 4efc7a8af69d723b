#include <gtest/gtest.h>

#include <cstdlib>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "transcript.hpp"

// Whole operations as text: each file in data/ is played, and the result must equal the file.
//
//   script_tests                        plays them
//   QUORUMLOCK_REWRITE=1 script_tests   writes the results into the files, for a person to review
namespace quorumlock::test {
namespace {

const bool rewrite = std::getenv("QUORUMLOCK_REWRITE") != nullptr;

std::string content_of(const std::filesystem::path& path) {
  std::ostringstream content;
  content << std::ifstream(path, std::ios::binary).rdbuf();
  return content.str();
}

/// Returns the script with the results of playing it. Comments and empty lines stay; a block is
/// lines to play, a line "----", and their results, up to the next empty line.
std::string played(const std::string& script) {
  std::istringstream in(script);
  std::string out;
  Transcript transcript;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line.starts_with('#')) {
      out += line + "\n";
      continue;
    }
    std::string result;
    for (; in && !line.empty() && line != "----"; std::getline(in, line)) {
      out += line + "\n";
      result += transcript.play(line);
    }
    if (line == "----") {
      while (std::getline(in, line) && !line.empty()) {
      }
    }
    out += "----\n" + (result.empty() ? "nothing\n" : result) + (in ? "\n" : "");
  }
  return out;
}

std::vector<std::filesystem::path> scripts() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(QUORUMLOCK_SCRIPTS_DIR)) {
    if (entry.path().extension() == ".txt") paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  return paths;
}

class Script : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(Script, MatchesItsTranscript) {
  // The file is played from its first line to its last.
  const std::filesystem::path& path = GetParam();
  const std::string written = content_of(path);
  const std::string result = played(written);
  if (rewrite && result != written) {
    std::ofstream(path, std::ios::binary) << result;
    std::cout << "rewritten: " << path.filename().string() << "\n";
    return;
  }
  EXPECT_EQ(result, written) << path;
}

INSTANTIATE_TEST_SUITE_P(Data, Script, testing::ValuesIn(scripts()),
                         [](const auto& script) { return script.param.stem().string(); });

}  // namespace
}  // namespace quorumlock::test
