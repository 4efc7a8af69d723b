#include "tls/context.hpp"

#include <fcntl.h>
#include <stdlib.h>

#include <cerrno>
#include <memory>
#include <new>
#include <string>
#include <system_error>
#include <utility>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "tls/client_channel.hpp"
#include "uv/descriptor.hpp"

namespace quorumlock::tls {
namespace {

Error refused(std::string sentence) {
  return {Errc::invalid_argument, std::move(sentence)};
}

template <class T, void (*free)(T*)>
struct FreedBy {
  void operator()(T* object) const { free(object); }
};
using Certificate = std::unique_ptr<X509, FreedBy<X509, X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, FreedBy<EVP_PKEY, EVP_PKEY_free>>;
using Text = std::unique_ptr<BIO, FreedBy<BIO, BIO_free_all>>;

Text text_of(const std::string& bytes) {
  return Text(BIO_new_mem_buf(bytes.data(), static_cast<int>(bytes.size())));
}

/// A key with a passphrase is refused: OpenSSL would ask for it on the terminal.
int no_passphrase(char*, int, int, void*) {
  return -1;
}

/// Trusts all certificates in this text. Returns false if there is none.
bool trust(SSL_CTX* ssl, const std::string& bytes) {
  const Text text = text_of(bytes);
  STACK_OF(X509_INFO)* const found =
      PEM_X509_INFO_read_bio(text.get(), nullptr, no_passphrase, nullptr);
  if (found == nullptr) return false;
  bool any = false;
  for (int i = 0; i < sk_X509_INFO_num(found); ++i) {
    X509* const certificate = sk_X509_INFO_value(found, i)->x509;
    any = (certificate != nullptr &&
           X509_STORE_add_cert(SSL_CTX_get_cert_store(ssl), certificate) == 1) ||
          any;
  }
  sk_X509_INFO_pop_free(found, X509_INFO_free);
  return any;
}

const char* default_authorities() {
  const char* const chosen = ::secure_getenv(X509_get_default_cert_file_env());
  return chosen != nullptr ? chosen : X509_get_default_cert_file();
}

/// Returns the error with which a file cannot be opened for now, or 0. OpenSSL would pass over that
/// file, and this process would trust nobody from then on.
int why_not_opened(const char* path) {
  const uv::Descriptor file(::open(path, O_RDONLY | O_CLOEXEC));
  if (file) return 0;
  return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? errno : 0;
}

Result<void> load_authorities(SSL_CTX* ssl, const TlsOptions& options, const Files& files) {
  if (!options.ca_file && !options.ca_dir) {
    if (const int shortage = why_not_opened(default_authorities()); shortage != 0) {
      return Error(Errc::no_quorum, "the authorities that this machine trusts cannot be read: " +
                                        std::generic_category().message(shortage));
    }
    SSL_CTX_set_default_verify_paths(ssl);
    return {};
  }
  if (options.ca_file && !trust(ssl, files.ca_file())) {
    return refused(named("ca_file", *options.ca_file) + "it has no certificate in PEM form");
  }
  for (const std::string& one : files.ca_dir()) trust(ssl, one);
  return {};
}

/// Our certificate, followed by the authorities between it and the CA.
bool load_chain(SSL_CTX* ssl, const std::string& bytes) {
  const Text text = text_of(bytes);
  const Certificate ours(PEM_read_bio_X509_AUX(text.get(), nullptr, no_passphrase, nullptr));
  if (ours == nullptr || SSL_CTX_use_certificate(ssl, ours.get()) != 1) return false;
  for (;;) {
    Certificate next(PEM_read_bio_X509(text.get(), nullptr, no_passphrase, nullptr));
    if (next == nullptr) return true;
    if (SSL_CTX_add0_chain_cert(ssl, next.get()) != 1) return false;
    (void)next.release();  // it is the chain's now
  }
}

Result<void> load_own_certificate(SSL_CTX* ssl, const TlsOptions& options, const Files& files) {
  if (!options.cert_file || !options.key_file) return {};
  if (!load_chain(ssl, files.cert_file())) {
    return refused(named("cert_file", *options.cert_file) + "it has no certificate in PEM form");
  }
  ERR_clear_error();
  const Key key(
      PEM_read_bio_PrivateKey(text_of(files.key_file()).get(), nullptr, no_passphrase, nullptr));
  if (key == nullptr) {
    return refused(named("key_file", *options.key_file) +
                   "it has no private key in PEM form that can be read without a passphrase");
  }
  if (SSL_CTX_use_PrivateKey(ssl, key.get()) == 1) return {};
  return refused(named("key_file", *options.key_file) +
                 "it is not the key of the certificate in tls.cert_file");
}

ClientChannel& channel_of(BIO* bio) {
  return *static_cast<ClientChannel*>(BIO_get_data(bio));
}

ClientChannel& channel_of(const SSL* ssl) {
  return *static_cast<ClientChannel*>(SSL_get_app_data(ssl));
}

long control(BIO*, int command, long, void*) {
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

}  // namespace

Context::Context()
    : ssl_(SSL_CTX_new(TLS_client_method())),
      bio_(BIO_meth_new(BIO_TYPE_SOURCE_SINK, "quorumlock")) {
  if (ssl_ == nullptr || bio_ == nullptr) throw std::bad_alloc();
  BIO_meth_set_read(bio_, [](BIO* bio, char* into, int most) {
    BIO_clear_retry_flags(bio);
    const int size = channel_of(bio).read_input(into, most);
    if (size <= 0) BIO_set_retry_read(bio);
    return size;
  });
  BIO_meth_set_write(bio_, [](BIO* bio, const char* bytes, int size) {
    BIO_clear_retry_flags(bio);
    return channel_of(bio).write_output(bytes, size);
  });
  BIO_meth_set_ctrl(bio_, control);

  SSL_CTX_set_options(ssl_, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  // A session is kept by the channel, for the next connection to the same node.
  SSL_CTX_set_session_cache_mode(ssl_, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL_STORE);
  SSL_CTX_sess_set_new_cb(ssl_, [](SSL* ssl, SSL_SESSION* session) {
    channel_of(ssl).keep(session);
    return 1;
  });
  SSL_CTX_set_info_callback(ssl_, [](const SSL* ssl, int where, int value) {
    if (where == SSL_CB_WRITE_ALERT && (value & 0xff) == SSL_AD_NO_RENEGOTIATION) {
      channel_of(ssl).on_refused_renegotiation();
    }
  });
}

Context::~Context() {
  SSL_CTX_free(ssl_);
  BIO_meth_free(bio_);
}

Result<std::shared_ptr<const Context>> Context::load(const TlsOptions& options,
                                                     const Files& files) {
  if (files.trouble()) return *files.trouble();
  ERR_clear_error();
  const std::shared_ptr<Context> context(new Context);
  SSL_CTX* const ssl = context->ssl_;
  const bool only_1_3 = options.min_version == TlsVersion::tls_1_3;
  SSL_CTX_set_min_proto_version(ssl, only_1_3 ? TLS1_3_VERSION : TLS1_2_VERSION);
  if (const Result<void> good = load_authorities(ssl, options, files); !good) return good.error();
  if (const Result<void> good = load_own_certificate(ssl, options, files); !good)
    return good.error();
  if (!options.cert_file) {
    SSL_CTX_set_client_cert_cb(ssl, [](SSL* ours, X509**, EVP_PKEY**) {
      channel_of(ours).on_no_certificate();
      return 0;
    });
  }
  if (!options.unsafe_skip_verify.value_or(false)) {
    SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER, [](int good, X509_STORE_CTX* chain) {
      if (good != 1) {
        const int index = SSL_get_ex_data_X509_STORE_CTX_idx();
        const auto* ours = static_cast<const SSL*>(X509_STORE_CTX_get_ex_data(chain, index));
        channel_of(ours).on_bad_certificate(chain);
      }
      return good;
    });
  }
  return std::shared_ptr<const Context>(context);
}

}  // namespace quorumlock::tls
