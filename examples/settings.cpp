// A configuration with many readers and few writers: readers together, a writer alone. A reader
// sees one version, even if that is in several files.
//
//     settings DIRECTORY                     prints it
//     settings DIRECTORY HOST PORT           changes it, and prints it
#include <filesystem>
#include <fstream>
#include <iostream>
#include <mutex>
#include <quorumlock/quorumlock.hpp>
#include <shared_mutex>
#include <string>

namespace {

std::string read(const std::filesystem::path& path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  return line;
}

void show(const std::filesystem::path& directory) {
  std::cout << read(directory / "host") << ':' << read(directory / "port") << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 4) {
    std::cerr << "usage: settings DIRECTORY [HOST PORT]\n";
    return 64;
  }
  const std::filesystem::path directory = argv[1];
  try {
    auto coordinator =
        quorumlock::Coordinator::create(quorumlock::Options::from_env().value()).value();
    quorumlock::SharedMutex mutex(coordinator, "settings:" + directory.string());
    if (argc == 2) {
      const std::shared_lock reading(mutex);
      show(directory);
      return 0;
    }
    std::unique_lock writing(mutex);
    std::ofstream(directory / "host") << argv[2] << '\n';
    std::ofstream(directory / "port") << argv[3] << '\n';
    // The new values can be shown as they were written: others may read now, but nobody has written
    // since.
    mutex.downgrade();
    writing.release();
    const std::shared_lock reading(mutex, std::adopt_lock);
    show(directory);
    return 0;
  } catch (const quorumlock::Error& error) {
    std::cerr << error.what() << '\n';
    return 75;
  }
}
