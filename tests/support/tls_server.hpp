#pragma once

#include <openssl/ssl.h>

#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "local/certificates.hpp"
#include "local/temporary_directory.hpp"

namespace quorumlock::test {

/// Certificates in a directory of their own: an authority in ca.pem, and NAME.pem with NAME.key.
class Certificates {
 public:
  Certificates() { authority.write(ca()); }

  [[nodiscard]] std::string path(const std::string& file) const {
    return (directory.path() / file).string();
  }
  [[nodiscard]] std::string ca() const { return path("ca.pem"); }
  void issue(const std::string& name, const local::CertificateSettings& settings = {}) const {
    authority.issue(settings, path(name + ".pem"), path(name + ".key"));
  }

  local::TemporaryDirectory directory;
  local::Authority authority;
};

/// A TLS server made of OpenSSL alone, in memory: the peer of the library's channels.
class TlsServer {
 public:
  TlsServer(const std::string& cert_file, const std::string& key_file)
      : context_(SSL_CTX_new(TLS_server_method()), SSL_CTX_free) {
    if (SSL_CTX_use_certificate_chain_file(context_.get(), cert_file.c_str()) != 1 ||
        SSL_CTX_use_PrivateKey_file(context_.get(), key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
      throw std::runtime_error("cannot use " + cert_file);
    }
    SSL_CTX_set_session_id_context(context_.get(), reinterpret_cast<const unsigned char*>("q"), 1);
    SSL_CTX_set_tlsext_servername_callback(
        context_.get(), +[](SSL* ssl, int*, void*) {
          const char* const name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
          if (name != nullptr) static_cast<TlsServer*>(SSL_get_app_data(ssl))->asked_for = name;
          return SSL_TLSEXT_ERR_OK;
        });
  }

  /// Speaks only this version, such as TLS1_2_VERSION.
  void speak_only(int version) {
    SSL_CTX_set_min_proto_version(context_.get(), version);
    SSL_CTX_set_max_proto_version(context_.get(), version);
    if (version < TLS1_2_VERSION) SSL_CTX_set_security_level(context_.get(), 0);
  }
  /// Wants a client's certificate that this authority issued.
  void want_certificate(const std::string& ca_file) {
    SSL_CTX_load_verify_file(context_.get(), ca_file.c_str());
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }

  /// One connection that a client has opened.
  class Connection {
   public:
    explicit Connection(TlsServer& server) : ssl_(SSL_new(server.context_.get()), SSL_free) {
      SSL_set_bio(ssl_.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
      BIO_set_mem_eof_return(SSL_get_rbio(ssl_.get()), -1);
      SSL_set_accept_state(ssl_.get());
      SSL_set_app_data(ssl_.get(), &server);
    }

    /// Takes a client's bytes; what is plain text in them is appended to heard.
    void feed(std::string_view bytes) {
      BIO_write(SSL_get_rbio(ssl_.get()), bytes.data(), static_cast<int>(bytes.size()));
      for (;;) {
        char plain[16 * 1024];
        const int size = SSL_read(ssl_.get(), plain, sizeof plain);
        if (size <= 0) break;
        heard.append(plain, static_cast<std::size_t>(size));
      }
    }
    void say(std::string_view plain) {
      SSL_write(ssl_.get(), plain.data(), static_cast<int>(plain.size()));
    }
    /// Takes the bytes for the client.
    std::string output() {
      std::string bytes(BIO_ctrl_pending(SSL_get_wbio(ssl_.get())), '\0');
      if (!bytes.empty()) {
        BIO_read(SSL_get_wbio(ssl_.get()), bytes.data(), static_cast<int>(bytes.size()));
      }
      return bytes;
    }
    SSL* ssl() { return ssl_.get(); }

    std::string heard;

   private:
    std::unique_ptr<SSL, decltype(&SSL_free)> ssl_;
  };

  std::string asked_for;  ///< the server name (SNI) of the last handshake

 private:
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_;
};

}  // namespace quorumlock::test
