#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <openssl/ssl.h>
#include <quorumlock/options.hpp>

#include "tls/channel.hpp"
#include "tls/context.hpp"

namespace quorumlock::tls {

/// A Channel that OpenSSL runs, in memory.
class ClientChannel final : public Channel {
 public:
  /// See Contexts::connect().
  ClientChannel(std::shared_ptr<const Context> context, const TlsOptions& options,
                std::string_view host, std::int64_t wall_time, Resumption& last);
  ~ClientChannel() override;
  ClientChannel(const ClientChannel&) = delete;
  ClientChannel& operator=(const ClientChannel&) = delete;

  [[nodiscard]] State state() const override { return state_; }
  [[nodiscard]] const std::string& why() const override { return why_; }
  [[nodiscard]] bool resumed() const override;
  [[nodiscard]] bool lacks_certificate() const override { return lacks_certificate_; }
  void on_bytes(std::string_view bytes) override;
  std::size_t read(std::span<char> into) override;
  void write(std::string_view plain) override;
  void shut_down() override;
  [[nodiscard]] std::string_view output() const override {
    return std::string_view(output_).substr(written_);
  }
  void wrote(std::size_t bytes) override;

  // Called by OpenSSL, by way of Context.
  int read_input(char* into, int most);
  int write_output(const char* bytes, int size);
  void keep(SSL_SESSION* session);
  void on_no_certificate() { lacks_certificate_ = true; }
  void on_refused_renegotiation() { renegotiated_ = true; }
  void on_bad_certificate(X509_STORE_CTX* chain);

 private:
  void handshake();
  void judge(int result);
  void fail(std::string why);
  [[nodiscard]] std::string why_not() const;

  std::shared_ptr<const Context> context_;
  Resumption& last_;
  SSL* ssl_;
  State state_ = State::handshaking;
  std::string why_;
  std::string expected_;         ///< the host name or address that the certificate must be for
  std::string bad_certificate_;  ///< what is wrong with the peer's certificate
  std::string_view input_;       ///< received bytes that OpenSSL has not taken yet
  std::string output_;
  std::size_t written_ = 0;
  std::size_t without_text_ = 0;  ///< received since the last text
  bool lacks_certificate_ = false;
  bool renegotiated_ = false;
  bool at_least_1_3_ = false;
};

}  // namespace quorumlock::tls
