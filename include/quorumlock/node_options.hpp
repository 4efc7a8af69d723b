#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <quorumlock/tls_options.hpp>

namespace quorumlock {

/// The options of one node. A URL alone will do, wherever one of these is expected.
struct NodeOptions {
  NodeOptions() = default;
  /// A node by its URL, and its name if it is given.
  NodeOptions(const char* its_url) : url(its_url) {}             // NOLINT: implicit
  NodeOptions(std::string its_url) : url(std::move(its_url)) {}  // NOLINT: implicit
  NodeOptions(std::string its_url, std::string its_name)
      : url(std::move(its_url)), name(std::move(its_name)) {}

  /// `redis://[user[:password]@]host[:port][/db]`, the same with `rediss://` for TLS, or
  /// `unix:///path[?db=N]`. `redis+sentinel://[user[:password]@]SENTINELS/service[/db]`, with the
  /// host[:port] of each Sentinel and commas between them, is the server that a majority of these
  /// Sentinels calls the service's primary: one vote, see docs/servers.md. With
  /// `rediss+sentinel://` they and the server are reached by TLS.
  std::string url;
  /// The node's name among the members of its list (docs/members.md): 1 to 255 visible characters,
  /// the same in every client and for good. Empty: host:port, or the path of its socket; a node
  /// that is found through Sentinels needs one. The member's name is this and, if that is not 0,
  /// the database.
  std::string name;
  /// Only for a node with TLS. An unset member is taken from Options::tls.
  TlsOptions tls = {};
  /// The user to log in as; empty: the user in the URL, or the default user.
  std::string user = {};
  /// The path of a file that has the password and nothing else, in place of a password in the URL.
  /// It is read again at each connect; if it changes, each connection logs in again within some
  /// seconds, and no lease is lost by that.
  std::string password_file = {};
  /// The environment variable that has the password. It is read once, before the first connection.
  std::string password_env = {};
  bool operator==(const NodeOptions&) const = default;
};

/// A list of nodes: a vector that can also be made from a vector of URLs.
class Nodes : public std::vector<NodeOptions> {
 public:
  using std::vector<NodeOptions>::vector;
  Nodes() = default;
  /// One node for each URL.
  Nodes(const std::vector<std::string>& urls) : vector(urls.begin(), urls.end()) {}  // NOLINT
  friend bool operator==(const Nodes& a, const Nodes& b) { return std::ranges::equal(a, b); }
};

}  // namespace quorumlock
