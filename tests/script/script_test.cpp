#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "transcript.hpp"

// Whole operations as text: each file in data/ is played and must come out as it is written.
//
//   script_tests             plays them
//   script_tests --rewrite   writes what comes out into the files, for a person to review
namespace quorumlock::test {
namespace {

bool rewrite = false;

std::string content_of(const std::filesystem::path& path) {
  std::ostringstream content;
  content << std::ifstream(path, std::ios::binary).rdbuf();
  return content.str();
}

/// The script as it comes out when it is played. Comments and empty lines stay; a block is lines to
/// play, a line "----", and what came of them, up to the next empty line.
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

class Script : public testing::Test {
 public:
  explicit Script(std::filesystem::path path) : path_(std::move(path)) {}
  void TestBody() override {
    const std::string written = content_of(path_);
    const std::string result = played(written);
    if (rewrite && result != written) {
      std::ofstream(path_, std::ios::binary) << result;
      std::cout << "rewritten: " << path_.filename().string() << "\n";
      return;
    }
    EXPECT_EQ(result, written) << path_;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace
}  // namespace quorumlock::test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  using namespace quorumlock::test;
  rewrite = argc > 1 && std::string_view(argv[1]) == "--rewrite";
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(QUORUMLOCK_SCRIPTS_DIR)) {
    if (entry.path().extension() == ".txt") paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  for (const std::filesystem::path& path : paths) {
    testing::RegisterTest("Script", path.stem().c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          [path]() -> Script* { return new Script(path); });
  }
  return paths.empty() ? 1 : RUN_ALL_TESTS();
}
