#pragma once

#include <optional>
#include <string>

namespace quorumlock {

/// The oldest version of TLS that a node may speak.
enum class TlsVersion { tls_1_2, tls_1_3 };

/// How connections to `rediss://` nodes are encrypted and whom they trust. A plain value, both of
/// the whole configuration (Options::tls) and of one node (NodeOptions::tls), whose members have
/// precedence. An unset member has the default.
///
/// The files are read again when a connection is made after they have changed, so certificates can
/// be replaced while the program runs. A file that cannot be used when a coordinator is made is an
/// error; later, or if its file system does not answer within node_timeout, it costs the vote of
/// each node that has to be connected anew.
struct TlsOptions {
  /// A file of certificates in PEM form: the authorities (CAs) that may vouch for a node.
  std::optional<std::string> ca_file = std::nullopt;
  /// A directory of such certificates as `openssl rehash` prepares it. If neither ca_file nor
  /// ca_dir is set, the system's authorities are trusted, otherwise only those that are given.
  std::optional<std::string> ca_dir = std::nullopt;
  /// The certificate that we present to nodes that ask for one, in PEM form, followed by the
  /// authorities between it and the CA if there are any. Unset: none.
  std::optional<std::string> cert_file = std::nullopt;
  /// The private key of cert_file, not encrypted; both may be in one file.
  std::optional<std::string> key_file = std::nullopt;
  /// The host name or IP address that a node's certificate must be for. Unset: that of the URL.
  std::optional<std::string> server_name = std::nullopt;
  /// Unset: TLS 1.2.
  std::optional<TlsVersion> min_version = std::nullopt;
  /// Accept any certificate. Anybody between this client and the node can then read and change
  /// everything, passwords included; only for a first try.
  std::optional<bool> unsafe_skip_verify = std::nullopt;
  bool operator==(const TlsOptions&) const = default;
};

}  // namespace quorumlock
