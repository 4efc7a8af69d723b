#include "tls/context.hpp"

#include <dirent.h>
#include <cerrno>
#include <cstdio>
#include <new>
#include <string>
#include <system_error>

#include <openssl/err.h>

#include "tls/client_channel.hpp"

namespace quorumlock::tls {
namespace {

Error refused(std::string sentence) {
  return {Errc::invalid_argument, std::move(sentence)};
}

std::string named(const char* option, const std::string& path) {
  return std::string("tls.") + option + " is \"" + path + "\": ";
}

/// Checks that a file can be opened; OpenSSL's own errors do not say why it cannot.
Result<void> check_readable(const char* option, const std::string& path) {
  std::FILE* const file = std::fopen(path.c_str(), "re");
  if (file == nullptr) {
    return refused(named(option, path) +
                   "it cannot be read: " + std::generic_category().message(errno));
  }
  std::fclose(file);
  return {};
}

/// Whether OpenSSL would find any certificate in this directory: it looks for names such as
/// 9d66eef0.0, which `openssl rehash` makes.
Result<void> check_hashed(const std::string& path) {
  DIR* const dir = ::opendir(path.c_str());
  if (dir == nullptr) {
    return refused(named("ca_dir", path) +
                   "it cannot be read: " + std::generic_category().message(errno));
  }
  bool found = false;
  while (const dirent* const entry = ::readdir(dir)) {
    const std::string_view name = entry->d_name;
    found = found ||
            (name.size() > 9 && name[8] == '.' && name.find_first_not_of("0123456789abcdef") == 8);
  }
  ::closedir(dir);
  if (found) return {};
  return refused(named("ca_dir", path) +
                 "it has no certificate under its hash: run openssl rehash on it, or name one "
                 "file by tls.ca_file");
}

Result<void> load_authorities(SSL_CTX* ssl, const TlsOptions& options) {
  if (!options.ca_file && !options.ca_dir) {
    SSL_CTX_set_default_verify_paths(ssl);
    return {};
  }
  if (options.ca_file) {
    if (Result<void> good = check_readable("ca_file", *options.ca_file); !good) return good;
    if (SSL_CTX_load_verify_file(ssl, options.ca_file->c_str()) != 1) {
      return refused(named("ca_file", *options.ca_file) + "it has no certificate in PEM form");
    }
  }
  if (options.ca_dir) {
    if (Result<void> good = check_hashed(*options.ca_dir); !good) return good;
    if (SSL_CTX_load_verify_dir(ssl, options.ca_dir->c_str()) != 1) {
      return refused(named("ca_dir", *options.ca_dir) + "it cannot be used");
    }
  }
  return {};
}

Result<void> load_own_certificate(SSL_CTX* ssl, const TlsOptions& options) {
  if (!options.cert_file || !options.key_file) return {};
  if (Result<void> good = check_readable("cert_file", *options.cert_file); !good) return good;
  if (Result<void> good = check_readable("key_file", *options.key_file); !good) return good;
  if (SSL_CTX_use_certificate_chain_file(ssl, options.cert_file->c_str()) != 1) {
    return refused(named("cert_file", *options.cert_file) + "it has no certificate in PEM form");
  }
  ERR_clear_error();
  if (SSL_CTX_use_PrivateKey_file(ssl, options.key_file->c_str(), SSL_FILETYPE_PEM) != 1) {
    const unsigned long error = ERR_peek_last_error();
    const bool other_key = ERR_GET_LIB(error) == ERR_LIB_X509;
    return refused(named("key_file", *options.key_file) +
                   (other_key ? "it is not the key of the certificate in tls.cert_file"
                              : "it has no private key in PEM form that can be read without a "
                                "passphrase"));
  }
  return {};
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
  // A key with a passphrase is refused: OpenSSL would ask for it on the terminal.
  SSL_CTX_set_default_passwd_cb(ssl_, [](char*, int, int, void*) { return -1; });
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

Result<std::shared_ptr<const Context>> Context::load(const TlsOptions& options) {
  ERR_clear_error();
  const std::shared_ptr<Context> context(new Context);
  SSL_CTX* const ssl = context->ssl_;
  const bool only_1_3 = options.min_version == TlsVersion::tls_1_3;
  SSL_CTX_set_min_proto_version(ssl, only_1_3 ? TLS1_3_VERSION : TLS1_2_VERSION);
  if (const Result<void> good = load_authorities(ssl, options); !good) return good.error();
  if (const Result<void> good = load_own_certificate(ssl, options); !good) return good.error();
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
