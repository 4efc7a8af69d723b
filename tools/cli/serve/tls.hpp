#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <openssl/ssl.h>

namespace quorumlock::cli {

/// The files that `serve` speaks TLS with, in PEM form.
struct TlsFiles {
  std::string cert;                                     ///< the server's, and then its authorities'
  std::string key;                                      ///< the key of that certificate
  std::optional<std::string> client_ca = std::nullopt;  ///< authorities whose clients may ask
};

/// The result of reading or writing on a socket that does not block.
struct IoStep {
  std::size_t bytes = 0;  ///< read or written
  short wait_for = 0;     ///< nothing yet: POLLIN or POLLOUT, and then the same call again
  /// Whether the connection is over.
  [[nodiscard]] bool has_ended() const { return bytes == 0 && wait_for == 0; }
};

/// A client's connection over TLS, on a socket that does not block.
class TlsConnection {
 public:
  TlsConnection(SSL_CTX* context, int socket);
  TlsConnection(const TlsConnection&) = delete;
  TlsConnection& operator=(const TlsConnection&) = delete;
  ~TlsConnection();

  /// The handshake, to be called first, until it has ended or returns a byte.
  IoStep greet();
  IoStep read(char* to, std::size_t size);
  IoStep write(const char* from, std::size_t size);
  /// Says that nothing more is written, if the socket takes it.
  void end();

  /// Once greet() is done: why the client has no certificate that it may ask with, in a clause.
  /// Empty: it has one.
  [[nodiscard]] std::string no_certificate() const;

 private:
  IoStep step_of(int result);
  static int note_fault(int is_good, X509_STORE_CTX* chain);

  SSL* const tls_;
  int fault_ = X509_V_OK;  ///< the first that was found in the client's certificates
};

/// The server's side of TLS. Files that have changed are read again for the next connection; if
/// they cannot be used, the former ones stay in use.
class TlsServer {
 public:
  /// Throws Failure if the files cannot be used.
  explicit TlsServer(TlsFiles files);

  /// Thread-safe.
  std::unique_ptr<TlsConnection> connection(int socket);

 private:
  struct Free {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  };
  using Context = std::unique_ptr<SSL_CTX, Free>;
  [[nodiscard]] Context load() const;
  [[nodiscard]] std::string stamps() const;

  const TlsFiles files_;
  std::mutex guard_;
  std::string stamps_;  ///< the files' stamps when they were last read
  Context context_;     ///< made of the last files that could be used
};

}  // namespace quorumlock::cli
