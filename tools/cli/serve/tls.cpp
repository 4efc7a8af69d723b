#include "serve/tls.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <system_error>
#include <utility>

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include "failure.hpp"
#include "log.hpp"

namespace quorumlock::cli {
namespace {

constexpr int no_passphrase = 0;

std::string what_is(const char* flag, const std::string& file) {
  return std::string(flag) + " is \"" + file + "\"";
}

/// Throws Failure if the file cannot be opened, since OpenSSL would not say why.
void check_readable(const char* flag, const std::string& file) {
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    throw Failure::unreadable(what_is(flag, file) + ", which cannot be read");
  }
  ::close(fd);
}

/// The system's facts about a file, which change when it is written or replaced.
std::string stamp_of(const std::string& file) {
  struct stat is {};
  if (::stat(file.c_str(), &is) != 0) return "-";
  std::string stamp;
  for (const std::int64_t part :
       {std::int64_t(is.st_ino), std::int64_t(is.st_size), std::int64_t(is.st_mtim.tv_sec),
        std::int64_t(is.st_mtim.tv_nsec), std::int64_t(is.st_ctim.tv_sec),
        std::int64_t(is.st_ctim.tv_nsec)}) {
    stamp += std::to_string(part) + " ";
  }
  return stamp;
}

std::string time_of(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return "at a time that cannot be read";
  std::array<char, 64> text{};
  std::strftime(text.data(), text.size(), "on %Y-%m-%d at %H:%M:%S UTC", &parts);
  return text.data();
}

}  // namespace

TlsConnection::TlsConnection(SSL_CTX* context, int socket) : tls_(SSL_new(context)) {
  if (tls_ == nullptr || SSL_set_fd(tls_, socket) != 1) {
    SSL_free(tls_);
    throw Failure::local("OpenSSL has no memory for a connection");
  }
  SSL_set_app_data(tls_, this);
  if (SSL_get_verify_mode(tls_) != SSL_VERIFY_NONE) {
    SSL_set_verify(tls_, SSL_VERIFY_PEER, note_fault);
  }
}

TlsConnection::~TlsConnection() {
  SSL_free(tls_);
}

/// Lets the handshake go on with any certificate, so that the client can be answered with what is
/// wrong with it. Whether it may ask is decided by no_certificate().
int TlsConnection::note_fault(int is_good, X509_STORE_CTX* chain) {
  if (is_good == 1) return 1;
  auto* const tls =
      static_cast<SSL*>(X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx()));
  auto* const connection = static_cast<TlsConnection*>(SSL_get_app_data(tls));
  if (connection->fault_ == X509_V_OK) connection->fault_ = X509_STORE_CTX_get_error(chain);
  return 1;
}

IoStep TlsConnection::step_of(int result) {
  if (result > 0) return {.bytes = static_cast<std::size_t>(result)};
  switch (SSL_get_error(tls_, result)) {
    case SSL_ERROR_WANT_READ: return {.wait_for = POLLIN};
    case SSL_ERROR_WANT_WRITE: return {.wait_for = POLLOUT};
    default: return {};
  }
}

IoStep TlsConnection::greet() {
  ERR_clear_error();
  return step_of(SSL_accept(tls_));
}

IoStep TlsConnection::read(char* to, std::size_t size) {
  ERR_clear_error();
  return step_of(SSL_read(tls_, to, static_cast<int>(size)));
}

IoStep TlsConnection::write(const char* from, std::size_t size) {
  ERR_clear_error();
  return step_of(SSL_write(tls_, from, static_cast<int>(std::min<std::size_t>(size, 1 << 20))));
}

void TlsConnection::end() {
  ERR_clear_error();
  if (SSL_is_init_finished(tls_) == 1) SSL_shutdown(tls_);
}

std::string TlsConnection::no_certificate() const {
  const X509* const certificate = SSL_get0_peer_certificate(tls_);
  if (certificate == nullptr) return "it has shown no certificate";
  const long last = SSL_get_verify_result(tls_);
  const int fault = fault_ != X509_V_OK ? fault_ : static_cast<int>(last);
  switch (fault) {
    case X509_V_OK: return {};
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return "its certificate has expired " + time_of(X509_get0_notAfter(certificate));
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "its certificate is valid only from a later time, " +
             time_of(X509_get0_notBefore(certificate));
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
      return "its certificate is of an authority that --client-ca does not name";
    default:
      return std::string("its certificate is not accepted: ") +
             X509_verify_cert_error_string(fault);
  }
}

TlsServer::TlsServer(TlsFiles files)
    : files_(std::move(files)), stamps_(stamps()), context_(load()) {}

std::string TlsServer::stamps() const {
  return stamp_of(files_.cert) + stamp_of(files_.key) +
         (files_.client_ca ? stamp_of(*files_.client_ca) : "");
}

TlsServer::Context TlsServer::load() const {
  check_readable("--tls-cert", files_.cert);
  check_readable("--tls-key", files_.key);
  Context context(SSL_CTX_new(TLS_server_method()));
  if (!context) throw Failure::local("OpenSSL has no memory for TLS");
  SSL_CTX* const to = context.get();
  SSL_CTX_set_min_proto_version(to, TLS1_2_VERSION);
  // Every connection shows its certificate anew: nothing is resumed.
  SSL_CTX_set_options(to, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(to, 0);
  SSL_CTX_set_session_cache_mode(to, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(to, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_default_passwd_cb(to, [](char*, int, int, void*) { return no_passphrase; });
  if (SSL_CTX_use_certificate_chain_file(to, files_.cert.c_str()) != 1) {
    throw Failure::usage(what_is("--tls-cert", files_.cert) +
                         ", which has no certificate in PEM form: give one that begins with "
                         "-----BEGIN CERTIFICATE-----");
  }
  if (SSL_CTX_use_PrivateKey_file(to, files_.key.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(to) != 1) {
    throw Failure::usage(what_is("--tls-key", files_.key) +
                         ", which is not the key of the certificate in --tls-cert: give that key "
                         "in PEM form and without a passphrase");
  }
  if (!files_.client_ca) return context;
  check_readable("--client-ca", *files_.client_ca);
  STACK_OF(X509_NAME)* const names = SSL_load_client_CA_file(files_.client_ca->c_str());
  SSL_CTX_set_client_CA_list(to, names);
  if (names == nullptr || SSL_CTX_load_verify_file(to, files_.client_ca->c_str()) != 1) {
    throw Failure::usage(what_is("--client-ca", *files_.client_ca) +
                         ", which has no certificate in PEM form: give those of the authorities "
                         "whose clients may ask");
  }
  X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(to), X509_V_FLAG_PARTIAL_CHAIN);
  SSL_CTX_set_verify(to, SSL_VERIFY_PEER, nullptr);
  return context;
}

std::unique_ptr<TlsConnection> TlsServer::connection(int socket) {
  const std::lock_guard<std::mutex> lock(guard_);
  if (std::string now = stamps(); now != stamps_) {
    stamps_ = std::move(now);
    try {
      context_ = load();
    } catch (const Failure& failure) {
      log_sentence(EventLevel::warning, "tls_files",
                   std::string(failure.what()) + "; those that were read before are still used");
    }
  }
  return std::make_unique<TlsConnection>(context_.get(), socket);
}

}  // namespace quorumlock::cli
