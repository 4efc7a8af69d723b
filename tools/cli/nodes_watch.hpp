#pragma once

#include <memory>

#include <quorumlock/coordinator.hpp>

#include "globals.hpp"

namespace quorumlock::cli {

/// Watches the configuration file, if the nodes come from one, and moves the coordinator to its
/// nodes whenever they change. The file is looked at twice a second, through symbolic links, so
/// that it may be replaced in any way. Other options of the file are only read when the program
/// starts. Runs on a thread of its own, so it must be created while signals are blocked.
///
/// Nothing else waits for the file: reading it may take for ever if it is on a server that is away.
/// The destructor waits for a read that is under way for at most half a second.
class NodesWatch {
 public:
  /// `options` are those that the coordinator was created with.
  NodesWatch(const Globals& globals, const Options& options, Coordinator& coordinator);
  NodesWatch(const NodesWatch&) = delete;
  NodesWatch& operator=(const NodesWatch&) = delete;
  ~NodesWatch();

  /// Has the file read soon, whether it has changed or not. Returns false if there is no file.
  bool look_now();

 private:
  struct Watched;
  const std::shared_ptr<Watched> watched_;  ///< null if there is no file; the thread has it, too
};

}  // namespace quorumlock::cli
