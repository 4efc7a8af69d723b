#include "tls/client_channel.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include "tls/reason.hpp"

namespace quorumlock::tls {
namespace {

/// The most bytes that a node may send without any text: more than a handshake with long chains of
/// certificates takes; OpenSSL itself accepts a chain of 100 KiB. It also bounds our own answers to
/// records without text, such as changes of keys.
constexpr std::size_t most_without_text = std::size_t{256} << 10;

/// The first byte of a TLS connection from a server: the type of a handshake's record, or an
/// alert's.
constexpr char handshake_record = 22;
constexpr char alert_record = 21;

bool is_ip_address(const std::string& host) {
  ASN1_OCTET_STRING* const address = a2i_IPADDRESS(host.c_str());
  ASN1_OCTET_STRING_free(address);
  return address != nullptr;
}

/// The name without the dot that makes it absolute: certificates and SNI have no such dot (RFC
/// 6066, section 3).
std::string relative(std::string name) {
  if (name.size() > 1 && name.ends_with('.')) name.pop_back();
  return name;
}

}  // namespace

ClientChannel::ClientChannel(std::shared_ptr<const Context> context, const TlsOptions& options,
                             std::string_view host, std::int64_t wall_time, Resumption& last)
    : context_(std::move(context)),
      last_(last),
      ssl_(SSL_new(context_->ssl())),
      expected_(
          relative(options.server_name.value_or(std::string(host.substr(0, host.find('%')))))),
      at_least_1_3_(options.min_version == TlsVersion::tls_1_3) {
  BIO* const bio = BIO_new(context_->bio());
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_, bio, bio);
  SSL_set_app_data(ssl_, this);
  SSL_set_connect_state(ssl_);

  X509_VERIFY_PARAM* const demands = SSL_get0_param(ssl_);
  X509_VERIFY_PARAM_set_time(demands, static_cast<time_t>(wall_time));
  if (is_ip_address(expected_)) {
    X509_VERIFY_PARAM_set1_ip_asc(demands, expected_.c_str());
  } else {
    X509_VERIFY_PARAM_set_hostflags(
        demands, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    X509_VERIFY_PARAM_set1_host(demands, expected_.data(), expected_.size());
    SSL_set_tlsext_host_name(ssl_, expected_.c_str());
  }

  // The node's certificate is not shown again when a session is resumed: it must still be valid,
  // and what we trust must not have changed.
  auto* const session = static_cast<SSL_SESSION*>(last_.session.get());
  const bool same_context = last_.context == context_;
  const X509* const peer = session != nullptr ? SSL_SESSION_get0_peer(session) : nullptr;
  time_t now = static_cast<time_t>(wall_time);
  if (same_context && peer != nullptr && X509_cmp_time(X509_get0_notAfter(peer), &now) > 0) {
    SSL_set_session(ssl_, session);
  } else {
    last_ = {};
  }
  handshake();
}

ClientChannel::~ClientChannel() {
  // A session whose connection was not shut down may still be resumed: OpenSSL would
  // otherwise mark it as bad.
  SSL_set_shutdown(ssl_, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
  SSL_free(ssl_);
}

bool ClientChannel::resumed() const {
  return SSL_session_reused(ssl_) == 1;
}

void ClientChannel::on_bytes(std::string_view bytes) {
  if (state_ == State::handshaking && without_text_ == 0 && !bytes.empty() &&
      bytes.front() != handshake_record && bytes.front() != alert_record) {
    return fail("does not speak TLS on this port: name the node's TLS port, or write redis://");
  }
  if (without_text_ > most_without_text) {
    return fail(state_ == State::handshaking
                    ? "sends a TLS handshake without end"
                    : "sends TLS records without end, and no text in them");
  }
  without_text_ += bytes.size();
  input_ = bytes;
}

std::size_t ClientChannel::read(std::span<char> into) {
  if (state_ == State::handshaking) handshake();
  if (state_ != State::open) return 0;
  // Asking OpenSSL for text that has not come costs as much as half a record.
  if (input_.empty() && SSL_has_pending(ssl_) == 0) return 0;
  ERR_clear_error();
  const int size = SSL_read(ssl_, into.data(), static_cast<int>(into.size()));
  if (renegotiated_) {
    fail("asked to renegotiate the TLS connection, which is refused");
    return 0;
  }
  if (size > 0) {
    without_text_ = 0;
    return static_cast<std::size_t>(size);
  }
  judge(size);
  return 0;
}

void ClientChannel::handshake() {
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_);
  if (result == 1) {
    state_ = State::open;
  } else {
    judge(result);
  }
}

/// Finds out why OpenSSL gave no result.
void ClientChannel::judge(int result) {
  switch (SSL_get_error(ssl_, result)) {
    case SSL_ERROR_WANT_READ: return;
    case SSL_ERROR_ZERO_RETURN:
      state_ = State::closed;
      input_ = {};
      return;
    default: fail(why_not());
  }
}

std::string ClientChannel::why_not() const {
  if (!bad_certificate_.empty()) return bad_certificate_;
  return words_of_failure(ERR_peek_error(), at_least_1_3_, lacks_certificate_);
}

void ClientChannel::fail(std::string why) {
  state_ = State::failed;
  why_ = std::move(why);
  input_ = {};
  last_ = {};
  ERR_clear_error();
}

void ClientChannel::write(std::string_view plain) {
  if (state_ != State::open || plain.empty()) return;
  ERR_clear_error();
  std::size_t taken = 0;  // all: write_output() refuses nothing
  const int result = SSL_write_ex(ssl_, plain.data(), plain.size(), &taken);
  if (result != 1) judge(result);
}

void ClientChannel::shut_down() {
  if (state_ != State::open) return;
  ERR_clear_error();
  SSL_shutdown(ssl_);
  state_ = State::closed;
  ERR_clear_error();
}

void ClientChannel::wrote(std::size_t bytes) {
  written_ += bytes;
  if (written_ <= output_.size() / 2) return;  // moves fewer bytes than were written
  output_.erase(0, written_);
  written_ = 0;
}

int ClientChannel::read_input(char* into, int most) {
  const std::size_t size = std::min(input_.size(), static_cast<std::size_t>(std::max(most, 0)));
  if (size == 0) return -1;
  std::memcpy(into, input_.data(), size);
  input_.remove_prefix(size);
  return static_cast<int>(size);
}

int ClientChannel::write_output(const char* bytes, int size) {
  output_.append(bytes, static_cast<std::size_t>(std::max(size, 0)));
  return size;
}

void ClientChannel::keep(SSL_SESSION* session) {
  last_.session = std::shared_ptr<void>(
      session, [](void* mine) { SSL_SESSION_free(static_cast<SSL_SESSION*>(mine)); });
  last_.context = context_;
}

void ClientChannel::on_bad_certificate(X509_STORE_CTX* chain) {
  bad_certificate_ = words_of_bad_certificate(chain, expected_);
}

}  // namespace quorumlock::tls
