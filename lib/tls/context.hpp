#pragma once

#include <memory>

#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <quorumlock/options.hpp>
#include <quorumlock/result.hpp>

#include "tls/files.hpp"

namespace quorumlock::tls {

/// The authorities, the certificate and the key of a TlsOptions, as OpenSSL's objects. Immutable.
class Context {
 public:
  /// `files` are what was read for these options. The error names the option and what is wrong.
  static Result<std::shared_ptr<const Context>> load(const TlsOptions& options, const Files& files);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  [[nodiscard]] SSL_CTX* ssl() const { return ssl_; }
  /// A BIO between OpenSSL and the memory of a ClientChannel.
  [[nodiscard]] BIO_METHOD* bio() const { return bio_; }

 private:
  Context();

  SSL_CTX* ssl_;
  BIO_METHOD* bio_;
};

}  // namespace quorumlock::tls
