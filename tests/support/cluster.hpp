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

/// A port for TLS, with certificates that this process trusts, if QUORUMLOCK_TEST_TLS is set (or
/// `always`): then the whole suite runs over TLS.
std::optional<local::ServerTls> tls_of_tests(bool always = false);

struct ClusterSettings {
  int size = 5;
  bool durable = false;
  bool tcp = false;                    ///< uses free ports of 127.0.0.1 instead of unix sockets
  std::vector<std::string> more = {};  ///< see local::ServerSettings::more
  /// Whether the nodes are enrolled, even after a restart, with the max_ttl of options().
  bool enrolled = true;
  std::chrono::milliseconds max_ttl = std::chrono::seconds(30);
  std::string mark = {};  ///< see core::Placement::mark()
  /// The environment of each node; see local::ServerSettings::environment. Empty: none.
  std::vector<std::vector<std::string>> environments = {};
  /// Clients connect over TLS. They also do so without this if QUORUMLOCK_TEST_TLS is set.
  bool tls = false;
  /// Clients connect without TLS and without a login in any case, for tests of addresses.
  bool plain = false;
  /// The user of docs/security.md that clients log in as if QUORUMLOCK_TEST_ACL is set; the nodes
  /// then have TCP ports. Empty: the default user in any case.
  std::string user = "locker";
};

/// The test's own redis-servers, and what a test does to them.
class Cluster {
 public:
  explicit Cluster(ClusterSettings settings = {});

  [[nodiscard]] int size() const { return static_cast<int>(servers_.size()); }
  [[nodiscard]] int quorum() const { return size() / 2 + 1; }
  local::Server& server(int node) { return servers_.at(static_cast<std::size_t>(node)); }
  [[nodiscard]] std::vector<std::string> urls() const;
  /// The same URLs as the program and errors show them: without a login.
  [[nodiscard]] std::vector<std::string> shown_urls() const;
  /// The user that clients log in as: "default" without a login.
  [[nodiscard]] std::string user() const { return has_users() ? settings_.user : "default"; }
  /// The nodes' addresses without TLS, for clients that are not ours, with every right.
  [[nodiscard]] std::vector<std::string> plain_urls() const;
  /// Options for this cluster. Timeouts are far beyond what a busy machine needs, so that a vote is
  /// missing only if the test makes it so.
  [[nodiscard]] Options options() const;

  /// Runs a command on the test's own connection to this node.
  Reply raw(int node, const std::vector<std::string>& words);
  /// Runs a command on every node that runs and is not paused.
  void raw_everywhere(const std::vector<std::string>& words);

  /// The value of a string key; nothing if there is no such key.
  std::optional<std::string> value(int node, const std::string& key);
  std::chrono::milliseconds pttl(int node, const std::string& key);
  /// The number of nodes, of those that can be asked, on which the key has this value.
  int holders(const std::string& key, const std::string& token);
  /// The number of nodes, of those that can be asked, that have the key with any value.
  int holders(const std::string& key);
  /// Sets a key as another client of the algorithm would.
  void plant(int node, const std::string& key, const std::string& token = "foreign");
  /// The number of commands that this node has executed for others than this object.
  long long commands(int node);
  /// How often this node has executed this command since it was started or its counts were reset.
  long long calls(int node, const std::string& command);
  /// All keys but the library's own, on all nodes that can be asked.
  std::vector<std::string> keys();

  void pause(int node);
  void resume(int node);
  void kill(int node);
  void restart(int node);
  /// Enrols the node, as an operator would if it is certain that the node has forgotten nothing.
  void enrol(int node);
  /// Enrols all nodes for clients with these URLs, of which the first ones are this cluster's nodes
  /// in their order.
  void enrol_for(Nodes nodes);
  /// Breaks the connections of all clients but this cluster's own.
  void drop_clients(int node);
  /// Makes everything run again, with no keys but the library's own.
  void heal();

 private:
  [[nodiscard]] bool has_users() const;
  bool can_be_asked(int node);

  TemporaryDirectory directory_;
  ClusterSettings settings_;
  int enrolments_ = 0;  ///< the nonces of records are numbers
  std::vector<local::Server> servers_;
  Nodes list_;  ///< the list given to enrol_for(); empty: urls()
  std::map<int, Redis> connections_;
  std::map<int, bool> paused_;
  std::map<int, long long> own_commands_;
};

}  // namespace quorumlock::test
