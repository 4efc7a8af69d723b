#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <quorumlock/result.hpp>
#include <quorumlock/tls_options.hpp>

#include "redis/login.hpp"

namespace quorumlock::redis {

/// The address of a node and the credentials for it.
struct Endpoint {
  std::string host = {};  ///< empty for a unix socket
  int port = 6379;
  std::string path = {};  ///< of a unix socket
  Login login = {};
  int db = 0;
  std::optional<TlsOptions> tls = std::nullopt;  ///< unset: plain text
  std::string password_file = {};                ///< has the login's password, if it is not empty

  /// As a URL without user and password, for messages; equal for two spellings of one endpoint.
  [[nodiscard]] std::string name() const;
  /// What the node is called among the members of its list unless it is given a name: host:port,
  /// or the path of its socket.
  [[nodiscard]] std::string member_name() const;
  bool operator==(const Endpoint&) const = default;

  /// `redis://[user[:password]@]host[:port][/db]`, the same with `rediss://` for TLS, or
  /// `unix:///path[?db=N]`. User and password may be percent-encoded; an IPv6 address stands in
  /// brackets. An error never repeats a password.
  static Result<Endpoint> parse(std::string_view url);
};

}  // namespace quorumlock::redis
