#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "local/server.hpp"

namespace quorumlock::cli {

/// What `cluster start` leaves in a cluster's directory, so that later commands know what they
/// find there, and `cluster stop` removes what `cluster start` made and nothing else.
struct ClusterRecord {
  std::filesystem::path dir;
  int first_port = 0;
  int size = 0;
  /// The directories that had to be made for it, outermost first.
  std::vector<std::filesystem::path> made;

  /// Its nodes, in directories of their own.
  [[nodiscard]] std::vector<local::ServerSettings> nodes() const;

  /// The record in this directory, if there is one. Throws Failure where it cannot be read.
  static std::optional<ClusterRecord> load(const std::filesystem::path& dir);
  /// Throws Failure.
  void save() const;
  /// Removes it, the nodes' files and the directories that were made for it, as far as there is
  /// nothing else in them. Gives what has to stay.
  [[nodiscard]] std::vector<std::filesystem::path> remove() const;
};

/// $XDG_STATE_HOME/quorumlock/cluster, else ~/.local/state/quorumlock/cluster.
std::filesystem::path default_cluster_dir();

/// Makes a directory and those that it is in; gives those that were not there, outermost first.
/// Throws Failure.
std::vector<std::filesystem::path> make_directories(const std::filesystem::path& dir);
/// Removes those of them that have nothing in them.
void remove_empty(const std::vector<std::filesystem::path>& made);

}  // namespace quorumlock::cli
