#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

// Feeds kept inputs, files or directories of them, to a fuzz target that is built without
// libFuzzer.

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> inputs_of(int count, char** names) {
  std::vector<fs::path> inputs;
  for (int i = 0; i < count; ++i) {
    if (!fs::is_directory(names[i])) {
      inputs.emplace_back(names[i]);
      continue;
    }
    for (const fs::directory_entry& entry : fs::directory_iterator(names[i])) {
      if (entry.is_regular_file()) inputs.push_back(entry.path());
    }
  }
  std::ranges::sort(inputs);
  return inputs;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<fs::path> inputs = inputs_of(argc - 1, argv + 1);
  for (const fs::path& path : inputs) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
      std::fprintf(stderr, "cannot read %s\n", path.c_str());
      return 1;
    }
    const std::string bytes(std::istreambuf_iterator<char>(file), {});
    // The last line of the output if this input is a finding.
    std::printf("%s (%zu bytes)\n", path.c_str(), bytes.size());
    std::fflush(stdout);
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  }
  std::printf("%zu inputs replayed\n", inputs.size());
  return inputs.empty() ? 1 : 0;
}
