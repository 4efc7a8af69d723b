#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>

#include "local/server.hpp"

namespace quorumlock::local {

/// The contents of a certificate.
struct CertificateSettings {
  std::string name = "quorumlock";  ///< its owner's name
  /// The names and addresses that it is for, such as `DNS:lock1.example,IP:10.0.0.1`; empty: none.
  std::string hosts = "DNS:localhost,IP:127.0.0.1";
  std::chrono::seconds begins = -std::chrono::hours(24);  ///< counted from now
  std::chrono::seconds ends = std::chrono::hours(24) * 365;
  std::string purposes = "serverAuth,clientAuth";  ///< the purposes that it is made for
};

/// The contents of an authority's own certificate.
struct AuthoritySettings {
  std::string name = "quorumlock local authority";
  std::chrono::seconds ends = std::chrono::hours(24) * 3650;  ///< counted from now
  bool may_issue = true;  ///< false: it says that it is not an authority
};

/// An authority (CA) of our own, for servers and clients on this machine. Its key is kept in memory
/// only. Errors are std::runtime_error.
class Authority {
 public:
  explicit Authority(const AuthoritySettings& settings = {});
  explicit Authority(const std::string& name) : Authority(AuthoritySettings{.name = name}) {}
  ~Authority();
  Authority(Authority&&) noexcept;
  Authority& operator=(Authority&&) noexcept;

  /// Writes the authority's own certificate in PEM form.
  void write(const std::filesystem::path& ca_file) const;
  /// Makes a key and a certificate for it, and writes both in PEM form. Only this user may read the
  /// key. Each file is replaced as a whole.
  void issue(const CertificateSettings& settings, const std::filesystem::path& cert_file,
             const std::filesystem::path& key_file) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// Makes an authority and a certificate for servers on this machine in a directory: ca.pem,
/// server.pem and server.key. The result has no port yet.
ServerTls make_certificates(const std::filesystem::path& dir);
/// The same, and makes this process, its children and their children trust that authority in place
/// of the system's.
ServerTls make_trusted_certificates(const std::filesystem::path& dir);

}  // namespace quorumlock::local
