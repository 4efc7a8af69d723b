#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <quorumlock/options.hpp>
#include <quorumlock/result.hpp>

#include "members/membership.hpp"
#include "wire/login.hpp"

namespace quorumlock::redis {

/// A TCP address, or a host name in place of it.
struct HostPort {
  std::string host = {};
  int port = 6379;

  /// host:port, with brackets around an IPv6 address.
  [[nodiscard]] std::string text() const;
  auto operator<=>(const HostPort&) const = default;
};

/// The Sentinels that report which server is the primary of a service.
struct Sentinels {
  std::vector<HostPort> addresses = {};  ///< all addresses in order, each once
  std::string service = {};
  bool operator==(const Sentinels&) const = default;
};

/// The address of a node and the credentials for it.
struct Endpoint {
  std::string host = {};  ///< empty for a unix socket, and if Sentinels report the address
  int port = 6379;
  std::string path = {};  ///< the path of a unix socket
  Login login = {};
  int db = 0;
  std::optional<TlsOptions> tls = std::nullopt;  ///< unset: plain text
  std::string password_file = {};                ///< the file with the password; empty: none
  std::optional<Sentinels> sentinels = std::nullopt;

  /// The endpoint as a URL without user and password, for messages; equal for two spellings of one
  /// endpoint.
  [[nodiscard]] std::string name() const;
  /// The node's name among the members of its list: the one that is given, or else host:port
  /// (without the zone of a link-local address), the path of its socket, or the name of its
  /// service. A member is what selects the data, so the name ends with the database if that is not
  /// 0: "host:port/3" or "/run/redis.sock?db=3".
  [[nodiscard]] std::string member_name(std::string_view given = {}) const;
  bool operator==(const Endpoint&) const = default;

  /// `redis://[user[:password]@]host[:port][/db]`, the same with `rediss://` for TLS,
  /// `unix:///path[?db=N]`, or `redis+sentinel://[user[:password]@]SENTINELS/service[/db]` with the
  /// Sentinels' addresses, separated by commas (`rediss+sentinel://` for TLS). User and password
  /// may be percent-encoded; an IPv6 address stands in brackets. An error never repeats a password.
  static Result<Endpoint> parse(std::string_view url);
};

}  // namespace quorumlock::redis
