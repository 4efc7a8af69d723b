#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "local/server.hpp"

namespace quorumlock::cli {

/// The file that `cluster start` writes into a cluster's directory: it describes the cluster to
/// later commands, and lets `cluster stop` remove exactly what `cluster start` made.
struct ClusterRecord {
  std::filesystem::path dir;
  int first_port = 0;
  int size = 0;
  bool tls = false;  ///< the ports speak TLS
  /// The directories that were made for the cluster, outermost first.
  std::vector<std::filesystem::path> made;

  /// Returns the settings of the nodes, which have a directory each.
  [[nodiscard]] std::vector<local::ServerSettings> nodes() const;

  /// Makes the certificates of a cluster with TLS, and a configuration for its clients. Throws
  /// Failure.
  void make_tls_files() const;
  [[nodiscard]] std::filesystem::path ca_file() const { return dir / "tls" / "ca.pem"; }
  [[nodiscard]] std::filesystem::path config_file() const { return dir / "tls" / "config.json"; }

  /// Returns the record in this directory, if there is one. Throws Failure if it cannot be read.
  static std::optional<ClusterRecord> load(const std::filesystem::path& dir);
  /// Writes the record. Throws Failure.
  void save() const;
  /// Removes the record, the nodes' files and the directories made for them, if these have nothing
  /// else in them. Returns the paths that have to stay.
  [[nodiscard]] std::vector<std::filesystem::path> remove() const;
};

/// Returns the URL for clients.
std::string url_of(const local::ServerSettings& node);

/// Returns $XDG_STATE_HOME/quorumlock/cluster, or else ~/.local/state/quorumlock/cluster.
std::filesystem::path default_cluster_dir();

/// Makes a directory and its missing parents. Returns those that it made, outermost first. Throws
/// Failure.
std::vector<std::filesystem::path> make_directories(const std::filesystem::path& dir);
/// Removes those of the directories that are empty.
void remove_empty(const std::vector<std::filesystem::path>& made);

}  // namespace quorumlock::cli
