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
  std::vector<std::string> nodes;
  std::vector<std::string> resources;
  std::string semaphore = "permits";  ///< of semaphore_permits
  std::filesystem::path store;
  std::chrono::milliseconds ttl{1500};  ///< each lease's is drawn around it, up to a third off
  std::chrono::milliseconds max_ttl{3000};
  bool no_quarantine = false;  ///< Quarantine::unsafe_never
  bool alone = false;          ///< wants one lock alone each time, and waits in no order
  bool verbose = false;
};

/// What the workers' coordinators are made with.
Options options_of(const WorkerSettings& settings);

/// A worker's whole life: takes one lock of whatever kind after the other, writes to the store
/// while it believes to have one alone, and tells of it on standard output (report.hpp). Ends when
/// its standard input does. Gives the exit code.
int run_worker(const WorkerSettings& settings);

}  // namespace quorumlock::chaos
