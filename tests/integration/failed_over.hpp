#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "integration/fixture.hpp"
#include "support/process.hpp"

namespace quorumlock::test {

/// The third of three nodes is a primary with replicas, set up as docs/nodes.md says: real
/// replicas and real Sentinels. With TLS all of them use it among themselves, too.
class FailedOver : public ::testing::Test {
 protected:
  explicit FailedOver(int count, bool tls = false)
      : over_tls(tls), nodes(settings(3, tls)), replicas(settings(count, tls)) {
    for (int node = 0; node < count; ++node) {
      replicas.raw(node, {"REPLICAOF", "127.0.0.1", port_of(nodes, 2)});
    }
    const std::string all = "connected_slaves:" + std::to_string(count);
    EXPECT_TRUE(eventually([&] {
      return nodes.raw(2, {"INFO", "replication"}).text.find(all) != std::string::npos;
    }));
    configure(nodes, 2);
    for (int node = 0; node < count; ++node) configure(replicas, node);
  }

  /// The port that the other servers, the Sentinels and clients use.
  [[nodiscard]] std::string port_of(Cluster& cluster, int node) const {
    const local::ServerSettings& its = cluster.server(node).settings();
    return std::to_string(over_tls ? its.tls->port : its.port);
  }
  /// Makes a primary that has lost its replicas, since it was cut off, grant nothing any more.
  static void configure(Cluster& cluster, int node) {
    EXPECT_EQ(cluster.raw(node, {"CONFIG", "SET", "min-replicas-to-write", "1"}).text, "OK");
    EXPECT_EQ(cluster.raw(node, {"CONFIG", "SET", "min-replicas-max-lag", "2"}).text, "OK");
  }
  /// The options with this third node.
  [[nodiscard]] Options options(const std::string& third) const {
    Options options = nodes.options();
    options.nodes = {nodes.urls()[0], nodes.urls()[1], third};
    if (third.find("sentinel") != third.npos) options.nodes[2].name = "locks";
    options.ttl = *options.max_ttl;
    return options;
  }
  static NodeStatus third(Coordinator& coordinator) {
    return coordinator.status().value().nodes.at(2);
  }
  /// Starts a Sentinel that promotes a replica as soon as `quorum` of them miss the primary; waits
  /// until it knows the replicas.
  void start_sentinel(int quorum = 1) {
    const int port = local::free_port();
    const std::string name = "sentinel" + std::to_string(sentinels.size());
    const std::string path = directory.path() / (name + ".conf");
    std::ofstream file(path);
    file << "port " << port << "\nbind 127.0.0.1\ndir " << directory.path().string() << "\nlogfile "
         << (directory.path() / (name + ".log")).string() << "\nsentinel monitor locks 127.0.0.1 "
         << port_of(nodes, 2) << ' ' << quorum << "\nsentinel down-after-milliseconds locks 3000"
         << "\nsentinel failover-timeout locks 5000\n";
    ports.push_back(std::to_string(port));
    tls_ports.push_back(std::to_string(local::free_port()));
    if (over_tls) {
      const local::ServerTls& its = *nodes.server(2).settings().tls;
      file << "tls-port " << tls_ports.back() << "\ntls-cert-file " << its.cert_file.string()
           << "\ntls-key-file " << its.key_file.string() << "\ntls-ca-cert-file "
           << its.ca_file.string() << "\ntls-auth-clients no\ntls-replication yes\n";
    }
    file.close();
    sentinels.emplace_back(
        std::vector<std::string>{"/usr/bin/env", "redis-server", path, "--sentinel"});
    EXPECT_TRUE(eventually([&] { return local::port_in_use(port); }));
    EXPECT_TRUE(eventually([&] {
      return static_cast<int>(ask_last({"SENTINEL", "replicas", "locks"}).elements.size()) ==
             replicas.size();
    }));
  }
  Reply ask_last(const std::vector<std::string>& words) {
    return Redis("redis://127.0.0.1:" + ports.back())(words);
  }
  /// The port of the primary, according to the last Sentinel.
  std::string primary() {
    const Reply reply = ask_last({"SENTINEL", "get-master-addr-by-name", "locks"});
    return reply.elements.size() == 2 ? reply.elements[1].text : "";
  }
  /// Ends the primary, and waits until another server is one.
  void fail_over() {
    const std::string old = primary();
    nodes.kill(2);
    ASSERT_TRUE(eventually([&] { return !primary().empty() && primary() != old; }));
  }

  /// The URL of a node that these Sentinels know by this name.
  [[nodiscard]] std::string url(const std::string& service = "locks") const {
    std::string text = over_tls ? "rediss+sentinel://" : "redis+sentinel://";
    for (const std::string& port : over_tls ? tls_ports : ports) text += "127.0.0.1:" + port + ',';
    text.back() = '/';
    return text + service;
  }
  void start_three_sentinels() {
    for (int i = 0; i < 3; ++i) start_sentinel(2);
    EXPECT_TRUE(eventually([&] {
      return ask_last({"SENTINEL", "sentinels", "locks"}).elements.size() == 2;
    })) << "the Sentinels do not know each other";
  }
  void enrol() { nodes.enrol_for({nodes.urls()[0], nodes.urls()[1], NodeOptions(url(), "locks")}); }

  static ClusterSettings settings(int size, bool tls) {
    ClusterSettings settings{
        .size = size,
        .tcp = true,
        .more = {"--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1"},
        .enrolled = false,
        .max_ttl = 2s,
        .tls = tls,
        .plain = !tls,
        .user = ""};
    if (tls) settings.more.insert(settings.more.end(), {"--tls-replication", "yes"});
    return settings;
  }

  const bool over_tls;
  TemporaryDirectory directory;
  Cluster nodes;
  Cluster replicas;
  std::vector<Process> sentinels;
  std::vector<std::string> ports;      ///< the Sentinels' ports for plain text
  std::vector<std::string> tls_ports;  ///< the same for TLS, if there is TLS
};

}  // namespace quorumlock::test
