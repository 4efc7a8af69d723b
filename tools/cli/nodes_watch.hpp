#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include <quorumlock/coordinator.hpp>

#include "globals.hpp"

namespace quorumlock::cli {

/// Watches the configuration file, if the nodes come from one, and moves the coordinator to its
/// nodes whenever they change. The file is looked at twice a second, through symbolic links, so
/// that it may be replaced in any way. Other options of the file are only read when the program
/// starts. Runs on a thread of its own, so it must be created while signals are blocked.
class NodesWatch {
 public:
  /// `options` are those that the coordinator was created with.
  NodesWatch(const Globals& globals, const Options& options, Coordinator& coordinator);

  /// Looks at the file now. Returns false if there is no file.
  bool look_now();

 private:
  void watch(const std::stop_token& stop);
  void read();

  using Lists = std::map<std::string, Nodes>;
  static Lists lists_of(const Options& options);

  Coordinator& coordinator_;
  const std::optional<std::string> file_;
  std::mutex guard_;  ///< locked while the file is read
  std::condition_variable_any stopped_;
  Lists lists_;          ///< the lists that the coordinator was last given
  std::jthread thread_;  ///< the last member: it uses the others
};

}  // namespace quorumlock::cli
