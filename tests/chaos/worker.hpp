#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <quorumlock/options.hpp>

namespace quorumlock::chaos {

inline constexpr int semaphore_permits = 2;

struct WorkerSettings {
  int number = 0;
  std::uint64_t seed = 1;
  std::filesystem::path configuration;  ///< names the nodes; followed when it changes
  std::vector<std::string> nodes;       ///< the nodes in it at first
  std::vector<std::string> resources;
  std::string semaphore = "permits";  ///< its capacity is semaphore_permits
  std::filesystem::path store;
  std::chrono::milliseconds ttl{1500};  ///< each lease's own is drawn within a third of it
  std::chrono::milliseconds max_ttl{3000};
  bool alone = false;  ///< always wants one lock exclusively, and waits in no order
  bool keeps = false;  ///< holds a lock of its own as long as it lives, and must not lose it
  bool verbose = false;
};

/// The options of the workers' coordinators.
Options options_of(const WorkerSettings& settings);

/// A worker's whole life: takes one lock of any kind after another, writes to the store while it
/// believes that it holds one exclusively, and reports on standard output (report.hpp). Ends when
/// its standard input does, or on SIGTERM. Returns the exit code.
int run_worker(const WorkerSettings& settings);

}  // namespace quorumlock::chaos
