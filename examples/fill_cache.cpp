// A cache that is filled once: one of the processes that miss computes the value, the others wait.
//
//     fill_cache CACHE_FILE KEY
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <quorumlock/quorumlock.hpp>
#include <string>

using namespace std::chrono_literals;

namespace {

std::optional<std::string> cached(const std::filesystem::path& cache) {
  std::string value;
  if (std::ifstream file(cache); std::getline(file, value)) return value;
  return std::nullopt;
}

/// Computes the value, which takes long: hence the cache.
std::string compute(const std::string& key) {
  return "value of " + key + ", computed by process " + std::to_string(getpid());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: fill_cache CACHE_FILE KEY\n";
    return 64;
  }
  const std::filesystem::path cache = argv[1];
  const std::string key = argv[2];
  if (const auto value = cached(cache)) {  // a hit takes no lock
    std::cout << *value << '\n';
    return 0;
  }

  auto options = quorumlock::Options::from_env();
  if (!options) {
    std::cerr << options.error().what() << '\n';
    return 64;
  }
  auto coordinator = quorumlock::Coordinator::create(std::move(*options));
  if (!coordinator) {
    std::cerr << coordinator.error().what() << '\n';
    return 64;
  }
  const auto value = coordinator->with_lock("cache:" + key, {.wait = 10s}, [&](quorumlock::Lease&) {
    // Another process may have filled the cache while we waited.
    if (auto found = cached(cache)) return *found;
    std::string made = compute(key);
    const std::filesystem::path draft = cache.string() + "." + std::to_string(getpid());
    std::ofstream(draft) << made << '\n';
    std::filesystem::rename(draft, cache);
    return made;
  });
  // Without the lock, after a long wait or without a quorum, computing the value twice does no
  // harm.
  std::cout << (value ? *value : compute(key)) << '\n';
  return 0;
}
