#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <quorumlock/options.hpp>

#include "local/server.hpp"
#include "local/temporary_directory.hpp"
#include "support/redis.hpp"

namespace quorumlock::test {

using local::TemporaryDirectory;

struct ClusterSettings {
  int size = 5;
  bool durable = false;
  bool tcp = false;                    ///< on free ports of 127.0.0.1 instead of unix sockets
  std::vector<std::string> more = {};  ///< see local::ServerSettings::more
  /// The nodes are enrolled, also after a restart, with the max_ttl of options().
  bool enrolled = true;
  std::chrono::milliseconds max_ttl = std::chrono::seconds(30);
  std::string mark = {};  ///< see core::Placement::mark()
  /// For each node; see local::ServerSettings::environment. Empty: none.
  std::vector<std::vector<std::string>> environments = {};
};

/// Real redis-servers of the test's own, and what a test does to them.
class Cluster {
 public:
  explicit Cluster(ClusterSettings settings = {});

  [[nodiscard]] int size() const { return static_cast<int>(servers_.size()); }
  [[nodiscard]] int quorum() const { return size() / 2 + 1; }
  local::Server& server(int node) { return servers_.at(static_cast<std::size_t>(node)); }
  [[nodiscard]] std::vector<std::string> urls() const;
  /// For this cluster. Timeouts are far beyond what a busy machine needs, so that a vote is
  /// missing only where the test has seen to it.
  [[nodiscard]] Options options() const;

  /// One command on the test's own connection to this node.
  Reply raw(int node, const std::vector<std::string>& words);
  /// The same on every node that runs and is not paused.
  void raw_everywhere(const std::vector<std::string>& words);

  /// The value of a string key; nothing where there is no such key.
  std::optional<std::string> value(int node, const std::string& key);
  std::chrono::milliseconds pttl(int node, const std::string& key);
  /// Nodes, of those that can be asked, on which the key has this value.
  int holders(const std::string& key, const std::string& token);
  /// Nodes, of those that can be asked, that have the key, whatever it is.
  int holders(const std::string& key);
  /// What another client of the algorithm would have left there.
  void plant(int node, const std::string& key, const std::string& token = "foreign");
  /// Commands that this node has executed for others than this object.
  long long commands(int node);
  /// How often this node has executed this command since it was started or told to forget.
  long long calls(int node, const std::string& command);
  /// All keys but the library's own, on all nodes that can be asked.
  std::vector<std::string> keys();

  void pause(int node);
  void resume(int node);
  void kill(int node);
  void restart(int node);
  /// The operator's word that the node has forgotten nothing.
  void enrol(int node);
  /// Breaks the connections of all clients but this cluster's own.
  void drop_clients(int node);
  /// Everything runs again and has no key but the library's own.
  void heal();

 private:
  bool can_be_asked(int node);

  TemporaryDirectory directory_;
  ClusterSettings settings_;
  std::vector<local::Server> servers_;
  std::map<int, Redis> connections_;
  std::map<int, bool> paused_;
  std::map<int, long long> own_commands_;
};

}  // namespace quorumlock::test
